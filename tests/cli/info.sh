# this machine: the words, not the figures
elegans info --json | grep -c '"provenance"' | awk '{ print ($1 > 10 ? "many figures, each with its provenance" : "too few") }'
elegans info --measure --threads 1 | grep '^  launch'
elegans info --json --measure | sed -n 's/^ *"\(fma_one\|dram_one\|copy_all\|launch\)": .*/\1/p'
elegans info | awk 'length($0) > 80 { print "too wide: " $0 }'
elegans info --measure | grep -c 'measured earlier'
elegans info --isa ref --threads 1 | sed -n '/^Kernels/,/^$/p' | sed -n '1,2s/^ *\([A-Za-z]*\) .*/\1/p'
