/* Alerts: expressions and their mistakes; conditions over time. */
#include "test.h"
#include "elegans/elegans.h"
#include "monitor/alert.h"

#include <math.h>

AREA(alert, "expressions of alerts, their mistakes by position, and when they fire and end")

TEST(alert, expressions) {
    static const struct {
        const char *text, *name, *label;
        bool above, or_equal;
        double limit, clear, hold;
    } all[] = {
        {"p99 > 5us for 10s", "p99", "", true, false, 5e-6, 4.75e-6, 10},
        {"p99>5us", "p99", "", true, false, 5e-6, 4.75e-6, 0},
        {"  p99 >=  5 us  ", "p99", "", true, true, 5e-6, 4.75e-6, 0},
        {"p50:train < 2ms for 1min", "p50", "train", false, false, 2e-3, 2.1e-3, 60},
        {"temperature:\"Tctl die\" > 90C clear 80", "temperature", "Tctl die", true, false, 90, 80,
         0},
        {"temperature > 90 clear 80C", "temperature", "", true, false, 90, 80, 0},
        {"cpu_load:cpu0 >= 95% for 0.5h clear 95%", "cpu_load", "cpu0", true, true, 95, 95, 1800},
        {"step_rate < 1e3 /s", "step_rate", "", false, false, 1000, 1050, 0},
        {"loss > 1.5", "loss", "", true, false, 1.5, 1.425, 0},
        {"loss < -1", "loss", "", false, false, -1, -0.95, 0},
        {"resident > 2GiB", "resident", "", true, false, 2147483648.0, 2040109465.6, 0},
        {"memory_used > 1.5e9", "memory_used", "", true, false, 1.5e9, 1.425e9, 0},
        {"cpu_clock < 2GHz", "cpu_clock", "", false, false, 2e9, 2.1e9, 0},
        {"flop_rate < 1 GFLOP/s for 2 s", "flop_rate", "", false, false, 1e9, 1.05e9, 2},
        {"epochs > 0", "epochs", "", true, false, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        eg__alert_rule rule;
        eg_error error;
        CHECK_OK(eg__alert_parse(all[i].text, &rule, &error), error);
        if (!rule.name) continue;
        CHECK(strcmp(rule.name, all[i].name) == 0 && strcmp(rule.label, all[i].label) == 0 &&
                  rule.above == all[i].above && rule.or_equal == all[i].or_equal,
              "'%s': %s:%s", all[i].text, rule.name, rule.label);
        CHECK(fabs(rule.limit - all[i].limit) <= 1e-9 * fabs(all[i].limit) &&
                  fabs(rule.clear - all[i].clear) <= 1e-9 * fabs(all[i].clear) &&
                  rule.hold == all[i].hold,
              "'%s': limit %g, clear %g, hold %g", all[i].text, rule.limit, rule.clear, rule.hold);
    }
}

TEST(alert, mistakes) {
    static const struct {
        const char *text;
        eg_status status;
        const char *part;
    } all[] = {
        {"", EG_ERR_FORMAT, "position 1: the name of a figure expected, not ''"},
        {"> 5", EG_ERR_FORMAT, "position 1: the name of a figure expected, not '> 5'"},
        {"p98 > 5us", EG_ERR_NOT_FOUND, "position 1: no figure 'p98'; did you mean 'p9"},
        {" cpu_lod > 5", EG_ERR_NOT_FOUND,
         "position 2: no figure 'cpu_lod'; did you mean 'cpu_load'?"},
        {"p98 > 5us", EG_ERR_NOT_FOUND, "figures: steps, step_rate, p50, p90"},
        {"p99", EG_ERR_FORMAT, "position 4: one of > >= < <= expected, not ''"},
        {"p99 = 5us", EG_ERR_FORMAT, "position 5: one of > >= < <= expected, not '= 5us'"},
        {"p99: > 5", EG_ERR_FORMAT, "position 5: a label expected"},
        {"p99:\"a > 5", EG_ERR_FORMAT, "'\"' after the label expected"},
        {"p99 >", EG_ERR_FORMAT, "position 6: a number expected, not ''"},
        {"p99 > us", EG_ERR_FORMAT, "position 7: a number expected, not 'us'"},
        {"p99 > 1.2.3", EG_ERR_FORMAT, "position 7: a number expected"},
        {"p99 > 1e999", EG_ERR_FORMAT, "position 7: a number expected"},
        {"p99 > 1e308h", EG_ERR_FORMAT, "a smaller number expected"},
        {"p99 > 5GiB", EG_ERR_NOT_FOUND, "position 8: no unit 'GiB' here; units: ns, us, ms, s"},
        {"loss > 5s", EG_ERR_NOT_FOUND, "no unit 's' here; units: none, it is a pure number"},
        {"battery < 5s", EG_ERR_NOT_FOUND, "no unit 's' here; units: %"},
        {"p99 > 5us for", EG_ERR_FORMAT, "a duration expected, not ''"},
        {"p99 > 5us for 3GiB", EG_ERR_NOT_FOUND, "no unit 'GiB' here; units: ns, us"},
        {"p99 > 5us for -3s", EG_ERR_FORMAT, "a duration of -3 s is below 0"},
        {"p99 > 5us clear 6us", EG_ERR_FORMAT, "which is beyond its limit"},
        {"p99 < 5us clear 4us", EG_ERR_FORMAT, "which is beyond its limit"},
        {"p99 > 5us clear", EG_ERR_FORMAT, "a number expected, not ''"},
        {"p99 > 5us forever", EG_ERR_FORMAT, "position 11: 'for', 'clear' or the end expected"},
        {"p99 > 5us for 1s again", EG_ERR_FORMAT,
         "'for', 'clear' or the end expected, not 'again'"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        eg__alert_rule rule;
        eg_error error;
        CHECK_FAILS(eg__alert_parse(all[i].text, &rule, &error), error, all[i].status, all[i].part);
    }
    char label[200] = "p99:";
    memset(label + 4, 'x', 100);
    eg__alert_rule rule;
    eg_error error;
    CHECK_FAILS(eg__alert_parse(label, &rule, &error), error, EG_ERR_FORMAT,
                "a label of 100 bytes is too long");
}

/* ---- over time: values second by second, and what comes of them: '.', 'F' fired, 'C' cleared */
typedef struct story {
    const char *text;
    double values[12]; /* NaN = unknown; of cpu_load in % */
    const char *events;
} story;

static const story stories[] = {
    {"cpu_load > 90", {10, 91, 95, 89, 86, 85, 91}, ".F...CF"}, /* 85.5 ends it */
    {"cpu_load > 90 for 2s", {91, 91, 91, 91, 10}, "..F.C"},
    {"cpu_load > 90 for 2s", {91, 10, 91, 91, 10}, "....."},
    {"cpu_load > 90 for 2s", {91, (double)NAN, 91, 91, 91}, "....F"}, /* unknown fulfils nothing */
    {"cpu_load > 90", {91, (double)NAN, 91}, "FCF"},
    {"cpu_load > 90", {90, 90, 90.1}, "..F"},
    {"cpu_load >= 90", {90, 86, 85}, "F.C"},
    {"cpu_load < 10 clear 20", {5, 15, 20, 21, 5}, "F..CF"},
    {"cpu_load > 90 clear 90", {91, 90, 91}, "FCF"}, /* without hysteresis */
    {"cpu_load >= 90 clear 90", {90, 90, 89}, "F.C"},
};

TEST(alert, over_time) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        const story *s = &stories[i];
        eg_alert *alert;
        CHECK_OK(eg_alert_create(context, s->text, &alert, &error), error);
        for (size_t k = 0; alert && s->events[k]; k++) {
            eg_reading reading = {.sensor = EG_SENSOR_cpu_load, .label = "cpu0"};
            reading.metric = isnan(s->values[k])
                                 ? (eg_metric){0, EG_UNAVAILABLE, "%", reading.source}
                                 : (eg_metric){s->values[k], EG_COUNTED, "%", reading.source};
            const eg_monitor_sample sample = {
                .elapsed = 1, .reading_count = 1, .readings = &reading};
            eg_alert_state state = {.size = sizeof state};
            CHECK_OK(eg_alert_check(alert, &sample, &state, &error), error);
            const char event = ".FC"[state.event];
            CHECK(event == s->events[k], "'%s', sample %zu (%g): '%c', expected '%c'", s->text, k,
                  s->values[k], event, s->events[k]);
            CHECK(state.event != EG_ALERT_FIRED || (strcmp(state.subject, "cpu0") == 0 &&
                                                    strstr(state.message, "cpu_load of cpu0 is")),
                  "'%s'", state.message);
        }
        eg_alert_destroy(alert);
    }
    eg_context_destroy(context);
}

TEST(alert, of_programs) {
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "ref"};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_published both[2] = {
        {.pid = 11, .program = "robot", .activity = "stream", .model = "a.safetensors"},
        {.pid = 12, .program = "elegans", .activity = "train", .model = "cfc:8,in=2"}};
    both[0].figures[EG_FIGURE_p99] = (eg_metric){3e-6, EG_MEASURED, "s", ""};
    both[1].figures[EG_FIGURE_p99] = (eg_metric){7e-3, EG_MEASURED, "s", ""};
    const eg_monitor_sample sample = {.elapsed = 1, .published_count = 2, .published = both};
    static const struct {
        const char *text;
        uint64_t pid; /* that it fires for; 0 = it does not */
    } all[] = {
        {"p99 > 1us", 12}, /* the one furthest beyond */
        {"p99 < 1s", 11},       {"p99:stream > 1us", 11},     {"p99:11 > 1us", 11},
        {"p99:robot > 5us", 0}, {"p99:cfc:8,in=2 > 5us", 12}, {"p99:nobody > 0", 0},
        {"p50 > 0", 0}, /* which neither knows */
        {"cpu_load > 0", 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        eg_alert *alert;
        eg_alert_state state = {.size = sizeof state};
        CHECK_OK(eg_alert_create(context, all[i].text, &alert, &error), error);
        CHECK_OK(eg_alert_check(alert, &sample, &state, &error), error);
        CHECK(state.firing == (all[i].pid != 0) && (!all[i].pid || state.pid == all[i].pid),
              "'%s': %d for pid %llu: %s", all[i].text, state.firing, (unsigned long long)state.pid,
              state.message);
        CHECK(strcmp(state.text, all[i].text) == 0 && state.message[0], "'%s'", state.text);
        eg_alert_destroy(alert);
    }
    eg_alert *alert;
    eg_alert_state state = {.size = sizeof state};
    CHECK_FAILS(eg_alert_create(context, "p99 > 1us", NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_alert_create(context, NULL, &alert, &error), error, EG_ERR_ARGUMENT,
                "no expression");
    CHECK_FAILS(eg_alert_check(NULL, &sample, &state, &error), error, EG_ERR_ARGUMENT, "no alert");
    eg_alert_destroy(NULL);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_alert *alert;
    const eg_status status = eg_alert_create(context, user, &alert, error);
    eg_alert_destroy(alert);
    return status;
}

TEST(alert, allocations) {
    char text[] = "p99 > 5us for 10s";
    CHECK(test_every_allocation_within(attempt, text) == 2, "an alert and its text");
}

TEST(alert, units) {
    static const struct {
        const char *base;
        double value;
        const char *text;
    } all[] = {
        {"s", 5e-6, "5 us"}, {"s", 0.25, "250 ms"},        {"s", 90, "1.5 min"},
        {"s", 0, "0 s"},     {"s", -2e-3, "-2 ms"},        {"B", 3221225472.0, "3 GiB"},
        {"B", 100, "100 B"}, {"FLOP/s", 2e9, "2 GFLOP/s"}, {"%", 95.125, "95.12 %"},
        {"C", 80, "80 C"},   {NULL, 0.001, "0.001"},       {"steps/s", 1e6, "1e+06 steps/s"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[EG__UNIT_TEXT];
        eg__unit_show(text, all[i].base, all[i].value);
        CHECK(strcmp(text, all[i].text) == 0, "'%s', expected '%s'", text, all[i].text);
    }
}
