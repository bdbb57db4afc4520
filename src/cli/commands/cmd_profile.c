/* elegans profile: what a model costs on this machine. */
#include "cli/commands/profile.h"
#include "cli/commands/baseline.h"
#include "cli/publishing.h"

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
            return CLI_OK;
        }
    return fail(EXIT_USAGE,
                "'%s' is not a part to profile: compute, memory, hardware or "
                "all",
                name);
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
    return CLI_OK;
}

static const char *column_at(void *user, size_t index) {
    return ((const char *const *)user)[index];
}

static int check_sort(const char *sort) {
    static const char *const keys[] = {"time",   "calls", "flops", "bytes", "intensity",
                                       "gflops", "gbps",  "roof",  "step",  NULL};
    for (size_t i = 0; sort && keys[i]; i++)
        if (strcmp(sort, keys[i]) == 0) return CLI_OK;
    if (!sort) return CLI_OK;
    char meant[EG_DID_YOU_MEAN_SIZE];
    return fail(EXIT_USAGE, "--sort: '%s' is not a column%s", sort,
                eg_did_you_mean(meant, sort, column_at, (void *)(uintptr_t)keys));
}

/* Into an open file. */
static int write_document(const eg_profile *profile, const eg_analysis *analysis, const devices *d,
                          unsigned parts, bool indented, FILE *file) {
    eg_report *report;
    eg_error error;
    const eg_report_options options = {.size = sizeof options,
                                       .format = EG_REPORT_JSON,
                                       .indented = indented,
                                       .digits = 10,
                                       .parts = parts,
                                       .device_count = d->count,
                                       .devices = d->list};
    if (eg_report_of_profile(profile, analysis, &options, &report, &error))
        return fail(EXIT_FAILED, "cannot write JSON: %s", error.message);
    return output_document(report, file);
}

static int write_files(const eg_profile *profile, const eg_analysis *analysis, const devices *d,
                       const profile_settings *w) {
    eg_error error;
    if (w->trace && eg_profile_trace(profile, w->trace, &error)) return fail_with(&error);
    if (w->stacks && eg_profile_stacks(profile, w->stacks, &error)) return fail_with(&error);
    if (!w->output) return CLI_OK;
    output_file file;
    int code = output_begin(&file, w->output);
    if (code) return code;
    code = write_document(profile, analysis, d, PART_ALL, false, file.file);
    if (!code) return output_end(&file);
    output_abort(&file);
    return code;
}

/* Into the history, where elegans history and its trend find it. */
static int keep(eg_context *context, const eg_profile *profile, const eg_analysis *analysis,
                const profile_settings *w, const eg_profile_options *o) {
    eg_error error;
    eg_history *history;
    eg_environment environment;
    const baseline_settings settings = {.model = w->model,
                                        .note = w->note,
                                        .batch = o->batch,
                                        .seq = o->seq,
                                        .no_compile = o->no_compile};
    if (!w->save) return CLI_OK;
    if (eg_environment_read(context, NULL, &environment, &error) ||
        eg_history_open(context, w->history, &history, &error))
        return fail_with(&error);
    const int code = history_keep(context, history, &settings, &environment, profile, analysis);
    eg_history_close(history);
    return code;
}

static int check_save(const profile_settings *w) {
    const char *other = w->grid       ? "--grid"
                        : w->sweep    ? "--sweep"
                        : w->ablation ? "--ablation"
                                      : NULL;
    if (w->save && other)
        return fail(EXIT_USAGE, "--save keeps one profile: it does not go with %s", other);
    if (!w->save && (w->note || w->history))
        return fail(EXIT_USAGE, "%s needs --save", w->note ? "--note" : "--history");
    return CLI_OK;
}

/* What needs steps, ceilings or another model does not go with --quick. */
static int check_quick(const profile_settings *w, bool no_compile) {
    const struct {
        bool wanted;
        const char *name;
    } others[] = {{w->grid, "--grid"},     {w->sweep, "--sweep"}, {w->ablation, "--ablation"},
                  {w->device, "--device"}, {w->trace, "--trace"}, {w->stacks, "--stacks"},
                  {w->output, "--output"}, {w->save, "--save"},   {w->steps, "--steps"},
                  {w->sort, "--sort"},     {w->top, "--top"},     {no_compile, "--no-compile"}};
    for (size_t i = 0; w->quick && i < sizeof others / sizeof *others; i++)
        if (others[i].wanted)
            return fail(EXIT_USAGE, "--quick only times a model: leave out %s, or --quick",
                        others[i].name);
    return CLI_OK;
}

/* Short runs are tried without asking; --try has time for long ones and memory for large models. */
static eg_status try_advice(eg_model *model, const eg_profile *profile, eg_analysis *analysis,
                            const profile_settings *w, eg_error *error) {
    const eg_try_options options = {.size = sizeof options,
                                    .seconds = w->try_all ? 30 : 0,
                                    .bytes = w->try_all ? UINT64_MAX : 0,
                                    .name = w->model};
    return w->no_try ? EG_OK : eg_analysis_try(analysis, model, profile, &options, error);
}

/* Runs one batch, if it fits: by the rule of grids, so that both take as much. */
static eg_status try_batch(eg_model *model, const profile_settings *w, const eg_profile_options *o,
                           uint64_t size, bool *works, eg_error *error) {
    eg_grid *grid = NULL;
    eg_profile_options once = *o;
    once.runs = once.warmup = 1;
    once.no_ceilings = once.no_cache = 1;
    const eg_grid_options one = {.size = sizeof one,
                                 .batches = &size,
                                 .batch_count = 1,
                                 .budget = w->budget,
                                 .profile = &once};
    const eg_status status = eg_grid_create(model, &one, &grid, error);
    *works = false;
    if (status) return status == EG_ERR_MEMORY || status == EG_ERR_BUDGET ? EG_OK : status;
    const eg_grid_choice *choice = eg_grid_choice_at(grid, 0);
    *works = choice->cell != NULL;
    if (!*works) snprintf(error->message, sizeof error->message, "%s", choice->reason);
    eg_grid_destroy(grid);
    return EG_OK;
}

/* The largest batch of the chip's range that fits into memory. */
static int choose_batch(eg_context *context, eg_model *model, const profile_settings *w,
                        eg_profile_options *out) {
    eg_preset preset;
    eg_batch batch;
    eg_error error = {EG_OK, ""};
    eg_status status = w->preset ? eg_preset_find(w->preset, &preset, &error)
                                 : eg_preset_host(eg_context_chip(context), NULL, &preset, &error);
    if (status) return fail(EXIT_FAILED, "--batch auto: %s", error.message);
    eg_batch_begin(&batch, preset.batch, 1, preset.batch_high);
    while (!eg_batch_settled(&batch)) {
        bool works;
        if (try_batch(model, w, out, batch.size, &works, &error))
            return fail(EXIT_FAILED, "--batch auto: %s", error.message);
        eg_batch_adjust(&batch, works);
    }
    if (!batch.works) return fail(EXIT_FAILED, "--batch auto: %s", error.message);
    out->batch = batch.works;
    return CLI_OK;
}

static int run(eg_context *context, const profile_settings *w, const eg_profile_options *options) {
    eg_error error;
    eg_model *model;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    if (eg_model_open(context, w->model, &model, &error)) return fail_with(&error);
    eg_profile_options chosen = *options;
    int code = w->auto_batch ? choose_batch(context, model, w, &chosen) : CLI_OK;
    options = &chosen;
    if (!code && w->quick) code = profile_quick(model, w, options);
    else if (!code && (w->sweep || w->grid)) code = profile_grid(model, w, options);
    if (code || w->quick || w->sweep || w->grid) {
        eg_model_destroy(model);
        return code;
    }
    if (eg_profile_model(model, w->model, options, &profile, &error) ||
        eg_analyse(profile, &analysis, &error) || try_advice(model, profile, analysis, w, &error))
        code = fail_with(&error);
    devices *d = take_memory(1, sizeof *d);
    if (!code && w->device) code = devices_project(model, options, w->device, d);
    if (!code && w->json) {
        code = write_document(profile, analysis, d, w->parts, true, stdout);
    } else if (!code) {
        code = profile_print(profile, analysis, w);
        if (d->count) devices_print(d, true);
    }
    /* last, so that a file that cannot be written does not take the rest along */
    if (!code) {
        code = write_files(profile, analysis, d, w);
        if (!code) code = keep(context, profile, analysis, w, options);
    }
    free(d);
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    return code;
}

/* The cores are the only unit of this build, in each of their instruction sets: which of them there are is
 * known when the context is made. */
static int read_unit(const char *unit, context_flags *flags) {
    if (!unit || strcmp(unit, "cores") == 0) return CLI_OK;
    if (flags->isa && strcmp(flags->isa, unit) != 0)
        return fail(EXIT_USAGE, "--unit %s and --isa %s exclude each other", unit, flags->isa);
    isa_names names;
    const int code = isa_list(&names);
    if (code) return code;
    for (size_t i = 0; i < names.count; i++)
        if (strcmp(unit, names.name[i]) == 0) {
            flags->isa = unit;
            return CLI_OK;
        }
    return fail(EXIT_USAGE, "--unit: no unit '%s' here, only cores (%s)", unit, names.text);
}

int cmd_profile(int argc, char **argv) {
    profile_settings w = {.parts = PART_COMPUTE};
    eg_recorder_options recorder = {0};
    eg_profile_options o = {.size = sizeof o, .recorder = &recorder};
    context_flags flags = {.threads = 1};
    bool no_compile = false;
    const char *schedule = NULL, *memory = NULL, *unit = NULL, *activations = NULL;
    const option options[] = {
        {"--batch", OPTION_TEXT, &w.batch, "N", "batch size, or auto (default: 1)"},
        {"--preset", OPTION_TEXT, &w.preset, "CHIP",
         "batch, memory and sizes as for M1, M4 Max, ..."},
        {"--seq", OPTION_COUNT, &o.seq, "N", "time steps of a sample (default: 1)"},
        {"--runs", OPTION_COUNT, &o.runs, "N", "timed runs (default: a second of them)"},
        {"--warmup", OPTION_COUNT, &o.warmup, "N", "runs before the timed ones (default: 3)"},
        {"--unit", OPTION_TEXT, &unit, "NAME",
         "where: cores, or cores with one instruction set (avx2, ref)"},
        {"--quick", OPTION_FLAG, &w.quick, NULL, "only time, rates and memory, in a second"},
        {"--no-compile", OPTION_FLAG, &no_compile, NULL, "no passes: one step per node"},
        {"--activations", OPTION_TEXT, &activations, "TYPE",
         "what products multiply: f32, bf16 or f16, and its error"},
        {"--schedule", OPTION_TEXT, &schedule, "A,B,C,D",
         "recorded runs: D times wait A, warm up B, record C"},
        {"--steps", OPTION_FLAG, &w.steps, NULL, "every step, not grouped by operation and shape"},
        {"--sort", OPTION_TEXT, &w.sort, "COLUMN",
         "time, calls, flops, bytes, intensity, gflops, gbps, roof, step"},
        {"--top", OPTION_COUNT, &w.top, "N", "rows of the table (default: 10)"},
        {"--grid", OPTION_FLAG, &w.grid, NULL,
         "table of batch sizes and types, and the best batch"},
        {"--sweep", OPTION_TEXT, &w.sweep, "AXES",
         "the same for batch=1,32,seq=16,64,type=f32,f16"},
        {"--memory", OPTION_TEXT, &memory, "BYTES",
         "what a batch of a grid, or auto, may take: 64M, 2G (default: preset)"},
        {"--ablation", OPTION_FLAG, &w.ablation, NULL,
         "compiled or not, one thread or all, alternating"},
        {"--try", OPTION_FLAG, &w.try_all, NULL, "try all advice, up to 30 s (default: 1.5 s)"},
        {"--no-try", OPTION_FLAG, &w.no_try, NULL, "do not try the advice"},
        {"--device", OPTION_TEXT, &w.device, "CHIPS",
         "projected times on M1, M1 Max, ..., or all chips"},
        {"--trace", OPTION_TEXT, &w.trace, "FILE", "write Chrome's trace format (ui.perfetto.dev)"},
        {"--stacks", OPTION_TEXT, &w.stacks, "FILE", "write folded stacks, for flame graphs"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "write all of it as JSON, for elegans report"},
        {"--save", OPTION_FLAG, &w.save, NULL, "keep it in the history, for elegans history"},
        {"--note", OPTION_TEXT, &w.note, "TEXT", "with --save: a note"},
        {"--history", OPTION_TEXT, &w.history, "FILE", "with --save: the database to keep it in"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "profile MODEL [compute|memory|hardware|all] [OPTIONS]",
        "Compiles a model for a batch size and a length, runs it, and shows where the time goes:\n"
        "each step against the ceilings of this machine (measured once, then stored). MODEL is\n"
        "a file or a spec such as cfc:autoncp:64:16,in=16. Every figure has its provenance.",
        options,
        "  elegans profile cfc:autoncp:64:16,in=16 --batch 32 --seq 64\n"
        "  elegans profile policy.safetensors all --trace trace.json\n"
        "  elegans profile policy.safetensors --seq 64 --grid --device 'M1 Max'\n"
        "  elegans profile ltc:autoncp:64:16,in=16 --steps --sort roof --top 5\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest < 1 || rest > 2) return fail(EXIT_USAGE, "profile needs a model: a file or a spec");
    if (rest == 2) code = read_part(argv[1], &w.parts);
    if (!code) code = read_activations(activations, &o.activations);
    if (!code) code = read_unit(unit, &flags);
    if (!code) code = read_schedule(schedule, &recorder);
    if (!code) code = check_sort(w.sort);
    if (!code) code = check_save(&w);
    if (!code) code = check_quick(&w, no_compile);
    if (!code && memory && (!parse_bytes(memory, &w.budget) || !w.budget))
        code = fail(EXIT_USAGE, "--memory: '%s' is not a number of bytes", memory);
    if (!code && w.try_all && w.no_try)
        code = fail(EXIT_USAGE, "--try and --no-try exclude each other");
    if (!code && w.device) code = devices_check(w.device);
    if (code) return code;
    if ((w.json || w.output || w.save) && !json_usable()) return json_print(NULL);
    preset_store store;
    w.model = argv[0];
    code = preset_apply(w.preset, &flags, &w.batch, NULL, &w.model, &store);
    if (!code) code = read_batch(w.batch, &o.batch);
    if (code) return code;
    if (w.preset && !w.budget) w.budget = flags.memory_budget;
    w.auto_batch = w.batch && !o.batch;
    if (memory && !w.grid && !w.sweep && !w.auto_batch)
        return fail(EXIT_USAGE,
                    "--memory limits a batch: it needs --grid, --sweep or --batch auto");
    if (w.auto_batch && (w.grid || w.sweep || w.ablation))
        return fail(EXIT_USAGE, "--batch auto is for one profile: a grid tries several anyway");
    o.no_compile = no_compile;
    if (w.ablation) return profile_ablation(&flags, &w, &o);
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    o.publisher = publish_open(context, "profile", w.model, NULL, eg_context_threads(context) == 1);
    code = run(context, &w, &o);
    eg_publisher_close(o.publisher);
    eg_context_destroy(context);
    return code;
}
