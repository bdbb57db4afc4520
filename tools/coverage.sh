#!/bin/sh
# The tests under the address and undefined behaviour sanitizers, and the lines of src/ they cover, per folder: `show` prints
# them, `update` writes tests/coverage.txt, `check` fails when a folder is more than a point below that file or is not in it.
set -eu
cd "$(dirname "$0")/.."
action=$1
mkdir -p "${B:-build}/check/asan"
build=$(cd "${B:-build}/check/asan" && pwd)
floor=tests/coverage.txt

find "$build" -name '*.gcda' -exec rm {} +
# -O1: with sanitizers the loops of kernels take a compiler three times as long at -O3.
# gcc 12 aligns the stack that it watches for use after return to 32 bytes only: vectors of 64 would fault.
# The sanitizers of Debian 12 need a kernel that does not place memory too randomly.
ELEGANS_QUICK=1 $(if setarch -R true; then echo "setarch -R"; fi) env -u MAKEFLAGS -u MAKELEVEL "${MAKE:-make}" -s -j2 B="$build" CC=gcc SAN=address,undefined COV=1 \
    CFLAGS="-O1 -g" KERNEL_CFLAGS="-O1 -fno-var-tracking --param asan-use-after-return=0" run-test >&2

# what cannot run here does not count: macOS, and instruction sets this processor lacks (the bodies of tile kernels run in the tests)
cannot_run='.*_macos\.c'
for isa in avx2 avx512; do
    grep -q "$isa" /proc/cpuinfo || cannot_run="$cannot_run|.*_$isa\.[ch]"
done
grep -q amx_tile /proc/cpuinfo || cannot_run="$cannot_run|.*_amxtile\.c"
# gcov writes a file per source into the folder it works in: --object-directory makes that $build
gcovr --root . --object-directory "$build" --filter 'src/' --exclude "$cannot_run" --csv -o "$build/files.csv" "$build"
awk -F, '
    NR > 1 { split($1, part, "/"); lines[part[2]] += $2; covered[part[2]] += $3 }
    END { for (folder in lines) printf "%-9s %5.1f\n", folder, 100 * covered[folder] / lines[folder] }
' "$build/files.csv" | sort >"$build/now.txt"

case $action in
show) cat "$build/now.txt" ;;
update) cp "$build/now.txt" "$floor" ;;
check)
    [ -s "$floor" ] || { echo "$floor is missing; run make coverage-update" && exit 1; }
    awk '
        NR == FNR { least[$1] = $2; next }
        !($1 in least) { print $1 ": not in tests/coverage.txt; run make coverage-update"; bad = 1; next }
        $2 < least[$1] - 1.0 { print $1 ": " $2 " % of lines, tests/coverage.txt has " least[$1]; bad = 1 }
        END { exit bad }
    ' "$floor" "$build/now.txt"
    ;;
esac
