# rows of random models: three digits of three numbers
models=$fixtures/transformers
few() { awk '{ printf "%d numbers: %.3f %.3f %.3f\n", NF, $1, $2, $3 }'; }
cp $models/bert.gguf $models/llama.gguf .
elegans embed bert.gguf 'the worm' 'a worm' --isa ref | few
printf 'the worm\n\na worm\n' | elegans embed bert.gguf - --isa ref | few
elegans embed $models/bert --tokenizer bert.gguf 'the worm' --isa ref | few
elegans embed bert.gguf 'the worm' --pooling first --isa ref | few
elegans embed bert.gguf 'the worm' --pooling last --unscaled --isa ref | few
elegans embed llama.gguf 'the worm' --pooling last --isa ref | few
elegans embed bert:1:64 abc --isa ref | few
elegans embed bert.gguf 'the worm' 'the worm' 'no 12' --compare --isa ref
elegans embed bert.gguf 'ein längerer Käfer über ein Öhr' 'kürzer' --compare --isa ref
elegans embed bert.gguf 'the worm' --json --isa ref | grep -E '"(model|width|text)"'
elegans embed bert.gguf 'the worm' 'a worm' --compare --json --isa ref | grep -c cosine
elegans embed bert.gguf 'the worm' 'a worm' --output rows.npy --isa ref && head -c 100 rows.npy | tr -cd '(),0-9 \n' | grep -o '(.*)'
printf 'worm \377\376' | elegans embed bert.gguf - --json --isa ref | grep '"text"'
echo "# refused"
elegans embed; echo "exit $?"
elegans embed bert.gguf; echo "exit $?"
printf '\n\n' | elegans embed bert.gguf -; echo "exit $?"
elegans embed bert.gguf a --pooling most; echo "exit $?"
elegans embed bert.gguf a --scaled --unscaled; echo "exit $?"
elegans embed bert.gguf "$(printf 'a %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65)"; echo "exit $?"
elegans embed llama:1:64 ''; echo "exit $?"
elegans embed cfc:8,in=2 a; echo "exit $?"
elegans embed nothing.gguf a; echo "exit $?"
elegans embed $models/bert a 2>&1 | sed "s|$models/||"
elegans embed bert.gguf a --output /nowhere/rows.npy; echo "exit $?"
