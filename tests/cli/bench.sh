# the words, not the figures
words() { sed "s/\\b[0-9][0-9.]* /N /g; s/  */ /g; s/N [nmu]s, N/N s, N/"; }
elegans bench gemm --size 16x24x32 --iterations 2 --threads 1 | words
elegans bench copy --size 64K --iterations 2 --threads 1 | words
elegans bench kernels burn --isa ref | tail -n 1 | words
elegans bench gemm --size 8 --iterations 1 --threads 1 --json | grep -c provenance
elegans bench cells --case cfc-ncp --steps 16 | words | sed 's/ N %$/ share/; s/ -$/ share/'
elegans bench cells --case ltc-ncp-hot --steps 16 --json | grep -E '"(case|model|mode|us_per_step.*|gflops|fraction_of_peak)"' | sed 's/^ *//'
elegans bench cells --case hot --steps 16 --json | grep '"case"' | sed 's/^ *//'
elegans bench latency --steps 100 | sed -n '1,9p' | words | sed 's/N [nmu]s/N s/'
elegans bench latency cfc:8,in=2 --steps 100 | grep -c '#'  | sed 's/[0-9][0-9]*/bars/'
elegans bench latency cfc:8,in=2 --steps 100 --json | grep -E '^  "' | sed 's/: [0-9].*/: N/; s/"isa": .*/"isa"/'
elegans bench train --case ncp-32x16 --rounds 1 --steps 2 | words | sed 's/ N % 1$/ share 1/; s/ - 1$/ share 1/'
elegans bench train --case cfc-ncp-128x16 --rounds 1 --steps 2 | tail -n 1 | words | sed 's/ N % N/ share N/; s/ - N/ share N/; s/[0-9.]*x$/x/'
elegans bench train --case ltc-ncp-128x16 --rounds 1 --steps 1 --json | grep -E '"(case|threads|ms_per_step.*|steps_per_s|gflops|fraction_of_peak|times_one_thread)"' | sed 's/^ *//'
