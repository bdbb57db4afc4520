/* What a profile says: the operations that lose most, what bounds the whole, what to try. */
#include "base/locale.h"
#include "profile/analysis.h"
#include "elegans/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const bounds[] = {"compute", "L1", "L2", "L3", "DRAM", "overhead"};
enum { BOUNDS = 6 };

/* ---- facts */
/* Its shape is "rows x columns x depth". */
double eg__row_weights(const eg_profile_row *row, double bits) {
    double rows, columns, depth;
    if (!(row->traits & EG_STEP_PRODUCT)) return 0;
    if (sscanf(row->shape, "%lfx%lfx%lf", &rows, &columns, &depth) != 3 || !(row->bytes > 0) ||
        !(bits > 0))
        return 0;
    const double share = columns * depth * bits / 8 * (double)row->calls / row->bytes;
    return share < 1 ? share : 1;
}

/* The share of a row's time that its traffic from L3 and DRAM takes at their peak bandwidth; 0 =
 * unknown. */
static double far_share(const eg_profile *p, const eg_profile_row *row) {
    double most = 0;
    for (int i = 2; row->seconds > 0 && i < EG_MEMORY_LEVELS; i++) {
        const double share = row->level_bytes[i] / eg__level_ceiling(p, i) * 1e-9 / row->seconds;
        if (share > most) most = share;
    }
    return most < 1 ? most : 1;
}

static void add_row(eg__facts *f, const eg_profile_row *row) {
    for (int i = 0; i < BOUNDS; i++)
        if (strcmp(row->bound, bounds[i]) == 0) f->share[i] += row->share;
    const double roof = isfinite(row->roof_share) && row->roof_share < 1 ? row->roof_share : 1;
    f->attainable += row->seconds * roof;
    const bool copies = row->traits & EG_STEP_COPY, product = row->traits & EG_STEP_PRODUCT;
    const double weights = eg__row_weights(row, f->weight_bits);
    if (copies) f->copy_share += row->share;
    if (copies || row->traits & EG_STEP_ELEMENTWISE) f->plain_share += row->share;
    if (strcmp(row->bound, "overhead") != 0 && !copies) f->vector_share += row->share;
    if (row->work == EG_WORK_SYNAPSES || row->work == EG_WORK_SYNAPSES_ONE)
        f->lane_share += row->share;
    if (product && (strcmp(row->bound, "L3") == 0 || strcmp(row->bound, "DRAM") == 0))
        f->weights_wait += row->share * weights;
    f->values_wait += row->share * far_share(f->profile, row) * (1 - weights);
}

/* f32 that a vector holds: of an instruction set, and of the widest that has kernels here. */
static unsigned lanes_of(const char *isa) {
    const eg__isa *row = isa ? eg__isa_named(isa) : NULL;
    return row ? row->lanes : 1;
}

static unsigned lanes_possible(const eg_context *context) {
    eg_isa_info info = {.size = sizeof info};
    for (size_t i = 0; eg_isa_list(context, i, &info, NULL) == EG_OK; i++)
        if (info.usable) return info.lanes;
    return 1;
}

void eg__facts_of(const eg_profile *p, eg__facts *f) {
    const eg_chip *chip = &p->context->chip;
    const eg_core_kind *kind = &chip->kinds[0];
    *f = (eg__facts){.profile = p,
                     .seconds = p->time.p50.value,
                     .threads = eg__threads_count(p->context->threads),
                     .cores = chip->cores,
                     .batch = p->options.batch ? p->options.batch : 1,
                     .compiled = !p->options.no_compile,
                     .own_cache = (double)kind->l2_bytes / (double)eg__max(kind->l2_cores, 1),
                     .memory_available = (double)chip->memory_available,
                     .peak_memory = p->metrics[EG_PROFILE_peak_memory].value,
                     .numbers = p->weights.most ? p->weights.most : "not known",
                     .weight_bits = p->weights.count
                                        ? 8 * (double)p->weights.bytes / (double)p->weights.count
                                        : 0,
                     .weight_bytes = (double)p->weights.bytes,
                     .isa = eg_context_isa(p->context),
                     .lanes = lanes_of(eg_context_isa(p->context)),
                     .lanes_possible = lanes_possible(p->context)};
    eg_preset preset;
    if (eg_preset_host(chip, p->has_ceilings ? &p->ceilings : NULL, &preset, NULL) == EG_OK)
        f->memory_budget = (double)preset.memory_budget;
    for (size_t i = 0; i < p->operation_count; i++) add_row(f, &p->operations[i]);
    /* recorded runs may be faster than timed ones, which would rule out the DRAM for a step; but a
     * run that keeps it busy for nine tenths of the time does not wait for a cache */
    const eg_metric *dram = &p->metrics[EG_PROFILE_bandwidth_utilization];
    if (dram->provenance != EG_UNAVAILABLE && dram->value >= 0.9) {
        f->share[EG__BY_DRAM] += f->share[EG__BY_L3];
        f->share[EG__BY_L3] = 0;
    }
    if (!p->subject.program) return;
    f->working_set = eg__working_set(p->subject.program);
}

/* ---- findings */
static eg_finding *add(eg__findings *to, const char *rule, const char *reason) {
    if (to->count == EG__FINDINGS) return NULL;
    eg_finding *finding = &to->list[to->count];
    *finding = (eg_finding){.rule = rule, .reason = reason, .gain = NAN, .measured = NAN};
    return finding;
}

static double usefulness(const eg_finding *f) {
    return isfinite(f->measured) ? f->measured : isfinite(f->gain) ? f->gain : 0;
}

static int most_useful_first(const void *a, const void *b) {
    const eg_finding *x = a, *y = b;
    const double left = usefulness(x), right = usefulness(y);
    return left < right ? 1 : left > right ? -1 : 0;
}

void eg__findings_sort(eg__findings *f) {
    qsort(f->list, f->count, sizeof *f->list, most_useful_first);
}

bool eg__is_bottleneck(const eg_profile_row *row) { return row->share >= 0.05; }

/* And what each would save if it reached its roof. */
static void find_bottlenecks(const eg__facts *facts, eg__findings *out) {
    const eg_profile *p = facts->profile;
    for (size_t i = 0; i < p->operation_count; i++) {
        const eg_profile_row *row = &p->operations[i];
        if (!eg__is_bottleneck(row)) continue;
        eg_finding *f = add(out, "operation", "time beyond the roofline is lost");
        if (!f) return;
        if (isfinite(row->roof_share)) {
            snprintf(f->text, sizeof f->text,
                     "%s %s %s: %.0f %% of the time, at %.0f %% of its roof (%s)", row->operation,
                     row->kernel, row->shape, 100 * row->share, 100 * row->roof_share, row->bound);
            if (!(row->traits & EG_STEP_FUNCTIONS)) /* whose steps cannot reach their roof */
                /* shares are of recorded runs: of the median, as all gains are */
                f->gain = fmax(0, row->share * (1 - row->roof_share)) * p->time.p50.value;
        } else
            snprintf(f->text, sizeof f->text, "%s %s %s: %.0f %% of the time", row->operation,
                     row->kernel, row->shape, 100 * row->share);
        eg__action_bound(facts, row, f->action);
        out->count++;
    }
    eg__findings_sort(out);
}

static void find_opportunities(const eg__facts *facts, const eg_ratio *ratios, eg__findings *out) {
    for (int i = 0; i < EG_RATIO_COUNT; i++) {
        const eg_ratio *r = &ratios[i];
        if (!r->fires) continue;
        eg_finding *f = add(out, r->name, r->reason);
        if (!f) return;
        if (strcmp(r->value.unit, "ratio") == 0)
            snprintf(f->text, sizeof f->text, "%s: %.1f %% %s, %s %.0f %%", r->name,
                     100 * r->value.value, r->text, r->above ? "above" : "below",
                     100 * r->threshold);
        else
            snprintf(f->text, sizeof f->text, "%s: %.3g of %.3g %s is %.1f %%, %s %.0f %%", r->name,
                     r->value.value, r->limit.value, r->value.unit, 100 * r->ratio.value,
                     r->above ? "above" : "below", 100 * r->threshold);
        eg__action_ratio(facts, (eg_ratio_id)i, f->action);
        out->count++;
    }
}

static void find_recommendations(const eg__facts *facts, eg__findings *out) {
    for (const eg__rule *rule = eg__rules; rule->name && out->count < EG__FINDINGS; rule++)
        out->count += !rule->only_tried && eg__rule_apply(rule, facts, &out->list[out->count]);
    eg__findings_sort(out);
}

/* Noise comes first: all other findings depend on the times. */
static size_t say_noise(const eg_profile *p, eg_analysis *a) {
    char noise[EG_NOISE_TEXT];
    if (eg_statistics_noise(&p->time, noise) == EG_NOISE_NONE) return 0;
    return (size_t)snprintf(a->verdict, sizeof a->verdict,
                            "noisy: %s, so measure again on an idle machine; ", noise);
}

void eg__conclude(const eg__facts *f, eg_analysis *a) {
    const size_t at = say_noise(f->profile, a);
    char *verdict = a->verdict + at;
    const size_t room = sizeof a->verdict - at;
    int most = 0;
    for (int i = 1; i < BOUNDS; i++)
        if (f->share[i] > f->share[most]) most = i;
    const eg__findings *tips = &a->kinds[EG_RECOMMENDATION];
    char next[240] = "no recommendation is left";
    const eg_finding *first = &tips->list[0];
    if (tips->count && isfinite(first->measured))
        snprintf(next, sizeof next, "next: %s (tried: %.0f %% less time per sample)", first->action,
                 100 * first->measured / f->seconds);
    else if (tips->count)
        snprintf(next, sizeof next,
                 isfinite(first->gain) ? "next: %s (up to %.0f %% of the time)" : "next: %s",
                 first->action, 100 * first->gain / f->seconds);
    if (!(f->share[most] > 0)) {
        snprintf(verdict, room, "what bounds it is unknown: %s",
                 f->profile->subject.program ? "no ceilings were measured"
                                             : "a callback: its FLOPs are unknown");
        return;
    }
    double all = 0;
    for (size_t i = 0; i < f->profile->operation_count; i++)
        all += f->profile->operations[i].seconds;
    snprintf(verdict, room,
             "bound by %s (%.0f %% of the time), at %.0f %% of what is attainable here; %.180s",
             most == EG__BY_OVERHEAD ? "the overhead of many small steps" : bounds[most],
             100 * f->share[most], all > 0 ? 100 * f->attainable / all : 0, next);
}

eg_status eg_analyse(const eg_profile *p, eg_analysis **out, eg_error *error) {
    if (!p || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no profile or no output pointer");
    *out = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_analysis *a = eg__memory_take_zeroed(p->memory, EG_TAG_MEASURE, sizeof *a, &reason);
    if (!a) return eg__fail(error, reason.status, "%s", reason.message);
    a->memory = p->memory;
    const locale_t before = eg__point_begin(); /* the same words in every locale */
    eg__facts facts;
    eg__facts_of(p, &facts);
    find_bottlenecks(&facts, &a->kinds[EG_BOTTLENECK]);
    eg__ratio_facts ratios;
    eg__ratio_facts_of(&facts, &ratios);
    eg__ratios_make(&ratios, a->ratios);
    find_opportunities(&facts, a->ratios, &a->kinds[EG_OPPORTUNITY]);
    if (p->subject.program) find_recommendations(&facts, &a->kinds[EG_RECOMMENDATION]);
    eg__conclude(&facts, a);
    eg__point_end(before);
    *out = a;
    return EG_OK;
}

void eg_analysis_destroy(eg_analysis *a) {
    if (a) eg__memory_give(a->memory, a);
}

const char *eg_analysis_verdict(const eg_analysis *a) { return a->verdict; }

const eg_finding *eg_analysis_finding(const eg_analysis *a, eg_finding_kind kind, size_t index) {
    if ((unsigned)kind > EG_TRIED) return NULL;
    return index < a->kinds[kind].count ? &a->kinds[kind].list[index] : NULL;
}

const eg_ratio *eg_analysis_ratio(const eg_analysis *a, size_t index) {
    return index < EG_RATIO_COUNT ? &a->ratios[index] : NULL;
}
