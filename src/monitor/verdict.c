/* One sentence about a program: what bounds its steps, and how close they are to that. */
#include "base/base.h"
#include "monitor/pages.h"

#include <math.h>
#include <stdio.h>

/* "1.1 us". */
static const char *time_text(char out[32], double seconds) {
    static const struct {
        double least, factor;
        const char *unit;
    } units[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};
    size_t i = 0;
    while (seconds < units[i].least) i++;
    const double value = seconds * units[i].factor;
    snprintf(out, 32, "%.*f %s", value < 9.95 ? 1 : 0, value, units[i].unit);
    eg__number_dot(out);
    return out;
}

eg_metric eg__verdict_of(const eg__tracked *t, const eg_metric *step, char text[EG_VERDICT_TEXT]) {
    static const char source[] = "counted costs over the measured ceiling and time";
    char time[32];
    const double compute = t->now.step_flops / t->now.peak_flops,
                 memory = t->now.step_bytes / t->now.peak_bandwidth, seconds = step->value;
    if (step->provenance == EG_UNAVAILABLE || !(seconds > 0)) {
        const char *why = step->provenance == EG_UNAVAILABLE ? step->source : "steps took no time";
        snprintf(text, EG_VERDICT_TEXT, "%s", why);
        return eg__metric_unavailable("%", why);
    }
    time_text(time, seconds);
    /* each side may be unknown; the bound follows from both */
    if (!isfinite(compute) || !isfinite(memory)) {
        const bool costs = !isnan(t->now.step_flops) && !isnan(t->now.step_bytes);
        const char *why = costs ? "no measured ceilings (elegans info --measure)"
                                : "FLOPs and bytes of a step are not published";
        snprintf(text, EG_VERDICT_TEXT, "%s/step; bound unknown: %s", time, why);
        return eg__metric_unavailable("%", why);
    }
    const bool computes = compute >= memory;
    const double share = 100 * (computes ? compute : memory) / seconds;
    if (share > 110 && !computes)
        snprintf(text, EG_VERDICT_TEXT,
                 "operands come from the caches, at %.0f %% of the bandwidth of the DRAM, %s/step",
                 share, time);
    else
        snprintf(text, EG_VERDICT_TEXT, "%s, %.0f %% of %s, %s/step (counted costs, measured time)",
                 share < 10 ? "overhead-bound"
                 : computes ? "compute-bound"
                            : "memory-bound",
                 share, computes ? "peak" : "the bandwidth", time);
    return eg__metric(share, "%", EG_MEASURED, source);
}
