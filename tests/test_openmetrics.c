/* Metrics for Prometheus: the text of a sample, letter by letter, and that nothing unknown stands in it. */
#include "test.h"
#include "elegans/elegans.h"
#include "engine/context.h"
#include "monitor/monitor.h"

#include <ctype.h>
#include <math.h>

AREA(openmetrics, "every sensor and figure has a metric in base units; unknown ones are left out")

static const eg_operation_share shares[] = {{"gemm_f32", 0.75}, {"fused", 0.25}, {"fused", 0.5}};

static eg_metric measured(double value) { return (eg_metric){value, EG_MEASURED, NULL, "a test"}; }
static eg_metric unknown(void) { return (eg_metric){0, EG_UNAVAILABLE, NULL, "a test"}; }

/* Everything is known, with the value of its row. */
static void fill(eg_reading readings[EG_SENSOR_COUNT], eg_published *p) {
    for (int i = 0; i < EG_SENSOR_COUNT; i++)
        readings[i] = (eg_reading){.sensor = (eg_sensor)i, .metric = measured(i + 1)};
    *p = (eg_published){.pid = 7, .program = "robot", .started_ns = 1500000000};
    for (int i = 0; i < EG_FIGURE_COUNT; i++) p->figures[i] = measured(i + 1);
    p->operations = shares;
    p->operation_count = sizeof shares / sizeof *shares;
}

/* Text of a sample; the caller gives it back. */
static char *written(eg__memory *memory, const eg_monitor_sample *sample, eg_metrics_form form) {
    char *text;
    size_t length;
    eg_error error;
    CHECK_OK(eg__metrics_write(memory, sample, form, &text, &length, &error), error);
    CHECK(text && strlen(text) == length, "its length");
    return text;
}

static eg__memory *open_memory(eg_context **context) {
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, context, &error), error);
    return eg__context_memory(*context);
}

static void expect(eg__memory *memory, const eg_monitor_sample *sample, eg_metrics_form form,
                   const char *expected) {
    char *text = written(memory, sample, form), version[512];
    snprintf(version, sizeof version, "elegans_build_info{version=\"%s\"} 1\n", eg_version());
    CHECK(strstr(text, version), "no version in\n%s", text);
    const char *rest = strstr(text, version) + strlen(version);
    CHECK(strcmp(rest, expected) == 0, "\n%s\nexpected:\n%s", rest, expected);
    eg__memory_give(memory, text);
}

TEST(openmetrics, text) {
    static const char open[] =
        "# TYPE elegans_sample_time_seconds gauge\n"
        "# UNIT elegans_sample_time_seconds seconds\n"
        "# HELP elegans_sample_time_seconds when the figures below were read, since 1970\n"
        "elegans_sample_time_seconds 2.5\n"
        "# TYPE elegans_cpu_load_ratio gauge\n"
        "# UNIT elegans_cpu_load_ratio ratio\n"
        "# HELP elegans_cpu_load_ratio share of the time that a core worked\n"
        "elegans_cpu_load_ratio{provenance=\"counted\"} 0.25\n"
        "elegans_cpu_load_ratio{core=\"cpu0\",provenance=\"counted\"} 0.5\n"
        "# TYPE elegans_temperature_celsius gauge\n"
        "# UNIT elegans_temperature_celsius celsius\n"
        "# HELP elegans_temperature_celsius of a sensor\n"
        "elegans_temperature_celsius{sensor=\"nvme \\\"1\\\"\",provenance=\"measured\"} 41\n"
        "elegans_temperature_celsius{sensor=\"nvme \\\"1\\\"\",number=\"2\",provenance="
        "\"measured\"} 42\n"
        "# TYPE elegans_energy_joules counter\n"
        "# UNIT elegans_energy_joules joules\n"
        "# HELP elegans_energy_joules of a rail, since the sensors were opened\n"
        "elegans_energy_joules_total{rail=\"package-0\",provenance=\"measured\"} 12.5\n"
        "# TYPE elegans_start_time_seconds gauge\n"
        "# UNIT elegans_start_time_seconds seconds\n"
        "# HELP elegans_start_time_seconds when a program began to publish, since 1970\n"
        "elegans_start_time_seconds{pid=\"7\",program=\"ro\\\\bot\",model=\"a\\nb\\\\xff\"} 1.5\n"
        "# TYPE elegans_steps counter\n"
        "# HELP elegans_steps done so far\n"
        "elegans_steps_total{pid=\"7\",program=\"ro\\\\bot\",model=\"a\\nb\\\\xff\",provenance="
        "\"measured\"} 900\n"
        "# TYPE elegans_step_duration_seconds summary\n"
        "# UNIT elegans_step_duration_seconds seconds\n"
        "# HELP elegans_step_duration_seconds time of the steps since the sample before\n"
        "elegans_step_duration_seconds{pid=\"7\",program=\"ro\\\\bot\",model=\"a\\nb\\\\xff\","
        "quantile=\"0.5\",provenance=\"measured\"} 1.1e-06\n"
        "elegans_step_duration_seconds{pid=\"7\",program=\"ro\\\\bot\",model=\"a\\nb\\\\xff\","
        "quantile=\"0.99\",provenance=\"measured\"} 2e-06\n"
        "# EOF\n";
    eg_context *context;
    eg__memory *memory = open_memory(&context);
    const eg_reading readings[] = {
        {.sensor = EG_SENSOR_cpu_load, .metric = {25, EG_COUNTED, "%", ""}},
        {.sensor = EG_SENSOR_cpu_load, .label = "cpu0", .metric = {50, EG_COUNTED, "%", ""}},
        {.sensor = EG_SENSOR_memory_used, .metric = unknown()},
        {.sensor = EG_SENSOR_temperature, .label = "nvme \"1\"", .metric = measured(41)},
        {.sensor = EG_SENSOR_temperature, .label = "nvme \"1\"", .metric = measured(42)},
        {.sensor = EG_SENSOR_power, .label = "package-0", .metric = measured((double)INFINITY)},
        {.sensor = EG_SENSOR_energy, .label = "package-0", .metric = measured(12.5)}};
    eg_published p;
    eg_reading unused[EG_SENSOR_COUNT];
    fill(unused, &p);
    for (int i = 0; i < EG_FIGURE_COUNT; i++) p.figures[i] = unknown();
    p.operation_count = 0;
    p.figures[EG_FIGURE_steps] = measured(900);
    p.figures[EG_FIGURE_p50] = measured(1.1e-6);
    p.figures[EG_FIGURE_p99] = measured(2e-6);
    snprintf(p.program, sizeof p.program, "ro\\bot");
    snprintf(p.model, sizeof p.model, "a\nb\xff");
    eg_monitor_sample sample = {.size = sizeof sample,
                                .time_ns = 2500000000,
                                .reading_count = sizeof readings / sizeof *readings,
                                .readings = readings,
                                .published_count = 1,
                                .published = &p};
    expect(memory, &sample, EG_METRICS_OPEN, open);
    /* the older format: families have the whole name, there are no units and there is no end */
    static const char older[] =
        "# TYPE elegans_sample_time_seconds gauge\n"
        "# HELP elegans_sample_time_seconds when the figures below were read, since 1970\n"
        "elegans_sample_time_seconds 2.5\n"
        "# TYPE elegans_energy_joules_total counter\n"
        "# HELP elegans_energy_joules_total of a rail, since the sensors were opened\n"
        "elegans_energy_joules_total{rail=\"package-0\",provenance=\"measured\"} 12.5\n";
    sample.readings += 5;
    sample.reading_count = 2;
    sample.published_count = 0;
    expect(memory, &sample, EG_METRICS_PROMETHEUS, older);
    eg_context_destroy(context);
}

/* Two publishers of a process are two series, and an operation stands there once. */
TEST(openmetrics, no_series_twice) {
    eg_context *context;
    eg__memory *memory = open_memory(&context);
    eg_reading readings[EG_SENSOR_COUNT];
    eg_published both[2];
    fill(readings, &both[0]);
    both[1] = both[0];
    const eg_monitor_sample sample = {
        .size = sizeof sample, .published_count = 2, .published = both};
    char *text = written(memory, &sample, EG_METRICS_OPEN);
    unsigned lines = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = 0;
        char *value = strrchr(line, ' ');
        if (line[0] == '#' || !value) {
            *end = '\n';
            continue;
        }
        *value = 0; /* the series alone */
        for (const char *other = text; other < line; other += strcspn(other, "\n") + 1) {
            const size_t size = strlen(line);
            CHECK(strncmp(other, line, size) != 0 || other[size] != ' ', "twice: %s", line);
        }
        *value = ' ';
        *end = '\n';
    }
    CHECK(lines > 2 * EG_FIGURE_COUNT && strstr(text, ",number=\"2\""), "%u lines", lines);
    eg__memory_give(memory, text);
    eg_context_destroy(context);
}

/* Every row of both tables: a name of its own, letters that Prometheus takes, its unit at the end. */
TEST(openmetrics, every_figure) {
    eg_context *context;
    eg__memory *memory = open_memory(&context);
    eg_reading readings[EG_SENSOR_COUNT];
    eg_published p;
    fill(readings, &p);
    eg_monitor_sample sample = {.size = sizeof sample};
    char *empty = written(memory, &sample, EG_METRICS_OPEN);
    for (int i = 0; i < EG_SENSOR_COUNT + EG_FIGURE_COUNT; i++) {
        eg_published one = p;
        if (i < EG_SENSOR_COUNT) {
            sample.readings = &readings[i];
            sample.reading_count = 1;
            sample.published_count = 0;
        } else {
            for (int k = 0; k < EG_FIGURE_COUNT; k++)
                if (k != i - EG_SENSOR_COUNT) one.figures[k] = unknown();
            one.operation_count = 0;
            sample.reading_count = 0;
            sample.published = &one;
            sample.published_count = 1;
        }
        const char *name = i < EG_SENSOR_COUNT ? eg_sensor_name((eg_sensor)i)
                                               : eg_figure_name((eg_figure)(i - EG_SENSOR_COUNT));
        char *text = written(memory, &sample, EG_METRICS_OPEN);
        const char *unit = NULL, *type = NULL;
        for (const char *at = text; (at = strstr(at, "# TYPE ")); at += 7) type = at + 7;
        for (const char *at = text; (at = strstr(at, "# UNIT ")); at += 7) unit = at + 7;
        CHECK(strlen(text) > strlen(empty) && type && strncmp(type, "elegans_", 8) == 0,
              "%s: nothing in '%s'", name, text);
        const size_t size = strcspn(type, " ");
        for (size_t k = 0; k < size; k++)
            CHECK(islower((unsigned char)type[k]) || type[k] == '_', "%s: '%.*s'", name, (int)size,
                  type);
        if (unit > type) { /* of this family */
            const size_t letters = strcspn(unit + size + 1, "\n");
            CHECK(letters < size && type[size - letters - 1] == '_' &&
                      memcmp(type + size - letters, unit + size + 1, letters) == 0,
                  "%s: '%.*s' does not end in its unit", name, (int)size, type);
        }
        eg__memory_give(memory, text);
    }
    eg__memory_give(memory, empty);
    eg_context_destroy(context);
}

/* ---- through a monitor */
TEST(openmetrics, of_a_monitor) {
    char root[512], folder[256];
    snprintf(root, sizeof root, "%s", test_path("fixtures/sensors/m1"));
    snprintf(folder, sizeof folder, "%s/none", test_folder());
    eg_context *context;
    open_memory(&context);
    const eg_monitor_options options = {.size = sizeof options, .root = root, .folder = folder};
    eg_monitor *monitor;
    eg_monitor_sample sample = {.size = sizeof sample};
    eg_error error;
    const char *text = "";
    size_t length = 0;
    CHECK_OK(eg_monitor_open(context, &options, &monitor, &error), error);
    CHECK_FAILS(eg_monitor_metrics(monitor, EG_METRICS_OPEN, &text, NULL, &error), error,
                EG_ERR_ARGUMENT, "no sample");
    CHECK_FAILS(eg_monitor_history(monitor, &text, NULL, &error), error, EG_ERR_ARGUMENT,
                "no sample");
    CHECK_OK(eg_monitor_read(monitor, &sample, &error), error);
    CHECK_OK(eg_monitor_metrics(monitor, EG_METRICS_OPEN, &text, &length, &error), error);
    CHECK(text && strlen(text) == length && strstr(text, "\nelegans_cpu_load_ratio{") &&
              strcmp(text + length - 6, "# EOF\n") == 0,
          "'%s'", text);
    CHECK_OK(eg_monitor_metrics(monitor, EG_METRICS_PROMETHEUS, &text, NULL, &error), error);
    CHECK(text && !strstr(text, "# EOF") && !strstr(text, "# UNIT"), "'%s'", text);
    CHECK_FAILS(eg_monitor_metrics(monitor, (eg_metrics_form)7, &text, NULL, &error), error,
                EG_ERR_ARGUMENT, "no form 7");
    CHECK_FAILS(eg_monitor_metrics(NULL, EG_METRICS_OPEN, &text, NULL, &error), error,
                EG_ERR_ARGUMENT, "no monitor");
    CHECK_FAILS(eg_monitor_history(monitor, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output");
    CHECK_OK(eg_monitor_history(monitor, &text, &length, &error), error);
    CHECK(text && strstr(text, "\"name\":\"cpu_load\"") && strstr(text, "\"runs\":[]"), "'%s'",
          text);
    eg_monitor_close(monitor);
    eg_context_destroy(context);
}

/* ---- the dashboard in examples: every metric it asks for is one that there is */
TEST(openmetrics, dashboard) {
    eg_context *context;
    eg__memory *memory = open_memory(&context);
    eg_reading readings[EG_SENSOR_COUNT];
    eg_published p;
    fill(readings, &p);
    const eg_monitor_sample sample = {.size = sizeof sample,
                                      .reading_count = EG_SENSOR_COUNT,
                                      .readings = readings,
                                      .published_count = 1,
                                      .published = &p};
    char *text = written(memory, &sample, EG_METRICS_PROMETHEUS);
    static char board[1 << 18];
    FILE *file = fopen(ELEGANS_SOURCE "/examples/grafana/elegans.json", "r");
    const size_t size = file ? fread(board, 1, sizeof board - 1, file) : 0;
    if (file) fclose(file);
    board[size] = 0;
    unsigned count = 0;
    for (const char *at = board; (at = strstr(at, "elegans_")); count++) {
        char name[128], line[140];
        snprintf(name, sizeof name, "%.*s",
                 (int)eg__min(strspn(at, "abcdefghijklmnopqrstuvwxyz_"), 127u), at);
        at += strlen(name);
        snprintf(line, sizeof line, "\n%s{", name);
        CHECK(strstr(text, line), "the dashboard asks for '%s'", name);
    }
    CHECK(count > 20, "%u metrics in %zu bytes", count, size);
    eg__memory_give(memory, text);
    eg_context_destroy(context);
}
