#!/bin/sh
# Applies the patches that docs/adding-a-*.md show to a copy of the tree, builds it and runs the tests they are about:
# sh tools/howto.sh FOLDER (an empty one, or one where this has run before)
set -eu
cd "$(dirname "$0")/.."
to=$1
rm -rf "$to/tree" && mkdir -p "$to/tree"
cp -a Makefile data examples include src tests tools "$to/tree/"
for page in docs/adding-a-*.md; do
    awk '/^```diff$/ { on = 1; next } /^```/ { on = 0 } on' "$page" >"$to/patch"
    [ -s "$to/patch" ] || continue
    echo "$page"
    patch -s -p1 -d "$to/tree" <"$to/patch"
done
make -s -j2 -C "$to/tree" B="$to/build" WERROR=1 CC=gcc "$to/build/tests"
for area in readers. families.rows families.from_specs families.grouped families.hugging_names; do
    (cd "$to/tree" && "$to/build/tests" "$area")
done
