elegans; echo "exit $?"
elegans help nothing; echo "exit $?"; elegans help trian
elegans fly; echo "exit $?"
elegans version | sed 's/[0-9]*\.[0-9]*\.[0-9]*/X/g'
elegans version extra; echo "exit $?"
elegans help info; echo "exit $?"
elegans info --wings; echo "exit $?"
elegans info --json=yes; echo "exit $?"
elegans info --threads 0; echo "exit $?"
elegans info --threads; echo "exit $?"
elegans info --threads 1000; echo "exit $?"
elegans info --isa altivec; echo "exit $?"
elegans info --root /nowhere; echo "exit $?"
elegans info --root /nowhere --measure; echo "exit $?"
elegans bench; echo "exit $?"
elegans bench fly; echo "exit $?"
elegans bench gemm --size 12x; echo "exit $?"
elegans bench gemm --dtype f8; echo "exit $?"
elegans bench gemm --dtype u8; echo "exit $?"
elegans bench copy --size 12Q; echo "exit $?"
elegans bench kernels fft; echo "exit $?"
elegans bench cells --case worm; echo "exit $?"
elegans bench cells --threads 2; echo "exit $?"
elegans bench cells --size 3; echo "exit $?"
elegans bench train --case worm; echo "exit $?"
elegans bench train --rounds 100; echo "exit $?"
elegans bench train --size 3; echo "exit $?"
elegans bench cells --rounds 3; echo "exit $?"
elegans bench latency --case hot; echo "exit $?"
elegans bench latency cfc:8; echo "exit $?"
elegans bench latency cfc:8,in=2 more; echo "exit $?"
elegans bench copy --steps 3; echo "exit $?"
elegans bench gemm --case hot; echo "exit $?"
elegans -V | sed 's/[0-9]*\.[0-9]*\.[0-9]*/X/g'
elegans trian; echo "exit $?"
elegans info --meassure; echo "exit $?"
echo "# windows: what each command does without the option"
for command in train eval predict; do elegans help $command | grep -A 1 -e '^  --window' -e '^  --stride' | grep -e '--window' -e '--stride' -e default; done
echo "# no help page is wider than 80 columns"
for command in $(elegans help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p'); do elegans help $command; done | awk 'length($0) > 80'
echo "# what is no model says what it is; -o is --output; names that are nearly right"
printf 'a,occupied\n1,2\n' > table.csv; elegans show table.csv; echo "exit $?"
elegans train --data table.csv --target occupied -o m.pt; echo "exit $?"
elegans train --data table.csv --target ocupied; echo "exit $?"
elegans info --preset M2max; echo "exit $?"
elegans demo -o /nowhere/demo; echo "exit $?"
elegans show cfc:16,inn=3; echo "exit $?"
elegans profile cfc:8,in=2 --sort tme; echo "exit $?"
elegans bench kernls; echo "exit $?"
printf 'x,y\n1,2\n,3\n' > hole.csv; elegans train --data hole.csv --target y; echo "exit $?"
echo "# bash completes every option, and none that there is not"
cat > complete.bash <<'END'
. ./elegans.bash
while read -r command; do
    for words in "elegans $command --" "elegans $command x --"; do
        COMP_WORDS=($words) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
        _elegans 2> /dev/null
        printf "$command %s\n" "${COMPREPLY[@]}"
    done
done | grep -- ' --' | grep -v -- ' --help$' | sort -u > completed.txt
END
commands=$(elegans help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p')
for command in $commands; do elegans help $command | grep -o '^  \(-o, \)*--[a-z-]*' | sed "s/.*--/$command --/"; done | sort -u > options.txt
if command -v bash > /dev/null; then
    elegans completions bash > elegans.bash
    for command in $commands; do echo $command; done | bash complete.bash
    diff options.txt completed.txt
fi
echo "# completions and the manual are made of the same tables"
for shell in zsh fish; do
    elegans completions $shell > made.txt; head -n 2 made.txt | sed -n '/^# /p'
    for command in $commands; do grep -q -e "$command" made.txt || echo "$shell: no $command"; done
    sed 's/.* --//' options.txt | while read -r name; do grep -q -e "--$name\[" -e "-l $name " made.txt || echo "$shell: no --$name"; done
done
elegans help --man > made.1; grep -c '^\.SS' made.1; sed 's/.* --//; s/-/\\\\-/g' options.txt | while read -r name; do grep -q -e "fB.*$name.fR" made.1 || echo "man: no $name"; done
elegans completions ksh; echo "exit $?"
elegans completions; echo "exit $?"
