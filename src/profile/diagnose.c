/* Checks of this machine for common performance problems: each is good, bad or unknown with the
 * reason. */
#include "profile/analysis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *eg_health_name(eg_health health) {
    static const char *const names[] = {"good", "bad", "unknown"};
    return (unsigned)health < 3 ? names[health] : NULL;
}

/* Most checks use counters of the system or the library; the others say so. */
static eg_diagnosis_item *add(eg_diagnosis *d, const char *name, eg_health health,
                              const char *format, ...) EG_PRINTF(4, 5);
static eg_diagnosis_item *add(eg_diagnosis *d, const char *name, eg_health health,
                              const char *format, ...) {
    eg_diagnosis_item *item = &d->item[d->count++];
    va_list arguments;
    *item = (eg_diagnosis_item){.name = name, .health = health};
    item->provenance = health == EG_HEALTH_UNKNOWN ? EG_UNAVAILABLE : EG_COUNTED;
    va_start(arguments, format);
    vsnprintf(item->text, sizeof item->text, format, arguments);
    va_end(arguments);
    return item;
}

static void advise(eg_diagnosis_item *item, const char *text) {
    if (item->health == EG_HEALTH_BAD) snprintf(item->advice, sizeof item->advice, "%s", text);
}

static bool known(const eg_metric *metric) { return metric->provenance != EG_UNAVAILABLE; }

/* ---- the machine */
static void look_at_accelerators(const eg_environment *e, eg_diagnosis *d) {
    const eg_fact *found = &e->accelerators;
    if (found->provenance == EG_UNAVAILABLE) {
        add(d, "accelerator", EG_HEALTH_UNKNOWN, "%s",
            found->source ? found->source : "not looked for");
        return;
    }
    const bool none = strcmp(found->text, "none") == 0;
    add(d, "accelerator", EG_HEALTH_GOOD, "%s%s", none ? "none found in " : found->text,
        none ? found->source : "; not used: models run on the cores")
        ->provenance = found->provenance;
}

static void look_at_memory(const eg_environment *e, const eg_chip *chip, eg_diagnosis *d) {
    const double all = (double)chip->memory_bytes;
    if (!known(&e->memory_available) || !(all > 0)) {
        add(d, "memory", EG_HEALTH_UNKNOWN, "%s", e->memory_available.source);
        return;
    }
    const double used = 1 - e->memory_available.value / all;
    advise(add(d, "memory", used > 0.9 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "%.0f %% of %.1f GB is taken", 100 * used, all * 1e-9),
           "end other programs, or train with --memory");
}

static void look_at_governor(const eg_environment *e, eg_diagnosis *d) {
    if (e->governor.provenance == EG_UNAVAILABLE) {
        add(d, "governor", EG_HEALTH_UNKNOWN, "%s", e->governor.source);
        return;
    }
    const bool slow = strcmp(e->governor.text, "powersave") == 0;
    advise(add(d, "governor", slow ? EG_HEALTH_BAD : EG_HEALTH_GOOD, "%s", e->governor.text),
           "cpupower frequency-set -g performance");
}

static void look_at_load(const eg_environment *e, eg_diagnosis *d) {
    if (!known(&e->load)) {
        add(d, "other load", EG_HEALTH_UNKNOWN, "%s", e->load.source);
        return;
    }
    const bool busy = e->load.value > 0.5 * e->cores.value;
    advise(add(d, "other load", busy ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "a load of %.1f on %.0f cores", e->load.value, e->cores.value),
           "fewer threads; and take the best of many runs, not the mean");
}

/* Memory pressure decides; where it is unavailable, swapped bytes: a twentieth of the memory. */
static void look_at_swap(const eg_environment *e, const eg_chip *chip, eg_diagnosis *d) {
    static const char advice[] = "the machine swaps: a smaller batch";
    const bool waits = known(&e->pressure_memory), told = known(&e->swap_used);
    const double mega = e->swap_used.value * 1e-6;
    if (waits) {
        eg_diagnosis_item *item =
            add(d, "swap", e->pressure_memory.value > 1 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
                "tasks waited for memory in %.1f %% of the last 10 s", e->pressure_memory.value);
        const size_t at = strlen(item->text);
        if (told) snprintf(item->text + at, sizeof item->text - at, "; %.0f MB on the disk", mega);
        advise(item, advice);
    } else if (told)
        advise(add(d, "swap",
                   e->swap_used.value > 0.05 * (double)chip->memory_bytes ? EG_HEALTH_BAD
                                                                          : EG_HEALTH_GOOD,
                   "%.0f MB of swap space are in use", mega),
               advice);
    else add(d, "swap", EG_HEALTH_UNKNOWN, "%s", e->swap_used.source);
}

static void look_at_pins(const eg_environment *e, eg_diagnosis *d) {
    if (!known(&e->pinned)) {
        add(d, "pinned", EG_HEALTH_UNKNOWN, "%s", e->pinned.source);
        return;
    }
    const bool loose = e->threads.value > 1 && e->pinned.value < e->threads.value;
    advise(add(d, "pinned", loose ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "%.0f of %.0f threads stay on one core", e->pinned.value, e->threads.value),
           "unpinned threads may share a core: pin_threads of eg_context_options");
}

/* Whether denormal numbers are slow: on many processors they cost hundreds of cycles. */
static void look_at_denormals(eg_diagnosis *d) {
    enum { ROUNDS = 16, STEPS = 4096 };
    double best[2] = {INFINITY, INFINITY};
    volatile float sink = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int kind = 0; kind < 2; kind++) {
            volatile float start = kind ? 1e-39f : 1.0f;
            float x = start;
            const uint64_t begin = eg_clock_ns();
            for (int i = 0; i < STEPS; i++) x = x * 0.5f + start;
            const double ns = (double)(eg_clock_ns() - begin) / STEPS;
            sink = sink + x;
            best[kind] = fmin(best[kind], ns);
        }
    const double ratio = best[1] / best[0];
    eg_diagnosis_item *item =
        add(d, "denormals", ratio > 3 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
            "denormals (below 1e-38) take %.1f times as long as other values", ratio);
    item->provenance = EG_MEASURED;
    advise(item, "keep weights and inputs away from them: weight decay, standardised inputs");
}

static void look_at_build(const eg_environment *e, eg_diagnosis *d) {
    const bool debug = strstr(e->build.text, "optimized") == NULL ||
                       strstr(e->build.text, "not optimized") || strstr(e->build.text, "sanitize");
    advise(add(d, "build", debug ? EG_HEALTH_BAD : EG_HEALTH_GOOD, "%s", e->build.text),
           "make clean && make");
}

/* ---- the checklist */
/* The same rule as the profile's recommendation, so that they never disagree. */
static void check_rule(eg_diagnosis *d, const char *name, const char *rule, const eg__facts *f,
                       const char *calm) {
    eg_finding finding;
    const bool bad = eg__rule_apply(eg__rule_find(rule), f, &finding);
    eg_diagnosis_item *item =
        add(d, name, bad ? EG_HEALTH_BAD : EG_HEALTH_GOOD, "%s", bad ? finding.text : calm);
    item->provenance = EG_MEASURED;
    advise(item, finding.action);
}

static void check_model(const eg_profile *p, eg_diagnosis *d) {
    char text[200];
    eg__facts f;
    eg__facts_of(p, &f);
    const double memory = f.share[EG__BY_L3] + f.share[EG__BY_DRAM];
    snprintf(text, sizeof text, "weights are %s (%.3g bits); %.0f %% of the time waits for them",
             f.numbers, f.weight_bits, 100 * f.weights_wait);
    check_rule(d, "data types", "data_type", &f, text);
    /* times are measured; which memory they waited for is known as well as the traffic is */
    d->item[d->count - 1].provenance = p->traffic.provenance;
    snprintf(text, sizeof text, "%llu; %.0f %% of the time are steps below 60 ns",
             (unsigned long long)f.batch, 100 * f.share[EG__BY_OVERHEAD]);
    check_rule(d, "batch size", "batch", &f, text);
    check_rule(d, "fusion", "compile", &f, "compiled, with all passes");
    d->item[d->count - 1].provenance = EG_COUNTED;
    add(d, "memory access", EG_HEALTH_GOOD,
        "%.0f %% of the time are copies; %.0f %% waits for L3 or DRAM", 100 * f.copy_share,
        100 * memory)
        ->provenance = p->traffic.provenance;
}

/* Whether the recording is complete: no lost events, and steps that add up to the run. */
static void check_recording(const eg_profile *p, eg_diagnosis *d) {
    const uint64_t lost = p->recorder ? eg_recorder_lost(p->recorder) : 0;
    const double sum = p->recorded_time > 0 ? 100 * p->steps_sum / p->recorded_time : 0;
    const bool whole = sum >= 80 && sum <= 105;
    eg_diagnosis_item *item =
        add(d, "profiling", whole ? EG_HEALTH_GOOD : EG_HEALTH_BAD,
            "%zu operations; steps add up to %.0f %% of the run, %llu events overwritten",
            p->operation_count, sum, (unsigned long long)lost);
    item->provenance = EG_MEASURED;
    advise(
        item,
        "a longer --seq or a larger --batch: such short steps are as long as a reading of the clock");
}

/* Every step of the program by the unit that it was compiled for. */
static void check_placement(const eg_profile *p, eg_diagnosis *d) {
    eg_program_info info = {.size = sizeof info};
    eg_step_info step = {.size = sizeof step};
    size_t steps = 0;
    eg_program_info_get(p->subject.program, &info);
    for (size_t i = 0; i < info.steps; i++)
        steps += eg_program_step(p->subject.program, i, &step, NULL) == EG_OK && step.kernel[0];
    const bool all = steps == info.steps;
    advise(add(d, "device placement", all ? EG_HEALTH_GOOD : EG_HEALTH_BAD,
               "%zu of %zu steps have kernels of the cores (%s): nothing is transferred for them",
               steps, info.steps, eg_context_isa(p->context)),
           "a step without a kernel is a bug: please report it");
}

static void check_memory(const eg_profile *p, eg_diagnosis *d) {
    const eg_metric *leaked = &p->metrics[EG_PROFILE_leaked];
    const eg_metric *peak = &p->metrics[EG_PROFILE_library_peak];
    advise(add(d, "allocation", p->run_allocations ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "%llu allocations in %zu runs; the library held %.1f MB at most",
               (unsigned long long)p->run_allocations, p->sample_count, peak->value * 1e-6),
           "runs should allocate nothing: please report the model");
    advise(add(d, "cleanup", leaked->value > 0 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "%.0f bytes more are held after %zu runs than before", leaked->value,
               p->sample_count),
           "please report the model");
}

static void check_list(const eg_profile *p, eg_diagnosis *d) {
    static const char *const names[] = {"device placement", "data types", "batch size", "fusion",
                                        "memory access",    "profiling",  "allocation", "cleanup"};
    if (!p || !p->subject.program) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            add(d, names[i], EG_HEALTH_UNKNOWN, "give a model: elegans diagnose MODEL");
        return;
    }
    check_placement(p, d);
    check_model(p, d);
    check_recording(p, d);
    check_memory(p, d);
}

void eg_diagnose(const eg_environment *e, const eg_chip *chip, const eg_profile *p,
                 eg_diagnosis *d) {
    d->count = d->findings = 0;
    look_at_accelerators(e, d);
    look_at_memory(e, chip, d);
    look_at_governor(e, d);
    look_at_load(e, d);
    look_at_swap(e, chip, d);
    look_at_pins(e, d);
    look_at_denormals(d);
    look_at_build(e, d);
    d->findings = d->count;
    check_list(p, d);
}
