export XDG_CACHE_HOME=$PWD/cache
echo "# a profile: every figure has a unit and a source"
elegans profile cfc:autoncp:12:3,in=4 all --batch 4 --seq 6 --runs 20 --output run.json --trace trace.json --stacks stacks.txt | sed -n '1p;/^time/p;/^compute/p;/^operations/p;/^memory/p;/^while it/p;/^over the/p;/^arena in/p;/^hardware/p' | sed 's/  */ /g'
elegans profile cfc:autoncp:12:3,in=4 all --batch 4 --seq 6 --runs 20 --json > p.json
for name in time_mean samples_per_second tflops peak_memory peak_usage unified_peak total_allocated bandwidth bandwidth_utilization memory_bandwidth cache_hit_rate compute_efficiency ne_tflops ne_utilization ne_cycles mc_utilization power_usage transfer_rate; do
    grep -q "\"$name\"" p.json || echo "no $name"
done
grep -c '"provenance"' p.json | awk '{ print ($1 > 40 ? "provenance everywhere" : $1) }'
elegans profile cfc:autoncp:12:3,in=4 --batch 4 --seq 6 --runs 20 | grep -o "steps add up to .* of the run\|program reuse *[0-9.]* programs *counted" | sed 's/[0-9]*\.[0-9] %/N %/; s/  */ /g'
head -c 40 trace.json; echo; grep -c '"ph":"X"' trace.json | awk '{ print ($1 > 100 ? "events" : $1) }'; cut -d' ' -f1 stacks.txt | sort -u | head -n 2
echo "# memory over time"
elegans profile cfc:autoncp:12:3,in=4 memory --batch 4 --seq 6 --runs 20 > m.txt
sed -n '/^over the/,/^$/p' m.txt | awk 'NR > 2 && NF { print $1, ($4 > 0 ? "bytes" : "nothing") }'
sed -n '/^arena in/,/^$/p' m.txt | awk 'NF { print $1, $NF }'
grep -c '▁\|▂\|▃\|▄\|▅\|▆\|▇\|█' m.txt
for name in memory_over_time memory_in_runs arena by_tag planned seconds_provenance; do grep -q "\"$name\"" run.json || echo "no $name"; done
for name in 'library' 'library, most of a phase' 'arena, live'; do grep -c "\"$name\",\"ph\":\"C\"" trace.json | awk '{ print ($1 >= 7 ? "counted" : $1) }'; done
grep -o '"cat":"phase"' trace.json | wc -l | tr -d ' '
echo "# a report"
elegans report run.json -o report.html; grep -o '<h2>[A-Za-z ]*' report.html | sed 's/<h2>//' | grep -v 'Bott\|Opti\|Reco' | tr '\n' ','; echo; grep -c '<svg' report.html
elegans profile cfc:3,in=2 --runs 5 --device M1,"M4 Max" --output devices.json > /dev/null
elegans report devices.json -o devices.html; grep -o 'role="img" aria-label="[^"]*"' devices.html | sed 's/role="img" //'; grep -c ', modelled</text>' devices.html; grep -c ', measured</text>' devices.html
elegans report run.json --basic | grep -c Recommendations; elegans report run.json --markdown | sed -n '1p;/^## [OFHM]/p' | grep -v Opti
elegans report devices.json --markdown | sed -n '/^## Mem/,/^## H/p;/^## On/,/^## R/p' | awk -F'|' 'NF > 4 { print $2, $(NF - 1) }' | sed 's/[0-9.]* [KM]*i*B//; s/  */ /g'
echo "# quickly"
elegans profile cfc:autoncp:12:3,in=4 --quick --batch 4 --seq 6 --runs 20 | grep -v '^  noisy\|^ *measured$' | awk 'NR > 1 && NF { print $1, $NF }'
elegans profile cfc:autoncp:12:3,in=4 --quick --runs 20 --json | grep -c '"provenance"'
elegans profile cfc:autoncp:12:3,in=4 --quick --trace t.json; echo "exit $?"
elegans profile cfc:3,in=2 --quick --runs 1 | grep -o 'batch 1.*'
elegans report devices.json --markdown | sed -n 's/^\(batch 1, [0-9]* steps*\),.*/\1/p'
elegans profile cfc:3,in=2 --runs 5 --sweep batch=1,4 | grep -c '% peak  GB/s\|GB/s: to and from the DRAM'
elegans profile cfc:3,in=2 --runs 5 --sweep batch=1,4,type=f32,f16 --json | grep -c '"bandwidth"'
echo "# text of a profile in Markdown: no cell ends early, no tag begins"
sed 's/"model": *"[^"]*"/"model": "a | b <script> [c](d) `e`"/' run.json > evil.json; elegans report evil.json --markdown | sed -n 1p
sed -E 's/: *"[^"]*"/: "<script>\\n# Injected\\u001b[2J|"/g' run.json > evil.json; elegans report evil.json --markdown > evil.md
grep -c -e '\\<script>\\\\x0a# Injected\\\\x1b\\\[2J\\|' evil.md | awk '{ print ($1 > 20 ? "escaped" : $1) }'; grep -c -e '[^\\]<' -e '^# I' -e "$(printf '\033')" -e '[^\\]|[^ -]' evil.md
echo "# several ways"
elegans profile cfc:3,in=2 --runs 10 --sweep batch=1,4 | sed -n '1p;3,4p' | awk '{ print $1, $2, $3 }' | sed 's/ this machine.*//'
elegans profile cfc:3,in=2 --runs 10 --sweep seq=2,3,type=f32,f16 --batch 5 | sed -n '3,6p' | awk '{ print $1, $2, $3, $NF }'
elegans profile cfc:3,in=2 --runs 5 --ablation --json | grep -c '"compiled"' | awk '{ print ($1 >= 2 ? "ways" : $1) }'
elegans profile cfc:3,in=2 --runs 5 --device M1,"M1 Ultra" | sed -n '/^on other/,$p' | awk '{ print $1, $2 }' | sed 's/ [0-9].*//' | grep -v '^compute\|^bandwidth'
echo "# GB/s on another chip are those of its DRAM: 68.3 at most on an M1, 0 where caches serve"
for m in cfc:autoncp:64:16,in=16 cfc:3072,in=64; do elegans profile $m --batch 32 --seq 16 --runs 1 --no-try --device M1 | sed -n 's/^  M1 .*, \([0-9.]*\) GB\/s$/\1/p'; done | awk '{ print ($1 <= 68.3 ? "within" : $1), ($1 > 0 ? "some" : "none") }'
elegans report devices.json --markdown | grep '^| chip | unit'
echo "# what is asked of a batch is asked of a larger one"
for b in 1 4 64; do elegans profile cfc:512,in=64,backbone=512x2 --batch $b --runs 1 --no-try --device M1 --json | grep '"compute_check"'; done | uniq
echo "# a grid, of other chips: nothing is measured"
elegans profile cfc:autoncp:12:3,in=4 --grid --seq 4 --device M1,'M1 Max' > grid.txt
sed -n 's/.*  *\(M1.*\), up to/\1, up to/p' grid.txt; awk '$NF == "*" { print $1, $2, $3 }' grid.txt; grep -c '^ .*cores' grid.txt; grep '^+' grid.txt | cut -c1-20
elegans profile cfc:autoncp:12:3,in=4 --grid --seq 4 --device M1 | awk 'length($0) > 80 || / $/ { print "bad: " $0 }'
elegans profile cfc:autoncp:12:3,in=4 --sweep batch=1,4096 --device M1 --memory 1M | sed -n '/^which/,$p' | sed -n 2,3p
elegans profile cfc:autoncp:12:3,in=4 --sweep batch=8 --device M1 --memory 1 | sed -n '/^which/,$p' | sed -n 2p | sed 's/takes.*/takes/'
elegans profile cfc:autoncp:12:3,in=4 --grid --device M1 --json > g.json; grep -c '"best": true' g.json; grep -c '"provenance": "modelled"' g.json | awk '{ print ($1 > 50 ? "modelled" : $1) }'; grep -o '"batch_*[a-z]*": 64' g.json | sort -u
elegans quantize cfc:64,in=32,seed=1 --to int8 -o q.safetensors > /dev/null; elegans profile q.safetensors --grid --device M1 | awk '$NF == "*" || $NF == "cores" { print $2, $3 }'
elegans profile cfc:3,in=2 --sweep type=int8,int4 --device M1 | awk '$NF == "*" { print $2, $3 }'
elegans profile q.safetensors --sweep type=int8 --device M1 --json | grep '"type"' | sort -u
elegans profile q.safetensors --sweep type=int4 --device M1; echo "exit $?"; elegans profile q.safetensors --sweep type=f32 --device M1; echo "exit $?"
echo "# ratios"
for name in compute bandwidth memory cache engine controller power; do grep -q "\"name\": \"$name\"" p.json || echo "no $name"; done
elegans profile cfc:3,in=2 --runs 5 | sed -n '/^ratios/,/^$/p' | awk '!/^   / { print $1 }'
elegans report run.json --markdown | sed -n '/^## Ratios/,/^$/p' | head -n 1; elegans report run.json | grep -c '<th scope="row">controller</th>'
echo "# the machine, and a checklist"
elegans diagnose --threads 1 | grep '^  \(ok\|!!\|??\) ' | awk '{ print substr($0, 6, 17) }' | sed 's/ *$//' | grep -v '^$\|list$'
elegans diagnose cfc:3,in=2 --json > d.json; grep -c '"health"' d.json
echo "# what waits for memory is known to a diagnosis as well as to a profile"
provenance() { sed -n '/"\(name": "memory access\|dram_bytes\)"/,/"provenance"/s/.*"provenance": //p' "$1" | head -n 1 | tr -d ', '; }
[ "$(provenance d.json)" = "$(provenance p.json)" ] || echo "$(provenance d.json), but $(provenance p.json)"
elegans profile cfc:3,in=2 --runs 5 --schedule 1,1,3,2 --steps --sort flops --top 2 | sed -n '/^steps/,/^$/p' | wc -l
echo "# baselines"
elegans baseline save --history h.db first cfc:3,in=2 --runs 30 | sed -n 1p
elegans baseline save --history h.db first cfc:3,in=2 --runs 30; echo "exit $?"
elegans baseline save --history h.db first cfc:3,in=2 --runs 30 --replace > /dev/null; echo "exit $?"
elegans baseline list --history h.db | awk '{ print $1 }'
elegans baseline compare --history h.db first --rounds 2 --effect 5 --json | grep -c '"ratio"'
elegans history cfc:3,in=2 --history h.db --svg trend.svg | wc -l; grep -c '<polyline' trend.svg; grep -c 'class="baseline".*first: ' trend.svg; grep -c '>time, UTC</text>' trend.svg
echo "# notes, other models, another build, fewer cores; the exit code tells"
elegans baseline save --history n.db noted cfc:3,in=2 --runs 30 --note "before the rewrite" | grep "^  note"
elegans baseline list --history n.db | sed -n 2p
elegans baseline compare --history n.db noted cfc:512,in=2 --rounds 2 > slower.txt; echo "exit $?"; grep '^  how\|^  model\|^  note\|^  then\|^  now   *cfc' slower.txt
elegans baseline compare --history n.db noted cfc:3,in=2,seed=7 --rounds 2 --effect 50 | grep '^  model\|^  how'
elegans baseline compare --history n.db noted --rounds 2 --effect 50 --program "${ELEGANS##* }" | sed -n '/^  how/p;s/^  \(program then\).*: /  \1 /p'
elegans convert cfc:3,in=2,seed=1 -o retrained.safetensors > /dev/null; elegans baseline save --history n.db file retrained.safetensors --runs 30 > /dev/null
elegans convert cfc:3,in=2,seed=2 -o retrained.safetensors > /dev/null; elegans baseline compare --history n.db file --rounds 2 --effect 50 | grep '^  model\|^  how'
one=; command -v taskset > /dev/null && one="taskset -c 0"
$one $ELEGANS baseline compare --history n.db noted --rounds 2 --effect 50 > /dev/null; echo "exit $?"
elegans profile cfc:3,in=2 --runs 5 --save --note "by the way" --history n.db > /dev/null; elegans history --history n.db --json | grep -c '"note": "by the way"'
elegans baseline delete --history h.db first; elegans baseline list --history h.db | wc -l
echo "# what is refused"
elegans profile; echo "exit $?"
elegans profile cfc:3,in=2 everything; echo "exit $?"
elegans profile cfc:3,in=2 --sort colour; echo "exit $?"
elegans profile cfc:3,in=2 --schedule 1,2; echo "exit $?"
elegans profile cfc:3,in=2 --sweep width=3; echo "exit $?"
elegans profile cfc:3,in=2 --sweep batch=0; echo "exit $?"
elegans profile cfc:3,in=2 --sweep type=f32,f31; echo "exit $?"
elegans profile cfc:3,in=2 --sweep type=i32 --device M1; echo "exit $?"
elegans profile cfc:3,in=2 --grid --device M99; echo "exit $?"
elegans profile cfc:3,in=2 --grid --memory lots; echo "exit $?"
elegans profile cfc:3,in=2 --memory 1M; echo "exit $?"
elegans profile cfc:3,in=2 --device M99 --runs 3 > /dev/null; echo "exit $?"
elegans profile cfc:3,in=2 --schedule 0,0,2000000,1; echo "exit $?"
elegans profile cfc:3,in=2 --schedule 0,0,1000000,1000000; echo "exit $?"
elegans profile cfc:3,in=2 --runs 100000000; echo "exit $?"
elegans profile cfc:3,in=2 --batch 0; echo "exit $?"
elegans profile cfc:3,in=2 --batch 4611686018427387904; echo "exit $?"
elegans profile cfc:3,in=2 --top 0; echo "exit $?"
elegans profile cfc:3,in=2 --device M1,,M2; echo "exit $?"
elegans profile cfc:3,in=2 --runs 3 --trace nowhere/trace.json > kept.txt; echo "exit $?"; grep -c '^operations' kept.txt
elegans profile nothing.safetensors; echo "exit $?"
elegans report nothing.json; echo "exit $?"
printf '{"a": 1}' > bad.json; elegans report bad.json; echo "exit $?"
elegans baseline; echo "exit $?"
elegans baseline keep x; echo "exit $?"
elegans baseline save --history h.db x; echo "exit $?"
elegans baseline compare --history h.db nobody; echo "exit $?"
elegans baseline delete --history h.db nobody; echo "exit $?"
elegans baseline delete --history h.db first second; echo "exit $?"
elegans baseline list --history h.db first; echo "exit $?"
elegans baseline compare --history h.db first --rounds 100000; echo "exit $?"
elegans baseline compare --history n.db noted --program nowhere/elegans; echo "exit $?"
elegans baseline save --history n.db x cfc:3,in=2 --program "${ELEGANS##* }"; echo "exit $?"
elegans baseline delete --history n.db noted --note x; echo "exit $?"
elegans profile cfc:3,in=2 --note x; echo "exit $?"
elegans profile cfc:3,in=2 --save --grid; echo "exit $?"
elegans history nobody --history h.db; echo "exit $?"
printf 'this is no database, but it is long enough to look like a file of one' > bad.db; elegans baseline list --history bad.db; echo "exit $?"
elegans baseline save --history bad.db x cfc:3,in=2 --runs 3; echo "exit $?"; wc -c < bad.db | tr -d ' '
elegans baseline save --history nowhere/h.db x cfc:3,in=2 --runs 3; echo "exit $?"
elegans history --history . ; echo "exit $?"
# presets applied: batch, memory and sizes; what is said stays
elegans profile cfc:12,in=4 --preset M2 --runs 3 --no-try | head -1
elegans profile cfc:12,in=4,backbone=8 --preset "M1 Ultra" --batch 4 --runs 3 --no-try | head -1
elegans profile cfc:12,in=4 --preset M1 --batch auto --runs 3 --no-try | head -1
for way in --quick "--runs 3 --no-try"; do elegans profile cfc:12,in=4 --preset M1 --batch auto $way | sed -n '1s/.*\(batch [0-9]*\).*/\1/p'; done
elegans profile cfc:12,in=4 --preset M1 --batch auto --memory 64M --quick --json | grep '"batch"' | tr -d ' ,'
small=$(elegans profile cfc:12,in=4 --preset M1 --batch auto --memory 40K --quick --json | sed -n 's/.*"batch": \([0-9]*\).*/\1/p'); [ "$small" -lt 64 ] || echo "batch $small in 40 KiB"
elegans profile cfc:12,in=4 --batch auto --memory 100 --quick 2>&1 | sed 's/takes.*/takes/'
elegans profile cfc:12,in=4 --preset M99; echo "exit $?"
elegans profile cfc:12,in=4 --try --no-try; echo "exit $?"
echo "# no line is wider than 80 columns; a block of a curve is one"
wide() { LC_ALL=C sed 's/\xe2\x96[\x80-\xbf]/x/g' | awk 'length($0) > 80'; }
elegans profile cfc:autoncp:28:8,in=3 all --batch 8 --seq 16 --runs 5 --device M1 --no-try 2>&1 | wide
elegans profile ltc:autoncp:28:8,in=3 --steps --runs 5 --no-try 2>&1 | wide; elegans profile cfc:8,in=2 --grid --device 'M4 Max' 2>&1 | wide
elegans diagnose cfc:8,in=2 2>&1 | wide; elegans info --preset all | wide
elegans quantize cfc:64,in=16 --to int8 -o wide.safetensors | wide; elegans graph --example cfc --steps | wide
