# The simulated cache beside cachegrind: hit rates per access, those of both caches. Input, a line per case:
# name, simulated accesses, misses, last misses, references expected (0 = unknown), then references,
# misses and last misses of cachegrind after one run and after two.
function distance(a, b) { return a > b ? a - b : b - a }
function compare(what, simulated, counted) {
    printf "  %s %.2f %% simulated, %.2f %% by cachegrind;", what, 100 * simulated, 100 * counted
    if (distance(simulated, counted) > worst) worst = distance(simulated, counted)
}
{
    references = $9 - $6; first = $10 - $7; last = $11 - $8
    printf "%-20s", $1
    # the misses of both, per access to data
    compare("L1d", 1 - $3 / $2, 1 - first / $2)
    compare("LL", 1 - $4 / $2, 1 - last / $2)
    # and, where all references are known, each per reference of its own
    if ($5) compare("of references", 1 - $3 / $5, 1 - first / references)
    printf "  %d accesses, %d references\n", $2, references
}
END {
    if (!NR || worst > 0.01) exit 1
    printf "hit rates of %d programs as cachegrind has them, within %.2f %%\n", NR, 100 * worst
}
