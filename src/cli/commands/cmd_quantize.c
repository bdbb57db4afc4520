/* elegans quantize: a quantized model, what that saves and what it changes. */
#include "cli/commands/language.h"
#include "cli/commands/run.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef struct settings {
    const char *model, *output, *to, *per, *keep;
    uint64_t block;
    bool symmetric, integers, whole_range, json;
    run_settings data; /* what to run both models on */
} settings;

enum { KEEP_MAX = 32 };

/* ---- options */
static int read_type(const settings *w, eg_quantization *quantization) {
    static const struct {
        const char *name;
        eg_type type;
    } types[] = {{"f16", EG_F16}, {"bf16", EG_BF16}, {"int8", EG_I8},
                 {"int4", EG_I4}, {"i8", EG_I8},     {"i4", EG_I4}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(w->to, types[i].name) == 0) {
            quantization->type = types[i].type;
            return CLI_OK;
        }
    return fail(EXIT_USAGE, "--to: '%s' is none of f16, bf16, int8, int4", w->to);
}

static int read_how(const settings *w, eg_quantization *quantization) {
    int code = read_type(w, quantization);
    if (code) return code;
    const bool half = quantization->type == EG_F16 || quantization->type == EG_BF16;
    if (half && (w->block || w->per || w->symmetric || w->integers))
        return fail(EXIT_USAGE, "%s has no scales: no --block, --per, --symmetric or --integers",
                    w->to);
    quantization->per = quantization->type == EG_I4 || w->block ? EG_PER_BLOCK : EG_PER_CHANNEL;
    quantization->block = w->block ? (uint32_t)w->block : EG_BLOCK_DEFAULT;
    quantization->symmetric = w->symmetric;
    quantization->least_squares = quantization->type == EG_I4 && !w->whole_range;
    quantization->integers = w->integers;
    if (w->block > UINT32_MAX) return fail(EXIT_USAGE, "--block is too large");
    if (!w->per) return CLI_OK;
    for (unsigned i = 0; eg_granularity_name((eg_granularity)i); i++)
        if (strcmp(w->per, eg_granularity_name((eg_granularity)i)) == 0) {
            quantization->per = (eg_granularity)i;
            return w->block && quantization->per != EG_PER_BLOCK
                       ? fail(EXIT_USAGE, "--block does not apply to --per %s", w->per)
                       : CLI_OK;
        }
    return fail(EXIT_USAGE, "--per: '%s' is none of channel, tensor, block", w->per);
}

/* "a,b" as texts; `copy` holds them. */
static int read_keep(const char *keep, char copy[1024], const char *texts[KEEP_MAX],
                     size_t *count) {
    *count = 0;
    if (!keep) return CLI_OK;
    if (strlen(keep) >= 1024) return fail(EXIT_USAGE, "--keep is too long");
    strcpy(copy, keep);
    for (char *at = strtok(copy, ","); at; at = strtok(NULL, ",")) {
        if (*count == KEEP_MAX) return fail(EXIT_USAGE, "--keep: more than %d names", KEEP_MAX);
        texts[(*count)++] = at;
    }
    return CLI_OK;
}

/* ---- what changes */
typedef struct row {
    const char *name;
    char shape[48], type[32];
    uint64_t before, after;
    eg_difference off;
} row;

typedef struct outcome {
    row *rows;
    size_t count;
    uint64_t before, after;           /* of all tensors that are saved */
    uint64_t file_before, file_after; /* 0 = there is no such file */
    run_difference outputs;
} outcome;

static void shape_text(const eg_tensor *t, char out[48]) {
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; i < t->rank && used < 40; i++)
        used += (size_t)snprintf(out + used, 48 - used, "%s%llu", i ? "x" : "",
                                 (unsigned long long)t->shape[i]);
}

static void how_text(const eg_quantized *q, char out[32]) {
    if (!q->scales) snprintf(out, 32, "%s", eg_type_name(q->quantization.type));
    else if (q->quantization.per == EG_PER_BLOCK)
        snprintf(out, 32, "%s per %u", eg_type_name(q->quantization.type), q->quantization.block);
    else
        snprintf(out, 32, "%s per %s", eg_type_name(q->quantization.type),
                 eg_granularity_name(q->quantization.per));
}

/* The tensors of both models side by side. */
static int compare_tensors(eg_context *context, const eg_model *wide, const eg_model *quantized,
                           outcome *out) {
    eg_tensor a, rows;
    int trainable;
    eg_error error;
    const uint64_t size = eg_model_count(wide) * sizeof(row);
    if (eg_tensor_create(context, EG_U8, 1, &size, &rows, &error)) return fail_with(&error);
    out->rows = rows.data;
    for (size_t i = 0; i < eg_model_count(wide); i++) {
        row *r = &out->rows[out->count];
        r->name = eg_model_shape(wide, i, &a, &trainable);
        const eg_quantized *q = eg_model_quantized(quantized, i);
        if (!trainable) continue;
        shape_text(&a, r->shape);
        eg_model_numbers(wide, i, &r->before);
        r->after = q ? eg_quantized_bytes(q) : r->before;
        if (q) how_text(q, r->type);
        else snprintf(r->type, sizeof r->type, "f32");
        if (q) r->off = q->off; /* from what is used: where there is no synapse, nothing is */
        out->before += r->before;
        out->after += r->after;
        out->count++;
    }
    return CLI_OK;
}

static uint64_t file_size(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

/* ---- told */
static void print_sizes(const outcome *o) {
    char value[96], a[32], b[32];
    snprintf(value, sizeof value, "%s, was %s: %.2f of it", format_bytes(a, o->after),
             format_bytes(b, o->before), (double)o->after / (double)o->before);
    print_row("tensors", value, "counted");
    if (o->file_before)
        snprintf(value, sizeof value, "%s, was %s", format_bytes(a, o->file_after),
                 format_bytes(b, o->file_before));
    else snprintf(value, sizeof value, "%s", format_bytes(a, o->file_after));
    print_row("file", value, "counted");
}

static void print_text(const settings *w, const outcome *o) {
    char value[128], a[32], b[32], c[32];
    print_title(w->output, w->to);
    print_sizes(o);
    run_print_difference(&o->outputs);
    snprintf(value, sizeof value, "%s, was %s", format_seconds(a, o->outputs.seconds[1]),
             format_seconds(b, o->outputs.seconds[0]));
    char note[96], steps[48];
    snprintf(note, sizeof note, "measured, %llu x %s", (unsigned long long)o->outputs.samples,
             format_count(steps, o->outputs.steps, "step"));
    print_row("a run", value, note);
    print_section("tensors", "off by: at most, rms, signal to noise");
    for (size_t i = 0; i < o->count; i++) {
        const row *r = &o->rows[i];
        const int shape = (int)strlen(r->shape);
        const bool wide = strlen(r->name) > 28 || shape > 9; /* the name has a line of its own */
        if (wide) printf("  %s\n%*s", r->name, shape > 9 ? 40 - shape : 31, "");
        else printf("  %-28s ", r->name);
        printf("%-9s %-15s", r->shape, r->type);
        if (strcmp(r->type, "f32") == 0) printf("%s kept%s\n", style_dim(), style_end());
        else
            printf(" %7.2g %7.2g %4s dB\n", r->off.most, r->off.rms,
                   isinf(r->off.snr) ? "inf" : format_short(c, r->off.snr));
    }
}

static int print_json(const settings *w, const outcome *o) {
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object(), *list = json_new_list(), *outputs = json_new_object();
    json_put_text(document, "model", w->model);
    json_put_text(document, "output", w->output);
    json_put_text(document, "type", w->to);
    json_put_count(document, "bytes_before", o->before);
    json_put_count(document, "bytes_after", o->after);
    if (o->file_before) json_put_count(document, "file_before", o->file_before);
    json_put_count(document, "file_after", o->file_after);
    run_put_outputs(outputs, &w->data, &o->outputs);
    const eg_metric before = {o->outputs.seconds[0], EG_MEASURED, "s", "best of 5 runs"};
    const eg_metric after = {o->outputs.seconds[1], EG_MEASURED, "s", "best of 5 runs"};
    json_put_metric(outputs, "seconds_before", &before);
    json_put_metric(outputs, "seconds_after", &after);
    json_put(document, "outputs", outputs);
    for (size_t i = 0; i < o->count; i++) {
        const row *r = &o->rows[i];
        json *one = json_new_object();
        json_put_text(one, "name", r->name);
        json_put_text(one, "shape", r->shape);
        json_put_text(one, "type", r->type);
        json_put_count(one, "bytes_before", r->before);
        json_put_count(one, "bytes_after", r->after);
        run_put_difference(one, &r->off);
        json_append(list, one);
    }
    json_put(document, "tensors", list);
    return json_print(document);
}

/* ---- the whole */
static int quantize(eg_context *context, const settings *w,
                    const eg_model_quantization *quantization) {
    eg_model *wide = NULL, *quantized = NULL;
    eg_error error;
    outcome o = {0};
    int code = CLI_OK;
    eg_status status = eg_model_open(context, w->model, &wide, &error);
    if (!status) status = eg_model_open(context, w->model, &quantized, &error);
    if (!status) status = eg_model_quantize(quantized, quantization, &error);
    if (status) code = fail_with(&error);
    if (!code) code = compare_tensors(context, wide, quantized, &o);
    if (!code) code = run_compare(context, &w->data, wide, quantized, &o.outputs);
    o.file_before = file_size(w->model);
    if (!code) code = language_note(quantized, w->model);
    if (!code && eg_model_save(quantized, w->output, &error)) code = fail_with(&error);
    o.file_after = file_size(w->output);
    if (!code) {
        if (w->json) code = print_json(w, &o);
        else print_text(w, &o);
    }
    eg_tensor rows = {EG_U8, 1, {0}, o.rows};
    eg_tensor_release(context, &rows);
    eg_model_destroy(wide);
    eg_model_destroy(quantized);
    return code;
}

int cmd_quantize(int argc, char **argv) {
    settings w = {0};
    context_flags flags = {0};
    const option options[] = {
        {"--to", OPTION_TEXT, &w.to, "TYPE", "f16, bf16, int8 or int4"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "the model file to write: .safetensors"},
        {"--block", OPTION_COUNT, &w.block, "N", "values per scale (int4: 128; int8: a row)"},
        {"--per", OPTION_TEXT, &w.per, "WHAT", "scales per channel, tensor or block"},
        {"--whole-range", OPTION_FLAG, &w.whole_range, NULL,
         "int4: scale by range, not by least squares"},
        {"--symmetric", OPTION_FLAG, &w.symmetric, NULL, "no zero points"},
        {"--integers", OPTION_FLAG, &w.integers, NULL,
         "integer products: quantize activations to int8, too"},
        {"--keep", OPTION_TEXT, &w.keep, "NAMES",
         "tensors whose name contains one of these stay f32"},
        {"--data", OPTION_TEXT, &w.data.input, "FILE",
         "compare outputs on this .csv or .npy (default: random)"},
        {"--time", OPTION_TEXT, &w.data.time, "COLUMN", "of the data: the column with times"},
        {"--spans", OPTION_TEXT, &w.data.timespans, "COLUMN",
         "of the data: the column with timespans"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print as JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "quantize MODEL --to f16|bf16|int8|int4 -o OUT.safetensors [OPTIONS]",
        "Writes a quantized model, and reports its size, the error of every tensor, and the\n"
        "change of the outputs on data. int8 and int4 apply to matrices, f16 and bf16 to all\n"
        "tensors; those named by --keep stay f32. The file works wherever the original does.",
        options,
        "  elegans quantize policy.safetensors --to int8 -o small.safetensors --data drive.csv\n"
        "  elegans quantize cfc:64,in=16 --to int4 --block 32 --keep time_a -o tiny.safetensors\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "quantize needs one model: a file or a spec");
    if (!w.to) return fail(EXIT_USAGE, "quantize needs a type: --to f16|bf16|int8|int4");
    if (!w.output) return fail(EXIT_USAGE, "quantize needs an output: -o OUT.safetensors");
    if ((code = output_model(w.output)) != CLI_OK) return code;
    w.model = argv[0];
    eg_model_quantization quantization = {0};
    char copy[1024];
    const char *texts[KEEP_MAX];
    code = read_how(&w, &quantization.quantization);
    if (!code) code = read_keep(w.keep, copy, texts, &quantization.keep_count);
    quantization.keep = texts;
    eg_context *context;
    if (!code) code = context_open(&flags, &context);
    if (code) return code;
    code = quantize(context, &w, &quantization);
    eg_context_destroy(context);
    return code;
}
