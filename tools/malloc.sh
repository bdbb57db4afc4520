#!/bin/sh
# Fails requests for memory of every command in turn: sh tools/malloc.sh ELEGANS FOLDER [FILTER]. FULL=1 fails every one,
# otherwise a sample that is always the same. JOBS (2) commands are looked at together. Not among them: bench and demo, which
# take too long to be run a hundred times; what they do, train, profile and export do as well.
set -eu
elegans=$1 folder=$2 filter=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
outside=$source/tests/outside
fixtures=$source/tests/fixtures
if [ "${FULL:-}" ]; then sample=0; else sample=${SAMPLE:-60}; fi
rm -rf "$folder" && mkdir -p "$folder/in" && cd "$folder"
cc="${CC:-gcc} -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror"
$cc -shared -fPIC "$outside/fail_malloc.c" -o fail_malloc.so
$cc "$outside/every_malloc.c" -o every_malloc
shim=$PWD/fail_malloc.so
unset ELEGANS_DATA
export XDG_CACHE_HOME=$PWD/in/cache XDG_DATA_HOME=$PWD/in/data NO_COLOR=1 LC_ALL=C

# ---- what the commands read: small models, tables, texts
cp "$fixtures/transformers/llama.gguf" "$fixtures/transformers/bert.gguf" "$fixtures/tokenizers/llama.json" in
cp "$fixtures/models/051_cfc_autoncp28_default_ts_b5s7.safetensors" in/ncps.safetensors
head -c 200 "$fixtures/transformers/stories.txt" > in/text
awk 'BEGIN { print "when,warm,light,who"; for (i = 0; i < 120; i++) { s = int(i / 20) % 2;
    printf "%d,%.3f,%.2f,%s\n", 2 * i + i % 3, 20 + 2 * s + (i * 31 % 17) / 40, 5 + 90 * s + i * 13 % 7, s ? "ann" : "nobody" } }' > in/room.csv
cut -d, -f1-3 in/room.csv > in/bare.csv
awk 'BEGIN { print "t,a,b,c"; for (i = 0; i < 20; i++) print i * 0.5 "," i % 3 "," i % 5 "," i % 7 }' > in/drive.csv
awk 'NR > 1 { print $2, $3, $4 }' FS=, in/drive.csv > in/stream
train="--data in/room.csv --target who --time when --window 10 --epochs 2 --batch 4 --model cfc:autoncp:8:2 --threads 2"
"$elegans" convert cfc:autoncp:12:2,in=3,seed=1 -o in/policy.safetensors > /dev/null
"$elegans" train $train --quiet --output in/room.safetensors > /dev/null 2>&1
"$elegans" train $train --quiet --output in/half.safetensors --checkpoint in/half.checkpoint > /dev/null 2>&1
"$elegans" quantize in/policy.safetensors --to int8 -o in/small.safetensors > /dev/null
"$elegans" graph --example cfc --json in/graph.json > /dev/null
"$elegans" wiring autoncp:12:3,in=4 --json in/wiring.json > /dev/null
"$elegans" profile cfc:3,in=2 --runs 5 --output in/run.json > /dev/null
"$elegans" baseline save first cfc:3,in=2 --runs 5 --history in/history.db > /dev/null

# ---- the commands: NAME MARKS FILE ARGUMENTS, with OUT for the folder of the row (every_malloc.c says what MARKS are)
cat > rows <<'ROWS'
convert        -  m.safetensors  convert cfc:autoncp:12:2,in=3,seed=1 -o OUT/m.safetensors
convert_ncps   -  m.safetensors  convert in/ncps.safetensors -o OUT/m.safetensors
convert_gguf   -  m.safetensors  convert in/llama.gguf -o OUT/m.safetensors
quantize       t  m.safetensors  quantize in/policy.safetensors --to int8 -o OUT/m.safetensors --data in/drive.csv --time t --json
graph          -  g.json         graph in/graph.json --json OUT/g.json
graph_steps    -  -              graph --example gru --gradient --steps
show           -  -              show in/room.safetensors --json
show_llama     -  -              show in/llama.gguf --json
wiring         -  w.json         wiring in/wiring.json --json OUT/w.json
wiring_svg     -  w.svg          wiring autoncp:12:3,in=4 --stats --svg OUT/w.svg
report         -  r.html         report in/run.json -o OUT/r.html
report_md      -  r.md           report in/run.json --markdown -o OUT/r.md
report_json    -  r.json         report in/run.json --json -o OUT/r.json
report_diff    -  d.html         report in/run.json in/run.json -o OUT/d.html
report_diff_md -  d.md           report in/run.json in/run.json -o OUT/d.md
predict        t  p.csv          predict in/room.safetensors --data in/bare.csv --output OUT/p.csv
run            t  y.csv          run in/policy.safetensors --input in/drive.csv --time t --output OUT/y.csv
run_npy        t  y.npy          run in/small.safetensors --input in/drive.csv --time t --output OUT/y.npy
run_stream     -  s.npy          run in/policy.safetensors --stream --save-state OUT/s.npy
export         -  model.c        export in/policy.safetensors -o OUT --name model --json
train          t  m.safetensors  train TRAIN --json --quiet --output OUT/m.safetensors --log OUT/log --curve OUT/curve.svg --checkpoint OUT/c.checkpoint
eval           t  -              eval in/room.safetensors --data in/room.csv --json
info           t  -              info --json
profile        u  -              profile cfc:3,in=2 --runs 3 --json
profile_file   uU run.json       profile cfc:3,in=2 --runs 3 --json --output OUT/run.json
baseline       ud history.db     baseline save second cfc:3,in=2 --runs 3 --history OUT/history.db
history        -  -              history --history in/history.db --json
history_text   -  -              history cfc:3,in=2 --history in/history.db
diagnose       u  -              diagnose --json
entropy        -  e.json         entropy in/text --patches --json -o OUT/e.json
tokenize       -  -              tokenize in/llama.json worm --json
generate       -  -              generate in/llama.gguf -p the -n 4 --seed 1
embed          -  -              embed in/bert.gguf worm --json
perplexity     t  -              perplexity in/llama.gguf in/text --context 32 --json
compare        u  -              baseline compare first --history in/history.db --rounds 2 --runs 3 --effect 1e9 --json
help           -  -              help train
version        -  -              version
completions    -  -              completions bash
ROWS
mkdir -p jobs
while read -r name marks file arguments; do
    case "$name" in *"$filter"*) ;; *) continue ;; esac
    mkdir -p "of/$name/out"
    [ "$name" != baseline ] || cp in/history.db "of/$name/old"
    printf '%s\n' "$arguments" | sed "s#OUT#of/$name/out#g; s#TRAIN#$train#" > "of/$name/arguments"
    printf '%s\n' "$name $marks $file"
done < rows > jobs/all
cat > one.sh <<ONE
./every_malloc "$shim" of/\$1/out $sample \$1 \$2 \$3 "$elegans" \$(cat of/\$1/arguments) < in/stream
ONE
xargs -P "${JOBS:-2}" -n 3 sh one.sh < jobs/all
echo "no command loses or invents anything when a request for memory fails"
