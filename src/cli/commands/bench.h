/* The benchmarks of models, which the bench command hands its options to. */
#ifndef EG__CLI_BENCH_H
#define EG__CLI_BENCH_H

#include "cli/cli.h"

/* A page for monitors while a benchmark runs; its steps are cases. Costs of one repetition: 0 = unknown. */
void bench_begin(eg_context *context, const char *name);
void bench_tell(uint64_t repetitions, double seconds, double flops, double bytes);
void bench_end(void);

/* `filter` NULL = all cases; `steps` 0 = the default. All return the exit code. */
int bench_cells(eg_context *context, const char *filter, uint64_t steps, bool as_json);
/* On one thread, and large batches also on the flags' (0 = 2). */
int bench_train(const context_flags *flags, const eg_bench_train_options *options, bool as_json);
/* `model` is a file or a spec; NULL = a typical one. */
int bench_latency(eg_context *context, const char *model, uint64_t steps, bool as_json);

/* Every rule of advice on models that it applies to; `filter` is part of the name of a rule. */
int bench_advice(const context_flags *flags, const char *filter, bool as_json);

#endif
