/* Status texts, numbers in every locale, the clock and the log. */
#include "test.h"

#include <locale.h>
#include <math.h>

AREA(base, "status texts, numbers in every locale, clock, log")

TEST(base, status_texts) {
    CHECK(strcmp(eg_status_name(EG_ERR_FILE), "EG_ERR_FILE") == 0, "name");
    CHECK(strcmp(eg_status_text(EG_OK), "ok") == 0, "text");
    CHECK(strcmp(eg_status_name((eg_status)-999), "EG_ERR_UNKNOWN") == 0, "unknown name");
    CHECK(strcmp(eg_status_text((eg_status)-999), "unknown status") == 0, "unknown text");
    CHECK(strcmp(eg_provenance_name(EG_SIMULATED), "simulated") == 0, "provenance");
    CHECK(strcmp(eg_provenance_name(EG_TABLE), "table") == 0, "provenance of the chip table");
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", EG_VERSION_MAJOR, EG_VERSION_MINOR,
             EG_VERSION_PATCH);
    CHECK(strcmp(eg_version(), version) == 0, "version '%s'", eg_version());
}

TEST(base, long_messages_are_cut) {
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    eg_error error;
    CHECK(eg__fail(&error, EG_ERR_FILE, "%s", text) == EG_ERR_FILE, "status");
    CHECK(strlen(error.message) == sizeof error.message - 1, "length %zu", strlen(error.message));
    CHECK(strcmp(error.message + strlen(error.message) - 4, "x...") == 0, "end");
    CHECK(eg__fail(NULL, EG_ERR_FILE, "nobody reads this") == EG_ERR_FILE, "no error object");
}

static void check_round_trip(double value) {
    char text[EG_NUMBER_SIZE];
    size_t length = eg_number_format(text, value);
    eg_error error = {0};
    double back = 12345;
    CHECK_OK(eg_number_parse(text, length, &back, &error), error);
    CHECK(memcmp(&back, &value, sizeof value) == 0 || (isnan(back) && isnan(value)),
          "%a became '%s' and %a", value, text, back);
    CHECK(!strchr(text, ','), "'%s' has a comma", text);
}

static void check_numbers(void) {
    static const double values[] = {0,      -0.0, 1,    0.1,      1.0 / 3,   1e300,
                                    5e-324, NAN,  1e16, INFINITY, -INFINITY, 123456.7,
                                    1e-5,   2e22, -1.5, 1e23};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) check_round_trip(values[i]);
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        double value;
        test_random(&state);
        memcpy(&value, &state, sizeof value);
        check_round_trip(value);
    }
    char text[EG_NUMBER_SIZE];
    eg_number_format(text, 0.1);
    CHECK(strcmp(text, "0.1") == 0, "0.1 is '%s'", text);
}

TEST(base, numbers_round_trip) { check_numbers(); }

TEST(base, numbers_with_a_comma_locale) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", NULL};
    int i = 0;
    while (names[i] && !setlocale(LC_NUMERIC, names[i])) i++;
    if (!names[i]) {
        test_skip("no locale with a decimal comma is installed");
        return;
    }
    check_numbers();
    setlocale(LC_NUMERIC, "C");
}

TEST(base, bad_numbers) {
    static const char *const bad[] = {"",  " 1", "1 ",  "1,5",   "0x10", "1e",       "e5",
                                      ".", "-",  "+-1", "1.2.3", "NaN",  "infinity", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 7;
        eg_error error = {0};
        CHECK_FAILS(eg_number_parse(bad[i], strlen(bad[i]), &value, &error), error, EG_ERR_FORMAT,
                    bad[i]);
        CHECK(value == 7, "'%s' changed the value", bad[i]);
    }
    char many[2000];
    memset(many, '1', sizeof many);
    double value;
    eg_error error = {0};
    CHECK_FAILS(eg_number_parse(many, sizeof many, &value, &error), error, EG_ERR_FORMAT, "2000");
    CHECK_OK(eg_number_parse("12x", 2, &value, &error), error);
    CHECK(value == 12, "read past the length: %g", value);
}

TEST(base, integers) {
    static const struct {
        const char *text;
        eg_status status;
        int64_t value;
    } rows[] = {{"0", EG_OK, 0},
                {"-5", EG_OK, -5},
                {"+7", EG_OK, 7},
                {"100", EG_OK, 100},
                {"101", EG_ERR_ARGUMENT, 0},
                {"-101", EG_ERR_ARGUMENT, 0},
                {"99999999999999999999", EG_ERR_ARGUMENT, 0},
                {"", EG_ERR_FORMAT, 0},
                {"-", EG_ERR_FORMAT, 0},
                {"1.0", EG_ERR_FORMAT, 0},
                {"1e3", EG_ERR_FORMAT, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        eg_status status =
            eg_integer_parse(rows[i].text, strlen(rows[i].text), -100, 100, &value, NULL);
        CHECK(status == rows[i].status && value == rows[i].value, "'%s': %s %lld", rows[i].text,
              eg_status_name(status), (long long)value);
    }
}

TEST(base, clock_moves_forward) {
    uint64_t start = eg_clock_ns();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = eg_clock_ns();
        CHECK(now >= start, "from %llu to %llu", (unsigned long long)start,
              (unsigned long long)now);
        start = now;
    }
    eg_clock_quality quality = eg_clock_measure();
    CHECK(quality.overhead_ns > 0 && quality.overhead_ns < 1e5, "overhead %g", quality.overhead_ns);
    CHECK(quality.resolution_ns >= 1 && quality.resolution_ns < 1e6, "resolution %g",
          quality.resolution_ns);
}

static void count_message(void *user, eg_log_level level, const char *message) {
    (void)level;
    *(int *)user += strcmp(message, "value 5") == 0;
}

TEST(base, log_levels) {
    int seen = 0;
    eg__log log = {count_message, &seen, EG_LOG_WARNING};
    eg__log_write(&log, EG_LOG_WARNING, "value %d", 5);
    eg__log_write(&log, EG_LOG_INFO, "value %d", 5);
    eg__log_write(NULL, EG_LOG_ERROR, "value %d", 5);
    CHECK(seen == 1, "%d messages", seen);
    CHECK(strcmp(eg_log_level_name(EG_LOG_DEBUG), "debug") == 0, "name");
}
