/* Numbers to text and back without the locale: printf and strtod write commas in some places. */
#include "base/base.h"

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
    snprintf(out, EG__FIXED_SIZE, "%.*f", (int)eg__min(digits, EG__FIXED_DIGITS), value);
    eg__number_dot(out);
    /* what rounds to zero has no sign */
    const size_t length = strlen(out);
    if (out[0] != '-' || strspn(out + 1, "0.") != length - 1) return length;
    memmove(out, out + 1, length);
    return length - 1;
}

/* The grammar is checked by hand, because strtod also accepts blanks, hexadecimal and the locale. */
static bool is_decimal(const char *text, size_t length) {
    size_t i = 0, digits = 0;
    if (i < length && (text[i] == '-' || text[i] == '+')) i++;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) digits++;
    if (i < length && text[i] == '.')
        for (i++; i < length && text[i] >= '0' && text[i] <= '9'; i++) digits++;
    if (!digits) return false;
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < length && (text[i] == '-' || text[i] == '+')) i++;
        size_t exponent = i;
        for (; i < length && text[i] >= '0' && text[i] <= '9';) i++;
        if (i == exponent) return false;
    }
    return i == length;
}

static bool equals(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static eg_status not_a_number(const char *text, size_t length, eg_error *error) {
    return eg__fail(error, EG_ERR_FORMAT, "not a number: '%.*s'", (int)eg__min(length, 60), text);
}

eg_status eg_number_parse(const char *text, size_t length, double *out, eg_error *error) {
    if (!text || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no text or no output pointer for a number");
    if (equals(text, length, "nan")) return *out = NAN, EG_OK;
    if (equals(text, length, "inf") || equals(text, length, "+inf")) return *out = INFINITY, EG_OK;
    if (equals(text, length, "-inf")) return *out = -INFINITY, EG_OK;
    if (!is_decimal(text, length)) return not_a_number(text, length, error);
    /* A number of more digits than fit here is legal but pointless: no double needs over 800. */
    char copy[1024];
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
