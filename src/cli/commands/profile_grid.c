/* One model in batches, lengths and types, here or on other chips, and which batch to take. */
#include "cli/commands/profile.h"

#include <math.h>
#include <string.h>

/* ---- axes: "batch=1,32,seq=16,64,type=f32,f16" */
enum { AXIS_MOST = 16 };
typedef struct axes {
    uint64_t batches[AXIS_MOST], lengths[AXIS_MOST];
    eg_type types[AXIS_MOST];
    size_t batch_count, length_count, type_count;
} axes;

static bool read_number(const char *at, size_t length, uint64_t *list, size_t *count) {
    int64_t value;
    if (*count == AXIS_MOST || eg_integer_parse(at, length, 1, 1 << 20, &value, NULL)) return false;
    list[(*count)++] = (uint64_t)value;
    return true;
}

static bool read_type(const char *at, size_t length, axes *a) {
    char name[8];
    if (length >= sizeof name || a->type_count == AXIS_MOST) return false;
    const bool integer = strncmp(at, "int", 3) == 0; /* int8, as elegans quantize has it, is i8 */
    snprintf(name, sizeof name, "%s%.*s", integer ? "i" : "", (int)length - 3 * integer,
             at + 3 * integer);
    return eg_type_find(name, &a->types[a->type_count++], NULL) == EG_OK;
}

static bool read_item(const char *at, size_t length, char axis, axes *a) {
    if (axis == 'b') return read_number(at, length, a->batches, &a->batch_count);
    if (axis == 's') return read_number(at, length, a->lengths, &a->length_count);
    return axis == 't' && read_type(at, length, a);
}

static int read_axes(const char *text, axes *a) {
    static const char *const names[] = {"batch=", "seq=", "type="};
    char axis = 0;
    for (const char *at = text; at;) {
        for (size_t i = 0; i < 3; i++)
            if (strncmp(at, names[i], strlen(names[i])) == 0) {
                axis = names[i][0];
                at += strlen(names[i]);
                break;
            }
        const size_t length = strcspn(at, ",");
        if (!read_item(at, length, axis, a))
            return fail(EXIT_USAGE, "--sweep: '%s' is not batch=N,N,seq=N,N,type=f32,... (%d each)",
                        text, AXIS_MOST);
        at = at[length] ? at + length + 1 : NULL;
    }
    return CLI_OK;
}

/* ---- text */
static void print_cell(const eg_grid_cell *c, bool here) {
    char time[32] = "-", samples[32] = "-", tflops[16] = "-", share[16] = "-", rate[16] = "-",
         bytes[32];
    const char *where = here ? eg_provenance_name(c->seconds.provenance) : eg_unit_name(c->unit);
    if (c->seconds.provenance != EG_UNAVAILABLE) {
        format_seconds(time, c->seconds.value);
        snprintf(samples, sizeof samples, "%.0f", c->samples.value);
        snprintf(tflops, sizeof tflops, "%.3f", c->tflops.value);
    }
    if (c->efficiency.provenance != EG_UNAVAILABLE)
        snprintf(share, sizeof share, "%.1f", 100 * c->efficiency.value);
    if (c->bandwidth.provenance != EG_UNAVAILABLE)
        snprintf(rate, sizeof rate, "%.1f", c->bandwidth.value);
    if (!c->fits) where = "too much";
    printf("  %5llu %-4s %6llu %8s %9s %7s %6s %5s %9s ", (unsigned long long)c->length,
           eg_type_name(c->type), (unsigned long long)c->batch, time, samples, tflops, share, rate,
           format_bytes(bytes, (uint64_t)c->memory.value));
    if (c->best) printf("%-8.8s *\n", where);
    else printf("%.8s\n", where);
}

static void print_choices(const eg_grid *grid, size_t types) {
    const eg_grid_choice *c;
    print_section("which batch", types > 1 ? "+ = the most samples per second of all types" : "");
    for (size_t i = 0; (c = eg_grid_choice_at(grid, i)); i++) {
        printf("%c %6llu %-4s", c->most && types > 1 ? '+' : ' ', (unsigned long long)c->length,
               eg_type_name(c->type));
        if (c->cell) printf(" %6llu  ", (unsigned long long)c->cell->batch);
        else printf(" %6s  ", "-");
        print_folded(c->reason, strlen(c->reason), 22, 22, NULL);
        if (c->cell && c->cell->condition && i < types)
            printf("  %s%-20s%s%s\n", style_dim(), "", c->cell->condition, style_end());
    }
}

static void print_grid(const char *model, const eg_grid *grid, size_t types, bool here) {
    char note[160], bytes[32];
    const eg_metric budget = eg_grid_budget(grid);
    snprintf(note, sizeof note, "%.40s, up to %s",
             here ? "this machine" : eg_grid_preset(grid)->chip,
             format_bytes(bytes, (uint64_t)budget.value));
    print_title(model, note);
    printf("  %s%5s %-4s %6s %8s %9s %7s %6s %5s %9s%s%s\n", style_dim(), "steps", "type", "batch",
           "time", "samples/s", "TFLOP/s", "% peak", "GB/s", "memory", here ? "" : " modelled",
           style_end());
    const eg_grid_cell *c;
    size_t noisy = 0, count = 0;
    for (; (c = eg_grid_cell_at(grid, count)); count++) {
        noisy += c->noise != EG_NOISE_NONE;
        print_cell(c, here);
    }
    c = eg_grid_cell_at(grid, 0);
    if (c && c->bandwidth.provenance != EG_UNAVAILABLE)
        printf("  %sGB/s: to and from the DRAM, %s%s\n", style_dim(),
               eg_provenance_name(c->bandwidth.provenance), style_end());
    if (noisy)
        printf("  %snoisy: %zu of %zu cells; take them again on a quiet machine%s\n", style_dim(),
               noisy, count, style_end());
    print_choices(grid, types);
}

/* ---- JSON */
static json *cell_json(const eg_grid_cell *c) {
    json *row = json_new_object();
    json_put_count(row, "batch", c->batch);
    json_put_count(row, "seq", c->length);
    json_put_text(row, "type", eg_type_name(c->type));
    json_put_text(row, "unit", eg_unit_name(c->unit));
    json_put_metric(row, "time", &c->seconds);
    json_put_number(row, "low", c->low);
    json_put_number(row, "high", c->high);
    json_put_metric(row, "samples_per_second", &c->samples);
    json_put_metric(row, "tflops", &c->tflops);
    json_put_metric(row, "compute_efficiency", &c->efficiency);
    json_put_metric(row, "bandwidth", &c->bandwidth);
    json_put_metric(row, "memory", &c->memory);
    json_put_flag(row, "noisy", c->noise != EG_NOISE_NONE);
    json_put_flag(row, "fits", c->fits);
    json_put_flag(row, "best", c->best);
    if (c->condition) json_put_text(row, "condition", c->condition);
    return row;
}

static json *grid_json(const eg_grid *grid, bool here) {
    json *object = json_new_object(), *cells = json_new_list(), *choices = json_new_list();
    const eg_metric budget = eg_grid_budget(grid);
    const eg_grid_cell *cell;
    const eg_grid_choice *choice;
    for (size_t i = 0; (cell = eg_grid_cell_at(grid, i)); i++) json_append(cells, cell_json(cell));
    for (size_t i = 0; (choice = eg_grid_choice_at(grid, i)); i++) {
        json *row = json_new_object();
        json_put_count(row, "seq", choice->length);
        json_put_text(row, "type", eg_type_name(choice->type));
        json_put_number(row, "batch", choice->cell ? (double)choice->cell->batch : (double)NAN);
        json_put_flag(row, "most", choice->most);
        json_put_text(row, "reason", choice->reason);
        json_append(choices, row);
    }
    json_put_text(object, "chip", eg_grid_preset(grid)->chip);
    json_put_flag(object, "projected", !here);
    json_put_metric(object, "budget", &budget);
    json_put_count(object, "preset_batch", eg_grid_preset(grid)->batch);
    json_put(object, "cells", cells);
    json_put(object, "choices", choices);
    return object;
}

/* ---- one grid after the other */
typedef struct work {
    eg_model *model;
    const profile_settings *settings;
    eg_grid_options options;
    json *list;
    size_t done;
} work;

static int next_grid(void *user, const eg_chip_row *row) {
    work *w = user;
    eg_error error;
    eg_grid *grid;
    w->options.row = row;
    if (eg_grid_create(w->model, &w->options, &grid, &error)) return fail_with(&error);
    if (w->list) json_append(w->list, grid_json(grid, !row));
    else {
        if (w->done++) printf("\n");
        print_grid(w->settings->model, grid, w->options.types ? w->options.type_count : 1, !row);
    }
    eg_grid_destroy(grid);
    return CLI_OK;
}

int profile_grid(eg_model *model, const profile_settings *settings,
                 const eg_profile_options *options) {
    static const eg_type all[] = {EG_F32, EG_F16, EG_BF16, EG_I8, EG_I4};
    axes a = {.batch_count = 0};
    work w = {.model = model, .settings = settings};
    int code = settings->sweep ? read_axes(settings->sweep, &a) : CLI_OK;
    if (code) return code;
    if (!a.batch_count && (!settings->grid || options->batch)) /* an axis that nobody named */
        a.batches[a.batch_count++] = options->batch ? options->batch : 1;
    int alone; /* quantized weights are taken as they are */
    eg_grid_type(model, &alone);
    const bool whole = settings->grid && !alone;
    w.options = (eg_grid_options){.size = sizeof w.options,
                                  .batches = a.batch_count ? a.batches : NULL,
                                  .batch_count = a.batch_count,
                                  .lengths = a.length_count ? a.lengths : NULL,
                                  .length_count = a.length_count,
                                  .types = a.type_count ? a.types
                                           : whole      ? all
                                                        : NULL,
                                  .type_count = a.type_count ? a.type_count : 5,
                                  .budget = settings->budget,
                                  .profile = options};
    if (settings->json) w.list = json_new_list();
    code = settings->device ? devices_each(settings->device, next_grid, &w) : next_grid(&w, NULL);
    if (!settings->json) return code;
    json *document = json_new_object();
    json_put_text(document, "model", settings->model);
    json_put(document, "grids", w.list);
    if (!code) return json_print(document);
    json_free(document);
    return code;
}
