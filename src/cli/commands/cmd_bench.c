/* elegans bench: bandwidth, products, every kernel, liquid cells, steps of training. */
#include "cli/commands/bench.h"

#include <string.h>

typedef struct bench_flags {
    context_flags context;
    const char *size, *dtype, *only;
    uint64_t iterations, steps, rounds, block;
    bool json, integers, symmetric;
} bench_flags;

static void print_result(const char *what, const eg_bench_result *r) {
    char value[160], text[32], count[48];
    print_title(what, "");
    print_figure("best", &r->best);
    print_figure("median", &r->median);
    snprintf(value, sizeof value, "%s, %s", format_seconds(text, r->best_seconds),
             format_count(count, r->repetitions, "repetition"));
    print_row("time", value, "measured");
    snprintf(value, sizeof value, "%u", r->threads);
    print_row("threads", value, "counted");
}

static int show_result(const bench_flags *flags, const char *name, const char *size,
                       const eg_bench_result *r) {
    bench_tell(r->repetitions, r->best_seconds, r->flops, r->bytes);
    if (!flags->json) {
        char title[120];
        snprintf(title, sizeof title, "%s %s", name, size);
        print_result(title, r);
        return CLI_OK;
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
    if (flags->dtype) return fail(EXIT_USAGE, "--dtype does not apply to copy, which moves bytes");
    if (flags->size && !parse_bytes(flags->size, &bytes))
        return fail(EXIT_USAGE, "--size: '%s' is not a size such as 64M", flags->size);
    eg_bench_result result;
    eg_error error;
    if (eg_bench_copy(context, bytes, flags->iterations, &result, &error)) return fail_with(&error);
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
    const char *dtype = flags->dtype ? flags->dtype : "f32";
    if (strcmp(dtype, "int8") == 0 || strcmp(dtype, "int4") == 0)
        dtype = dtype[3] == '8' ? "i8" : "i4";
    if (eg_type_find(dtype, &type, &error)) return fail(EXIT_USAGE, "--dtype: %s", error.message);
    if (type == EG_F32 && (flags->block || flags->integers || flags->symmetric))
        return fail(EXIT_USAGE, "f32 has no scales: no --block, --symmetric or --integers");
    const eg_quantization quantization = {.type = type,
                                          .per = flags->block ? EG_PER_BLOCK : EG_PER_CHANNEL,
                                          .block = (uint32_t)flags->block,
                                          .symmetric = flags->symmetric,
                                          .integers = flags->integers};
    eg_bench_result result;
    eg_status status = type == EG_F32
                           ? eg_bench_gemm(context, type, shape[0], shape[1], shape[2],
                                           flags->iterations, &result, &error)
                           : eg_bench_quantized(context, &quantization, shape[0], shape[1],
                                                shape[2], flags->iterations, &result, &error);
    if (status) return fail_with(&error);
    char size[100], block[32] = "";
    if (flags->block) snprintf(block, sizeof block, "/%llu", (unsigned long long)flags->block);
    snprintf(size, sizeof size, "%llux%llux%llu %s%s%s", (unsigned long long)shape[0],
             (unsigned long long)shape[1], (unsigned long long)shape[2], eg_type_name(type), block,
             flags->integers ? " integers" : "");
    return show_result(flags, "gemm", size, &result);
}

static void tell_kernel(const eg_bench_kernel *k) {
    if (k->speed.provenance != EG_UNAVAILABLE)
        bench_tell(1, 1e-9 * k->nanoseconds, k->flops, k->bytes);
}

static int print_kernel(void *user, const eg_bench_kernel *k) {
    bool *titled = user;
    char speed[96], time[32];
    tell_kernel(k);
    if (!*titled) print_title("kernels, one thread", "* = in use; measured, best of many bursts");
    *titled = true;
    format_metric(speed, &k->speed);
    if (k->speed.provenance == EG_UNAVAILABLE)
        printf("  %-17s %-7s %-12s %s\n", k->operation, k->isa, k->shape, speed);
    else
        printf("%s %-17s %-7s %-12s %11s ns %15s\n", k->selected ? "*" : " ", k->operation, k->isa,
               k->shape, format_short(time, k->nanoseconds), speed);
    fflush(stdout);
    return 0;
}

static int append_kernel(void *user, const eg_bench_kernel *k) {
    tell_kernel(k);
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
            return fail_with(&error);
        return json_print(list);
    }
    bool titled = false;
    if (eg_bench_kernels(context, filter, print_kernel, &titled, &error)) return fail_with(&error);
    return CLI_OK;
}

/* The benchmarks: name, number of arguments, whether it runs a model. */
typedef enum benchmark { COPY, GEMM, KERNELS, CELLS, TRAIN, LATENCY, ADVICE, BENCHMARKS } benchmark;
static const struct {
    const char *name;
    int arguments;
    bool of_models;
} benchmarks[BENCHMARKS] = {{"copy", 0, false}, {"gemm", 0, false}, {"kernels", 1, false},
                            {"cells", 0, true}, {"train", 0, true}, {"latency", 1, true},
                            {"advice", 0, true}};

/* Options that the benchmark has no use for are mistakes. */
static int check_flags(benchmark which, bench_flags *flags) {
    if (flags->rounds && which != TRAIN) return fail(EXIT_USAGE, "--rounds is for train");
    if (which != GEMM && (flags->block || flags->integers || flags->symmetric))
        return fail(EXIT_USAGE, "--block, --symmetric and --integers are for gemm");
    if (!benchmarks[which].of_models) {
        if (flags->steps) return fail(EXIT_USAGE, "--steps is for cells, train and latency");
        if (flags->only) return fail(EXIT_USAGE, "--case is for cells and train");
        return CLI_OK;
    }
    const char *name = benchmarks[which].name;
    if (which == ADVICE && flags->steps) return fail(EXIT_USAGE, "--steps is not for advice");
    if (flags->size || flags->dtype || flags->iterations)
        return fail(EXIT_USAGE, "%s takes --steps, not --size, --dtype or --iterations", name);
    if (which == LATENCY && flags->only)
        return fail(EXIT_USAGE, "--case is for cells, train and advice");
    if (which == TRAIN) return CLI_OK;
    if (flags->context.threads > 1)
        return fail(EXIT_USAGE, "%s runs on one thread, not '%llu'", name,
                    (unsigned long long)flags->context.threads);
    flags->context.threads = 1;
    return CLI_OK;
}

static int run(benchmark which, const bench_flags *flags, const char *argument) {
    eg_context *context;
    if (which == TRAIN) {
        const eg_bench_train_options options = {
            .filter = flags->only, .rounds = flags->rounds, .steps = flags->steps};
        return bench_train(&flags->context, &options, flags->json);
    }
    if (which == ADVICE) return bench_advice(&flags->context, flags->only, flags->json);
    int code = context_open(&flags->context, &context);
    if (code) return code;
    bench_begin(context, argument ? argument : benchmarks[which].name);
    switch (which) {
    case COPY: code = bench_copy(context, flags); break;
    case GEMM: code = bench_gemm(context, flags); break;
    case KERNELS: code = bench_kernels(context, flags, argument); break;
    case CELLS: code = bench_cells(context, flags->only, flags->steps, flags->json); break;
    default: code = bench_latency(context, argument, flags->steps, flags->json);
    }
    bench_end();
    eg_context_destroy(context);
    return code;
}

static const char *benchmark_at(void *user, size_t index) {
    (void)user;
    return index < BENCHMARKS ? benchmarks[index].name : NULL;
}

int cmd_bench(int argc, char **argv) {
    bench_flags flags = {0};
    const option options[] = {
        {"--size", OPTION_TEXT, &flags.size, "S", "copy: bytes (64M); gemm: N or MxNxK"},
        {"--iterations", OPTION_COUNT, &flags.iterations, "N", "repetitions (copy 20, gemm: 1 s)"},
        {"--dtype", OPTION_TEXT, &flags.dtype, "TYPE",
         "gemm: type of the right side: f32, f16, bf16, i8, i4"},
        {"--block", OPTION_COUNT, &flags.block, "N", "gemm: i8, i4: values per scale (a row)"},
        {"--symmetric", OPTION_FLAG, &flags.symmetric, NULL, "gemm: i8, i4: no zero points"},
        {"--integers", OPTION_FLAG, &flags.integers, NULL,
         "gemm: i8, i4: quantize the left side to int8, too"},
        {"--case", OPTION_TEXT, &flags.only, "NAME",
         "cells, train, advice: those whose name contains it"},
        {"--steps", OPTION_COUNT, &flags.steps, "N",
         "latency: 1000000; cells: 0.3 s, 100 cold; train: 0.1 s"},
        {"--rounds", OPTION_COUNT, &flags.rounds, "N",
         "train: how often each case is measured (5)"},
        {"--json", OPTION_FLAG, &flags.json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags.context),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "bench copy|gemm|kernels [FILTER]|cells|train|latency [MODEL]|advice [OPTIONS]",
        "copy: memory bandwidth. gemm: compute throughput with packed weights. kernels: every\n"
        "kernel (or those whose name contains FILTER). cells: liquid cells step by step and in\n"
        "batches, with warm and cold caches. train: training steps on one thread and on several\n"
        "(--threads, 2). latency: every single step of a model (a file or a spec), up to the\n"
        "slowest. advice: estimated and measured savings of each rule of 'elegans profile', on\n"
        "models that it applies to.",
        options,
        "  elegans bench gemm --size 128x256x512\n"
        "  elegans bench gemm --size 1x4096x4096 --dtype i4 --block 32\n"
        "  elegans bench copy --size 1G --threads 1\n"
        "  elegans bench kernels softmax\n"
        "  elegans bench cells --case cfc\n"
        "  elegans bench train --case 128x16\n"
        "  elegans bench latency ltc:autoncp:28:4,in=6 --steps 100000\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (!rest)
        return fail(EXIT_USAGE, "bench needs a benchmark: copy, gemm, kernels, cells, train, "
                                "latency or advice");
    benchmark which = COPY;
    while (which < BENCHMARKS && strcmp(argv[0], benchmarks[which].name) != 0) which++;
    char meant[EG_DID_YOU_MEAN_SIZE];
    if (which == BENCHMARKS)
        return fail(EXIT_USAGE, "unknown benchmark '%s'%s", argv[0],
                    eg_did_you_mean(meant, argv[0], benchmark_at, NULL));
    if (rest > 1 + benchmarks[which].arguments)
        return fail(EXIT_USAGE, "too many arguments: '%s'", argv[rest - 1]);
    code = check_flags(which, &flags);
    return code ? code : run(which, &flags, rest > 1 ? argv[1] : NULL);
}
