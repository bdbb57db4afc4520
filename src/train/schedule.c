/* Learning rates over time. */
#include "elegans/fit.h"

#include <math.h>

const char *eg_schedule_name(eg_schedule_kind kind) {
    static const char *const names[] = {"constant", "exponential", "cosine"};
    return (unsigned)kind < 3 ? names[kind] : NULL;
}

double eg_schedule_factor(const eg_schedule *s, double epoch, double epochs) {
    static const double pi = 3.14159265358979323846;
    if (epoch < s->warmup) return epoch / s->warmup;
    switch (s->kind) {
    case EG_SCHEDULE_EXPONENTIAL:
        return pow(s->decay > 0 ? s->decay : 0.95, floor(epoch - s->warmup));
    case EG_SCHEDULE_COSINE: {
        const double length = epochs - s->warmup,
                     at = length > 0 ? (epoch - s->warmup) / length : 0;
        const double half = 0.5 * (1 + cos(pi * (at > 1 ? 1 : at)));
        return s->floor + (1 - s->floor) * half;
    }
    case EG_SCHEDULE_CONSTANT: break;
    }
    return 1;
}
