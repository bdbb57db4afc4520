elegans graph --example mlp
elegans graph --example mlp --json mlp.json; elegans graph mlp.json | tail -n 3
elegans graph --example cfc --gradient | tail -n 1
elegans graph --example gru --dot | grep -c ' -> '
elegans graph; echo "exit $?"
elegans graph --example worm; echo "exit $?"
elegans graph nothing.json; echo "exit $?"
elegans graph mlp.json --gradient; echo "exit $?"
echo '{"elegans_graph": 1, "nodes": [{"op": "fly"}]}' > bad.json
elegans graph bad.json; echo "exit $?"
elegans graph mlp.json --json /dev/null/x 2>&1 | sed 's/: .*//'
elegans graph --passes list
elegans graph --example gru --passes all | grep -c '|'
elegans graph --example gru --steps
elegans graph mlp.json --steps --passes none | grep -c fused
elegans graph --example mlp --passes fuze; echo "exit $?"
echo "# names in Graphviz: a quote or a backslash stays inside of its string"
elegans graph --example mlp --json named.json > /dev/null; sed 's/"name": "x"/"name": "x\\"];\\\\ y"/; s/"name":"x"/"name":"x\\"];\\\\ y"/' named.json > evil.json; cmp -s named.json evil.json && echo "no name changed"
elegans graph evil.json --dot | grep 'y\\n'
