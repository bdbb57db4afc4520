# recorded machines: the same wherever the tests run, but for the libraries' versions
recorded() {
    elegans info --root "$fixtures/chip/$1" --threads 1 |
        sed 's/elegans [0-9.]*$/elegans X/; s/ *counted, hwloc [0-9.]*$/ counted, hwloc/'
}
recorded m1-asahi
recorded m2-max-macos
recorded server-2s
elegans info --root "$fixtures/chip/m2-max-macos" --json | grep '"apple_amx": \|"amx_generation"\|"kernels"\|"isa"' -A4 | grep -v '"value"\|"unit"\|}'
# presets: by value, and by rule
elegans info --preset all
elegans info --preset "Apple M1" | sed '/^Kernels/,$d'
elegans info --preset M3 --json | sed '/"kernels"/,$d'
elegans info --preset M99; echo "exit $?"
elegans info --root "$fixtures/chip/pi5" --threads 1 --json | sed -n '/"kinds"/,/\]/p' | grep -v '"source"'
elegans info --root "$fixtures/chip/broken-empty" 2>&1 | sed "s#$fixtures#FIXTURES#"
elegans info --root "$fixtures/chip/broken-empty" >/dev/null 2>&1; echo "exit $?"
echo "# a chip has the same power, from the same source, alone and among all"
for chip in M1 "M2 Max" "M4 Pro"; do
    alone=$(elegans info --preset "$chip" | sed -n 's/^  power budget *\([0-9]*\)[.0]* W */\1 W /p')
    elegans info --preset all | grep -q "^  $chip  *[a-z]* .* $alone\$" || echo "$chip: $alone alone"
done
