/* The environment of a measurement: this machine, recorded ones, broken ones. */
#include "test_chip.h"
#include "elegans/elegans.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(environment, "what else the machine does, read from any root; unknown is never zero")

static eg_context *open_context(void) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static void put(const char *root, const char *path, const char *text) {
    chip_file_write(root, path, text, strlen(text));
}

/* A text or a reason, never both; a value that is known has a source, too. */
static void check_fact(const char *name, const eg_fact *fact) {
    CHECK((fact->provenance == EG_UNAVAILABLE) == !fact->text[0] && fact->source, "%s: '%s' %s",
          name, fact->text, fact->source ? fact->source : "(no source)");
}

static void check_metric(const char *name, const eg_metric *metric) {
    CHECK(metric->source && isfinite(metric->value) && metric->value >= 0, "%s: %g", name,
          metric->value);
}

static void check_sane(const eg_environment *e) {
#define FACT(name, text)   check_fact(#name, &e->name);
#define METRIC(name, text) check_metric(#name, &e->name);
    EG_ENVIRONMENT_FACT_MAP(FACT)
    EG_ENVIRONMENT_METRIC_MAP(METRIC)
#undef FACT
#undef METRIC
}

TEST(environment, this_machine) {
    eg_context *context = open_context();
    eg_error error;
    eg_environment e;
    CHECK_OK(eg_environment_read(context, NULL, &e, &error), error);
    check_sane(&e);
    CHECK(e.threads.value == 1 && strcmp(e.isa.text, "ref") == 0, "%g threads, '%s'",
          e.threads.value, e.isa.text);
    CHECK(strcmp(e.version.text, eg_version()) == 0, "version '%s'", e.version.text);
    CHECK(e.compiler.text[0] && strstr(e.build.text, "optimized"), "'%s' '%s'", e.compiler.text,
          e.build.text);
    CHECK(e.clock_overhead.value > 0 && e.clock_overhead.provenance == EG_MEASURED, "clock %g ns",
          e.clock_overhead.value);
    CHECK(e.load.provenance == EG_COUNTED, "no load: %s", e.load.source);
    CHECK(strstr(e.fingerprint, "; isa=ref; threads=1; system="), "'%s'", e.fingerprint);
    CHECK_FAILS(eg_environment_read(context, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    eg_context_destroy(context);
}

/* Threads are pinned when somebody asks for it, and this thread ever after: so in a process of its own. */
TEST(environment, pinned_threads) {
    eg_context *context = open_context();
    eg_environment e;
    eg_error error;
    CHECK_OK(eg_environment_read(context, NULL, &e, &error), error);
    if (e.pinned.provenance == EG_UNAVAILABLE || e.cores.value < 2) {
        test_skip("one core, or a system that pins nothing");
        eg_context_destroy(context);
        return;
    }
    CHECK(e.pinned.value == 0, "%g of 1 are pinned", e.pinned.value);
    eg_context_destroy(context);
    const pid_t allowed = fork();
    if (allowed == 0) _exit(eg__chip_bind_thread(0) ? 0 : 1);
    int refused = 0;
    if (waitpid(allowed, &refused, 0) != allowed || refused) {
        test_skip("affinity is refused here");
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        const eg_context_options options = {
            .size = sizeof options, .threads = 2, .isa = "ref", .pin_threads = 1};
        const bool right = eg_context_create(&options, &context, NULL) == EG_OK &&
                           eg_environment_read(context, NULL, &e, NULL) == EG_OK &&
                           e.pinned.value == 2;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0,
          "two pinned threads: status %d", status);
}

TEST(environment, laptop) {
    eg_context *context = open_context();
    eg_error error;
    eg_environment e;
    const char *root = test_folder();
    put(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Toy 1\n");
    put(root, "proc/meminfo",
        "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n"
        "SwapTotal: 2000 kB\nSwapFree: 1500 kB\n");
    put(root, "proc/version", "Linux version 6.1.0-18-amd64 (somebody)\n");
    put(root, "proc/loadavg", "1.25 0.50 0.25 2/300 4242\n");
    put(root, "proc/pressure/cpu", "some avg10=12.50 avg60=1.00 avg300=0.50 total=1\n");
    put(root, "proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    put(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(root, "sys/class/power_supply/AC/type", "Mains\n");
    put(root, "sys/class/power_supply/AC/online", "0\n");
    put(root, "sys/class/power_supply/BAT0/type", "Battery\n");
    put(root, "sys/class/power_supply/BAT0/status", "Discharging\n");
    put(root, "sys/class/power_supply/BAT0/capacity", "61\n");
    put(root, "sys/class/power_supply/mouse/type", "Battery\n");
    put(root, "sys/class/power_supply/mouse/scope", "Device\n");
    put(root, "sys/class/power_supply/mouse/capacity", "5\n");
    CHECK_OK(eg_environment_read(context, root, &e, &error), error);
    check_sane(&e);
    CHECK(strcmp(e.chip.text, "Toy 1") == 0 && e.cores.value == 1, "'%s', %g cores", e.chip.text,
          e.cores.value);
    CHECK(e.load.value == 1.25 && e.pressure_cpu.value == 12.5, "load %g, pressure %g",
          e.load.value, e.pressure_cpu.value);
    CHECK(e.pressure_memory.value == 0 && e.pressure_memory.provenance == EG_COUNTED,
          "a pressure of 0 is one");
    CHECK(e.memory_available.value == 4000000.0 * 1024, "%g bytes", e.memory_available.value);
    CHECK(e.swap_used.value == 500.0 * 1024, "%g bytes on the disk", e.swap_used.value);
    CHECK(strcmp(e.governor.text, "powersave") == 0, "'%s'", e.governor.text);
    CHECK(strcmp(e.power.text, "battery") == 0 && e.battery.value == 61, "'%s' %g %%", e.power.text,
          e.battery.value);
    CHECK(strncmp(e.fingerprint, "chip=Toy 1, ", 12) == 0 &&
              strstr(e.fingerprint, "; system=Linux 6.1; build="),
          "'%s'", e.fingerprint);
    static const struct {
        const char *online, *status, *power;
    } states[] = {{"1", "Charging", "mains"},
                  {"1", "Full", "mains"},
                  {"0", "Not charging", "mains"},
                  {"1", "Discharging", "battery"},
                  {"1", "Unknown", "mains"},
                  {"0", "Unknown", ""},
                  {"x", "", ""}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        put(root, "sys/class/power_supply/AC/online", states[i].online);
        put(root, "sys/class/power_supply/BAT0/status", states[i].status);
        CHECK_OK(eg_environment_read(context, root, &e, &error), error);
        CHECK(strcmp(e.power.text, states[i].power) == 0, "%s, %s: '%s'", states[i].online,
              states[i].status, e.power.text);
    }
    eg_context_destroy(context);
}

TEST(environment, unknown) {
    eg_context *context = open_context();
    eg_error error;
    eg_environment e;
    const char *root = test_folder();
    CHECK_FAILS(eg_environment_read(context, root, &e, &error), error, EG_ERR_NOT_FOUND, root);
    put(root, "proc/cpuinfo", "nonsense");
    CHECK_OK(eg_environment_read(context, root, &e, &error), error);
    check_sane(&e);
    CHECK(e.load.provenance == EG_UNAVAILABLE && e.battery.provenance == EG_UNAVAILABLE &&
              e.power.provenance == EG_UNAVAILABLE && e.pressure_cpu.provenance == EG_UNAVAILABLE &&
              e.memory_available.provenance == EG_UNAVAILABLE &&
              e.swap_used.provenance == EG_UNAVAILABLE && e.governor.provenance == EG_UNAVAILABLE &&
              e.chip.provenance == EG_UNAVAILABLE,
          "something is known of nothing");
    static const char *const pressures[] = {"full avg10=1",   "some avg10=x total=3", "some",
                                            "some avg10=101", "some avg10=nan",       ""};
    put(root, "proc/loadavg", "-1 0 0");
    put(root, "sys/class/power_supply/BAT0/type", "Battery\n");
    put(root, "sys/class/power_supply/BAT0/capacity", "101\n");
    for (size_t i = 0; i < sizeof pressures / sizeof *pressures; i++) {
        put(root, "proc/pressure/cpu", pressures[i]);
        CHECK_OK(eg_environment_read(context, root, &e, &error), error);
        CHECK(e.pressure_cpu.provenance == EG_UNAVAILABLE, "'%s': %g", pressures[i],
              e.pressure_cpu.value);
    }
    CHECK(e.load.provenance == EG_UNAVAILABLE && e.battery.provenance == EG_UNAVAILABLE,
          "load %g, battery %g", e.load.value, e.battery.value);
    eg_context_destroy(context);
}

TEST(environment, recorded_machines) {
    static const char *const names[] = {"m2-max-macos", "m1-asahi", "server-2s", "pi5", "hybrid"};
    eg_context *context = open_context();
    eg_error error;
    eg_environment e;
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_OK(eg_environment_read(context, fixture(path, names[i]), &e, &error), error);
        check_sane(&e);
        CHECK(e.chip.text[0] && e.cores.value > 0, "%s: '%s'", names[i], e.chip.text);
    }
    eg_context_destroy(context);
}

TEST(environment, matching) {
    eg_error error;
    static const char here[] = "chip=a, 1; isa=avx2; threads=2; system=Linux 6.1; build=optimized";
    static const struct {
        const char *other, *part;
    } others[] = {
        {"chip=b, 1; isa=avx2; threads=2; system=Linux 6.1; build=optimized", "'chip=b, 1' now"},
        {"chip=a, 1; isa=ref; threads=2; system=Linux 6.1; build=optimized",
         "'isa=avx2' then, 'isa=ref' now"},
        {"chip=a, 1; isa=avx2; threads=2; system=Linux 6.1; build=not optimized", "'build="},
        {"chip=a, 1; isa=avx2; threads=2; system=Linux 6.1", "'' now"},
        {"", "'' now"}};
    CHECK_OK(eg_environment_match(here, here, &error), error);
    CHECK_OK(eg_environment_match("", "", &error), error);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_FAILS(eg_environment_match(here, others[i].other, &error), error, EG_ERR_ARGUMENT,
                    others[i].part);
        CHECK(eg_environment_match(others[i].other, here, NULL) == EG_ERR_ARGUMENT, "%zu", i);
    }
    CHECK_FAILS(eg_environment_match(here, NULL, &error), error, EG_ERR_ARGUMENT, "no fingerprint");
}

TEST(environment, files) {
    eg_error error;
    char path[1024], hash[EG_FILE_HASH_SIZE];
    const char *root = test_folder();
    static char zeros[40000];
    put(root, "empty", "");
    put(root, "short", "foobar");
    chip_file_write(root, "long", zeros, sizeof zeros);
    /* as the authors of FNV-1a list them; the last one by three lines of Python */
    static const char *const files[][2] = {
        {"empty", "cbf29ce484222325"}, {"short", "85944171f73967e8"}, {"long", "600f98ab98233825"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", root, files[i][0]);
        CHECK_OK(eg_file_hash(path, hash, &error), error);
        CHECK(strcmp(hash, files[i][1]) == 0, "%s: %s", files[i][0], hash);
    }
    CHECK_FAILS(eg_file_hash("/no/such/file", hash, &error), error, EG_ERR_FILE, "/no/such/file");
    CHECK_FAILS(eg_file_hash(root, hash, &error), error, EG_ERR_FILE, root);
    CHECK_FAILS(eg_file_hash(NULL, hash, &error), error, EG_ERR_ARGUMENT, "no file");
}
