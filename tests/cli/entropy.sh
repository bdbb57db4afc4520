printf 'aaaaaaaabbbbbbbbabcdefgh' > bytes
elegans entropy bytes
elegans entropy bytes --window 8 --json
elegans entropy bytes --window 3 --patches --minimum 2 --maximum 6
elegans entropy - --window 1 --patches < bytes
elegans entropy bytes --patches --size 5 | grep each
cat bytes | elegans entropy - --window 8 --patches --target 3 --json
cat bytes | elegans entropy /dev/stdin --window 8 --patches --target 3 --json
elegans entropy bytes --patches --fixed --json -o fixed.json; grep -o '"patches.*' fixed.json
elegans entropy bytes --patches --size 5 --json --output fixed.json; grep -o '"sizes.*' fixed.json
: > empty
elegans entropy empty --patches
elegans entropy empty --json --patches
elegans entropy empty --svg empty.svg; tail -n 1 empty.svg
elegans entropy bytes --window 1000000000 | head -n 2
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "%d %s\n", i, i % 100 ? "neuron" : "************************************************" }' > text
elegans entropy text --patches --svg text.svg
grep -c '<polyline' text.svg; grep -c '<polygon' text.svg; grep -c 'class="threshold"' text.svg; tail -n 1 text.svg
elegans entropy bytes --window 8 --patches --svg bytes.svg > bytes.txt; grep -c '<rect' bytes.svg; grep -c '<polygon' bytes.svg
elegans entropy text --json -o text.json; elegans entropy - --json < text > piped.json; cmp text.json piped.json && tr ',' '\n' < text.json | grep -c '0\.[0-9]'; wc -c < text | tr -d ' '
elegans entropy; echo "exit $?"
elegans entropy a b; echo "exit $?"
elegans entropy nothing; echo "exit $?"
elegans entropy . --json; echo "exit $?"
elegans entropy bytes --window 0; echo "exit $?"
elegans entropy bytes --window 1073741825; echo "exit $?"
elegans entropy bytes --json --window 1073741825; echo "exit $?"
elegans entropy bytes --target 3; echo "exit $?"
elegans entropy bytes --minimum 3; echo "exit $?"
elegans entropy bytes --patches --target 3 --fixed; echo "exit $?"
elegans entropy bytes --patches --target 7; echo "exit $?"
elegans entropy bytes --patches --minimum 9 --maximum 8; echo "exit $?"
elegans entropy bytes --patches --maximum 99999999; echo "exit $?"
elegans entropy bytes --patches --low 0.8; echo "exit $?"
elegans entropy bytes -o x.json; echo "exit $?"
elegans entropy bytes --json -o /nowhere/x.json; echo "exit $?"
elegans entropy bytes --svg /nowhere/x.svg; echo "exit $?"
elegans help entropy
