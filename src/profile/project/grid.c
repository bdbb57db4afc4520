/* One model in batches, lengths and types: measured here, or projected to another chip. */
#include "base/abi.h"
#include "profile/project/grid.h"
#include "nn/model.h"
#include "profile/project/project.h"
#include "profile/subject.h"
#include "profile/cache/traffic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MANY 5e6 /* accesses that can be simulated in some tenths of a second */

/* ---- one program: a batch and a length, in all types */
typedef struct point {
    eg_model *model;
    const eg_grid_options *options;
    eg_grid *grid;
    eg_profile_options how; /* with batch and length */
    unsigned threads;
    /* of the program */
    eg_step_cost *costs;
    size_t count;
    double weights, values;        /* bytes, in f32: right sides of products, all else */
    eg_profile *profile;           /* NULL = not run */
    const char *refusal;           /* why it was not run; static */
    const eg_projector *projector; /* of another chip */
    eg_type own;                   /* of the model's weights: as it is */
} point;

static eg_status plan(point *p, eg_error *error) {
    eg__subject subject;
    eg_program_info info = {.size = sizeof info};
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_status status = eg__subject_compile(&subject, p->model, &p->how, error);
    if (status) return status;
    const eg_program *program = subject.program;
    eg_program_info_get(program, &info);
    /* caches are simulated where that takes about as long as the runs; else the working set says */
    p->how.no_cache = p->how.no_cache || info.flops / 24 + info.bytes / 16 > MANY;
    const double stored = eg__subject_stored(&subject, p->model);
    const double parameters = (double)info.held_bytes + (double)info.derived_bytes + stored;
    const double values = (double)info.arena_bytes + (double)info.state_bytes +
                          (double)info.cache_bytes + (double)info.constant_bytes +
                          (double)info.scratch_bytes * p->threads + eg__bound_bytes(program) -
                          stored;
    p->costs = eg__memory_take_array(p->grid->memory, EG_TAG_MEASURE, info.steps + 1,
                                     sizeof *p->costs, &reason);
    status = p->costs ? eg_program_costs(program, p->costs, &p->count, error)
                      : eg__fail(error, reason.status, "%s", reason.message);
    eg__subject_close(&subject);
    double products = 0;
    for (size_t i = 0; !status && i < p->count; i++) products += eg__cost_weights(&p->costs[i]);
    p->weights = fmin(2 * products, parameters); /* as the parameter, if it is kept, and packed */
    p->values = values + parameters - p->weights;
    return status;
}

static eg_metric memory_of(const point *p, eg_type type) {
    eg__storage storage = {1, 1};
    const bool own = type == p->own;
    if (!own) eg__storage_of(type, &storage);
    return eg__metric(p->weights * storage.weights + p->values * storage.values, "B",
                      own ? EG_COUNTED : EG_MODELLED,
                      own ? "plan of the compiled program"
                          : "plan of the compiled program, in smaller elements");
}

/* Runs it here if it fits; a budget error of the context skips only this cell. */
static eg_status run(point *p, eg_error *error) {
    if (memory_of(p, p->own).value > p->grid->budget.value) {
        p->refusal = "not run: it does not fit into the budget";
        return EG_OK;
    }
    const eg_status status = eg_profile_model(p->model, "", &p->how, &p->profile, error);
    if (status != EG_ERR_BUDGET) return status;
    p->refusal = "not run: the memory budget of the context is smaller";
    return EG_OK;
}

/* ---- cells */
static void cell_none(eg_grid_cell *c, const char *why) {
    c->seconds = eg__metric_unavailable("s", why);
    c->samples = eg__metric_unavailable("samples/s", why);
    c->tflops = eg__metric_unavailable("TFLOP/s", why);
    c->bandwidth = eg__metric_unavailable("GB/s", why);
    c->low = c->high = NAN;
}

static void cell_set(eg_grid_cell *c, double seconds, double flops, eg_provenance provenance,
                     const char *source) {
    c->seconds = eg__metric(seconds, "s", provenance, source);
    c->samples = eg__metric((double)c->batch / seconds, "samples/s", provenance, source);
    c->tflops = eg__metric(flops / seconds * 1e-12, "TFLOP/s", provenance, source);
}

/* Texts that a profile owns do not outlive it. */
static eg_metric bandwidth_of(const eg_profile *profile) {
    const eg_metric m = eg_profile_metric(profile, EG_PROFILE_bandwidth);
    if (m.provenance != EG_UNAVAILABLE) return m;
    return eg__metric_unavailable("GB/s",
                                  "more than the DRAM gives, by the caches as they are told");
}

static void cell_measured(const point *p, eg_grid_cell *c) {
    eg_statistics time;
    c->bandwidth = bandwidth_of(p->profile);
    eg_profile_time(p->profile, &time);
    cell_set(c, time.p50.value, eg_profile_metric(p->profile, EG_PROFILE_flops).value, EG_MEASURED,
             "median of the timed runs");
    c->low = time.p50.low;
    c->high = time.p50.high;
    c->noise = eg_statistics_noise(&time, NULL);
    c->efficiency = eg_profile_metric(p->profile, EG_PROFILE_compute_efficiency);
}

/* For an f32 model: the measured time times the modelled ratio of the two types, so that common
 * errors of the cost model cancel. */
static void cell_scaled(const point *p, eg_grid_cell *c) {
    const eg_ceilings *ceilings = eg_profile_ceilings(p->profile);
    eg_project_options options = {.size = sizeof options,
                                  .threads = p->threads,
                                  .chip = &p->model->context->chip,
                                  .ceilings = ceilings};
    eg_projection plain, typed;
    eg_statistics time;
    if (!ceilings) {
        cell_none(c, "no ceilings were measured that it could be projected by");
        return;
    }
    eg_status status = eg_project(p->count, p->costs, NULL, &options, &plain, NULL);
    options.type = c->type;
    if (!status) status = eg_project(p->count, p->costs, NULL, &options, &typed, NULL);
    if (status) {
        cell_none(c, "the ceilings of this machine are not all known");
        return;
    }
    const eg_unit_projection *unit = &typed.unit[EG_UNIT_CORES];
    const double ratio = unit->seconds.value / plain.unit[EG_UNIT_CORES].seconds.value;
    eg_profile_time(p->profile, &time);
    cell_set(c, time.p50.value * ratio, plain.flops, EG_MODELLED,
             "measured time in f32, times the ratio of two projections");
    c->low = c->seconds.value * unit->low / unit->seconds.value;
    c->high = c->seconds.value * unit->high / unit->seconds.value;
    /* the bytes of f32 times the modelled ratio */
    const eg_unit_projection *f32 = &plain.unit[EG_UNIT_CORES];
    const double before = f32->memory_bandwidth.value * f32->seconds.value,
                 after = unit->memory_bandwidth.value * unit->seconds.value;
    c->bandwidth = bandwidth_of(p->profile);
    if (c->bandwidth.provenance != EG_UNAVAILABLE)
        c->bandwidth =
            eg__metric(c->bandwidth.value / ratio * (before > 0 ? after / before : 1), "GB/s",
                       EG_MODELLED, "that of f32, times the ratio of two projections");
    c->condition = unit->condition;
}

static eg_status cell_projected(const point *p, eg_grid_cell *c, eg_error *error) {
    /* costs of a quantized model are already those of its type: no further reduction */
    const eg_type type = c->type == p->own ? EG_F32 : c->type;
    const eg_project_options how = {.size = sizeof how, .type = type};
    eg_projection projection;
    eg_status status =
        eg_projector_project(p->projector, c->batch, p->options->row, &how, &projection, error);
    if (status) return status;
    for (int i = 0; i < EG_UNIT_COUNT; i++) { /* the Neural Engine has no f32 */
        const eg_metric *s = &projection.unit[i].seconds;
        if (s->provenance == EG_UNAVAILABLE || (type == EG_F32 && i == EG_UNIT_NEURAL_ENGINE))
            continue;
        if (s->value < projection.unit[c->unit].seconds.value) c->unit = (eg_unit)i;
    }
    const eg_unit_projection *unit = &projection.unit[c->unit];
    cell_set(c, unit->seconds.value, projection.flops, EG_MODELLED, unit->seconds.source);
    c->efficiency = unit->utilization;
    c->bandwidth = unit->memory_bandwidth;
    c->low = unit->low;
    c->high = unit->high;
    c->condition = unit->condition;
    return EG_OK;
}

static eg_status cell_fill(const point *p, eg_type type, eg_grid_cell *c, eg_error *error) {
    *c = (eg_grid_cell){.batch = p->how.batch, .length = p->how.seq, .type = type};
    c->efficiency = eg__metric_unavailable("ratio", "not known of a ratio");
    c->memory = memory_of(p, type);
    c->fits = c->memory.value <= p->grid->budget.value;
    if (p->options->row) return cell_projected(p, c, error);
    if (p->refusal) cell_none(c, p->refusal);
    else if (type == p->own) cell_measured(p, c);
    else cell_scaled(p, c);
    return EG_OK;
}

static eg_status point_fill(point *p, const eg_type *types, eg_grid_cell *cells, eg_error *error) {
    eg_status status = plan(p, error);
    if (!status && !p->options->row) status = run(p, error);
    for (size_t i = 0; !status && i < p->grid->type_count; i++)
        status = cell_fill(p, types[i], &cells[i * p->grid->batch_count], error);
    eg_profile_destroy(p->profile);
    eg__memory_give(p->grid->memory, p->costs);
    return status;
}

/* ---- axes */
typedef struct axes {
    const uint64_t *batches, *lengths;
    const eg_type *types;
    uint64_t batch_list[EG__GRID_BATCHES], length_list[1];
    eg_type type_list[1];
} axes;

static void axes_fill(const eg_grid_options *o, eg_type own, eg_grid *grid, axes *a) {
    static const uint64_t small[] = {1, 8, 32};
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) a->batch_list[count++] = small[i];
    for (uint64_t b = 64; b <= grid->preset.batch_high && count < EG__GRID_BATCHES; b *= 2)
        a->batch_list[count++] = b;
    a->length_list[0] = o->profile->seq ? o->profile->seq : 1;
    a->type_list[0] = own;
    a->batches = o->batches ? o->batches : a->batch_list;
    a->lengths = o->lengths ? o->lengths : a->length_list;
    a->types = o->types ? o->types : a->type_list;
    grid->batch_count = o->batches ? o->batch_count : count;
    grid->length_count = o->lengths ? o->length_count : 1;
    grid->type_count = o->types ? o->type_count : 1;
}

eg_type eg_grid_type(const eg_model *model, int *alone) {
    const eg__numbers numbers = eg__model_numbers(model, false);
    eg_type type = EG_F32;
    eg__infile_format format;
    if (numbers.most && eg_type_find(numbers.most, &type, NULL) &&
        eg__infile_format_named(numbers.most, &format))
        type = eg__infile_traits_of(format)->type;
    if (alone) *alone = numbers.bytes != numbers.count * sizeof(float);
    return type;
}

static eg_status axes_check(const eg_grid *grid, const eg_model *model, const axes *a,
                            eg_error *error) {
    const size_t b = grid->batch_count, l = grid->length_count, t = grid->type_count;
    eg__storage storage;
    if (!b || !l || !t || b > EG__GRID_CELLS || l > EG__GRID_CELLS || t > EG__GRID_CELLS ||
        b * l > EG__GRID_CELLS || b * l * t > EG__GRID_CELLS)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a grid of %zu batches, %zu lengths and %zu types is not within "
                        "1..%d cells",
                        b, l, t, EG__GRID_CELLS);
    for (size_t i = 0; i < b; i++)
        if (!a->batches[i]) return eg__fail(error, EG_ERR_ARGUMENT, "batch %zu is 0", i);
    for (size_t i = 0; i < l; i++)
        if (!a->lengths[i]) return eg__fail(error, EG_ERR_ARGUMENT, "length %zu is 0", i);
    for (size_t i = 0; i < t; i++)
        if (!eg__storage_of(a->types[i], &storage)) {
            const char *name = eg_type_name(a->types[i]);
            return eg__fail(error, EG_ERR_UNSUPPORTED, "a grid in type '%s' is not supported",
                            name ? name : "?");
        }
    int alone;
    const eg_type own = eg_grid_type(model, &alone);
    for (size_t i = 0; i < t && alone; i++)
        if (a->types[i] != own)
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "a grid in type '%s' is not supported: the weights are "
                            "quantized already, %s",
                            eg_type_name(a->types[i]), eg_type_name(own));
    return EG_OK;
}

/* ---- the whole */
static eg_status take(eg_grid *grid, eg_error *error) {
    const size_t choices = grid->length_count * grid->type_count;
    eg_error reason = {EG_ERR_MEMORY, ""};
    grid->cells = eg__memory_take_array(grid->memory, EG_TAG_MEASURE, choices * grid->batch_count,
                                        sizeof *grid->cells, &reason);
    grid->choices = eg__memory_take_array(grid->memory, EG_TAG_MEASURE, choices,
                                          sizeof *grid->choices, &reason);
    if (grid->cells && grid->choices) return EG_OK;
    return eg__fail(error, reason.status, "%s", reason.message);
}

static eg_status fill_length(eg_grid *grid, eg_model *model, const eg_grid_options *o,
                             const axes *a, size_t l, const eg_projector *projector,
                             eg_error *error) {
    const unsigned here = eg_context_threads(model->context);
    for (size_t b = 0; b < grid->batch_count; b++) {
        eg_error why;
        point p = {
            .model = model, .options = o, .grid = grid, .how = *o->profile, .projector = projector};
        p.own = eg_grid_type(model, NULL);
        p.how.batch = a->batches[b];
        p.how.seq = a->lengths[l];
        p.threads = !o->row ? here : o->row->fast_cores ? o->row->fast_cores : 1;
        eg_grid_cell *first = grid->cells + l * grid->type_count * grid->batch_count + b;
        const eg_status status = point_fill(&p, a->types, first, &why);
        if (status)
            return eg__fail(error, status, "batch %llu, %llu step%s: %s",
                            (unsigned long long)p.how.batch, (unsigned long long)p.how.seq,
                            p.how.seq > 1 ? "s" : "", why.message);
    }
    return EG_OK;
}

/* Projections of all batches of a length come from one projector, so that they agree with each other. */
static eg_status fill(eg_grid *grid, eg_model *model, const eg_grid_options *o, const axes *a,
                      eg_error *error) {
    eg_status status = EG_OK;
    for (size_t l = 0; !status && l < grid->length_count; l++) {
        eg_projector *projector = NULL;
        eg_profile_options options = *o->profile;
        options.seq = a->lengths[l];
        options.batch = 1;
        for (size_t b = 0; b < grid->batch_count; b++)
            if (a->batches[b] > options.batch) options.batch = a->batches[b];
        if (o->row) status = eg_projector_create(model, &options, &projector, error);
        if (!status) status = fill_length(grid, model, o, a, l, projector, error);
        eg_projector_destroy(projector);
    }
    return status;
}

/* The preset decides batches and budget: of this machine by its ceilings, where they may be measured. */
static eg_status preset_fill(eg_grid *grid, eg_model *model, const eg_grid_options *o,
                             eg_error *error) {
    eg_ceilings ceilings;
    const eg_ceilings_options options = {
        .size = sizeof options, .cached = 1, .seconds = o->profile->ceilings_seconds};
    if (o->row) return eg_preset_of(o->row, &grid->preset, error);
    const bool measure = !o->profile->no_ceilings;
    eg_status status =
        measure ? eg_ceilings_measure(model->context, &options, &ceilings, error) : EG_OK;
    if (status) return status;
    return eg_preset_host(&model->context->chip, measure ? &ceilings : NULL, &grid->preset, error);
}

eg_status eg_grid_create(eg_model *model, const eg_grid_options *options, eg_grid **out,
                         eg_error *error) {
    eg_grid_options o;
    eg_profile_options profile;
    if (!model || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "grid: no model or no output pointer");
    *out = NULL;
    eg_status status = EG__OPTIONS(eg_grid_options, &o, options, error);
    if (!status) status = EG__OPTIONS(eg_profile_options, &profile, o.profile, error);
    if (status) return status;
    o.profile = &profile;
    eg__memory *memory = eg__context_memory(model->context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_grid *grid = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *grid, &reason);
    if (!grid) return eg__fail(error, reason.status, "%s", reason.message);
    grid->memory = memory;
    axes a;
    status = preset_fill(grid, model, &o, error);
    if (!status) {
        grid->budget = o.budget ? eg__metric((double)o.budget, "B", EG_SPEC, "as asked for")
                                : eg__metric((double)grid->preset.memory_budget, "B",
                                             grid->preset.provenance, "preset of the chip");
        axes_fill(&o, eg_grid_type(model, NULL), grid, &a);
        status = axes_check(grid, model, &a, error);
    }
    if (!status) status = take(grid, error);
    if (!status) status = fill(grid, model, &o, &a, error);
    if (status) {
        eg_grid_destroy(grid);
        return status;
    }
    eg__grid_choose(grid);
    *out = grid;
    return EG_OK;
}

void eg_grid_destroy(eg_grid *grid) {
    if (!grid) return;
    eg__memory_give(grid->memory, grid->cells);
    eg__memory_give(grid->memory, grid->choices);
    eg__memory_give(grid->memory, grid);
}

const eg_preset *eg_grid_preset(const eg_grid *grid) { return &grid->preset; }
eg_metric eg_grid_budget(const eg_grid *grid) { return grid->budget; }

const eg_grid_cell *eg_grid_cell_at(const eg_grid *grid, size_t index) {
    const size_t count = grid->length_count * grid->type_count * grid->batch_count;
    return index < count ? &grid->cells[index] : NULL;
}

const eg_grid_choice *eg_grid_choice_at(const eg_grid *grid, size_t index) {
    return index < grid->length_count * grid->type_count ? &grid->choices[index] : NULL;
}
