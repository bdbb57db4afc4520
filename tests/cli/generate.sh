# texts of random models: always the same; times are not
models=$fixtures/transformers
figures() { grep -E '"(model|prompt_text|text|stopped|tokens|weight_bytes|cache_bytes|context)"|^    [0-9]'; }
cp $models/llama.gguf $models/llama_q4_0.gguf $models/gpt2.gguf $models/llama.bin $models/bert.gguf .
elegans generate llama.gguf -p 'The worm' -n 12 --temp 0 --isa ref
elegans generate llama.gguf -p 'The worm' -n 12 --temp 0 --isa ref --chunk 3 --cache f16
elegans generate llama_q4_0.gguf -p 'The worm' -n 12 --temp 0 --isa ref
elegans generate llama_q4_0.gguf -p 'The worm' -n 12 --temp 0 --isa ref --no-map
elegans generate $models/llama --tokenizer llama.gguf -p 'The worm' -n 12 --temp 0 --isa ref --no-map
elegans generate llama.bin --tokenizer llama.gguf -p 'The worm' -n 12 --temp 0 --isa ref
printf 'The worm' | elegans generate gpt2.gguf -p - -n 12 --temp 0 --isa ref
elegans generate gpt2.gguf -n 12 --temp 0 --isa ref
elegans generate $models/llama --tokenizer llama.gguf -p 'The worm' -n 0
${ELEGANS%elegans}examples/generate llama.gguf 'The worm' 12
elegans generate llama.gguf -p 'The worm' -n 4 --temp 0 --isa ref --json | figures
echo "# seeds"
elegans generate llama.gguf -p 'The worm' -n 24 --seed 1 --isa ref > one
elegans generate llama.gguf -p 'The worm' -n 24 --seed 1 --isa ref | cmp - one && echo same
elegans generate llama.gguf -p 'The worm' -n 24 --seed 2 --isa ref | cmp -s - one || echo another
elegans generate llama.gguf -p 'The worm' -n 12 --top-k 1 --isa ref
echo "# bytes"
printf 'ab\377\376' | elegans generate llama:1:64,vocab=256 -p - -n 3 --temp 0 --isa ref --json | figures
printf '\377\376' | elegans generate llama.gguf -p - -n 3 --temp 0 --isa ref --json | figures
elegans generate llama:1:64 -n 300 --temp 0 --isa ref | wc -c | tr -d ' '
echo "# the context is full"
elegans generate llama:1:64 -p abc -n 20 --context 8 --temp 0 --json --isa ref | figures
elegans generate llama:1:64 -p abc -n 20 --context 8 --stats --isa ref 2>&1 > /dev/null | sed -n 's/  *counted$//; /context/p'
elegans generate llama:1:64 -p abc -n 20 --context 64 --stats 2>&1 > /dev/null | grep -o 'GB/s, .*caches'
elegans generate llama:1:64 -p abc -n 20 --context 64 --stats 2>&1 > /dev/null | awk 'length($0) > 80'
elegans generate llama:1:64 -p abcdefghi --context 8; echo "exit $?"
elegans generate gpt2.gguf -p a --context 65; echo "exit $?"
echo "# a reader that has enough"
(elegans generate llama:1:64 -p enough -n 900; echo "exit $?" > code) | head -c 6; echo; cat code
echo "# Ctrl-C"
$ELEGANS generate llama:1:64,context=100000 -p abc -n 99000 --cache int8 --isa ref > text 2> /dev/null &
tries=0; while [ ! -s text ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -INT $!; wait $!; echo "exit $?"
head -c 3 text; echo
echo "# refused"
elegans generate; echo "exit $?"
elegans generate llama.gguf more; echo "exit $?"
elegans generate llama.gguf -n many; echo "exit $?"
elegans generate llama.gguf --temp warm; echo "exit $?"
elegans generate llama.gguf --temp -1; echo "exit $?"
elegans generate llama.gguf --top-p 2; echo "exit $?"
elegans generate llama.gguf --cache f64; echo "exit $?"
elegans generate llama.gguf --context 0; echo "exit $?"
elegans generate llama.gguf --wings; echo "exit $?"
elegans generate nothing.gguf; echo "exit $?"
elegans generate bert.gguf -p a; echo "exit $?"
elegans generate cfc:8,in=2; echo "exit $?"
elegans generate llama.bin; echo "exit $?"
elegans generate llama.gguf --tokenizer nothing.json; echo "exit $?"
elegans generate llama:1:64,vocab=50 --tokenizer llama.gguf; echo "exit $?"
elegans generate $models/llama3 2>&1 | sed "s|$models/||"
head -c 5000 llama.gguf > cut.gguf; elegans generate cut.gguf; echo "exit $?"
for spec in llama:1 llama:0:64 llama:1:64,vocab llama:1:64,heads=3 llama:1:64,worms=2 llama:1:64,dropout=1; do
    elegans generate $spec; echo "exit $?"
done
echo "# shown"
elegans show llama.gguf --isa ref
elegans show bert.gguf --isa ref
elegans show gpt2.gguf --tensors --isa ref | sed -n '/tensors/,/attn_qkv/p'
echo "# written"
elegans convert llama_q4_0.gguf -o wide.safetensors
elegans generate wide.safetensors --tokenizer llama.gguf -p 'The worm' -n 12 --temp 0 --isa ref
elegans quantize llama.gguf --to int8 -o small.safetensors --isa ref | grep -e '^small' -e '^  tensors'
elegans generate small.safetensors --tokenizer llama.gguf -p 'The worm' -n 12 --temp 0 --isa ref
