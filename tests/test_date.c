/* Dates: the seconds that Python's datetime has for them, and texts that are none. */
#include "test.h"
#include "elegans/elegans.h"

AREA(date, "ISO 8601 dates: Python's seconds, leap years, offsets, fractions, refusals")

static eg_status parse(const char *text, double *out, eg_error *error) {
    /* exactly as long as it is, so that the sanitizer sees its end */
    const size_t length = strlen(text);
    char *bytes = test_alloc(length);
    memcpy(bytes, text, length);
    eg_status status = eg_date_parse(bytes, length, out, error);
    free(bytes);
    return status;
}

TEST(date, seconds_are_pythons) {
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {
        {"1970-01-01", 0},
        {"2000-02-29", 951782400},
        {"1900-02-28", -2203977600},
        {"1900-03-01", -2203891200},
        {"2100-03-01", 4107542400},
        {"1600-02-29", -11670998400},
        {"1999-12-31", 946598400},
        {"1969-12-31", -86400},
        {"0001-01-01", -62135596800},
        {"9999-12-31", 253402214400},
        {"9999-12-31T23:59:59", 253402300799},
        {"2015-02-04 17:51", 1423072260},
        {"2015-02-11 14:48:00", 1423666080},
        {"2015-02-04T17:51:00.25Z", 1423072260.25},
        {"2015-02-04T17:51:00,5", 1423072260.5},
        {"2015-02-04 17:51:00+01:00", 1423068660},
        {"2015-02-04T17:51:59-05:30", 1423092119},
        {"2015-02-04T00:30+0545", 1422989100},
        {"2015-02-04T00:30-08", 1423038600},
        {"2015-02-04T23:59+23:59", 1423008000},
        {"2015-02-04T00:00-23:59", 1423094340},
        {"1969-12-31T23:59:59.5", -0.5},
        {"2016-12-31T23:59:59.999999", 1483228799.999999},
        {"2024-02-29T12:00:00.000001Z", 1709208000.000001},
        /* Python has no year 0 and no more than six digits; numpy has the year */
        {"0000-01-01", -62167219200},
        {"0000-02-29", -62162121600},
        {"0000-03-01", -62162035200},
        {"1970-01-01T00:00:00.12500000000000000000000000", 0.125},
        {"1970-01-01T00:00:00.0000000000000000001", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = -1;
        eg_error error = {0};
        CHECK_OK(parse(rows[i].text, &seconds, &error), error);
        CHECK(seconds == rows[i].seconds, "'%s': %.17g", rows[i].text, seconds);
    }
}

/* The days follow each other without a hole, through two turns of the calendar. */
TEST(date, every_day_follows_the_one_before) {
    double last = -62167219200.0 - 86400;
    int days = 0;
    for (int year = 0; year <= 800; year++)
        for (int month = 0; month <= 13; month++)
            for (int day = 0; day <= 32; day++) {
                char text[40];
                double now;
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
                if (eg_date_parse(text, 10, &now, NULL)) continue;
                CHECK(now == last + 86400, "%s: %.17g after %.17g", text, now, last);
                last = now;
                days++;
            }
    CHECK(days == 2 * 146097 + 366, "%d days", days);
}

TEST(date, what_is_no_date) {
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "'' is no date: it begins as no 2015-02-04"},
        {"15-02-04", "'15-02-04' is no date"},
        {"2015-2-04", "begins as no"},
        {"2015-02-4", "begins as no"},
        {"2015-02", "begins as no"},
        {"20150204", "begins as no"},
        {"2015/02/04", "begins as no"},
        {"-2015-02-04", "begins as no"},
        {"+2015-02-04", "begins as no"},
        {" 2015-02-04", "begins as no"},
        {"02-04-2015", "begins as no"},
        {"2015-13-01", "'2015-13-01' is no date: no such month"},
        {"2015-00-01", "no such month"},
        {"2015-02-29", "no such day in that month"},
        {"1900-02-29", "no such day"},
        {"2000-02-30", "no such day"},
        {"2015-04-31", "no such day"},
        {"2015-01-00", "no such day"},
        {"0000-00-00", "no such month"},
        {"2015-02-04T", "its time begins as no 17:51"},
        {"2015-02-04 7:51", "its time begins as no"},
        {"2015-02-04 17", "its time begins as no"},
        {"2015-02-04  17:51", "its time begins as no"},
        {"2015-02-04 1751", "its time begins as no"},
        {"2015-02-04 24:00", "no such time of day"},
        {"2015-02-04 17:60", "no such time of day"},
        {"2015-02-04 17:51:60", "no such time of day"},
        {"2015-02-04 17:51:0", "its seconds are no two digits"},
        {"2015-02-04 17:51:", "its seconds are no two digits"},
        {"2015-02-04 17:51:00.", "no digit after the point"},
        {"2015-02-04 17:51:00.Z", "no digit after the point"},
        {"2015-02-04 17:51.5", "more text after it"},
        {"2015-02-04Z", "more text after it"},
        {"2015-02-04+01:00", "more text after it"},
        {"2015-02-04x17:51", "more text after it"},
        {"2015-02-04 17:51Zulu", "more text after it"},
        {"2015-02-04 17:51:00 PM", "more text after it"},
        {"2015-02-04 17:51+1", "its offset is no +01:00"},
        {"2015-02-04 17:51+01:", "its offset is no"},
        {"2015-02-04 17:51+01:0", "its offset is no"},
        {"2015-02-04 17:51+01x", "its offset is no"},
        {"2015-02-04 17:51-", "its offset is no"},
        {"2015-02-04 17:51+24:00", "no such offset"},
        {"2015-02-04 17:51+01:60", "no such offset"},
        {"2015-02-04 17:51+01:00:00", "more text after it"},
        {"2015-02-04\n", "'2015-02-04?' is no date"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double out = 7;
        eg_error error = {0};
        CHECK_FAILS(parse(rows[i].text, &out, &error), error, EG_ERR_FORMAT, rows[i].part);
        CHECK(out == 7, "'%s': something is written", rows[i].text);
    }
    double out;
    eg_error error = {0};
    CHECK_FAILS(eg_date_parse("2015-02-04\0", 11, &out, &error), error, EG_ERR_FORMAT,
                "'2015-02-04?'");
    CHECK_FAILS(eg_date_parse(NULL, 0, &out, &error), error, EG_ERR_FORMAT, "''");
    CHECK_FAILS(eg_date_parse(NULL, 3, &out, &error), error, EG_ERR_ARGUMENT, "no text");
    CHECK_FAILS(eg_date_parse("2015-02-04", 10, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
}

TEST(date, other_orders) {
    static const struct {
        const char *text;
        eg_date_order order;
        double seconds;
        const char *fault; /* NULL = fine */
    } rows[] = {
        {"2/4/2015", EG_DATES_MDY, 1423008000, NULL},
        {"02/04/2015 17:51", EG_DATES_MDY, 1423072260, NULL},
        {"2/4/2015 5:51 PM", EG_DATES_MDY, 1423072260, NULL},
        {"2/4/2015 5:51:00pm", EG_DATES_MDY, 1423072260, NULL},
        {"2/4/2015 12:00 AM", EG_DATES_MDY, 1423008000, NULL},
        {"2/4/2015 12:00 PM", EG_DATES_MDY, 1423051200, NULL},
        {"02-04-2015", EG_DATES_MDY, 1423008000, NULL},
        {"4/2/2015", EG_DATES_DMY, 1423008000, NULL},
        {"04.02.2015 7:51:00.5", EG_DATES_DMY, 1423036260.5, NULL},
        {"2015-02-04 17:51", EG_DATES_MDY, 1423072260, NULL}, /* which nobody can mistake */
        {"2015-02-04", EG_DATES_DMY, 1423008000, NULL},
        {"29/2/2016", EG_DATES_DMY, 1456704000, NULL},
        {"2/4/2015", EG_DATES_ISO, 0, "it begins as no 2015-02-04"},
        {"13/1/2015", EG_DATES_MDY, 0, "no such month: is the day first, or the month?"},
        {"1/13/2015", EG_DATES_DMY, 0, "no such month"},
        {"29/2/2015", EG_DATES_DMY, 0, "no such day"},
        {"2/4/15", EG_DATES_MDY, 0, "no 2/4/2015"},
        {"2/4-2015", EG_DATES_MDY, 0, "no 2/4/2015"},
        {"2/4/2015 13:00 PM", EG_DATES_MDY, 0, "no such hour before AM or PM"},
        {"2/4/2015 0:30 AM", EG_DATES_MDY, 0, "no such hour before AM or PM"},
        {"2/4/2015 5:51 PMs", EG_DATES_MDY, 0, "more text"},
        {"2/4/2015 5:51 PX", EG_DATES_MDY, 0, "more text"},
        {"2/4/2015 5:51 A", EG_DATES_MDY, 0, "more text"},
        {"", EG_DATES_MDY, 0, "no day or month"},
        {"2/4/2015", (eg_date_order)3, 0, "unknown order 3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = -1;
        eg_error error = {0};
        const size_t length = strlen(rows[i].text);
        char *bytes = test_alloc(length);
        memcpy(bytes, rows[i].text, length);
        const eg_status status = eg_date_parse_as(bytes, length, rows[i].order, &seconds, &error);
        free(bytes);
        CHECK((status == EG_OK) == !rows[i].fault, "'%s': %s", rows[i].text,
              status ? error.message : "no fault");
        if (status) CHECK(strstr(error.message, rows[i].fault), "%s", error.message);
        else CHECK(seconds == rows[i].seconds, "'%s': %.17g", rows[i].text, seconds);
    }
}
