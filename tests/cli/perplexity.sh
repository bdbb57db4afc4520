# of random models: about as many as there are tokens; speeds are not compared, nor last digits
models=$fixtures/transformers
tidy() { sed -E '/speed/d; s/([0-9]+\.[0-9])[0-9]*( \+-)[^m]*m/\1\2 SOME  m/; s/([0-9]\.[0-9][0-9])[0-9]* per/\1 per/g'; }
cp $models/llama.gguf $models/llama_q8_0.gguf $models/bert.gguf .
head -c 600 $models/stories.txt > text
elegans perplexity llama:1:64,context=128 text --isa ref | tidy
elegans perplexity llama.gguf text --isa ref | tidy
elegans perplexity llama_q8_0.gguf - --context 32 --isa ref < text | tidy
elegans perplexity $models/gpt2 text --tokenizer $models/gpt2.gguf --isa ref | tail -n 3 | tidy
printf 'ab\377\376cd' | elegans perplexity llama:1:64 - --isa ref | tidy
elegans perplexity llama.gguf text --context 16 --json --isa ref | grep -E '"(model|text|tokens|predicted|piece)"'
elegans perplexity llama.gguf text --json --isa ref | grep -E '"(unit|provenance|source)"'
echo "# refused"
elegans perplexity; echo "exit $?"
elegans perplexity llama.gguf; echo "exit $?"
elegans perplexity llama.gguf nothing; echo "exit $?"
elegans perplexity nothing.gguf text; echo "exit $?"
elegans perplexity bert.gguf text; echo "exit $?"
elegans perplexity llama.gguf text --context 65; echo "exit $?"
elegans perplexity llama.gguf text --context 2; echo "exit $?"
printf '' | elegans perplexity llama:1:64 -; echo "exit $?"
printf 'ab' | elegans perplexity llama:1:64 -; echo "exit $?"
elegans perplexity llama:1:64,vocab=300 text; echo "exit $?"
