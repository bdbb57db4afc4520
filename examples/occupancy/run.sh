#!/bin/sh
# Occupancy of a room (UCI), as in the paper on liquid time-constant networks: three seeds of a configuration, each
# tested once on both test files together.
#
#   examples/occupancy/run.sh FOLDER [ltc|cfc [FOLDER [more options of elegans train]]]
# The first folder has datatraining.txt, datatest.txt and datatest2.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
data=$1 name=${2:-ltc} to=${3:-$build/occupancy}
[ $# -lt 3 ] && shift $# || shift 3
[ -f "$data/datatraining.txt" ] || {
    echo "occupancy: there is no file '$data/datatraining.txt'" >&2
    exit 1
}
mkdir -p "$to"
for seed in 0 1 2; do
    model=$to/$name-$seed.safetensors
    "$build/elegans" train "$here/$name.json" --data "$data/datatraining.txt" --seed $seed --output "$model" \
        --log "$to/$name-$seed.jsonl" "$@"
    # the header of the second file lacks the name of its first column
    "$build/elegans" eval "$model" --data "$data/datatest.txt,$data/datatest2.txt" --stride 8 --short-header --json \
        > "$to/$name-$seed.json"
    echo "$name, seed $seed, test accuracy: $(sed -n 's/.*"accuracy": \([0-9.e-]*\).*/\1/p' "$to/$name-$seed.json")"
done
cat "$to/$name"-[012].json | sed -n 's/.*"accuracy": \([0-9.e-]*\).*/\1/p' | awk '{ n++; s += $1; q += $1 * $1 }
    END { m = s / n; printf "mean %.2f %%, deviation %.2f over %d seeds\n", 100 * m, 100 * sqrt(q / n - m * m), n }'
