/* The header of an .npy array: a literal of Python, read with a parser for just that and written
 * exactly as numpy.save does. */
#include "formats/bytes.h"
#include "formats/npy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const descriptors[EG_TYPE_COUNT] = {
#define DESCRIPTOR(name, bits, text, npy) [name] = npy,
    EG_TYPE_MAP(DESCRIPTOR)
#undef DESCRIPTOR
};

typedef struct parser {
    const char *start, *at, *end;
    bool fortran_order;
    bool *f64; /* NULL = refused */
    unsigned rank;
    eg_tensor *out;
    eg_error *error;
} parser;

typedef struct word {
    const char *text;
    size_t length;
} word;

static void skip_blanks(parser *p) {
    while (p->at < p->end && memchr(" \t\r\n", *p->at, 4)) p->at++;
}

static bool take(parser *p, char expected) {
    skip_blanks(p);
    if (p->at == p->end || *p->at != expected) return false;
    p->at++;
    return true;
}

static eg_status unexpected(parser *p, const char *expected) {
    char found[16];
    eg__file_quote(found, sizeof found, p->at, (size_t)(p->end - p->at));
    return eg__fail(p->error, EG_ERR_FORMAT, "'%s' where %s belongs, byte %zu of the header", found,
                    expected, (size_t)(p->at - p->start));
}

static bool equals(word a, const char *b) {
    return a.length == strlen(b) && memcmp(a.text, b, a.length) == 0;
}

/* A quoted string without escapes: nothing that we accept needs any. */
static eg_status parse_string(parser *p, word *out, const char *expected) {
    skip_blanks(p);
    char quote = p->at < p->end ? *p->at : 0;
    if (quote != '\'' && quote != '"') return unexpected(p, expected);
    const char *text = p->at + 1;
    const char *close = memchr(text, quote, (size_t)(p->end - text));
    if (!close) return unexpected(p, expected);
    *out = (word){text, (size_t)(close - text)};
    p->at = close + 1;
    return EG_OK;
}

/* One byte has no order, so numpy writes '|' there; other writers put '<' or '>'. */
static bool matches(word descriptor, const char *known) {
    if (equals(descriptor, known)) return true;
    return known[0] == '|' && descriptor.length == 3 &&
           (descriptor.text[0] == '<' || descriptor.text[0] == '>') &&
           memcmp(descriptor.text + 1, known + 1, 2) == 0;
}

static eg_status parse_type(parser *p) {
    skip_blanks(p);
    if (p->at < p->end && (*p->at == '[' || *p->at == '('))
        return eg__fail(p->error, EG_ERR_UNSUPPORTED, "structured array");
    word descriptor = {0};
    eg_status status = parse_string(p, &descriptor, "a type");
    if (status) return status;
    for (int i = 0; i < EG_TYPE_COUNT; i++)
        if (descriptors[i][0] && matches(descriptor, descriptors[i]))
            return p->out->type = (eg_type)i, EG_OK;
    if (p->f64 && equals(descriptor, "<f8")) return *p->f64 = true, p->out->type = EG_I64, EG_OK;
    char shown[32];
    eg__file_quote(shown, sizeof shown, descriptor.text, descriptor.length);
    if (shown[0] == '>')
        return eg__fail(p->error, EG_ERR_UNSUPPORTED, "big-endian type '%s'", shown);
    if (strcmp(shown, "|O") == 0 || strcmp(shown, "O") == 0)
        return eg__fail(p->error, EG_ERR_UNSUPPORTED, "array of objects '%s'", shown);
    char known[8 * EG_TYPE_COUNT] = "";
    for (int i = 0, at = 0; i < EG_TYPE_COUNT; i++)
        if (descriptors[i][0]) at += sprintf(known + at, " %s", descriptors[i]);
    return eg__fail(p->error, EG_ERR_UNSUPPORTED, "type '%s' is none of%s", shown, known);
}

static eg_status parse_order(parser *p) {
    skip_blanks(p);
    size_t left = (size_t)(p->end - p->at);
    p->fortran_order = left >= 4 && memcmp(p->at, "True", 4) == 0;
    if (!p->fortran_order && (left < 5 || memcmp(p->at, "False", 5) != 0))
        return unexpected(p, "True or False");
    p->at += p->fortran_order ? 4 : 5;
    return EG_OK;
}

static eg_status parse_extent(parser *p, uint64_t *out) {
    skip_blanks(p);
    const char *start = p->at;
    uint64_t value = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p->at - '0'), &value))
            return eg__fail(p->error, EG_ERR_OVERFLOW, "extent '%.20s...' is too large", start);
    if (p->at == start) return unexpected(p, "an extent");
    if (p->at < p->end && *p->at == 'L') p->at++; /* a long of Python 2 */
    *out = value;
    return EG_OK;
}

/* "()", "(3,)", "(2, 3)": without its comma, "(3)" is a number in Python, not a tuple. */
static eg_status parse_shape(parser *p) {
    if (!take(p, '(')) return unexpected(p, "a shape");
    bool comma = true;
    while (!take(p, ')')) {
        uint64_t extent = 0;
        if (!comma) return unexpected(p, "',' or ')'");
        eg_status status = parse_extent(p, &extent);
        if (status) return status;
        if (p->rank < EG_RANK_MAX) p->out->shape[p->rank] = extent;
        p->rank++;
        comma = take(p, ',');
    }
    if (p->rank == 1 && !comma) return unexpected(p, "',' after a single extent");
    return EG_OK;
}

static eg_status parse_entry(parser *p, unsigned *seen) {
    static const struct {
        const char *key;
        eg_status (*parse)(parser *p);
    } entries[] = {{"descr", parse_type}, {"fortran_order", parse_order}, {"shape", parse_shape}};
    word key = {0};
    eg_status status = parse_string(p, &key, "a key");
    if (status) return status;
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (!equals(key, entries[i].key)) continue;
        if (*seen & 1u << i)
            return eg__fail(p->error, EG_ERR_FORMAT, "'%s' twice in the header", entries[i].key);
        *seen |= 1u << i;
        return take(p, ':') ? entries[i].parse(p) : unexpected(p, "':'");
    }
    char shown[32];
    return eg__fail(p->error, EG_ERR_FORMAT, "unknown key '%s' in the header",
                    eg__file_quote(shown, sizeof shown, key.text, key.length));
}

static eg_status parse_dictionary(parser *p) {
    unsigned seen = 0;
    if (!take(p, '{')) return unexpected(p, "'{'");
    bool comma = true;
    while (!take(p, '}')) {
        if (!comma) return unexpected(p, "',' or '}'");
        eg_status status = parse_entry(p, &seen);
        if (status) return status;
        comma = take(p, ',');
    }
    skip_blanks(p);
    if (p->at < p->end) return unexpected(p, "the end");
    if (seen != 7)
        return eg__fail(p->error, EG_ERR_FORMAT, "no '%s' in the header",
                        !(seen & 1)   ? "descr"
                        : !(seen & 2) ? "fortran_order"
                                      : "shape");
    return EG_OK;
}

eg_status eg__npy_header_parse(const char *text, size_t length, bool *f64, eg_tensor *out,
                               eg_error *error) {
    memset(out, 0, sizeof *out);
    parser p = {
        .start = text, .at = text, .end = text + length, .f64 = f64, .out = out, .error = error};
    if (f64) *f64 = false;
    eg_status status = parse_dictionary(&p);
    if (status) return status;
    if (p.rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "rank '%u' is above %d", p.rank, EG_RANK_MAX);
    if (p.fortran_order && p.rank >= 2)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "array in fortran order");
    out->rank = p.rank;
    return EG_OK;
}

eg_status eg__npy_header_format(char out[EG__NPY_HEADER_SIZE], const eg_tensor *tensor,
                                eg_error *error) {
    eg_status status = eg_tensor_measure(tensor, NULL, NULL, error);
    if (status) return status;
    if (!descriptors[tensor->type][0])
        return eg__fail(error, EG_ERR_UNSUPPORTED, "numpy has no type for '%s'",
                        eg_type_name(tensor->type));
    enum { PREFIX = 10, ROOM = EG__NPY_HEADER_SIZE - PREFIX };
    char *text = out + PREFIX;
    size_t at = (size_t)snprintf(text, ROOM, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                 descriptors[tensor->type]);
    for (unsigned i = 0; i < tensor->rank; i++)
        at += (size_t)snprintf(text + at, ROOM - at, i ? ", %llu" : "%llu",
                               (unsigned long long)tensor->shape[i]);
    at += (size_t)snprintf(text + at, ROOM - at, tensor->rank == 1 ? ",), }" : "), }");
    /* The extents of a shape that can be measured have at most 24 digits together. */
    assert(at < ROOM);
    memset(text + at, ' ', ROOM - at - 1);
    text[ROOM - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    eg__put16((unsigned char *)out + 8, ROOM);
    return EG_OK;
}
