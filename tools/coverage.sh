#!/bin/sh
# Line coverage of the tests, per folder of src/: `show` prints it, `update` writes tests/coverage.txt,
# `check` fails when a folder is more than a point below that file or is not in it.
set -eu
cd "$(dirname "$0")/.."
action=$1
mkdir -p "${B:-build}/check/coverage"
build=$(cd "${B:-build}/check/coverage" && pwd)
floor=tests/coverage.txt

find "$build" -name '*.gcda' -exec rm {} +
env -u MAKEFLAGS -u MAKELEVEL "${MAKE:-make}" -s -j2 B="$build" CC=gcc COV=1 CFLAGS="-O1 -g" run-test >"$build.tests.log" 2>&1 || {
    tail -n 40 "$build.tests.log"
    exit 1
}

# what cannot run here does not count: macOS, and instruction sets this processor lacks
cannot_run='.*_macos\.c'
for isa in avx2 avx512; do
    grep -q "$isa" /proc/cpuinfo || cannot_run="$cannot_run|.*_$isa\.[ch]"
done
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
