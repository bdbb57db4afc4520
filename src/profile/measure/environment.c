/* The environment of a measurement: machine, system and build. */
#include "profile/measure/environment.h"
#include "chip/detect.h"
#include "engine/context.h"

#include <stdlib.h>
#include <string.h>

eg_fact eg__fact(const char *text, const char *source, const char *why_not) {
    eg_fact fact = {"", EG_COUNTED, source};
    eg__text_clean(fact.text, sizeof fact.text, text, strlen(text));
    return fact.text[0] ? fact : eg__fact_unavailable(why_not);
}

/* ---- the build: this file is compiled as the others are */
#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER ""
#endif
#ifndef ELEGANS_CFLAGS
#define ELEGANS_CFLAGS ""
#endif
#ifdef __OPTIMIZE__
#define OPTIMIZED "optimized"
#else
#define OPTIMIZED "not optimized"
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED ", with sanitizers"
#endif
#endif
#if !defined(SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define SANITIZED ", with sanitizers"
#endif
#ifndef SANITIZED
#define SANITIZED ""
#endif

static void read_build(eg_environment *out) {
    static const char source[] = "the build", why_not[] = "the build did not say";
    out->version = eg__fact(eg_version(), source, why_not);
    out->compiler = eg__fact(COMPILER, source, why_not);
    out->flags = eg__fact(ELEGANS_CFLAGS, source, why_not);
    out->build = eg__fact(OPTIMIZED SANITIZED, source, why_not);
}

/* ---- the machine */
static void read_chip(const eg_context *context, const eg_chip *chip, eg_environment *out) {
    static const char source[] = "detection of the chip", why_not[] = "the system does not tell";
    out->chip = eg__fact(chip->name, source, why_not);
    out->system = eg__fact(chip->system, source, why_not);
    out->hypervisor = eg__fact(chip->hypervisor, source, "none, or not detectable");
    out->isa = eg__fact(context->kernels.isa, "the context", why_not);
    out->cores = chip->cores ? eg__metric(chip->cores, NULL, EG_COUNTED, source)
                             : eg__metric_unavailable(NULL, why_not);
    out->threads = eg__metric(eg__threads_count(context->threads), NULL, EG_COUNTED, "the context");
}

/* A thread can only query its own value. */
enum { NOT_TOLD, LOOSE, PINNED };
static void ask_thread(void *job, size_t block, unsigned thread) {
    char *answers = job;
    bool bound;
    (void)thread;
    answers[block] = !eg__chip_thread_bound(&bound) ? NOT_TOLD : bound ? PINNED : LOOSE;
}

static void read_pinned(const eg_context *context, eg_environment *out) {
    char answers[EG__THREADS_MAX] = {0};
    const unsigned count = eg__threads_count(context->threads);
    unsigned pinned = 0;
    out->pinned = eg__metric_unavailable(NULL, "the system decides where threads run");
    eg__threads_run(context->threads, count, ask_thread, answers);
    for (unsigned i = 0; i < count; i++) {
        if (answers[i] == NOT_TOLD) return;
        pinned += answers[i] == PINNED;
    }
    out->pinned = eg__metric(pinned, NULL, EG_COUNTED, "affinity of the threads");
}

/* ---- other load */
static void read_swap(const char *root, eg_environment *out) {
    eg__text file;
    const bool there = eg__root_open(root, "proc/meminfo", &file);
    char line[256], *key, *value;
    uint64_t total = 0, rest = 0;
    unsigned found = 0;
    out->swap_used = eg__metric_unavailable("bytes", "the system does not tell");
    while (there && eg__line_read(&file, line, sizeof line)) {
        if (!eg__line_split(line, &key, &value)) continue;
        value[strcspn(value, " ")] = 0; /* the unit: always kB */
        if (strcmp(key, "SwapTotal") == 0) found += eg__text_number(value, &total);
        if (strcmp(key, "SwapFree") == 0) found += eg__text_number(value, &rest);
    }
    eg__root_close(&file);
    if (found != 2 || rest > total || total > EG__MEMORY_LIMIT / 1024) return;
    out->swap_used =
        eg__metric((double)(total - rest) * 1024, "bytes", EG_COUNTED, "/proc/meminfo");
}

static void read_load(const char *root, eg_environment *out) {
    char text[128];
    double value;
    out->load = eg__metric_unavailable(NULL, "the system does not tell");
    if (eg__root_text(root, "proc/loadavg", text, sizeof text)) {
        if (eg_number_parse(text, strcspn(text, " "), &value, NULL) == EG_OK && value >= 0)
            out->load = eg__metric(value, NULL, EG_COUNTED, "/proc/loadavg");
    } else if (!root && getloadavg(&value, 1) == 1) {
        out->load = eg__metric(value, NULL, EG_COUNTED, "getloadavg");
    }
}

/* "some avg10=1.25 avg60=..." */
static eg_metric read_pressure(const char *root, const char *path, const char *source) {
    char text[256];
    double value;
    if (!eg__root_text(root, path, text, sizeof text))
        return eg__metric_unavailable("%", "no pressure figures: not Linux, or without PSI");
    const char *from = strstr(text, "avg10=");
    if (strncmp(text, "some ", 5) != 0 || !from ||
        eg_number_parse(from + 6, strcspn(from + 6, " "), &value, NULL) ||
        !(value >= 0 && value <= 100))
        return eg__metric_unavailable("%", "the system's figures cannot be parsed");
    return eg__metric(value, "%", EG_COUNTED, source);
}

static void read_state(const char *root, const eg_chip *chip, eg_environment *out) {
    char text[64];
    eg__root_text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
    out->governor = eg__fact(text, "cpufreq of core 0", "the system reports no governor");
    read_load(root, out);
    out->pressure_cpu = read_pressure(root, "proc/pressure/cpu", "/proc/pressure/cpu");
    out->pressure_memory = read_pressure(root, "proc/pressure/memory", "/proc/pressure/memory");
    const uint64_t bytes = eg__memory_available(root);
    out->memory_available = bytes ? eg__metric((double)bytes, "bytes", EG_COUNTED,
                                               "the system, with limits of control groups")
                                  : eg__metric_unavailable("bytes", "the system does not tell");
    read_swap(root, out);
    out->accelerators = eg__accelerators_read(root, chip);
}

static void read_clock(eg_environment *out) {
    const eg_clock_quality clock = eg_clock_measure();
    out->clock = eg__fact(clock.source, "the library", "not known");
    out->clock_overhead =
        eg__metric(clock.overhead_ns, "ns", EG_MEASURED, "readings one after the other");
    out->clock_resolution =
        eg__metric(clock.resolution_ns, "ns", EG_MEASURED, "readings one after the other");
}

/* ---- the fingerprint */

/* "Linux 6.1" of "Linux 6.1.0-18-amd64": a security update is no other system. */
static void system_name(char out[64], const char *system) {
    const char *dot = strchr(system, '.');
    const size_t rest = dot ? 1 + strspn(dot + 1, "0123456789") : 0;
    eg__text_clean(out, 64, system, dot ? (size_t)(dot - system) + rest : strlen(system));
}

static void write_fingerprint(const eg_chip *chip, unsigned threads, eg_environment *e) {
    char system[64], hardware[17];
    system_name(system, e->system.text);
    eg__chip_hardware(chip, hardware);
    snprintf(e->fingerprint, sizeof e->fingerprint,
             "chip=%.95s, %s; isa=%.31s; threads=%u; system=%s; build=%.63s", e->chip.text,
             hardware, e->isa.text, threads, system, e->build.text);
}

eg_status eg_environment_read(eg_context *context, const char *system_root, eg_environment *out,
                              eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context or no output pointer for the environment");
    memset(out, 0, sizeof *out);
    eg_chip other;
    const eg_chip *chip = &context->chip;
    if (system_root) {
        eg_status status = eg__chip_detect(system_root, &context->log, &other, error);
        if (status) return status;
        chip = &other;
    }
    read_build(out);
    read_chip(context, chip, out);
    read_pinned(context, out);
    read_state(system_root, chip, out);
    read_clock(out);
    write_fingerprint(chip, eg__threads_count(context->threads), out);
    return eg__power_read(context, system_root, &out->power, &out->battery, error);
}

/* ---- matching: parts "key=value", with "; " between them */
static const char *part_end(const char *part) {
    const char *end = strstr(part, "; ");
    return end ? end : part + strlen(part);
}

static const char *part_next(const char *end) { return *end ? end + 2 : end; }

eg_status eg_environment_match(const char *old_fingerprint, const char *new_fingerprint,
                               eg_error *error) {
    if (!old_fingerprint || !new_fingerprint)
        return eg__fail(error, EG_ERR_ARGUMENT, "no fingerprint");
    const char *a = old_fingerprint, *b = new_fingerprint;
    while (*a || *b) {
        const char *a_end = part_end(a), *b_end = part_end(b);
        const size_t length = (size_t)(a_end - a);
        if (length != (size_t)(b_end - b) || memcmp(a, b, length) != 0)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "measured on another machine: '%.*s' then, '%.*s' now", (int)length, a,
                            (int)(b_end - b), b);
        a = part_next(a_end);
        b = part_next(b_end);
    }
    return EG_OK;
}
