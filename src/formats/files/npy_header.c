/* The header of an .npy array: a literal of Python, read with a parser for just that and written
 * exactly as numpy.save does. */
#include "formats/files/bytes.h"
#include "formats/files/npy.h"
#include "kernels/kernels.h"

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
    eg__npy_layout *layout;
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

/* Numbers that no tensor has, as the type of the same size. */
static const char *const numbers[] = {"f2", "f4", "f8", "i1", "i2", "i4",
                                      "i8", "u1", "u2", "u4", "u8", "b1"};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static bool any_number(parser *p, word d) {
    static const eg_type types[] = {EG_I8, EG_F16, EG_I32, EG_I64}; /* of 1, 2, 4, 8 bytes */
    if (!p->layout->any || d.length != 3 || !memchr("<>|", d.text[0], 3)) return false;
    for (size_t i = 0; i < NUMBERS; i++) {
        const unsigned size = (unsigned)(numbers[i][1] - '0');
        if (memcmp(d.text + 1, numbers[i], 2) != 0 || (d.text[0] == '|' && size > 1)) continue;
        p->layout->kind = numbers[i][0];
        p->layout->size = size;
        p->layout->swapped = d.text[0] == '>' && size > 1;
        p->out->type = types[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
        return true;
    }
    return false;
}

/* The list is that of the caller: tables take every number, tensors what they can hold as it is. */
static eg_status refuse_type(parser *p, const char *shown) {
    char known[8 * (EG_TYPE_COUNT + NUMBERS)] = "";
    size_t at = 0;
    for (int i = 0; p->layout->any && i < NUMBERS; i++)
        at += (size_t)sprintf(known + at, " %s", numbers[i]);
    for (int i = 0; !p->layout->any && i < EG_TYPE_COUNT; i++)
        if (descriptors[i][0]) at += (size_t)sprintf(known + at, " %s", descriptors[i]);
    return eg__fail(p->error, EG_ERR_UNSUPPORTED, "type '%s' is none of%s", shown, known);
}

static eg_status parse_type(parser *p) {
    skip_blanks(p);
    if (p->at < p->end && (*p->at == '[' || *p->at == '('))
        return eg__fail(p->error, EG_ERR_UNSUPPORTED, "structured array");
    word descriptor = {0};
    eg_status status = parse_string(p, &descriptor, "a type");
    if (status) return status;
    if (any_number(p, descriptor)) return EG_OK;
    for (int i = 0; !p->layout->any && i < EG_TYPE_COUNT; i++)
        if (descriptors[i][0] && matches(descriptor, descriptors[i]))
            return p->out->type = (eg_type)i, EG_OK;
    char shown[32];
    eg__file_quote(shown, sizeof shown, descriptor.text, descriptor.length);
    if (shown[0] == '>' && !p->layout->any)
        return eg__fail(p->error, EG_ERR_UNSUPPORTED, "big-endian type '%s'", shown);
    if (strcmp(shown, "|O") == 0 || strcmp(shown, "O") == 0)
        return eg__fail(p->error, EG_ERR_UNSUPPORTED, "array of objects '%s'", shown);
    return refuse_type(p, shown);
}

static eg_status parse_order(parser *p) {
    skip_blanks(p);
    size_t left = (size_t)(p->end - p->at);
    p->layout->fortran = left >= 4 && memcmp(p->at, "True", 4) == 0;
    if (!p->layout->fortran && (left < 5 || memcmp(p->at, "False", 5) != 0))
        return unexpected(p, "True or False");
    p->at += p->layout->fortran ? 4 : 5;
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

eg_status eg__npy_header_parse(const char *text, size_t length, eg__npy_layout *layout,
                               eg_tensor *out, eg_error *error) {
    eg__npy_layout usual = {0};
    if (!layout) layout = &usual;
    *layout = (eg__npy_layout){.any = layout->any};
    memset(out, 0, sizeof *out);
    parser p = {.start = text,
                .at = text,
                .end = text + length,
                .layout = layout,
                .out = out,
                .error = error};
    eg_status status = parse_dictionary(&p);
    if (status) return status;
    if (p.rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "rank '%u' is above %d", p.rank, EG_RANK_MAX);
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

double eg__npy_value(const eg__npy_layout *layout, const void *data, size_t index) {
    const unsigned char *from = (const unsigned char *)data + index * layout->size;
    uint64_t bits = 0;
    for (unsigned i = 0; i < layout->size; i++)
        bits |= (uint64_t)from[layout->swapped ? layout->size - 1 - i : i] << 8 * i;
    if (layout->kind == 'b') return bits != 0;
    if (layout->kind == 'u') return (double)bits;
    if (layout->kind == 'i') {
        const unsigned unused = 64 - 8 * layout->size;
        return (double)((int64_t)(bits << unused) >> unused);
    }
    if (layout->size == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    float value;
    const uint32_t single = (uint32_t)bits;
    const uint16_t half = (uint16_t)bits;
    if (layout->size == 4) memcpy(&value, &single, sizeof value);
    else eg__f16_to_f32_ref(1, &half, &value);
    return (double)value;
}
