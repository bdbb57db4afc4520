/* elegans bench train: a table of steps of training. */
#include "cli/commands/bench.h"

#include <string.h>

static void tell(const eg_bench_training *r) {
    bench_tell(r->steps, 1e-3 * r->median.value, r->flops + r->update_flops,
               r->bytes + r->update_bytes);
}

static int print_training(void *user, const eg_bench_training *r) {
    tell(r);
    const char **before = user;
    char rate[32], speed[32], share[32], times[32] = "";
    if (!*before) {
        print_title("training: forward, backward, Adam", "measured; operations counted");
        printf("  %-16s %9s %9s %9s %9s %9s %8s %7s\n", "", "ms/step", "median", "update",
               "steps/s", "GFLOP/s", "of peak", "threads");
    }
    if (!*before || strcmp(*before, r->model) != 0) printf("%s\n", r->model);
    *before = r->model;
    if (r->fraction.provenance == EG_UNAVAILABLE) snprintf(share, sizeof share, "-");
    else snprintf(share, sizeof share, "%.1f %%", 100 * r->fraction.value);
    if (r->times_one.provenance != EG_UNAVAILABLE)
        snprintf(times, sizeof times, "  %.2fx", r->times_one.value);
    printf("  %-16s %9.3f %9.3f %9.3f %9s %9s %8s %7u%s\n", r->name, r->step.value, r->median.value,
           r->update.value, format_short(rate, r->rate.value), format_short(speed, r->speed.value),
           share, r->threads, times);
    fflush(stdout);
    return 0;
}

static int append_training(void *user, const eg_bench_training *r) {
    tell(r);
    json *entry = json_new_object();
    const eg_metric flops = {r->flops, EG_COUNTED, "FLOP", "forward and backward"};
    const eg_metric bytes = {r->bytes, EG_COUNTED, "bytes", "forward and backward"};
    const eg_metric update_flops = {r->update_flops, EG_COUNTED, "FLOP", "norm and optimizer"};
    const eg_metric update_bytes = {r->update_bytes, EG_COUNTED, "bytes", "norm and optimizer"};
    json_put_text(entry, "case", r->name);
    json_put_text(entry, "model", r->model);
    json_put_count(entry, "batch", r->batch);
    json_put_count(entry, "time", r->time);
    json_put_count(entry, "threads", r->threads);
    json_put_metric(entry, "ms_per_step", &r->step);
    json_put_metric(entry, "ms_per_step_median", &r->median);
    json_put_metric(entry, "steps_per_s", &r->rate);
    json_put_metric(entry, "gflops", &r->speed);
    json_put_metric(entry, "peak", &r->peak);
    json_put_metric(entry, "fraction_of_peak", &r->fraction);
    json_put_metric(entry, "times_one_thread", &r->times_one);
    json_put_metric(entry, "flops", &flops);
    json_put_metric(entry, "bytes", &bytes);
    json_put_metric(entry, "ms_per_update", &r->update);
    json_put_metric(entry, "update_flops", &update_flops);
    json_put_metric(entry, "update_bytes", &update_bytes);
    json_put_count(entry, "steps", r->steps);
    json_append(user, entry);
    return 0;
}

static int measure(eg_context *one, eg_context *several, const eg_bench_train_options *options,
                   bool as_json) {
    eg_error error;
    const char *before = NULL;
    if (as_json && !json_usable()) return json_print(NULL);
    json *list = as_json ? json_new_list() : NULL;
    if (as_json ? eg_bench_train(one, several, options, append_training, list, &error)
                : eg_bench_train(one, several, options, print_training, &before, &error))
        return fail_with(&error);
    if (!as_json) return CLI_OK;
    json *document = json_new_object();
    json_put_text(document, "bench", "train");
    json_put_text(document, "isa", eg_context_isa(one));
    json_put(document, "results", list);
    return json_print(document);
}

int bench_train(const context_flags *flags, const eg_bench_train_options *options, bool as_json) {
    context_flags first = *flags, second = *flags;
    first.threads = 1;
    second.threads = flags->threads ? flags->threads : 2;
    eg_context *one = NULL, *several = NULL;
    int code = context_open(&first, &one);
    if (!code && second.threads > 1) code = context_open(&second, &several);
    if (!code) {
        bench_begin(several ? several : one, "train");
        code = measure(one, several, options, as_json);
        bench_end();
    }
    eg_context_destroy(several);
    eg_context_destroy(one);
    return code;
}
