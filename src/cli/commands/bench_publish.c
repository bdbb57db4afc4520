/* A benchmark for monitors: what was measured is told between two measurements, never within one. */
#include "cli/commands/bench.h"
#include "cli/publishing.h"

static eg_publisher *page; /* of the one benchmark that this program runs */

void bench_begin(eg_context *context, const char *name) {
    page = publish_open(context, "bench", name, NULL, eg_context_threads(context) == 1);
}

void bench_tell(uint64_t repetitions, double seconds, double flops, double bytes) {
    eg_publisher_cost(page, flops, bytes);
    eg_publisher_add(page, repetitions, seconds);
}

void bench_end(void) {
    eg_publisher_close(page);
    page = NULL;
}
