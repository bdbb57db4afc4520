cp $fixtures/tokenizers/*.json .
model=llama.json
elegans tokenize $model
elegans tokenize $model 'The worm: café 🐛'
elegans tokenize $model 'The worm' --ids
elegans tokenize $model '<s>The worm</s>' --ids --ends
elegans tokenize $model '<s>The worm</s>' --ids --ends --special
elegans tokenize $model '<s>The worm</s>' --special
printf 'two\nlines\377\000' | elegans tokenize $model -
printf 'The worm: café 🐛' | elegans tokenize $model - --ids --ends | elegans tokenize $model - --decode
elegans tokenize $model '[1, 295, 2]' --decode --special
elegans tokenize $model 'worm é' --json
elegans tokenize $model '228 243' --decode --json
elegans tokenize uncased.json 'The WÖRM.' --ends
elegans tokenize gpt2.json 'the worm' --json | grep -A1 pieces
elegans tokenize gpt2.json --json
elegans tokenize $fixtures/tokenizers/pieces.gguf 'The worm' --ids --ends
elegans tokenize $fixtures/tokenizers/pieces.bin 'The worm' --ids --ends
echo "# refused"
elegans tokenize; echo "exit $?"
elegans tokenize $model a b; echo "exit $?"
elegans tokenize $model --decode; echo "exit $?"
elegans tokenize $model a --ids --json; echo "exit $?"
elegans tokenize $model '1 x' --decode; echo "exit $?"
elegans tokenize $model '330' --decode; echo "exit $?"
elegans tokenize nothing.json a; echo "exit $?"
echo '{}' > empty.json
elegans tokenize empty.json a; echo "exit $?"
