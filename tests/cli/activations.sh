# products of halves: what they change is measured, and small
small() { sed -n 's/^activations in \([a-z0-9]*\): rms \([^ ]*\) of .*, at most \([^ ]*\) (measured)$/\1 \2 \3/p' | awk '{ print $1, ($2 > 0 && $2 < 0.02 ? "near" : "far " $2), ($3 > 0 && $3 < 0.1 ? "near" : "far " $3) }'; }
printf 'a,b\n1,-1\n0.3,0.7\n-0.2,1.4\n' > x.csv
for t in bf16 f16; do elegans run cfc:32,in=2,seed=1 --input x.csv --activations $t 2>&1 >/dev/null | small; done
elegans run cfc:32,in=2,seed=1 --input x.csv > a.csv; elegans run cfc:32,in=2,seed=1 --input x.csv --activations f32 | cmp - a.csv && echo same
elegans embed bert:2:64,seed=1 'a cat' 'a kitten' --activations bf16 2>&1 >/dev/null | small
for t in bf16 f16; do elegans profile bert:2:64,seed=1 --seq 16 --runs 3 --activations $t --json --no-try | sed -n 's/^  "activations": \(.*\),/\1/p'; done
elegans profile bert:2:64,seed=1 --seq 16 --runs 3 --activations bf16 --no-try | sed -n 's/^.*\(activations bf16\)$/\1/p; s/^  \(rms error\|largest error\) .* x rms  *measured$/\1/p'
echo "# usage"
elegans run cfc:32,in=2 --input x.csv --activations i8; echo "exit $?"
elegans run cfc:32,in=2 --stream --activations bf16 < /dev/null; echo "exit $?"
elegans run cfc:32,in=2 --input x.csv --batch 2 --activations bf16; echo "exit $?"
elegans profile cfc:32,in=2 --activations half; echo "exit $?"
