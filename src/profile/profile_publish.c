/* A profile that reports itself: the costs of a run before it, where the time goes after it. */
#include "profile/profile.h"

#include <stdio.h>

void eg__profile_publish_program(const eg_profile *p) {
    eg_program_info info = {.size = sizeof info};
    if (!p->subject.program || !p->options.publisher) return;
    eg_program_info_get(p->subject.program, &info);
    eg_publisher_cost(p->options.publisher, info.flops, info.bytes);
}

/* Telling after every run made the next one of 0.4 us 2 % slower; after many, one of them is. */
enum { TOLD_TOGETHER = 256 };

uint64_t eg__profile_publish_runs(const eg_profile *p, uint64_t told, uint64_t done, bool last) {
    if (!p->options.publisher ||
        (!last && done - told < TOLD_TOGETHER && p->samples[done - 1] < 1e-3))
        return told;
    for (; told < done; told++) eg_publisher_add(p->options.publisher, 1, p->samples[told]);
    return told;
}

void eg__profile_publish_rows(const eg_profile *p) {
    eg_operation_share shares[EG_OPERATION_SHARES];
    size_t count = 0;
    for (; count < p->operation_count && count < EG_OPERATION_SHARES; count++) {
        const eg_profile_row *row = &p->operations[count];
        snprintf(shares[count].name, sizeof shares[count].name, "%.15s %.15s", row->operation,
                 row->kernel);
        shares[count].share = row->share;
    }
    if (count) eg_publisher_operations(p->options.publisher, count, shares);
}
