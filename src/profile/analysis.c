/* What a profile says: the operations that lose most, what bounds the whole, what to try. */
#include "profile/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const bounds[] = {"compute", "L1", "L2", "L3", "DRAM", "overhead"};
enum { BOUNDS = 6 };

/* ---- facts */
static void add_row(eg__facts *f, const eg_profile_row *row) {
    for (int i = 0; i < BOUNDS; i++)
        if (strcmp(row->bound, bounds[i]) == 0) f->share[i] += row->share;
    const double roof = isfinite(row->roof_share) && row->roof_share < 1 ? row->roof_share : 1;
    f->attainable += row->seconds * roof;
    if (strcmp(row->kernel, "copy") == 0 || strcmp(row->kernel, "transpose") == 0)
        f->copy_share += row->share;
    const bool packed = strncmp(row->kernel, "gemm", 4) == 0;
    if (packed || strncmp(row->kernel, "stored_", 7) == 0) f->gemm_share += row->share;
    if (!packed) return; /* of the others odd columns cost no more */
    const char *columns = strchr(row->shape, 'x');
    if (!columns || atoi(columns + 1) % 16 == 0) return;
    if (f->odd_share == 0) {
        snprintf(f->odd_shape, sizeof f->odd_shape, "%s", row->shape);
        f->odd_columns = (unsigned)atoi(columns + 1);
    }
    f->odd_share += row->share;
}

void eg__facts_of(const eg_profile *p, eg__facts *f) {
    const eg_chip *chip = &p->context->chip;
    *f = (eg__facts){.profile = p,
                     .seconds = p->time.p50.value,
                     .threads = eg__threads_count(p->context->threads),
                     .cores = chip->cores,
                     .batch = p->options.batch ? p->options.batch : 1,
                     .compiled = !p->options.no_compile,
                     .last_cache = (double)(chip->l3_bytes ? chip->l3_bytes : chip->slc_bytes),
                     .memory_available = (double)chip->memory_available,
                     .peak_memory = p->metrics[EG_PROFILE_peak_memory].value,
                     .hit_rate = NAN};
    const eg_metric *hits = &p->metrics[EG_PROFILE_cache_hit_rate];
    if (hits->provenance != EG_UNAVAILABLE) f->hit_rate = hits->value;
    eg_preset preset;
    if (eg_preset_host(chip, p->has_ceilings ? &p->ceilings : NULL, &preset, NULL) == EG_OK)
        f->memory_budget = (double)preset.memory_budget;
    for (size_t i = 0; i < p->operation_count; i++) add_row(f, &p->operations[i]);
    if (!p->subject.program) return;
    eg_program_info info;
    eg_program_info_get(p->subject.program, &info);
    f->working_set = (double)(info.arena_bytes + info.parameter_bytes + info.derived_bytes +
                              info.constant_bytes + info.state_bytes + info.cache_bytes);
}

/* ---- findings */
static eg_finding *add(eg__findings *to, const char *rule, const char *reason) {
    if (to->count == EG__FINDINGS) return NULL;
    eg_finding *finding = &to->list[to->count];
    *finding = (eg_finding){.rule = rule, .reason = reason, .gain = NAN};
    return finding;
}

static int most_useful_first(const void *a, const void *b) {
    const eg_finding *x = a, *y = b;
    const double left = isnan(x->gain) ? 0 : x->gain, right = isnan(y->gain) ? 0 : y->gain;
    return left < right ? 1 : left > right ? -1 : 0;
}

static void sort(eg__findings *f) { qsort(f->list, f->count, sizeof *f->list, most_useful_first); }

/* tanh and its like count as one FLOP and take many instructions: such a chain cannot reach its roof. */
static bool has_functions(const eg_profile_row *row) {
    static const char *const names[] = {"tanh", "sigmoid", "exp", "log", "softplus", "erf",
                                        "gelu", "silu",    "sin", "cos", "pow"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(row->text, names[i])) return true;
    return strstr(row->kernel, "gate") || strstr(row->kernel, "synapses") ||
           strstr(row->kernel, "softmax");
}

/* An operation that takes at least a twentieth of the time, and what it would save at its roof. */
static void find_bottlenecks(const eg_profile *p, eg__findings *out) {
    for (size_t i = 0; i < p->operation_count; i++) {
        const eg_profile_row *row = &p->operations[i];
        if (row->share < 0.05) continue;
        eg_finding *f =
            add(out, "operation", "time that an operation takes beyond its roof is lost");
        if (!f) return;
        if (isfinite(row->roof_share)) {
            snprintf(f->text, sizeof f->text,
                     "%s %s %s: %.0f %% of the time, at %.0f %% of its roof (%s)", row->operation,
                     row->kernel, row->shape, 100 * row->share, 100 * row->roof_share, row->bound);
            if (!has_functions(row))
                f->gain = row->roof_share < 1 ? row->seconds * (1 - row->roof_share) : 0;
        } else
            snprintf(f->text, sizeof f->text, "%s %s %s: %.0f %% of the time", row->operation,
                     row->kernel, row->shape, 100 * row->share);
        out->count++;
    }
    sort(out);
}

static void find_opportunities(const eg_ratio *ratios, eg__findings *out) {
    for (int i = 0; i < EG_RATIO_COUNT; i++) {
        const eg_ratio *r = &ratios[i];
        if (!r->fires) continue;
        eg_finding *f = add(out, r->name, r->reason);
        if (!f) return;
        if (strcmp(r->value.unit, "ratio") == 0)
            snprintf(f->text, sizeof f->text, "%s is %.1f %%, %s %.0f %%", r->name,
                     100 * r->value.value, r->above ? "above" : "below", 100 * r->threshold);
        else
            snprintf(f->text, sizeof f->text, "%s: %.3g of %.3g %s is %.1f %%, %s %.0f %%", r->name,
                     r->value.value, r->limit.value, r->value.unit, 100 * r->ratio.value,
                     r->above ? "above" : "below", 100 * r->threshold);
        out->count++;
    }
}

static void find_recommendations(const eg__facts *facts, eg__findings *out) {
    for (const eg__rule *rule = eg__rules; rule->name; rule++) {
        eg_finding *f = add(out, rule->name, rule->reason);
        if (f && rule->apply(facts, f)) out->count++;
    }
    sort(out);
}

static void conclude(const eg__facts *f, eg_analysis *a) {
    int most = 0;
    for (int i = 1; i < BOUNDS; i++)
        if (f->share[i] > f->share[most]) most = i;
    const eg__findings *tips = &a->kinds[EG_RECOMMENDATION];
    char next[240] = "nothing obvious is left to try";
    if (tips->count)
        snprintf(next, sizeof next,
                 isfinite(tips->list[0].gain) ? "next: %s (up to %.0f %% of the time)" : "next: %s",
                 tips->list[0].action, 100 * tips->list[0].gain / f->seconds);
    if (!(f->share[most] > 0)) {
        snprintf(a->verdict, sizeof a->verdict, "what bounds it is not known: %s",
                 f->profile->subject.program ? "no ceilings were measured"
                                             : "a callback does not say what it computes");
        return;
    }
    double all = 0;
    for (size_t i = 0; i < f->profile->operation_count; i++)
        all += f->profile->operations[i].seconds;
    snprintf(a->verdict, sizeof a->verdict,
             "bound by %s (%.0f %% of the time), at %.0f %% of what is attainable here; %.180s",
             most == EG__BY_OVERHEAD ? "the overhead of many small steps" : bounds[most],
             100 * f->share[most], all > 0 ? 100 * f->attainable / all : 0, next);
}

eg_status eg_analyse(const eg_profile *p, eg_analysis **out, eg_error *error) {
    if (!p || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no profile or no place");
    *out = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_analysis *a = eg__memory_take_zeroed(p->memory, EG_TAG_MEASURE, sizeof *a, &reason);
    if (!a) return eg__fail(error, reason.status, "%s", reason.message);
    a->memory = p->memory;
    eg__facts facts;
    eg__facts_of(p, &facts);
    find_bottlenecks(p, &a->kinds[EG_BOTTLENECK]);
    eg__ratio_facts ratios;
    eg__ratio_facts_of(p, &ratios);
    eg__ratios_make(&ratios, a->ratios);
    find_opportunities(a->ratios, &a->kinds[EG_OPPORTUNITY]);
    if (p->subject.program) find_recommendations(&facts, &a->kinds[EG_RECOMMENDATION]);
    conclude(&facts, a);
    *out = a;
    return EG_OK;
}

void eg_analysis_destroy(eg_analysis *a) {
    if (a) eg__memory_give(a->memory, a);
}

const char *eg_analysis_verdict(const eg_analysis *a) { return a->verdict; }

const eg_finding *eg_analysis_finding(const eg_analysis *a, eg_finding_kind kind, size_t index) {
    if ((unsigned)kind > EG_RECOMMENDATION) return NULL;
    return index < a->kinds[kind].count ? &a->kinds[kind].list[index] : NULL;
}

const eg_ratio *eg_analysis_ratio(const eg_analysis *a, size_t index) {
    return index < EG_RATIO_COUNT ? &a->ratios[index] : NULL;
}
