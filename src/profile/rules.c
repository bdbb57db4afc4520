/* Recommendations as a table: when one applies, what it promises, what to do, and how to try it. */
#include "profile/analysis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- batch: more samples share the fixed cost of a step */
static uint64_t larger_batch(const eg__facts *f) { return f->batch < 8 ? 32 : f->batch * 4; }

static bool batch_holds(const eg__facts *f, char text[200]) {
    const double overhead = f->share[EG__BY_OVERHEAD];
    if (f->batch >= 256 || !(overhead > 0.25)) return false;
    snprintf(text, 200, "%.0f %% of the time goes to steps of less than 60 ns, at a batch of %llu",
             100 * overhead, (unsigned long long)f->batch);
    return true;
}

static double batch_promise(const eg__facts *f) {
    return f->share[EG__BY_OVERHEAD] * (1 - (double)f->batch / (double)larger_batch(f));
}

static void batch_act(const eg__facts *f, char action[200]) {
    snprintf(action, 200, "a batch of %llu, if latency permits: --batch %llu",
             (unsigned long long)larger_batch(f), (unsigned long long)larger_batch(f));
}

static void batch_change(const eg__facts *f, eg__change *change) {
    change->batch = larger_batch(f);
}

/* ---- threads: samples of a batch do not depend on each other */

/* The share of the time that more threads save where `pieces` are divided among them. */
static double division(const eg__facts *f, uint64_t pieces) {
    const uint64_t before = (pieces + f->threads - 1) / f->threads;
    return 1 - (double)((pieces + f->cores - 1) / f->cores) / (double)before;
}

/* Two thirds of what a perfect division would save: a launch, shared caches, one thread that is late. */
static double threads_promise(const eg__facts *f) {
    const uint64_t vectors = (f->batch + f->lanes - 1) / f->lanes;
    return 2.0 / 3 *
           (f->lane_share * division(f, vectors) + (1 - f->lane_share) * division(f, f->batch));
}

static bool threads_holds(const eg__facts *f, char text[200]) {
    if (f->threads >= f->cores || f->batch < 16 || f->seconds < 200e-6 || threads_promise(f) < 0.1)
        return false;
    snprintf(text, 200, "%u of %u cores %s used, and a run takes %.0f us", f->threads, f->cores,
             f->threads == 1 ? "is" : "are", f->seconds * 1e6);
    return true;
}

static void threads_act(const eg__facts *f, char action[200]) {
    snprintf(action, 200, "all cores: --threads %u", f->cores);
}

static void threads_change(const eg__facts *f, eg__change *change) { change->threads = f->cores; }

/* ---- data type: steps that wait for weights are faster with fewer bytes. Blocks of i8 have 8.5
 * bits per weight. */
static const double int8_bits = 8.5;

static bool weights_wait(const eg__facts *f, double bits, char text[200]) {
    if (!(f->weight_bits > 1.5 * bits) || !(f->weights_wait > 0.25)) return false;
    snprintf(text, 200, "%.0f %% of the time waits for weights from L3 or DRAM, which are %s",
             100 * f->weights_wait, f->numbers);
    return true;
}

static bool int8_holds(const eg__facts *f, char text[200]) {
    return weights_wait(f, int8_bits, text);
}
static double int8_promise(const eg__facts *f) {
    return f->weights_wait * (1 - int8_bits / f->weight_bits);
}
static void int8_change(const eg__facts *f, eg__change *change) {
    (void)f;
    change->type = EG_I8;
}

static bool half_holds(const eg__facts *f, char text[200]) { return weights_wait(f, 16, text); }
static double half_promise(const eg__facts *f) {
    return f->weights_wait * (1 - 16 / f->weight_bits);
}
static void half_change(const eg__facts *f, eg__change *change) {
    (void)f;
    change->type = EG_F16;
}

/* ---- compile: fused steps read and write memory once instead of once per operation */
static bool compile_holds(const eg__facts *f, char text[200]) {
    if (f->compiled) return false;
    snprintf(text, 200,
             "the graph was run node by node, %.0f %% of the time in nodes that could "
             "be fused",
             100 * f->plain_share);
    return true;
}
static double compile_promise(const eg__facts *f) { return f->plain_share / 3; }
static void compile_change(const eg__facts *f, eg__change *change) {
    (void)f;
    change->compiled = true;
}

/* ---- instruction set: wider vectors compute more at once */
static bool isa_holds(const eg__facts *f, char text[200]) {
    if (f->lanes >= f->lanes_possible) return false;
    snprintf(text, 200, "kernels compute %u %s at once (%s), this processor could %u", f->lanes,
             f->lanes == 1 ? "value" : "values", f->isa, f->lanes_possible);
    return true;
}
/* Half of what the lanes alone would save. */
static double isa_promise(const eg__facts *f) {
    return f->vector_share * (1 - (double)f->lanes / (double)f->lanes_possible) / 2;
}
static void isa_act(const eg__facts *f, char action[200]) {
    snprintf(action, 200, "the kernels of this processor: omit --isa %s", f->isa);
}
static void isa_change(const eg__facts *f, eg__change *change) {
    (void)f;
    change->best_isa = true;
}

/* ---- cache: a batch whose values stay in the core's L2. Half of L2 is for values, half for
 * weights; with fewer than 16 rows a product reads its weights too often. */
static uint64_t smaller_batch(const eg__facts *f) {
    const double each = (f->working_set - f->weight_bytes) / (double)f->batch;
    const double room = f->own_cache / 2 * f->threads; /* every thread has samples of its own */
    uint64_t batch = f->batch;
    while (batch >= 32 && each * (double)batch > room) batch /= 2;
    return batch;
}

static bool cache_holds(const eg__facts *f, char text[200]) {
    if (!(f->own_cache > 0) || !(f->values_wait > 0.1) || smaller_batch(f) == f->batch)
        return false;
    snprintf(
        text, 200,
        "the working set is %.1f MB, a core's own cache %.1f, and activations from L3 or DRAM take "
        "%.0f %% of the time",
        f->working_set * 1e-6, f->own_cache * 1e-6, 100 * f->values_wait);
    return true;
}
/* Half of it: transfers partly overlap with computation. */
static double cache_promise(const eg__facts *f) { return f->values_wait / 2; }
static void cache_act(const eg__facts *f, char action[200]) {
    snprintf(action, 200, "a smaller batch keeps activations in the cache: --batch %llu",
             (unsigned long long)smaller_batch(f));
}
static void cache_change(const eg__facts *f, eg__change *change) {
    change->batch = smaller_batch(f);
}

/* ---- memory: a machine that swaps is a thousand times slower */
static bool memory_holds(const eg__facts *f, char text[200]) {
    const bool budget = f->memory_budget > 0 && f->peak_memory > f->memory_budget;
    if (!budget && (!(f->memory_available > 0) || f->peak_memory < 0.9 * f->memory_available))
        return false;
    if (budget)
        snprintf(text, 200, "%.1f GB are taken, the budget is %.1f", f->peak_memory * 1e-9,
                 f->memory_budget * 1e-9);
    else
        snprintf(text, 200, "%.0f %% of the available memory is taken",
                 100 * f->peak_memory / f->memory_available);
    return true;
}
static void memory_act(const eg__facts *f, char action[200]) {
    if (f->batch > 1)
        snprintf(action, 200, "half the batch: --batch %llu", (unsigned long long)(f->batch / 2));
    else if (f->weight_bits > 1.5 * int8_bits)
        snprintf(action, 200, "smaller weights: elegans quantize --to int8");
    else snprintf(action, 200, "a machine with more memory, or a smaller model");
}

const eg__rule eg__rules[] = {
    {"batch", "a step costs some ns before it computes; more samples share them", batch_holds,
     batch_promise, NULL, batch_act, batch_change, false},
    {"threads", "samples of a batch do not depend on each other", threads_holds, threads_promise,
     NULL, threads_act, threads_change, false},
    {"data_type", "what waits for weights takes less time with fewer bytes", int8_holds,
     int8_promise,
     "weights in int8, with a loss of accuracy that is reported: elegans quantize --to int8", NULL,
     int8_change, false},
    /* widening f16 also takes time, so the gain is uncertain: reported only if it was tried */
    {"half", "half the bytes, converted to f32 as they are read", half_holds, half_promise,
     "weights in f16: elegans quantize --to f16", NULL, half_change, true},
    {"compile", "fused steps read and write memory once instead of once per operation",
     compile_holds, compile_promise, "compile it: omit --no-compile", NULL, compile_change, false},
    {"isa", "wider vectors compute more at once", isa_holds, isa_promise, NULL, isa_act, isa_change,
     false},
    {"cache", "the core's own cache is several times faster than the next one", cache_holds,
     cache_promise, NULL, cache_act, cache_change, true},
    {"memory", "a machine that swaps is a thousand times slower", memory_holds, NULL, NULL,
     memory_act, NULL, false},
    {0}};

const eg__rule *eg__rule_find(const char *name) {
    for (const eg__rule *rule = eg__rules; rule->name; rule++)
        if (strcmp(rule->name, name) == 0) return rule;
    return NULL;
}

bool eg__rule_apply(const eg__rule *rule, const eg__facts *facts, eg_finding *out) {
    *out = (eg_finding){.rule = rule->name, .reason = rule->reason, .gain = NAN, .measured = NAN};
    if (!rule->holds(facts, out->text)) return false;
    const double promise = rule->promise ? rule->promise(facts) : NAN;
    if (isfinite(promise)) out->gain = fmax(0, promise) * facts->seconds;
    if (rule->action) snprintf(out->action, sizeof out->action, "%s", rule->action);
    else rule->act(facts, out->action);
    out->untried = rule->change ? "it was not tried" : "it is about memory, not about time";
    return true;
}
