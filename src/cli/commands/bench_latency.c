/* elegans bench latency: percentiles and a histogram of the steps of a stream. */
#include "cli/commands/bench.h"

#include <math.h>

static const char typical[] = "cfc:autoncp:64:16,in=16";
enum { BAR = 40 };

/* Bar length is the logarithm of the count, so that rare latencies are visible. */
static void print_bar(const eg_latency_bucket *b, uint64_t largest) {
    char from[32], bar[BAR + 1] = "";
    const double share = log((double)b->count + 1) / log((double)largest + 1);
    const int length = (int)(share * BAR + 0.5);
    for (int i = 0; i < length; i++) bar[i] = '#';
    bar[length < 1 ? 1 : length] = 0;
    bar[0] = '#';
    printf("  %10s  %-*s %12llu\n", format_seconds(from, (double)b->from * 1e-9), BAR, bar,
           (unsigned long long)b->count);
}

/* Four bars per power of two up to the 99.9th percentile, one in the tail; empty ones are
 * merged. */
static void print_histogram(const eg_bench_latency_result *r) {
    uint64_t largest = 1;
    for (size_t i = 0; i < r->buckets; i++)
        if (r->bucket[i].count > largest) largest = r->bucket[i].count;
    print_section("histogram", "from, steps on a logarithmic scale, steps");
    for (size_t i = 0; i < r->buckets;) {
        eg_latency_bucket row = r->bucket[i++];
        if ((double)row.from * 1e-3 > r->p99_9.value)
            while (i < r->buckets && (r->bucket[i].from & (r->bucket[i].from - 1))) {
                row.to = r->bucket[i].to;
                row.count += r->bucket[i++].count;
            }
        if (row.count) print_bar(&row, largest);
    }
}

static void print_time(const char *name, const eg_metric *metric) {
    char text[32];
    print_row(name, format_seconds(text, metric->value * 1e-6),
              eg_provenance_name(metric->provenance));
}

static int print_latency(const char *model, const eg_bench_latency_result *r) {
    char steps[48], overhead[96];
    print_title(model, format_count(steps, r->steps, "step"));
    print_time("min", &r->least);
    print_time("mean", &r->mean);
    print_time("p50", &r->p50);
    print_time("p90", &r->p90);
    print_time("p99", &r->p99);
    print_time("p99.9", &r->p99_9);
    print_time("max", &r->most);
    print_row("clock", format_metric(overhead, &r->clock_overhead), "measured, in each of them");
    print_histogram(r);
    return CLI_OK;
}

static json *histogram(const eg_bench_latency_result *r) {
    json *list = json_new_list();
    for (size_t i = 0; i < r->buckets; i++) {
        json *entry = json_new_object();
        json_put_count(entry, "from_ns", r->bucket[i].from);
        json_put_count(entry, "to_ns", r->bucket[i].to);
        json_put_count(entry, "count", r->bucket[i].count);
        json_append(list, entry);
    }
    return list;
}

static int put_latency(const eg_context *context, const char *model,
                       const eg_bench_latency_result *r) {
    json *document = json_new_object();
    json_put_text(document, "bench", "latency");
    json_put_text(document, "model", model);
    json_put_text(document, "isa", eg_context_isa(context));
    json_put_count(document, "steps", r->steps);
    json_put_metric(document, "min", &r->least);
    json_put_metric(document, "mean", &r->mean);
    json_put_metric(document, "p50", &r->p50);
    json_put_metric(document, "p90", &r->p90);
    json_put_metric(document, "p99", &r->p99);
    json_put_metric(document, "p99.9", &r->p99_9);
    json_put_metric(document, "max", &r->most);
    json_put_metric(document, "clock_overhead", &r->clock_overhead);
    json_put(document, "histogram", histogram(r));
    return json_print(document);
}

int bench_latency(eg_context *context, const char *name, uint64_t steps, bool as_json) {
    eg_model *model;
    eg_error error;
    if (as_json && !json_usable()) return json_print(NULL);
    if (!name) name = typical;
    if (eg_model_open(context, name, &model, &error)) return fail_with(&error);
    eg_bench_latency_result result;
    const eg_status status = eg_bench_latency(model, steps, &result, &error);
    eg_model_destroy(model);
    if (status) return fail_with(&error);
    bench_tell(result.steps, 1e-6 * result.p50.value, 0, 0);
    return as_json ? put_latency(context, name, &result) : print_latency(name, &result);
}
