cp "$fixtures"/run/* .
elegans show cfc:autoncp:64:16,in=16,seed=1
elegans show ltc:autoncp:12:3,in=3 --tensors
elegans show cfc:8,in=2,backbone=16x2,activation=relu,mode=no_gate,mixed=1,proj=3,bidirectional=sum
elegans show cfc:autoncp:12:3,in=2,backbone=16+8,activation=silu --tensors | sed '/layer_[01]/d'
elegans show cfc:autoncp:12:3,in=2,activation=silu; echo "exit $?"
elegans show cfc:8,in=2 --json | sed -n '/layers/,$p'
elegans show cfc:2,in=1,backbone=0 --json --tensors | tail -n 12
echo "# bytes of a name that are not UTF-8 are shown in JSON, the others are kept"
name=$(printf 'caf\351 \300\257 \303\251 \342\202.safetensors'); elegans convert cfc:3,in=2 -o "$name" > /dev/null
elegans show "$name" --json | grep '"model"'
elegans show; echo "exit $?"
elegans show worm:8,in=2; echo "exit $?"
elegans show nothing.safetensors; echo "exit $?"
echo "# convert"
elegans convert policy.npz --config policy.json -o a.safetensors
elegans convert a.safetensors --output b.safetensors > /dev/null; cmp a.safetensors b.safetensors && echo same
elegans show b.safetensors
elegans convert policy.npz -o c.safetensors; echo "exit $?"
echo '{"model": "CfC", "input_size": 2, "units": 8}' > other.json
elegans convert policy.npz --config other.json -o c.safetensors; echo "exit $?"
elegans convert a.safetensors --config nothing.json -o c.safetensors; echo "exit $?"
sed 's/28/27/' policy.json > smaller.json; elegans convert a.safetensors --config smaller.json -o c.safetensors; echo "exit $?"
sed 's/"seed": 3/"seed": 4/' policy.json > seeded.json
elegans convert a.safetensors --config seeded.json -o c.safetensors; echo "exit $?"
sed 's/"model"/"ode_unfolds": 6, "model"/' policy.json > unfolded.json
elegans convert a.safetensors --config unfolded.json -o c.safetensors; echo "exit $?"
elegans convert a.safetensors; echo "exit $?"
elegans convert -o c.safetensors; echo "exit $?"
elegans convert a.safetensors -o c.onnx; echo "exit $?"
elegans convert cfc:3,in=1 -o /nowhere/c.safetensors; echo "exit $?"
test -e c.safetensors || echo "nothing was written"
echo "# a file of something else is named once"
cp "$fixtures/tokenizers/pieces.gguf" .; elegans show pieces.gguf; echo "exit $?"
