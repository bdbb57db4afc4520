# times differ from run to run, and last digits between C libraries
tidy() { sed -E 's/^(  a run +)[^,]*, was [^ ]+ [a-z]+ +/\1TIME /; s/(outputs off by ).* dB +/\1LITTLE /'; }
elegans convert cfc:autoncp:12:2,in=3,seed=1 -o policy.safetensors > /dev/null
elegans quantize policy.safetensors --to int8 -o a.safetensors --isa ref | tidy
elegans quantize policy.safetensors --to int4 --block 8 --symmetric --keep time_a,layer_2 -o b.safetensors --isa ref | tidy
elegans show b.safetensors --tensors | sed -n '/tensors/,$p'
awk 'BEGIN { print "t,a,b,c"; for (i = 0; i < 20; i++) print i * 0.5 "," i % 3 "," i % 5 "," i % 7 }' > drive.csv
elegans run policy.safetensors --input drive.csv --time t --output y.csv > /dev/null
elegans quantize policy.safetensors --to f16 -o c.safetensors --data drive.csv --time t --isa ref | tidy | head -n 5
elegans run c.safetensors --input drive.csv --time t --isa ref --digits 2 | tail -n 2
elegans run policy.safetensors --input drive.csv --time t --isa ref --digits 2 | tail -n 2
elegans quantize a.safetensors --to bf16 -o d.safetensors --json --isa ref | grep -E '"(type|bytes_before|bytes_after|data|samples)"' | head -n 6
elegans train --data drive.csv --target c --window 64 --model a.safetensors; echo "exit $?"
echo "# no line is wider than 80 columns"
elegans quantize llama:2:64,vocab=256 --to int4 -o wide.safetensors | awk 'length($0) > 80'
elegans quantize llama:2:64,vocab=256 --to int8 --per block --block 32 -o wide.safetensors | awk 'length($0) > 80'
echo "# refused"
elegans quantize policy.safetensors --to int3 -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to f16 --block 8 -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8 --per row -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8 --per tensor --block 4 -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8 --keep nothing -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8; echo "exit $?"
elegans quantize policy.safetensors -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8 -o e.onnx; echo "exit $?"
elegans quantize nothing.safetensors --to int8 -o e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8 -o /nowhere/e.safetensors; echo "exit $?"
elegans quantize policy.safetensors --to int8 --data nothing.csv -o e.safetensors; echo "exit $?"
test -e e.safetensors || echo "nothing was written"
