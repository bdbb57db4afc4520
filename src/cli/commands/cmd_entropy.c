/* elegans entropy: how much the bytes around each place of a file say, and patches cut by that. */
#include "cli/commands/entropy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct entropy_settings {
    const char *path, *output, *svg;
    uint64_t window, minimum, maximum, target, size;
    double low, high;
    bool patches, fixed, json;
} entropy_settings;

enum { SIZES = 65536 }; /* that come of one piece, at most */

typedef struct entropy_run {
    const entropy_settings *settings;
    eg_context *context;
    entropy_input input;
    eg_patch_options options;
    eg_patcher *patcher; /* NULL = none wanted */
    entropy_json json;
    eg_entropy_curve *curve;
    uint64_t measured;
    uint32_t sizes[SIZES];
} entropy_run;

static eg_entropy_curve_info curve_of(const entropy_run *r) {
    eg_entropy_curve_info info = {.size = sizeof info};
    eg_entropy_curve_info_get(r->curve, &info);
    return info;
}

/* ---- text */

static void print_along(const eg_entropy_curve_info *c) {
    enum { ACROSS = 64 };
    const size_t cells = c->column_count < ACROSS ? c->column_count : ACROSS;
    char note[64], text[32];
    snprintf(note, sizeof note, "mean from 0 to 1, %s each",
             format_bytes(text, c->bytes / cells + (c->bytes % cells != 0)));
    print_section("along the input", note);
    fputs("  ", stdout);
    for (size_t i = 0; i < cells; i++) {
        double sum = 0, count = 0;
        for (size_t k = i * c->column_count / cells; k < (i + 1) * c->column_count / cells; k++) {
            sum += c->columns[k].sum;
            count += (double)c->columns[k].count;
        }
        fputs(format_block(sum / count), stdout);
    }
    putchar('\n');
}

static void print_share(const char *name, uint64_t count, uint64_t all, const char *what,
                        double threshold) {
    char value[96];
    snprintf(value, sizeof value, "%.1f %% of the bytes have %g or %s",
             100 * (double)count / (double)all, threshold, what);
    print_row(name, value, "counted");
}

static void print_entropy(const entropy_run *r, const eg_entropy_curve_info *c) {
    const eg_entropy_column all = c->all;
    char note[96], value[96], count[48];
    snprintf(note, sizeof note, "%s, window of %llu", format_count(count, c->bytes, "byte"),
             (unsigned long long)r->settings->window);
    print_title(r->input.path, note);
    if (!all.count) return;
    const double mean = all.sum / (double)all.count;
    snprintf(value, sizeof value, "%.4f in the mean, %.4f to %.4f", mean, (double)all.least,
             (double)all.most);
    print_row("entropy", value, "counted");
    snprintf(value, sizeof value, "%.3f a byte", 8 * mean);
    print_row("bits", value, "counted");
    print_share("calm", c->low_bytes, all.count, "less", c->low);
    print_share("busy", c->high_bytes, all.count, "more", c->high);
    print_along(c);
}

static void print_patches(const entropy_run *r, const eg_patch_statistics *s) {
    const eg_patch_options *o = &r->options;
    char value[96], count[48];
    if (o->mode == EG_PATCH_FIXED)
        snprintf(value, sizeof value, "%s each", format_count(count, o->fixed, "byte"));
    else
        snprintf(value, sizeof value, "%u bytes at %g or less, %u at %g or more%s", o->maximum,
                 o->low, o->minimum, o->high, o->mode == EG_PATCH_TARGET ? ", stretched" : "");
    print_section("patches", value);
    snprintf(value, sizeof value, "%llu", (unsigned long long)s->count);
    print_row("count", value, "counted");
    if (!s->count) return;
    snprintf(value, sizeof value, "%u to %u bytes, mean %.2f, deviation %.2f", s->size_least,
             s->size_most, s->size_mean, s->size_deviation);
    print_row("sizes", value, "counted");
    snprintf(value, sizeof value, "%.4f to %.4f", s->entropy_least, s->entropy_most);
    print_row("entropy", value, "counted, means of patches");
    snprintf(value, sizeof value, "%.2f bytes per patch", s->compression_ratio);
    print_row("compression", value, "counted");
    if (isfinite(s->coded_ratio)) snprintf(value, sizeof value, "%.2f : 1", s->coded_ratio);
    else snprintf(value, sizeof value, "without limit, every window is constant");
    print_row("coded", value, "modelled: 8 bits / mean entropy");
}

/* ---- along the input */

static int measure(void *user, const float *entropies, size_t count) {
    entropy_run *r = user;
    eg_patcher_measure(r->patcher, entropies, count);
    r->measured += count;
    return CLI_OK;
}

static void keep_patches(entropy_run *r, size_t count) {
    for (size_t i = 0; i < count; i++) eg_entropy_curve_add_patch(r->curve, r->sizes[i], NULL);
    if (r->settings->json) entropy_json_patch(&r->json, r->sizes, count);
}

static int take(void *user, const float *entropies, size_t count) {
    entropy_run *r = user;
    eg_entropy_curve_add(r->curve, entropies, count);
    if (r->settings->json) entropy_json_add(&r->json, entropies, count);
    for (size_t at = 0; r->patcher && at < count; at += SIZES) {
        const size_t piece = count - at < SIZES ? count - at : SIZES;
        keep_patches(r, eg_patcher_push(r->patcher, entropies + at, piece, r->sizes));
    }
    return CLI_OK;
}

/* A target needs to know the whole input before it can divide it. */
static int run_first(entropy_run *r) {
    eg_error error;
    if (r->options.mode != EG_PATCH_TARGET) return CLI_OK;
    const int code = entropy_walk(&r->input, r->context, r->settings->window, measure, r);
    if (code) return code;
    if (eg_patcher_begin(r->patcher, &error)) return fail_with(&error);
    rewind(r->input.file);
    return CLI_OK;
}

static int run_second(entropy_run *r) {
    int code = entropy_walk(&r->input, r->context, r->settings->window, take, r);
    if (code) return code;
    if (r->options.mode == EG_PATCH_TARGET && curve_of(r).bytes != r->measured)
        return fail(EXIT_FAILED, "'%s' changed while it was read", r->input.path);
    if (r->patcher) keep_patches(r, eg_patcher_end(r->patcher, r->sizes));
    return CLI_OK;
}

static int draw(const entropy_run *r) {
    eg_report *picture;
    eg_error error;
    const bool thresholds = r->patcher && r->options.mode != EG_PATCH_FIXED;
    if (eg_report_of_entropy(r->curve, r->input.path, r->settings->window, thresholds, &picture,
                             &error))
        return fail_with(&error);
    return output_report_file(picture, r->settings->svg);
}

static int show(entropy_run *r) {
    const eg_entropy_curve_info curve = curve_of(r);
    const entropy_settings *w = r->settings;
    eg_patch_statistics statistics;
    if (r->patcher) eg_patcher_statistics_get(r->patcher, &statistics);
    if (w->json) {
        const int code =
            entropy_json_end(&r->json, &curve.all, &r->options, r->patcher ? &statistics : NULL);
        if (code) return code;
    } else {
        print_entropy(r, &curve);
        if (r->patcher) print_patches(r, &statistics);
    }
    return w->svg ? draw(r) : CLI_OK;
}

static int run(entropy_run *r) {
    const entropy_settings *w = r->settings;
    int code = run_first(r);
    if (code) return code;
    if (w->json) code = entropy_json_begin(&r->json, w->output, w->window, w->patches);
    if (code) return code;
    code = run_second(r);
    if (code) {
        if (w->json) entropy_json_abort(&r->json);
        return code;
    }
    return show(r);
}

/* ---- the command */

static int run_settings(const entropy_settings *w) {
    entropy_run *r = take_memory(1, sizeof *r);
    const context_flags flags = {.threads = 1};
    eg_error error;
    r->settings = w;
    r->options = (eg_patch_options){.mode = w->target  ? EG_PATCH_TARGET
                                            : w->fixed ? EG_PATCH_FIXED
                                                       : EG_PATCH_ENTROPY,
                                    .minimum = (uint32_t)w->minimum,
                                    .maximum = (uint32_t)w->maximum,
                                    .low = w->low,
                                    .high = w->high,
                                    .target = w->target,
                                    .fixed = (uint32_t)w->size};
    int code = context_open(&flags, &r->context);
    if (!code && eg_entropy_curve_create(r->context, w->low, w->high, &r->curve, &error))
        code = fail_with(&error);
    if (!code && w->patches && eg_patcher_create(r->context, &r->options, &r->patcher, &error))
        code = fail_with(&error);
    if (!code) code = entropy_open(&r->input, w->path, w->target != 0);
    if (!code) code = run(r);
    entropy_close(&r->input);
    eg_entropy_curve_destroy(r->curve);
    eg_patcher_destroy(r->patcher);
    eg_context_destroy(r->context);
    free(r);
    return code;
}

static int check(entropy_settings *w, bool patches_only) {
    if (w->size) w->fixed = true;
    else w->size = 18;
    if (w->fixed && w->target) return fail(EXIT_USAGE, "--target or --fixed, not both");
    if ((patches_only || w->fixed || w->target) && !w->patches)
        return fail(EXIT_USAGE, "--minimum, --maximum, --target, --fixed and --size are for "
                                "--patches");
    if (w->output && !w->json) return fail(EXIT_USAGE, "--output is for --json");
    if (w->window > EG_ENTROPY_WINDOW_MAX)
        return fail(EXIT_USAGE, "--window: '%llu' is larger than %d", (unsigned long long)w->window,
                    EG_ENTROPY_WINDOW_MAX);
    if (!(w->low >= 0 && w->low < w->high && w->high <= 1))
        return fail(EXIT_USAGE, "--low '%g' and --high '%g' are not low < high within 0..1", w->low,
                    w->high);
    const uint64_t largest = w->size > w->maximum ? w->size : w->maximum;
    if (largest > EG_PATCH_SIZE_MAX || w->minimum > EG_PATCH_SIZE_MAX)
        return fail(EXIT_USAGE, "patches have at most %d bytes", EG_PATCH_SIZE_MAX);
    const int code = w->output ? output_check(w->output, false) : CLI_OK;
    return !code && w->svg ? output_check(w->svg, false) : code;
}

int cmd_entropy(int argc, char **argv) {
    entropy_settings w = {.window = EG_ENTROPY_WINDOW, .low = 0.3, .high = 0.7};
    const option options[] = {
        {"--window", OPTION_COUNT, &w.window, "N", "bytes of a window (256)"},
        {"--patches", OPTION_FLAG, &w.patches, NULL, "cut the input into patches"},
        {"--minimum", OPTION_COUNT, &w.minimum, "N", "bytes of the shortest patches (4)"},
        {"--maximum", OPTION_COUNT, &w.maximum, "N", "bytes of the longest patches (32)"},
        {"--low", OPTION_NUMBER, &w.low, "X", "entropy up to which patches are longest (0.3)"},
        {"--high", OPTION_NUMBER, &w.high, "X", "entropy from which they are shortest (0.7)"},
        {"--target", OPTION_COUNT, &w.target, "N", "number of patches"},
        {"--fixed", OPTION_FLAG, &w.fixed, NULL, "patches of 18 bytes each"},
        {"--size", OPTION_COUNT, &w.size, "N", "the same with N bytes"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print JSON: every entropy, every patch's size"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "where the JSON goes (default: stdout)"},
        {"--svg", OPTION_TEXT, &w.svg, "FILE", "draw it"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "entropy FILE|- [--window N] [--patches] [--json] [--svg FILE]",
        "Shows the information content along a file: the Shannon entropy of the bytes in the\n"
        "window [i - N/2, i + N/2) around each position i, cut at both ends of the file, in\n"
        "bits / 8. With --patches, cuts the file into patches that are short where the entropy\n"
        "is high. The file may be larger than memory, or a pipe.",
        options,
        "  elegans entropy README.md\n"
        "  elegans entropy README.md --patches --svg entropy.svg\n"
        "  tar c . | elegans entropy - --window 4096 --json -o entropy.json\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "entropy needs one file, or - for stdin");
    const bool patches_only = w.minimum || w.maximum;
    if (!w.minimum) w.minimum = 4;
    if (!w.maximum) w.maximum = 32;
    w.path = argv[0];
    code = check(&w, patches_only);
    return code ? code : run_settings(&w);
}
