# the words, not the figures
words() { sed "s/\\b[0-9][0-9.]* /N /g; s/  */ /g; s/N [nmu]s, N/N s, N/"; }
elegans bench gemm --size 16x24x32 --iterations 2 --threads 1 | words
elegans bench copy --size 64K --iterations 2 --threads 1 | words
elegans bench kernels burn --isa ref | tail -n 1 | words
elegans bench gemm --size 8 --iterations 1 --threads 1 --json | grep -c provenance
