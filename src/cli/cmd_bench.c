/* elegans bench: bandwidth, products, every kernel. */
#include "cli.h"

#include <string.h>

typedef struct bench_flags {
    context_flags context;
    const char *size, *dtype;
    uint64_t iterations;
    bool json;
} bench_flags;

static void print_result(const char *what, const eg_bench_result *r) {
    char value[160], best[96], median[96], text[32];
    print_title(what, "");
    snprintf(value, sizeof value, "%s", format_metric(best, &r->best));
    print_row("best", value, eg_provenance_name(r->best.provenance));
    print_row("median", format_metric(median, &r->median),
              eg_provenance_name(r->median.provenance));
    snprintf(value, sizeof value, "%s, %llu repetitions", format_seconds(text, r->best_seconds),
             (unsigned long long)r->repetitions);
    print_row("time", value, "measured");
    snprintf(value, sizeof value, "%u", r->threads);
    print_row("threads", value, "counted");
}

static int show_result(const bench_flags *flags, const char *name, const char *size,
                       const eg_bench_result *r) {
    if (!flags->json) {
        char title[120];
        snprintf(title, sizeof title, "%s %s", name, size);
        print_result(title, r);
        return EXIT_DONE;
    }
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object();
    json_put_text(document, "bench", name);
    json_put_text(document, "size", size);
    json_put_metric(document, "best", &r->best);
    json_put_metric(document, "median", &r->median);
    eg_metric seconds = {r->best_seconds, EG_MEASURED, "s", "best repetition"};
    eg_metric flops = {r->flops, EG_COUNTED, "FLOP", "per repetition"};
    eg_metric bytes = {r->bytes, EG_COUNTED, "bytes", "per repetition"};
    json_put_metric(document, "time", &seconds);
    json_put_metric(document, "flops", &flops);
    json_put_metric(document, "bytes", &bytes);
    json_put_count(document, "repetitions", r->repetitions);
    json_put_count(document, "threads", r->threads);
    return json_print(document);
}

static int bench_copy(eg_context *context, const bench_flags *flags) {
    uint64_t bytes = UINT64_C(256) << 20;
    if (flags->dtype) return fail(EXIT_USAGE, "copy has no --dtype: it moves bytes");
    if (flags->size && !parse_bytes(flags->size, &bytes))
        return fail(EXIT_USAGE, "--size: '%s' is no size such as 64M", flags->size);
    eg_bench_result result;
    eg_error error;
    if (eg_bench_copy(context, bytes, flags->iterations, &result, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    char size[32];
    return show_result(flags, "copy", format_bytes(size, bytes), &result);
}

/* "1024" or "128x256x512" (m, n, k). */
static bool parse_shape(const char *text, uint64_t shape[3]) {
    int count = 0;
    for (const char *at = text; count < 3; count++) {
        const char *end = strchr(at, 'x');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        int64_t value;
        if (eg_integer_parse(at, length, 1, 1 << 24, &value, NULL)) return false;
        shape[count] = (uint64_t)value;
        if (!end) {
            if (count == 0) shape[1] = shape[2] = shape[0];
            return count == 0 || count == 2;
        }
        at = end + 1;
    }
    return false;
}

static int bench_gemm(eg_context *context, const bench_flags *flags) {
    uint64_t shape[3] = {1024, 1024, 1024};
    if (flags->size && !parse_shape(flags->size, shape))
        return fail(EXIT_USAGE, "--size: '%s' is neither N nor MxNxK", flags->size);
    eg_type type;
    eg_error error;
    if (eg_type_find(flags->dtype ? flags->dtype : "f32", &type, &error))
        return fail(EXIT_USAGE, "--dtype: %s", error.message);
    eg_bench_result result;
    if (eg_bench_gemm(context, type, shape[0], shape[1], shape[2], flags->iterations, &result,
                      &error))
        return fail(EXIT_FAILED, "%s", error.message);
    char size[100];
    snprintf(size, sizeof size, "%llux%llux%llu %s", (unsigned long long)shape[0],
             (unsigned long long)shape[1], (unsigned long long)shape[2], eg_type_name(type));
    return show_result(flags, "gemm", size, &result);
}

static int print_kernel(void *user, const eg_bench_kernel *k) {
    bool *titled = user;
    char speed[96], time[32];
    if (!*titled) print_title("kernels, one thread", "* = in use; measured, best of many bursts");
    *titled = true;
    format_metric(speed, &k->speed);
    if (k->speed.provenance == EG_UNAVAILABLE)
        printf("  %-14s %-7s %-12s %s\n", k->operation, k->isa, k->shape, speed);
    else
        printf("%s %-14s %-7s %-12s %11s ns %18s\n", k->selected ? "*" : " ", k->operation, k->isa,
               k->shape, format_short(time, k->nanoseconds), speed);
    fflush(stdout);
    return 0;
}

static int append_kernel(void *user, const eg_bench_kernel *k) {
    json *entry = json_new_object();
    json_put_text(entry, "operation", k->operation);
    json_put_text(entry, "isa", k->isa);
    json_put_text(entry, "shape", k->shape);
    json_put_flag(entry, "selected", k->selected);
    json_put_metric(entry, "speed", &k->speed);
    if (k->speed.provenance != EG_UNAVAILABLE)
        json_put_number(entry, "nanoseconds", k->nanoseconds);
    json_put_number(entry, "flops", k->flops);
    json_put_number(entry, "bytes", k->bytes);
    json_append(user, entry);
    return 0;
}

static int bench_kernels(eg_context *context, const bench_flags *flags, const char *filter) {
    eg_error error;
    if (flags->size || flags->dtype || flags->iterations)
        return fail(EXIT_USAGE, "kernels have their own sizes; give a part of a name instead");
    if (flags->json) {
        if (!json_usable()) return json_print(NULL);
        json *list = json_new_list();
        if (eg_bench_kernels(context, filter, append_kernel, list, &error))
            return fail(EXIT_FAILED, "%s", error.message);
        return json_print(list);
    }
    bool titled = false;
    if (eg_bench_kernels(context, filter, print_kernel, &titled, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    return EXIT_DONE;
}

int cmd_bench(int argc, char **argv) {
    bench_flags flags = {0};
    const option options[] = {
        {"--size", OPTION_TEXT, &flags.size, "S", "copy: bytes (64M); gemm: N or MxNxK"},
        {"--iterations", OPTION_COUNT, &flags.iterations, "N", "repetitions (copy 20, gemm: 1 s)"},
        {"--dtype", OPTION_TEXT, &flags.dtype, "TYPE", "gemm: element type (f32)"},
        {"--json", OPTION_FLAG, &flags.json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags.context),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "bench copy|gemm|kernels [FILTER] [OPTIONS]",
        "copy measures memory bandwidth, gemm compute throughput with packed weights,\n"
        "kernels every kernel of the table (or those whose name contains FILTER).",
        options,
        "  elegans bench gemm --size 128x256x512\n"
        "  elegans bench copy --size 1G --threads 1\n"
        "  elegans bench kernels softmax\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code >= 0) return code;
    if (!rest) return fail(EXIT_USAGE, "bench what: copy, gemm or kernels?");
    bool kernels = strcmp(argv[0], "kernels") == 0;
    if (!kernels && strcmp(argv[0], "copy") != 0 && strcmp(argv[0], "gemm") != 0)
        return fail(EXIT_USAGE, "unknown benchmark '%s'", argv[0]);
    if (rest > (kernels ? 2 : 1))
        return fail(EXIT_USAGE, "too many arguments: '%s'", argv[rest - 1]);
    eg_context *context;
    code = context_open(&flags.context, &context);
    if (code >= 0) return code;
    if (kernels) code = bench_kernels(context, &flags, rest > 1 ? argv[1] : NULL);
    else if (strcmp(argv[0], "copy") == 0) code = bench_copy(context, &flags);
    else code = bench_gemm(context, &flags);
    eg_context_destroy(context);
    return code;
}
