# a room in which somebody is or is not: times are irregular, a value is missing, one line ends in CRLF
awk 'BEGIN { srand(1); t = 0; print "when,warm,light,who"; for (i = 0; i < 600; i++) {
    t += 1 + int(3 * ((i * 7919) % 101) / 101); s = (int(i / 40) % 2);
    printf "2024-01-01T%02d:%02d:%02d,%s,%.2f,%s\n", t / 3600, t / 60 % 60, t % 60,
        i == 77 ? "" : sprintf("%.3f", 20 + 2 * s + ((i * 31) % 17) / 40), 5 + 90 * s + ((i * 13) % 7), s ? "ann" : "nobody" } }' > room.csv
figures() { sed -E -e 's/^  (time|memory|loss|mse|rmse|mae|r2|accuracy|f1|macro f1|baselines) .*/  \1/' -e 's/precision .*/.../' -e 's/best .*/best .../'; }
progress() { sed 's/  loss .*/  .../'; }
say="--data room.csv --target who --time when --window 20 --missing previous --rate 0.02 --epochs 6 --batch 4"
echo "# a classifier: labels by name, dates, a missing value"
elegans train $say --model cfc:autoncp:16:4 --output room.safetensors --log log.jsonl --curve curve.svg 2> said.txt | figures
progress < said.txt; wc -l < log.jsonl; grep -c '"event":"epoch"' log.jsonl; grep -c polyline curve.svg; ls *.checkpoint 2> /dev/null
elegans show room.safetensors | sed -n '/^units/,$p'
echo "# it is good, and says so of other data"
head -n 200 room.csv > other.csv
elegans eval room.safetensors --data other.csv --json | awk '/"accuracy"/ { print ($2 > 0.9 ? "good" : "bad: " $2) }'
elegans eval room.safetensors --data other.csv | figures
cut -d, -f1-3 other.csv > bare.csv
elegans predict room.safetensors --data bare.csv --output said.csv | sed 's/^  time .*/  time/'
head -n 1 said.csv; wc -l < said.csv; cut -d, -f3 said.csv | sort -u
elegans predict room.safetensors --data bare.csv,bare.csv --digits 2 | sed -n '1s/$/ (header)/p; 200,201s/,.*//p'
echo "# the same bits: two threads, stopped and resumed, options in a file"
elegans train $say --model cfc:autoncp:16:4 --output b.safetensors --threads 2 --quiet > /dev/null 2>&1; cmp room.safetensors b.safetensors && echo same
printf '{"data": "room.csv", "target": ["who"], "time": "when", "window": 20, "missing": "previous", "rate": 0.5, "epochs": 6, "batch": 4, "quiet": true, "checkpoint": "c.checkpoint"}' > room.json
elegans train room.json --rate 0.02 --model cfc:autoncp:16:4 --output c.safetensors > /dev/null; cmp room.safetensors c.safetensors && echo same
elegans train room.json --rate 0.02 --model cfc:autoncp:16:4 --output d.safetensors --resume > /dev/null; cmp room.safetensors d.safetensors && echo same
elegans train room.json --rate 0.03 --model cfc:autoncp:16:4 --output d.safetensors --resume; echo "exit $?"
echo "# stopped by signals, a terminal that closes among them: saved, and the log has each epoch once"
log_of() { sed 's/.*"epoch":\([0-9]*\).*/\1/' "$1" | tr '\n' ' '; echo; }
for signal in TERM HUP INT; do
    rm -f s.safetensors s.checkpoint s.jsonl
    sh -c "trap '' USR1; exec $ELEGANS train $say --epochs 400000 --model cfc:autoncp:16:4 --output s.safetensors --log s.jsonl --quiet > /dev/null 2> stopped.txt" &
    while ! test -s s.jsonl; do sleep 0.05; done
    kill -$signal $! 2> /dev/null; wait $!; echo "exit $?"; grep -c 'say the same again with --resume' stopped.txt; ls s.checkpoint .elegans-* 2> /dev/null
done
elegans train $say --epochs 3 --model cfc:autoncp:16:4 --schedule constant --output s.safetensors --checkpoint k.checkpoint --log s.jsonl --quiet > /dev/null; log_of s.jsonl
head -n 1 s.jsonl > one.jsonl; printf '{"event":"epoch","epoch":4,"loss":1}\n{"event":"epoch","epoch":5,"lo' >> s.jsonl
elegans train $say --epochs 5 --model cfc:autoncp:16:4 --schedule constant --output s.safetensors --checkpoint k.checkpoint --log s.jsonl --quiet --resume > /dev/null; log_of s.jsonl
head -n 1 s.jsonl | cmp - one.jsonl && echo "kept as it was"
grep -o '"memory":{"held":{"value":[0-9]*,"unit":"B","provenance":"counted"' s.jsonl | sed 's/[0-9][0-9]*/N/' | sort -u; grep -c '"resident_peak":{"value":[1-9]' s.jsonl
echo "# products of halves: as good, the same bits after a stop, and a loss too large is scaled down"
for type in bf16 f16; do
    elegans train $say --model cfc:autoncp:16:4 --dtype $type --output half.safetensors --log half.jsonl --json 2> said.txt > half.json; progress < said.txt | tail -n 1
    grep -e '"dtype"' -e '"loss_scale"' -e '"skipped"' half.json; grep -o '"dtype":"[a-z0-9]*"\(,"loss_scale":[0-9.]*,"skipped":[0-9]*\)*' half.jsonl | sort -u
    for log in log half; do tail -n 1 $log.jsonl | sed 's/.*"loss":\([^,]*\),.*/\1/'; done | awk 'NR == 1 { f32 = $1 } NR == 2 { r = $1 / f32; print (r > 0.99 && r < 1.01 && r != 1 ? "within 1 % of f32" : r) }'
done
elegans train $say --model cfc:autoncp:16:4 --dtype f16 --epochs 3 --schedule constant --quiet --output half.safetensors --checkpoint half.checkpoint > /dev/null
elegans train $say --model cfc:autoncp:16:4 --dtype f16 --schedule constant --quiet --output half.safetensors --checkpoint half.checkpoint --resume > /dev/null
elegans train $say --model cfc:autoncp:16:4 --dtype f16 --schedule constant --quiet --output all.safetensors > /dev/null; cmp half.safetensors all.safetensors && echo same
elegans train $say --model cfc:autoncp:16:4 --dtype bf16 --schedule constant --quiet --output half.safetensors --checkpoint half.checkpoint --resume > /dev/null; echo "exit $?"
awk 'BEGIN { print "x,y"; for (i = 0; i < 300; i++) print i % 7 "," 1000 * (i % 7) }' > large.csv
elegans train --data large.csv --target y --standardise inputs --window 10 --epochs 2 --dtype f16 --quiet --output half.safetensors 2> /dev/null | grep -e '^  products' -e '^  loss scale'
awk 'BEGIN { print "x,y"; for (i = 0; i < 300; i++) print i % 7 "," 1e17 * (i % 7) }' > huge.csv
elegans train --data huge.csv --target y --standardise inputs --window 10 --epochs 2 --batch 2 --dtype f16 --quiet --output half.safetensors 2>&1 > /dev/null | sed 's/node [0-9]*/node N/; s/sample.*/.../'
echo "# numbers, ahead, one answer per window, less memory"
elegans train --data room.csv --inputs warm,light --target light --ahead 2 --last --window 8 --stride 4 --missing drop --epochs 2 --quiet --output n.safetensors --memory 4M --batch auto --optimizer adamw --weight-decay 0.01 --schedule exponential --average 0.9 2> /dev/null | figures
elegans predict n.safetensors --data room.csv | head -n 1; elegans predict n.safetensors --data room.csv | wc -l
sed 1,90d bare.csv > complete.csv; elegans run n.safetensors --input complete.csv --time 1 | awk -F, 'NR == 41 { print ($1 > -50 && $1 < 150 ? "in its units" : $1) }'
echo "# a preset sets batch, memory and the sizes of a CfC; what is said stays"
preset() { elegans train --data room.csv --target who --time when --window 20 --missing previous --epochs 1 --quiet --output preset.safetensors "$@" 2>&1 | sed -n -e '1p' -e 's/^  time .*, /  /p' -e 's/[0-9.]* GiB/N GiB/' -e '/ at most/p' | sed 's/  */ /g; s/ measured$//'; }
preset --preset M1
preset --preset "m1 ultra" --model cfc:8,dropout=0.3
preset --preset M1 --model cfc:8,backbone=4 --batch 4 --memory 3M
preset --preset M1 --model ltc:autoncp:16:2 --batch auto
preset --preset all
echo "# what is refused"
elegans train; echo "exit $?"
elegans train --data room.csv; echo "exit $?"
elegans train --data nothing.csv --target who; echo "exit $?"
elegans train --data room.csv --target nobody; echo "exit $?"
elegans train --data room.csv --target who --time when; echo "exit $?"
elegans train $say --missing guess; echo "exit $?"
elegans train $say --model ltc:autoncp:16:4; echo "exit $?"
elegans train $say --loss taxes; echo "exit $?"
elegans train $say --loss mse; echo "exit $?"
elegans train $say --batch none; echo "exit $?"
elegans train $say --memory 10K --quiet 2> said.txt; echo "exit $?"; sed "s/takes [0-9]* bytes/takes N bytes/" said.txt
elegans train $say --validation 0.99; echo "exit $?"
elegans train $say --resume --output e.safetensors; echo "exit $?"
elegans train $say --output no/such/folder/m.safetensors --quiet --every 1; echo "exit $?"
printf '{"epochs": "many"}' > bad.json; elegans train bad.json; echo "exit $?"
printf '{"epoch": 3}' > bad.json; elegans train bad.json; echo "exit $?"
printf '{"epochs": 3' > bad.json; elegans train bad.json; echo "exit $?"
sed 's/nobody/somebody/' other.csv > strange.csv; elegans eval room.safetensors --data strange.csv; echo "exit $?"
printf 'when,warm,light,who\n2024-01-01,1,2,ann\n2023-01-01,1,2,ann\n' > back.csv; elegans eval room.safetensors --data back.csv; echo "exit $?"
elegans eval cfc:4,in=2 --data room.csv; echo "exit $?"
elegans predict room.safetensors; echo "exit $?"
elegans predict room.safetensors --data bare.csv --json; echo "exit $?"
elegans train room.csv --target who; echo "exit $?"
elegans train nothing.json; echo "exit $?"
elegans train $say --window 64 --quiet --output e.safetensors 2>&1 > said.txt; echo "exit $?"; rm -f e.safetensors
elegans train $say --rate 0; echo "exit $?"
elegans train $say --momentum 1; echo "exit $?"
elegans train $say --clip nan; echo "exit $?"
elegans train $say --optimizer evolution; echo "exit $?"
elegans train $say --dtype f8; echo "exit $?"
elegans train $say --whole; echo "exit $?"
elegans train $say --spans warm; echo "exit $?"
elegans train $say --validation none --split time; echo "exit $?"
elegans train --data room.csv --inputs warm --target light --missing zero --loss binary --validation none --quiet --output e.safetensors 2>&1 > said.txt; echo "exit $?"
elegans eval n.safetensors --data room.csv --target light,warm; echo "exit $?"
echo "# what cannot be written is known before the training"
mkdir folder
elegans train $say --output folder; echo "exit $?"
elegans train $say --output e.safetensors --curve folder; echo "exit $?"
elegans train $say --output e.safetensors --log no/such/log; echo "exit $?"
elegans train $say --output ./room.csv; echo "exit $?"
elegans train $say --output e.safetensors --checkpoint e.safetensors; echo "exit $?"
elegans predict room.safetensors --data bare.csv --output bare.csv; echo "exit $?"
elegans predict room.safetensors --data bare.csv --output folder; echo "exit $?"
ls folder; wc -l < bare.csv; ls e.* 2> /dev/null
echo "# a pipe stays a pipe, a link a link"
mkfifo pipe; cat pipe > through.csv & elegans predict room.safetensors --data bare.csv --output pipe > /dev/null; wait; test -p pipe && cmp through.csv said.csv && echo same
ln -s behind.csv link.csv; echo > behind.csv; elegans predict room.safetensors --data bare.csv --output link.csv > /dev/null; test -L link.csv && cmp behind.csv said.csv && echo same
echo "# labels: commas, quotes, other letters; files that have only some of them; a model that goes on"
awk 'BEGIN { print "x,what"; for (i = 0; i < 200; i++) print i % 3 ",\"" (i % 3 == 0 ? "été, chaud" : i % 3 == 1 ? "\"\"so\"\"" : "z") "\"" }' > words.csv
(head -n 1 words.csv; grep z words.csv) > z.csv
elegans train --data words.csv --target what --validation z.csv --test z.csv --epochs 3 --window 10 --batch 2 --rate 0.05 --quiet --output words.safetensors 2> /dev/null | figures
elegans predict words.safetensors --data words.csv | cut -d. -f1 | sed -n '1,3p'
elegans train --model words.safetensors --data z.csv --epochs 1 --rate 0.0001 --validation none --quiet --output more.safetensors 2> /dev/null | figures
elegans show more.safetensors | grep labels
sed 's/chaud/et chaud, comme on aime/' words.csv > long.csv; elegans train --data long.csv --target what --validation long.csv --epochs 1 --window 10 --quiet --output long.safetensors 2> /dev/null | grep -A 1 chaud | sed 's/precision .*/.../'
awk 'BEGIN { print "x,what"; for (i = 0; i < 200; i++) print i % 40 ",label_" i % 40 }' > many.csv
elegans train --data many.csv --target what --validation none --epochs 1 --window 10 --quiet --output many.safetensors > /dev/null 2>&1; elegans show many.safetensors | sed -n '/^  labels/,/\.\.\.$/p'
printf 'x,what\n1,no such\n' > unknown.csv; elegans train --model words.safetensors --data unknown.csv; echo "exit $?"
echo "# --test and eval say the same of the same file"
figure() { awk '$1 == "rmse" || $1 == "mae" { print $1, $2 }'; }
elegans train --data room.csv --inputs warm --target light --missing previous --epochs 2 --validation none --test other.csv --quiet --output t.safetensors 2> /dev/null | figure > a.txt
elegans eval t.safetensors --data other.csv | figure > b.txt; wc -l < a.txt; cmp a.txt b.txt && echo same
echo "# a limit on the size of files is told as a full disk is, and leaves nothing behind"
(export GCOV_PREFIX="$PWD/counts"; ulimit -f 8; elegans train $say --model cfc:64 --epochs 1 --quiet --output limited.safetensors 2>&1 > /dev/null; echo "exit $?") | grep -v '^libgcov'; ls -A | grep -e '^\.elegans-' -e '^limited'
echo "# a checkpoint of something else"
elegans train room.json --data other.csv --validation 0.2 --rate 0.02 --model cfc:autoncp:16:4 --output d.safetensors --resume > /dev/null; echo "exit $?"
cp room.safetensors e.checkpoint; elegans train $say --resume --quiet --output e.safetensors > /dev/null; echo "exit $?"
echo "# a drawing that the demo cannot write is told once"
mkdir -p demo/wiring.svg; elegans demo -o demo --steps 1 2>&1 > /dev/null; echo "exit $?"
