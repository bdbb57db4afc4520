/* Joules of profiles: a rail around the runs, also past the end of its range; and why there is none. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

AREA(
    energy,
    "joules of runs and operations from the counter of a rail, past its end; resets and short runs said")

#define ZONE "sys/class/powercap/intel-rapl:0"
enum { RANGE = 262143 }; /* joules */

static void put(const char *root, const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", whole);
}

typedef struct machine {
    char root[256];
    double joules, step; /* of the counter; what it grows by between two looks */
    const char *zone;
} machine;

static void put_joules(const machine *m, const char *file, double joules) {
    char path[256], text[64];
    snprintf(path, sizeof path, "%s/%s", m->zone, file);
    snprintf(text, sizeof text, "%.0f\n", joules * 1e6);
    put(m->root, path, text);
}

static void build(machine *m, const char *name, double range, double joules, double step) {
    char path[256];
    snprintf(m->root, sizeof m->root, "%s", test_folder());
    m->zone = ZONE;
    m->joules = joules;
    m->step = step;
    snprintf(path, sizeof path, "%s/name", m->zone);
    put(m->root, path, name);
    put_joules(m, "max_energy_range_uj", range);
    put_joules(m, "energy_uj", joules);
}

/* A run that takes so much energy. */
static void use(void *user) {
    machine *m = user;
    m->joules += m->step;
    if (m->joules > RANGE) m->joules -= RANGE;
    put_joules(m, "energy_uj", m->joules);
}

static eg_profile *profile_of(eg_context *context, machine *m, uint64_t runs) {
    const eg_profile_options options = {
        .size = sizeof options, .runs = runs, .warmup = 1, .no_ceilings = 1, .root = m->root};
    eg_profile *profile = NULL;
    eg_error error;
    CHECK_OK(eg_profile_callback(context, "runs", use, m, &options, &profile, &error), error);
    return profile;
}

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

TEST(energy, of_a_run) {
    static const struct {
        const char *name;
        double range, from, step;
        double joules; /* of a run; 0 = unavailable */
        const char *text;
    } all[] = {
        {"package-0\n", RANGE, 1000, 0.25, 0.25, "package-0: powercap"},
        {"package-0\n", RANGE, RANGE - 1, 0.25, 0.25, "package-0: powercap"}, /* past its end */
        {"psys\n", RANGE, 5, 2, 2, "psys: powercap"},
        {"package-0\n", RANGE, 1000, 0, 0, "did not advance"},
        {"package-0\n", 0, 1000, -1, 0, "was reset"}};
    eg_context *context = open_context();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        machine m;
        build(&m, all[i].name, all[i].range, all[i].from, all[i].step);
        eg_profile *profile = profile_of(context, &m, 20);
        if (!profile) continue;
        const eg_metric run = eg_profile_metric(profile, EG_PROFILE_energy_per_run),
                        power = eg_profile_metric(profile, EG_PROFILE_power_usage);
        CHECK(run.source && strstr(run.source, all[i].text), "case %zu: '%s'", i, run.source);
        if (all[i].joules > 0)
            CHECK(run.provenance == EG_MEASURED && fabs(run.value - all[i].joules) < 1e-6 &&
                      power.provenance == EG_MEASURED && power.value > 0,
                  "case %zu: %g J, %g W", i, run.value, power.value);
        else
            CHECK(run.provenance == EG_UNAVAILABLE && power.provenance == EG_UNAVAILABLE,
                  "case %zu: %g J", i, run.value);
        eg_profile_destroy(profile);
    }
    eg_context_destroy(context);
}

TEST(energy, none) {
    eg_context *context = open_context();
    machine m = {.root = ""};
    snprintf(m.root, sizeof m.root, "%s", test_folder());
    m.zone = "elsewhere";
    eg_profile *profile = profile_of(context, &m, 3);
    const eg_metric run = eg_profile_metric(profile, EG_PROFILE_energy_per_run);
    CHECK(run.provenance == EG_UNAVAILABLE && strstr(run.source, "no RAPL zone"), "'%s'",
          run.source);
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

static void check_report(const eg_profile *profile, eg_report_format format, const char *text) {
    const eg_report_options options = {.size = sizeof options, .format = format};
    eg_analysis *analysis;
    eg_report *report = NULL;
    eg_error error;
    CHECK_OK(eg_analyse(profile, &analysis, &error), error);
    const eg_status status = eg_report_of_profile(profile, analysis, &options, &report, &error);
    if (status != EG_ERR_UNSUPPORTED) { /* a build without jansson */
        CHECK_OK(status, error);
        CHECK(report && strstr(eg_report_text(report, NULL), text), "no '%s'", text);
    }
    eg_report_destroy(report);
    eg_analysis_destroy(analysis);
}

/* Steps and operations take their shares of the energy of a run, which is measured between runs here. */
static int advance(void *user) {
    use(user);
    return 0;
}

TEST(energy, of_operations) {
    eg_context *context = open_context();
    machine m;
    eg_model *model;
    eg_profile *profile = NULL;
    eg_error error;
    build(&m, "package-0\n", RANGE, 7, 3);
    CHECK_OK(eg_model_open(context, "cfc:autoncp:28:8,in=3", &model, &error), error);
    const eg_profile_options options = {.size = sizeof options,
                                        .runs = 2000,
                                        .batch = 32,
                                        .seq = 16,
                                        .no_ceilings = 1,
                                        .no_cache = 1,
                                        .stop = advance,
                                        .stop_user = &m,
                                        .root = m.root};
    CHECK_OK(eg_profile_model(model, "cfc", &options, &profile, &error), error);
    if (profile) {
        const eg_metric run = eg_profile_metric(profile, EG_PROFILE_energy_per_run);
        const eg_profile_row *row;
        double steps = 0, operations = 0;
        for (size_t i = 0; (row = eg_profile_step(profile, i)); i++) steps += row->joules;
        for (size_t i = 0; (row = eg_profile_operation(profile, i)); i++) {
            operations += row->joules;
            CHECK(fabs(row->joules - run.value * row->share) <= 1e-12 * run.value, "row %zu", i);
        }
        CHECK(run.provenance == EG_MEASURED && fmod(run.value * 2000 + 1e-6, 3) < 1e-3,
              "%g J per run", run.value);
        CHECK(fabs(steps - run.value) < 1e-6 * run.value &&
                  fabs(operations - run.value) < 1e-6 * run.value,
              "steps have %g J, operations %g J, a run %g J", steps, operations, run.value);
        check_report(profile, EG_REPORT_HTML, "aria-label=\"energy of operations\"");
        check_report(profile, EG_REPORT_MARKDOWN, "\n## Energy\n\nModelled: ");
        check_report(profile, EG_REPORT_JSON, "\"joules\"");
    }
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}
