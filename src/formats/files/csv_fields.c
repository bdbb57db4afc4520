/* The fields of comma-separated values, as RFC 4180 has them. */
#include "base/decimal.h"
#include "formats/files/csv.h"
#include "formats/files/utf8.h"

#include <math.h>
#include <string.h>

/* Commas also occur in numbers and names of files with another separator, the other separators
 * hardly ever, so those are tried first. */
static char find_separator(const char *at, const char *end) {
    bool quoted = false, semicolon = false;
    for (; at < end && (quoted || *at != '\n'); at++) {
        if (*at == '"') quoted = !quoted;
        if (quoted) continue;
        if (*at == '\t') return '\t';
        if (*at == ';') semicolon = true;
    }
    return semicolon ? ';' : ',';
}

/* To the first line that has something. */
static void skip_lines(eg__csv *csv) {
    while (csv->at < csv->end) {
        const char *at = csv->at;
        while (at < csv->end && *at == ' ') at++;
        if (at < csv->end && *at == '\r' && (at + 1 == csv->end || at[1] == '\n')) at++;
        if (at < csv->end && *at != '\n') return;
        csv->at = at < csv->end ? at + 1 : at;
        csv->line++;
    }
}

static bool has_separator(const eg__csv *csv) {
    bool quoted = false;
    for (const char *at = csv->at; at < csv->end && (quoted || *at != '\n'); at++) {
        if (*at == '"') quoted = !quoted;
        if (!quoted && *at == csv->separator) return true;
    }
    return false;
}

/* The end of the last line, and lines of blanks after it: blanks beside a field are no part of it. */
static void trim(eg__csv *csv) {
    while (csv->end > csv->at && memchr(" \r\n", csv->end[-1], 3)) csv->end--;
}

eg__csv eg__csv_begin(const void *bytes, size_t length) {
    const char *at = bytes, *end = length ? at + length : at;
    if (length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    eg__csv csv = {.at = at, .end = end, .line = 1, .field = 1, .decimal = '.'};
    skip_lines(&csv);
    csv.separator = find_separator(csv.at, end);
    csv.single = !has_separator(&csv);
    if (csv.single) trim(&csv);
    csv.done = csv.at == csv.end;
    return csv;
}

static bool ends(const eg__csv *csv, const char *at) {
    return at == csv->end || *at == csv->separator || *at == '\n' ||
           (*at == '\r' && at + 1 < csv->end && at[1] == '\n');
}

static eg_status mistake(const eg__csv_field *field, const char *what, eg_error *error) {
    return eg__fail(error, EG_ERR_FORMAT, "line %llu, field %llu: %s",
                    (unsigned long long)field->line, (unsigned long long)field->field, what);
}

static eg_status read_quoted(eg__csv *csv, eg__csv_field *out, eg_error *error) {
    const char *at = csv->at + 1;
    out->text = at;
    for (;; at++) {
        if (at == csv->end) return mistake(out, "a quote does not end", error);
        if (*at == '\n') csv->line++;
        if (*at != '"') continue;
        if (at + 1 == csv->end || at[1] != '"') break;
        out->doubled = true;
        at++;
    }
    out->length = (size_t)(at - out->text);
    csv->at = at + 1;
    return ends(csv, csv->at) ? EG_OK : mistake(out, "text after a quote", error);
}

/* What may end a field, or must not be inside of one. */
static const unsigned char special[256] = {
    ['\n'] = 1, ['\r'] = 1, ['"'] = 1, [','] = 1, [';'] = 1, ['\t'] = 1};

static eg_status read_plain(eg__csv *csv, eg__csv_field *out, eg_error *error) {
    const char *at = csv->at, *stop;
    for (;; at++) {
        while (at < csv->end && !special[(unsigned char)*at]) at++;
        if (ends(csv, at)) break;
        if (*at == '"') return mistake(out, "a quote inside of a field", error);
    }
    for (stop = at, out->text = csv->at; out->text < stop && *out->text == ' ';) out->text++;
    while (stop > out->text && stop[-1] == ' ') stop--;
    out->length = (size_t)(stop - out->text);
    csv->at = at;
    return EG_OK;
}

/* Over what ends a field. */
static void pass_end(eg__csv *csv, eg__csv_field *out) {
    out->last = csv->at == csv->end || *csv->at != csv->separator;
    csv->field = out->last ? 1 : csv->field + 1;
    if (csv->at < csv->end) { /* over the separator or the end of the line */
        csv->at += *csv->at == '\r' ? 2 : 1;
        if (out->last) csv->line++;
    }
    if (out->last && !csv->single) skip_lines(csv);
    csv->done = out->last && csv->at == csv->end;
}

eg_status eg__csv_next(eg__csv *csv, eg__csv_field *out, eg_error *error) {
    *out = (eg__csv_field){.text = csv->at, .line = csv->line, .field = csv->field};
    const bool quoted = csv->at < csv->end && *csv->at == '"';
    eg_status status = quoted ? read_quoted(csv, out, error) : read_plain(csv, out, error);
    if (!status) pass_end(csv, out);
    return status;
}

bool eg__csv_next_number(eg__csv *csv, eg__csv_field *out, double *value) {
    if (csv->decimal != '.' || csv->at == csv->end) return false;
    const char *end = eg__decimal_scan(csv->at, csv->end, value);
    if (!end || end == csv->end || !ends(csv, end)) return false;
    *out = (eg__csv_field){
        .text = csv->at, .length = (size_t)(end - csv->at), .line = csv->line, .field = csv->field};
    csv->at = end;
    pass_end(csv, out);
    return true;
}

/* Of eight bytes: a 1 in each that is zero. */
static uint64_t zeros_of(uint64_t x) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    return ~(((x & low) + low) | x | low) >> 7;
}

bool eg__csv_skip_record(eg__csv *csv, uint64_t fields) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const char *end =
        csv->at < csv->end ? memchr(csv->at, '\n', (size_t)(csv->end - csv->at)) : NULL;
    if (!end || csv->field != 1) return false;
    const char *at = csv->at;
    uint64_t separators = 0, quotes = 0, word;
    for (; end - at >= 8; at += 8) {
        memcpy(&word, at, sizeof word);
        separators += zeros_of(word ^ ones * (unsigned char)csv->separator) * ones >> 56;
        quotes |= zeros_of(word ^ ones * '"');
    }
    for (; at < end; at++) {
        separators += *at == csv->separator;
        quotes |= *at == '"';
    }
    if (quotes || separators + 1 != fields) return false;
    csv->at = end + 1;
    csv->line++;
    if (!csv->single) skip_lines(csv);
    csv->done = csv->at == csv->end;
    return true;
}

/* What has a point as well means something else by its comma. */
bool eg__csv_comma_number(const char *text, size_t length, double *out) {
    char copy[64];
    if (length >= sizeof copy || memchr(text, '.', length)) return false;
    memcpy(copy, text, length);
    char *comma = memchr(copy, ',', length);
    if (comma) *comma = '.';
    return eg_number_parse(copy, length, out, NULL) == EG_OK;
}

bool eg__csv_date(const eg__csv *csv, const eg__csv_field *field, double *out) {
    return eg_date_parse_as(field->text, field->length, csv->dates, out, NULL) == EG_OK;
}

bool eg__csv_number(const eg__csv *csv, const eg__csv_field *field, double *out) {
    static const char *const missing[] = {"", "NaN", "NA", "NAN"};
    const bool word = !field->length || field->text[0] > '9';
    for (size_t i = 0; word && i < sizeof missing / sizeof *missing; i++)
        if (strlen(missing[i]) == field->length &&
            memcmp(missing[i], field->text, field->length) == 0)
            return *out = NAN, true;
    if (csv->decimal == ',') return eg__csv_comma_number(field->text, field->length, out);
    return eg_number_parse(field->text, field->length, out, NULL) == EG_OK;
}

eg_status eg__csv_check_text(const eg__csv_field *field, eg_error *error) {
    char shown[48];
    if (memchr(field->text, 0, field->length))
        return mistake(field, "a zero byte: is this UTF-8? (UTF-16 has such)", error);
    if (eg__utf8_bytes(field->text, field->length)) return EG_OK;
    return eg__fail(
        error, EG_ERR_FORMAT,
        "line %llu, field %llu: '%s' is not UTF-8; if the file is of another encoding, say "
        "so: --encoding latin1 or windows-1252",
        (unsigned long long)field->line, (unsigned long long)field->field,
        eg__file_quote(shown, sizeof shown, field->text, field->length));
}

size_t eg__csv_text(const eg__csv_field *field, char *out) {
    size_t length = 0;
    for (size_t i = 0; i < field->length; i++) {
        out[length++] = field->text[i];
        if (field->doubled && field->text[i] == '"') i++;
    }
    out[length] = 0;
    return length;
}
