#!/bin/sh
# Walker2d, as in the paper on closed-form continuous-time networks: three seeds of a configuration, chosen on the
# validation set, each tested once.
#
#   examples/walker2d/run.sh WALKER2D_F32.NPZ [cfc|mixed [FOLDER [more options of elegans train]]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
data=$1 name=${2:-cfc} to=${3:-$build/walker2d}
[ $# -lt 3 ] && shift $# || shift 3
[ -f "$data" ] || {
    echo "walker2d: there is no file '$data'" >&2
    exit 1
}
mkdir -p "$to"
[ -f "$to/test.npz" ] || "$build/examples/walker2d/split" "$data" "$to"
for seed in 0 1 2; do
    model=$to/$name-$seed.safetensors
    "$build/elegans" train "$here/$name.json" --data "$to/training.npz" --validation "$to/validation.npz" --seed $seed \
        --output "$model" --log "$to/$name-$seed.jsonl" --curve "$to/$name-$seed.svg" "$@"
    "$build/elegans" eval "$model" --data "$to/test.npz" --stride 16 --json > "$to/$name-$seed.json"
    echo "$name, seed $seed, test mse: $(sed -n 's/.*"mse": \([0-9.e-]*\).*/\1/p' "$to/$name-$seed.json")"
done
cat "$to/$name"-[012].json | sed -n 's/.*"mse": \([0-9.e-]*\).*/\1/p' | awk '{ n++; s += $1; q += $1 * $1 }
    END { m = s / n; printf "mean %.4f, deviation %.4f over %d seeds\n", m, sqrt(q / n - m * m), n }'
