/* elegans profile: what a model costs on this machine. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static int read_part(const char *name, unsigned *out) {
    static const struct {
        const char *name;
        unsigned parts;
    } parts[] = {{"compute", PART_COMPUTE},
                 {"memory", PART_MEMORY},
                 {"hardware", PART_HARDWARE},
                 {"all", PART_ALL}};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, parts[i].name) == 0) {
            *out = parts[i].parts;
            return -1;
        }
    return fail(EXIT_USAGE, "profile what? '%s' is not compute, memory, hardware or all", name);
}

enum { SCHEDULE_MOST = 1000000 };
static int no_schedule(const char *text) {
    return fail(EXIT_USAGE,
                "--schedule: '%s' is not WAIT,WARMUP,ACTIVE,REPEAT, each 0..%d and ACTIVE not 0",
                text, SCHEDULE_MOST);
}

/* "skip,wait,warmup,active[,repeat]", or without the first. */
static int read_schedule(const char *text, eg_recorder_options *out) {
    uint32_t numbers[5] = {0};
    int count = 0;
    for (const char *at = text; text;) {
        int64_t value;
        const size_t length = strcspn(at, ",");
        if (count == 5 || eg_integer_parse(at, length, 0, SCHEDULE_MOST, &value, NULL))
            return no_schedule(text);
        numbers[count++] = (uint32_t)value;
        if (!at[length]) break;
        at += length + 1;
    }
    if (text && (count < 4 || !numbers[count - 2])) return no_schedule(text);
    const uint32_t *n = numbers + (count == 5);
    if (count == 5) out->skip = numbers[0];
    out->wait = n[0];
    out->warmup = n[1];
    out->active = n[2];
    out->repeat = n[3];
    return -1;
}

static int check_sort(const char *sort) {
    static const char *const keys[] = {"time",   "calls", "flops", "bytes", "intensity",
                                       "gflops", "gbps",  "roof",  "step"};
    for (size_t i = 0; sort && i < sizeof keys / sizeof *keys; i++)
        if (strcmp(sort, keys[i]) == 0) return -1;
    return sort ? fail(EXIT_USAGE, "--sort: '%s' is not a column", sort) : -1;
}

static json *whole_json(eg_context *context, const eg_profile *profile, const eg_analysis *analysis,
                        const devices *d, unsigned parts) {
    json *document = profile_json(context, profile, analysis, parts);
    if (d->count) json_put(document, "devices", devices_json(d));
    return document;
}

static int write_files(eg_context *context, const eg_profile *profile, const eg_analysis *analysis,
                       const devices *d, const profile_wish *w) {
    eg_error error;
    if (w->trace && eg_profile_trace(profile, w->trace, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    if (w->stacks && eg_profile_stacks(profile, w->stacks, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    if (!w->output) return -1;
    output_file file;
    int code = output_begin(&file, w->output);
    if (code >= 0) return code;
    json_write_line(whole_json(context, profile, analysis, d, PART_ALL), file.file);
    return output_end(&file);
}

static int run(eg_context *context, const profile_wish *w, const eg_profile_options *options) {
    eg_error error;
    eg_model *model;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    if (eg_model_open(context, w->model, &model, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    int code = -1;
    if (w->sweep || w->grid) {
        code = profile_grid(model, w, options);
        eg_model_destroy(model);
        return code;
    }
    if (eg_profile_model(model, w->model, options, &profile, &error) ||
        eg_analyse(profile, &analysis, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    devices *d = calloc(1, sizeof *d);
    if (code < 0 && !d) code = fail(EXIT_FAILED, "no memory");
    if (code < 0 && w->device) code = devices_project(profile, w->device, d);
    if (code < 0 && w->json) code = json_print(whole_json(context, profile, analysis, d, w->parts));
    else if (code < 0) {
        code = profile_print(profile, analysis, w);
        if (d->count) devices_print(d);
    }
    /* last, so that a file that cannot be written does not take the rest along */
    if (code == EXIT_DONE) {
        const int written = write_files(context, profile, analysis, d, w);
        if (written >= 0) code = written;
    }
    free(d);
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    return code;
}

int cmd_profile(int argc, char **argv) {
    profile_wish w = {.parts = PART_COMPUTE};
    eg_profile_options o = {0};
    context_flags flags = {.threads = 1};
    bool no_compile = false;
    const char *schedule = NULL, *memory = NULL;
    const option options[] = {
        {"--batch", OPTION_COUNT, &o.batch, "N", "samples at once (default: 1)"},
        {"--seq", OPTION_COUNT, &o.seq, "N", "time steps of a sample (default: 1)"},
        {"--runs", OPTION_COUNT, &o.runs, "N", "timed runs (default: a second of them)"},
        {"--warmup", OPTION_COUNT, &o.warmup, "N", "runs before these (default: 3)"},
        {"--no-compile", OPTION_FLAG, &no_compile, NULL, "without passes: a step for each node"},
        {"--schedule", OPTION_TEXT, &schedule, "A,B,C,D",
         "recorded runs: wait A, warm up B, keep C, D times"},
        {"--steps", OPTION_FLAG, &w.steps, NULL, "every step, not grouped by operation and shape"},
        {"--sort", OPTION_TEXT, &w.sort, "COLUMN",
         "time, calls, flops, bytes, intensity, gflops, gbps, roof, step"},
        {"--top", OPTION_COUNT, &w.top, "N", "rows of the table (default: 10)"},
        {"--grid", OPTION_FLAG, &w.grid, NULL, "batches and types, and which batch to take"},
        {"--sweep", OPTION_TEXT, &w.sweep, "AXES",
         "the same for batch=1,32,seq=16,64,type=f32,f16"},
        {"--memory", OPTION_TEXT, &memory, "BYTES",
         "what a batch may take: 64M, 2G (default: preset)"},
        {"--ablation", OPTION_FLAG, &w.ablation, NULL,
         "compiled or not, one thread or all, in turns"},
        {"--device", OPTION_TEXT, &w.device, "CHIPS",
         "what it would take on M1, M1 Max, ..., or all"},
        {"--trace", OPTION_TEXT, &w.trace, "FILE", "write Chrome's trace format (ui.perfetto.dev)"},
        {"--stacks", OPTION_TEXT, &w.stacks, "FILE", "write folded stacks, for flame graphs"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "write all of it as JSON, for elegans report"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "profile MODEL [compute|memory|hardware|all] [OPTIONS]",
        "Compiles a model for a batch and a length, runs it, and tells where the time goes:\n"
        "each step beside what this machine can do (measured once, then stored). MODEL is a\n"
        "file or a spec such as cfc:autoncp:64:16,in=16. Every figure says where it is from.",
        options,
        "  elegans profile cfc:autoncp:64:16,in=16 --batch 32 --seq 64\n"
        "  elegans profile policy.safetensors all --trace trace.json\n"
        "  elegans profile policy.safetensors --seq 64 --grid --device 'M1 Max'\n"
        "  elegans profile ltc:autoncp:64:16,in=16 --steps --sort roof --top 5\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code >= 0) return code;
    if (rest < 1 || rest > 2) return fail(EXIT_USAGE, "profile needs a model: a file or a spec");
    if (rest == 2) code = read_part(argv[1], &w.parts);
    if (code < 0) code = read_schedule(schedule, &o.recorder);
    if (code < 0) code = check_sort(w.sort);
    if (code < 0 && memory && (!parse_bytes(memory, &w.budget) || !w.budget))
        code = fail(EXIT_USAGE, "--memory: '%s' is not a number of bytes", memory);
    if (code < 0 && memory && !w.grid && !w.sweep)
        code = fail(EXIT_USAGE, "--memory limits a grid: it needs --grid or --sweep");
    if (code < 0 && w.device) code = devices_check(w.device);
    if (code >= 0) return code;
    if ((w.json || w.output) && !json_usable()) return json_print(NULL);
    w.model = argv[0];
    o.no_compile = no_compile;
    if (w.ablation) return profile_ablation(&flags, &w, &o);
    eg_context *context;
    code = context_open(&flags, &context);
    if (code >= 0) return code;
    code = run(context, &w, &o);
    eg_context_destroy(context);
    return code;
}
