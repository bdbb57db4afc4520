/* The benchmarks of models, which the bench command hands its options to. */
#ifndef EG__CLI_BENCH_H
#define EG__CLI_BENCH_H

#include "cli.h"

/* `filter` NULL = all cases; `steps` 0 = the default. Both return the exit code. */
int bench_cells(eg_context *context, const char *filter, uint64_t steps, bool as_json);
/* `model` is a file or a spec; NULL = a typical one. */
int bench_latency(eg_context *context, const char *model, uint64_t steps, bool as_json);

#endif
