/* A histogram of latencies with buckets of equal relative width, and percentiles of it. */
#include "publish/page.h"

#include <math.h>

enum { PER = EG__LATENCY_PER_OCTAVE, BITS = 4 };

unsigned eg__latency_bucket(uint64_t ns) {
    if (ns < PER) return (unsigned)ns;
    const unsigned octave = 63u - (unsigned)__builtin_clzll(ns);
    const unsigned bucket =
        (octave - BITS + 1) * PER + (unsigned)((ns >> (octave - BITS)) & (PER - 1));
    return bucket < EG__LATENCY_BUCKETS ? bucket : EG__LATENCY_BUCKETS - 1;
}

uint64_t eg__latency_from(unsigned bucket) {
    if (bucket < PER) return bucket;
    return (uint64_t)(PER + bucket % PER) << (bucket / PER - 1);
}

double eg__latency_quantile(const uint64_t counts[EG__LATENCY_BUCKETS], double q) {
    double all = 0, before = 0;
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++) all += (double)counts[i];
    for (unsigned i = 0; i < EG__LATENCY_BUCKETS; i++) {
        const double count = (double)counts[i];
        if (!(count > 0) || before + count < q * all) {
            before += count;
            continue;
        }
        /* as if they were spread evenly over the bucket */
        const double from = (double)eg__latency_from(i), to = (double)eg__latency_from(i + 1);
        return 1e-9 * (from + (to - from) * fmin(1, (q * all - before) / count));
    }
    return (double)NAN;
}
