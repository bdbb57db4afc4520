/* Dates as ISO 8601 writes them, or with day and month first, in seconds since 1970. */
#include "formats/files/file.h"

#include "elegans/table.h"

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, char wanted) {
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

/* Exactly `count` digits. */
static bool take_digits(cursor *c, int count, int *out) {
    *out = 0;
    for (; count; count--, c->at++) {
        if (c->at == c->end || *c->at < '0' || *c->at > '9') return false;
        *out = *out * 10 + (*c->at - '0');
    }
    return true;
}

/* Days from 1970-01-01 in the Gregorian calendar, which goes back before its introduction. Years begin
 * in March here, so that the leap day is the last one and months follow a pattern of 153 days in 5. */
static int64_t days_of(int year, int month, int day) {
    const int64_t y =
        year + 400 - (month <= 2); /* 400 years are a whole number of days: no y < 0 */
    const int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + of_year - 719468 - 146097;
}

static int month_length(int year, int month) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return lengths[month - 1] + (month == 2 && leap);
}

static const char *parse_day(cursor *c, int64_t *seconds) {
    int year, month, day;
    if (!take_digits(c, 4, &year) || !take(c, '-') || !take_digits(c, 2, &month) || !take(c, '-') ||
        !take_digits(c, 2, &day))
        return "it begins as no 2015-02-04";
    if (month < 1 || month > 12) return "no such month";
    if (day < 1 || day > month_length(year, month)) return "no such day in that month";
    *seconds = days_of(year, month, day) * 86400;
    return NULL;
}

/* One digit or two. */
static bool take_number(cursor *c, int *out) {
    const char *start = c->at;
    *out = 0;
    for (; c->at < c->end && c->at - start < 2 && *c->at >= '0' && *c->at <= '9'; c->at++)
        *out = *out * 10 + (*c->at - '0');
    return c->at > start;
}

/* "2/4/2015", "04.02.2015": which is the month, the order says. */
static const char *parse_ordered_day(cursor *c, eg_date_order order, int64_t *seconds) {
    int first, second, year;
    if (!take_number(c, &first)) return "it begins with no day or month";
    const char separator = c->at < c->end ? *c->at : 0;
    if (separator != '/' && separator != '-' && separator != '.') return "no '/', '-' or '.' in it";
    c->at++;
    if (!take_number(c, &second) || !take(c, separator) || !take_digits(c, 4, &year))
        return "it begins as no 2/4/2015";
    const int month = order == EG_DATES_MDY ? first : second,
              day = order == EG_DATES_MDY ? second : first;
    if (month < 1 || month > 12) return "no such month: is the day first, or the month?";
    if (day < 1 || day > month_length(year, month)) return "no such day in that month";
    *seconds = days_of(year, month, day) * 86400;
    return NULL;
}

/* Digits after the 18th change no double. */
static const char *parse_fraction(cursor *c, double *out) {
    int64_t digits = 0, scale = 1;
    const char *start = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (c->at - start >= 18) continue;
        digits = digits * 10 + (*c->at - '0');
        scale *= 10;
    }
    *out = (double)digits / (double)scale;
    return c->at == start ? "no digit after the point" : NULL;
}

/* "AM", "pm"; -1 = neither. */
static int parse_half(cursor *c) {
    cursor at = *c;
    take(&at, ' ');
    const char letter = at.at < at.end ? (char)(*at.at | 0x20) : 0;
    if ((letter != 'a' && letter != 'p') || at.end - at.at < 2 || (at.at[1] | 0x20) != 'm')
        return -1;
    c->at = at.at + 2;
    return letter == 'p';
}

static const char *parse_time(cursor *c, bool ordered, int64_t *seconds, double *fraction) {
    int hour, minute, second = 0;
    if (!(ordered ? take_number(c, &hour) : take_digits(c, 2, &hour)) || !take(c, ':') ||
        !take_digits(c, 2, &minute))
        return "its time begins as no 17:51";
    const bool precise = take(c, ':');
    if (precise && !take_digits(c, 2, &second)) return "its seconds are no two digits";
    const char *fault =
        precise && (take(c, '.') || take(c, ',')) ? parse_fraction(c, fraction) : NULL;
    const int half = ordered ? parse_half(c) : -1;
    if (half >= 0 && (hour < 1 || hour > 12)) return "no such hour before AM or PM";
    if (half >= 0) hour = hour % 12 + 12 * half;
    if (hour > 23 || minute > 59 || second > 59) return "no such time of day";
    *seconds += hour * 3600 + minute * 60 + second;
    return fault;
}

/* "Z", "+01", "+0130", "+01:30". */
static const char *parse_offset(cursor *c, int64_t *seconds) {
    int hour, minute = 0;
    if (take(c, 'Z')) return NULL;
    const bool west = take(c, '-');
    if (!west && !take(c, '+')) return NULL;
    if (!take_digits(c, 2, &hour)) return "its offset is no +01:00";
    const bool colon = take(c, ':');
    if ((colon || c->at < c->end) && !take_digits(c, 2, &minute)) return "its offset is no +01:00";
    if (hour > 23 || minute > 59) return "no such offset";
    *seconds += (west ? 1 : -1) * (hour * 3600 + minute * 60);
    return NULL;
}

/* NULL, or what is wrong with it. */
static const char *parse(cursor c, eg_date_order order, double *out) {
    int64_t seconds = 0;
    double fraction = 0;
    const bool ordered = order != EG_DATES_ISO;
    const char *fault = ordered ? parse_ordered_day(&c, order, &seconds) : parse_day(&c, &seconds);
    if (!fault && (take(&c, 'T') || take(&c, ' '))) {
        fault = parse_time(&c, ordered, &seconds, &fraction);
        if (!fault) fault = parse_offset(&c, &seconds);
    }
    if (!fault && c.at < c.end) fault = "more text after it";
    if (!fault) *out = (double)seconds + fraction;
    return fault;
}

eg_status eg_date_parse_as(const char *text, size_t length, eg_date_order order, double *out,
                           eg_error *error) {
    if (!out || (!text && length))
        return eg__fail(error, EG_ERR_ARGUMENT, "no text or no output pointer");
    if (!eg_date_order_name(order))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown order %d of dates", (int)order);
    const cursor c = {text, length ? text + length : text};
    const char *fault = parse(c, EG_DATES_ISO, out);
    if (fault && order != EG_DATES_ISO) fault = parse(c, order, out);
    if (!fault) return EG_OK;
    if (!error) return EG_ERR_FORMAT; /* columns of labels ask often: no message, no work */
    char shown[48];
    return eg__fail(error, EG_ERR_FORMAT, "'%s' is no date: %s",
                    eg__file_quote(shown, sizeof shown, text, length), fault);
}

eg_status eg_date_parse(const char *text, size_t length, double *out, eg_error *error) {
    return eg_date_parse_as(text, length, EG_DATES_ISO, out, error);
}

const char *eg_date_order_name(eg_date_order order) {
    static const char *const names[] = {"iso", "mdy", "dmy"};
    return (unsigned)order < 3 ? names[order] : NULL;
}
