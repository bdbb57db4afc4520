/* Memory of a profile beside what the kernel says is resident, in processes of their own. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(resident, "peak_memory is the resident set within 5 %, with and without stored ceilings")

typedef struct seen {
    double peak, usage, current; /* by the profile */
    double high, resident;       /* VmHWM and VmRSS, by the kernel, just after */
    double held;                 /* by the library, before the profile */
    int done;
} seen;

static double status_field(const char *name) {
    char line[256];
    double value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtod(line + strlen(name), NULL) * 1024;
    if (file) fclose(file);
    return value;
}

static void profile_here(const char *spec, const char *folder, seen *out) {
    eg_context *context;
    eg_model *model;
    eg_profile *profile;
    eg_memory_figures before;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    const eg_profile_options options = {.runs = 3,
                                        .no_ceilings = !folder,
                                        .ceilings_seconds = 0.02,
                                        .no_cache = 1,
                                        .recorder = &(const eg_recorder_options){.events = 1024}};
    if (folder) setenv("XDG_CACHE_HOME", folder, 1);
    if (eg_context_create(&one, &context, NULL) || eg_model_open(context, spec, &model, NULL) ||
        eg_memory_query(context, EG_TAG_COUNT, &before, NULL) ||
        eg_profile_model(model, spec, &options, &profile, NULL))
        return;
    out->high = status_field("VmHWM:");
    out->resident = status_field("VmRSS:");
    out->peak = eg_profile_metric(profile, EG_PROFILE_peak_memory).value;
    out->usage = eg_profile_metric(profile, EG_PROFILE_peak_usage).value;
    out->current = eg_profile_metric(profile, EG_PROFILE_current_memory).value;
    out->held = (double)before.current;
    out->done = 1;
}

static seen profile_in_child(const char *spec, const char *folder) {
    seen out = {0};
    int ends[2];
    if (pipe(ends)) return out;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        profile_here(spec, folder, &out);
        const ssize_t written = write(ends[1], &out, sizeof out);
        _exit(written == (ssize_t)sizeof out ? 0 : 1);
    }
    close(ends[1]);
    if (child > 0) {
        if (read(ends[0], &out, sizeof out) != (ssize_t)sizeof out) out.done = 0;
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
    return out;
}

/* Within 5 %; of a small process, within 2 MiB: the kernel counts pages in batches, and what the profile does after its
 * timed runs is not theirs. */
static bool within(double a, double b) { return fabs(a - b) <= fmax(0.05 * b, 2 << 20); }

TEST(resident, peak_memory_is_what_is_resident) {
    static const char *const specs[] = {"cfc:autoncp:12:3,in=4",
                                        "cfc:256,in=64,backbone=512x2,seed=1",
                                        "llama:2:1024,heads=8,vocab=512,seed=1"};
    if (test_quick()) {
        test_skip("sanitizers and emulators have memory of their own");
        return;
    }
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const seen s = profile_in_child(specs[i], NULL);
        CHECK(s.done, "%s: no profile", specs[i]);
        CHECK(within(s.peak, s.high), "%s: peak_memory %.0f, VmHWM %.0f", specs[i], s.peak, s.high);
        CHECK(within(s.current, s.resident), "%s: current_memory %.0f, VmRSS %.0f", specs[i],
              s.current, s.resident);
        CHECK(s.peak == s.usage && s.current <= s.peak * 1.05, "%s: two peaks", specs[i]);
        CHECK(s.peak > s.held, "%s: the model of %.0f bytes is not in %.0f", specs[i], s.held,
              s.peak);
    }
}

/* The first profile on a machine measures its ceilings, in a buffer of hundreds of MB. */
TEST(resident, stored_ceilings_change_nothing) {
    char folder[600];
    if (test_quick()) {
        test_skip("sanitizers and emulators have memory of their own");
        return;
    }
    snprintf(folder, sizeof folder, "%s/fresh", test_folder());
    static const char spec[] = "cfc:256,in=64,backbone=512x2,seed=1";
    const seen first = profile_in_child(spec, folder), later = profile_in_child(spec, folder);
    CHECK(first.done && later.done, "no profile");
    CHECK(within(first.peak, later.peak) && within(first.usage, later.usage),
          "peak_memory %.0f at first, %.0f with stored ceilings", first.peak, later.peak);
}
