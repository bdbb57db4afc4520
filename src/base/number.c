/* Numbers to text and back without the locale: printf and strtod write commas in some places. */
#include "base/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The decimal point of the current locale, which may be several bytes; "." becomes it or back. */
static const char *locale_point(void) {
    const struct lconv *conventions = localeconv();
    return conventions && conventions->decimal_point && conventions->decimal_point[0]
               ? conventions->decimal_point
               : ".";
}

void eg__number_dot(char *text) {
    const char *point = locale_point();
    char *at = strstr(text, point);
    if (!at || strcmp(point, ".") == 0) return;
    size_t length = strlen(point);
    *at = '.';
    memmove(at + 1, at + length, strlen(at + length) + 1);
}

size_t eg_number_format(char out[EG_NUMBER_SIZE], double value) {
    if (isnan(value)) {
        memcpy(out, "nan", 4);
        return 3;
    }
    if (isinf(value)) {
        strcpy(out, value < 0 ? "-inf" : "inf");
        return strlen(out);
    }
    const size_t length = eg__decimal_shortest_f64(out, value);
    if (length) return length;
    /* 15 digits always survive a round trip from text, 17 always identify a double: try between. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, EG_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    eg__number_dot(out);
    return strlen(out);
}

size_t eg_number_format_f32(char out[EG_NUMBER_SIZE], float value) {
    if (!isfinite(value)) return eg_number_format(out, (double)value);
    const size_t length = eg__decimal_shortest_f32(out, value);
    if (length) return length;
    /* 6 digits always survive a round trip from text, 9 always identify a float */
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, EG_NUMBER_SIZE, "%.*g", digits, (double)value);
        if (strtof(out, NULL) == value) break;
    }
    eg__number_dot(out);
    return strlen(out);
}

size_t eg__number_fixed(char out[EG__FIXED_SIZE], double value, unsigned digits) {
    if (!isfinite(value)) return eg_number_format(out, value);
    size_t length = eg__decimal_fixed(out, value, digits);
    if (!length) {
        snprintf(out, EG__FIXED_SIZE, "%.*f", (int)eg__min(digits, EG__FIXED_DIGITS), value);
        eg__number_dot(out);
        length = strlen(out);
    }
    /* what rounds to zero has no sign */
    if (out[0] != '-' || strspn(out + 1, "0.") != length - 1) return length;
    memmove(out, out + 1, length);
    return length - 1;
}

/* A number as it is written: digits 10^exponent, if the digits fit. */
typedef struct written {
    uint64_t digits;
    size_t count; /* of them */
    int64_t exponent;
    bool negative;
} written;
enum { DIGITS_MOST = 19 }; /* that always fit into 64 bits */
enum { LONGEST = 1008 };   /* characters of a number */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *add_digits(written *w, const char *at, const char *end) {
    const char *from = at;
    for (; at < end && is_digit(*at); at++)
        w->digits = w->digits * 10 + (uint64_t)(*at - '0'); /* may wrap, and is not used then */
    w->count += (size_t)(at - from);
    return at;
}

static const char *add_exponent(written *w, const char *at, const char *end) {
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    const char *from = at;
    int64_t exponent = 0;
    for (; at < end && is_digit(*at); at++)
        if (exponent < 100000) exponent = exponent * 10 + (*at - '0');
    w->exponent += negative ? -exponent : exponent;
    return at == from ? NULL : at;
}

/* Behind the number that begins at `text`; NULL = there is none. The grammar is checked by hand, because
 * strtod also accepts blanks, hexadecimal and the locale. */
static const char *scan(const char *text, const char *end, written *w) {
    const char *at = text;
    *w = (written){.negative = at < end && *at == '-'};
    if (at < end && (*at == '-' || *at == '+')) at++;
    const char *first = at;
    at = add_digits(w, at, end);
    if (at < end && *at == '.') {
        const char *from = ++at;
        at = add_digits(w, at, end);
        w->exponent = -(int64_t)(at - from);
    }
    if (!w->count) return NULL;
    if (w->count > DIGITS_MOST) /* zeros in front are none */
        for (; first < at && (*first == '0' || *first == '.'); first++) w->count -= *first == '0';
    return at < end && (*at == 'e' || *at == 'E') ? add_exponent(w, at + 1, end) : at;
}

static bool join(const written *w, double *out) {
    double size;
    if (w->count > DIGITS_MOST || w->exponent < -1000 || w->exponent > 1000 ||
        !eg__decimal_join(w->digits, (int)w->exponent, &size))
        return false;
    *out = w->negative ? -size : size;
    return true;
}

const char *eg__decimal_scan(const char *text, const char *end, double *out) {
    written w;
    const char *at = scan(text, end, &w);
    return at && at - text < LONGEST && join(&w, out) ? at : NULL;
}

static bool equals(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static eg_status not_a_number(const char *text, size_t length, eg_error *error) {
    return eg__fail(error, EG_ERR_FORMAT, "not a number: '%.*s'", (int)eg__min(length, 60), text);
}

static eg_status parse_word(const char *text, size_t length, double *out, eg_error *error) {
    if (equals(text, length, "nan")) return *out = NAN, EG_OK;
    if (equals(text, length, "inf") || equals(text, length, "+inf")) return *out = INFINITY, EG_OK;
    if (equals(text, length, "-inf")) return *out = -INFINITY, EG_OK;
    return not_a_number(text, length, error);
}

eg_status eg_number_parse(const char *text, size_t length, double *out, eg_error *error) {
    if (!text || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no text or no output pointer for a number");
    written w;
    if (scan(text, text + length, &w) != text + length) return parse_word(text, length, out, error);
    if (length < LONGEST && join(&w, out)) return EG_OK;
    /* A number of more digits than fit here is legal but pointless: no double needs over 800. */
    char copy[LONGEST + 16];
    const char *point = locale_point();
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if (at + 16 >= sizeof copy)
            return eg__fail(error, EG_ERR_FORMAT, "number of %zu digits is too long", length);
        if (text[i] == '.')
            for (const char *p = point; *p; p++) copy[at++] = *p;
        else copy[at++] = text[i];
    }
    copy[at] = 0;
    *out = strtod(copy, NULL);
    return EG_OK;
}

eg_status eg_integer_parse(const char *text, size_t length, int64_t low, int64_t high, int64_t *out,
                           eg_error *error) {
    if (!text || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no text or no output pointer for a number");
    bool negative = length && text[0] == '-';
    size_t i = length && (text[0] == '-' || text[0] == '+');
    if (i == length) return not_a_number(text, length, error);
    int64_t value = 0;
    bool fits = true;
    for (; i < length; i++) {
        int digit = text[i] - '0';
        if (digit < 0 || digit > 9) return not_a_number(text, length, error);
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, negative ? -digit : digit, &value);
    }
    if (!fits || value < low || value > high)
        return eg__fail(error, EG_ERR_ARGUMENT, "%.*s is not within %lld..%lld",
                        (int)eg__min(length, 40), text, (long long)low, (long long)high);
    *out = value;
    return EG_OK;
}
