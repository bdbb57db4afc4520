# measured once: the words, not the figures
elegans tune --seconds 0.02 --threads 1 --no-cblas | sed -n 's/^\(Tuning\|  [a-z]*\) .*/\1/p'
elegans tune --seconds 0.02 --threads 1 --no-cblas --json | sed -n 's/^ *"\([a-z_]*\)":.*/\1/p' | sort -u | tr '\n' ' '
echo
ls "$XDG_CACHE_HOME/elegans" | sed -n 's/^\(tuning\)-.*-1$/\1/p'
# a damaged file is named, and not used
for file in "$XDG_CACHE_HOME"/elegans/tuning-*-1; do echo 'rows 9' >> "$file"; done
elegans info --threads 1 2>&1 >out.txt | sed -n "s/.*\(is not used: .*\)/\1/p"
elegans info --threads 1 --no-tuned 2>&1 >out.txt | wc -l
rm "$XDG_CACHE_HOME"/elegans/tuning-*
# what cannot be
elegans tune now
elegans tune --cblas here.so --no-cblas
elegans tune --cblas /nowhere/libnone.so
elegans tune --seconds -1
# other chips
elegans info --preset M1 | sed -n '/^Blocks/,$p'
elegans info --preset 'M5 Max' | sed -n '/^Blocks/,$p'
elegans info --preset M1 | sed -n 's/^Kernels .*\(modelled: .*\)/\1/p'
elegans info --preset M2 --json | grep -A 7 '"fast_blocks"'
elegans info --preset M2 --json | grep '"column_sum_f32"'
elegans info --preset M4 | awk 'length($0) > 80 { print "too wide: " $0 }'
