/* What stands in the way on this machine: a list of looks, each good, bad or unknown with the reason. */
#include "profile/analysis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *eg_health_name(eg_health health) {
    static const char *const names[] = {"good", "bad", "unknown"};
    return (unsigned)health < 3 ? names[health] : NULL;
}

static eg_diagnosis_item *add(eg_diagnosis *d, const char *name, eg_health health,
                              const char *format, ...) EG_PRINTF(4, 5);
static eg_diagnosis_item *add(eg_diagnosis *d, const char *name, eg_health health,
                              const char *format, ...) {
    eg_diagnosis_item *item = &d->item[d->count++];
    va_list arguments;
    *item = (eg_diagnosis_item){.name = name, .health = health};
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
static void look_at_accelerators(const eg_chip *chip, eg_diagnosis *d) {
    const bool apple = strcmp(chip->vendor, "Apple") == 0;
    add(d, "accelerator", EG_HEALTH_GOOD,
        apple
            ? "models run on the cores; the GPU and the Neural Engine of this chip are not used yet"
            : "no accelerator: models run on the cores, which small ones like best");
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
               "%.1f processes want %.0f cores", e->load.value, e->cores.value),
           "fewer threads; and take the best of many runs, not the mean");
}

/* Who waits for memory decides; where nobody tells, what lies on the disk: a twentieth of the memory. */
static void look_at_swap(const eg_environment *e, const eg_chip *chip, eg_diagnosis *d) {
    static const char advice[] = "the machine swaps: a smaller batch";
    const bool waits = known(&e->pressure_memory), told = known(&e->swap_used);
    const double mega = e->swap_used.value * 1e-6;
    if (waits) {
        eg_diagnosis_item *item =
            add(d, "swap", e->pressure_memory.value > 1 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
                "somebody waited for memory in %.1f %% of the last 10 s", e->pressure_memory.value);
        const size_t at = strlen(item->text);
        if (told) snprintf(item->text + at, sizeof item->text - at, "; %.0f MB on the disk", mega);
        advise(item, advice);
    } else if (told)
        advise(add(d, "swap",
                   e->swap_used.value > 0.05 * (double)chip->memory_bytes ? EG_HEALTH_BAD
                                                                          : EG_HEALTH_GOOD,
                   "%.0f MB of all programs lie on the disk", mega),
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

/* Whether tiny numbers cost more than others: on most processors hundreds of cycles. */
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
    advise(add(d, "denormals", ratio > 3 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "numbers below 1e-38 take %.1f times as long as others (measured)", ratio),
           "keep weights and inputs away from them: weight decay, standardised inputs");
}

static void look_at_build(const eg_environment *e, eg_diagnosis *d) {
    const bool debug = strstr(e->build.text, "optimized") == NULL ||
                       strstr(e->build.text, "not optimized") || strstr(e->build.text, "sanitize");
    advise(add(d, "build", debug ? EG_HEALTH_BAD : EG_HEALTH_GOOD, "%s", e->build.text),
           "make clean && make");
}

/* ---- the checklist */
static void check_model(const eg_profile *p, eg_diagnosis *d) {
    static const char *const names[] = {"data types", "batch size", "fusion", "memory access",
                                        "profiling"};
    if (!p) {
        for (size_t i = 0; i < 5; i++)
            add(d, names[i], EG_HEALTH_UNKNOWN, "give a model: elegans diagnose MODEL");
        return;
    }
    eg__facts f;
    eg__facts_of(p, &f);
    const double memory = f.share[EG__BY_L3] + f.share[EG__BY_DRAM];
    const double overhead = f.share[EG__BY_OVERHEAD];
    /* f32 where f16 would do */
    advise(add(d, "data types", memory > 0.25 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "f32; %.0f %% of the time waits for L3 or DRAM", 100 * memory),
           "f16 would halve what is read");
    advise(add(d, "batch size", overhead > 0.25 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "%llu; %.0f %% of the time are steps below 60 ns", (unsigned long long)f.batch,
               100 * overhead),
           "a larger batch, if answers may wait");
    advise(add(d, "fusion", f.compiled ? EG_HEALTH_GOOD : EG_HEALTH_BAD, "%s",
               f.compiled ? "compiled, with all passes" : "the graph runs node by node"),
           "leave --no-compile away");
    advise(add(d, "memory access", f.copy_share > 0.2 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
               "%.0f %% of the time are copies", 100 * f.copy_share),
           "time-first inputs, outputs bound by pointer");
    add(d, "profiling", EG_HEALTH_GOOD, "%zu operations, each beside its roof", p->operation_count);
}

static void check_cleanup(const eg_profile *p, eg_diagnosis *d) {
    if (!p) {
        add(d, "allocation", EG_HEALTH_UNKNOWN, "give a model: elegans diagnose MODEL");
        add(d, "cleanup", EG_HEALTH_UNKNOWN, "give a model: elegans diagnose MODEL");
        return;
    }
    const eg_metric *leaked = &p->metrics[EG_PROFILE_leaked];
    const eg_metric *peak = &p->metrics[EG_PROFILE_peak_memory];
    add(d, "allocation", EG_HEALTH_GOOD, "planned before the first run: %.1f MB",
        peak->value * 1e-6);
    add(d, "cleanup", leaked->value > 0 ? EG_HEALTH_BAD : EG_HEALTH_GOOD,
        "%.0f bytes more are held after %zu runs than before", leaked->value, p->sample_count);
}

void eg_diagnose(const eg_environment *e, const eg_chip *chip, const eg_profile *p,
                 eg_diagnosis *d) {
    d->count = d->findings = 0;
    look_at_accelerators(chip, d);
    look_at_memory(e, chip, d);
    look_at_governor(e, d);
    look_at_load(e, d);
    look_at_swap(e, chip, d);
    look_at_pins(e, d);
    look_at_denormals(d);
    look_at_build(e, d);
    d->findings = d->count;
    add(d, "device placement", EG_HEALTH_GOOD, "all steps on the cores: nothing is transferred");
    check_model(p, d);
    check_cleanup(p, d);
}
