/* Broken .gguf: every rule of the format broken by one file, truncations, flipped bytes. */
#include "test_gguf.h"

AREA(gguf_damage, "every rule broken once, every truncation, every flipped bit")

static eg_status parse(const void *bytes, size_t size, eg_error *error) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_gguf *file;
    eg_status status = eg__gguf_parse(test.memory, bytes, size, &file, error);
    CHECK(!status == (file != NULL), "%s and %p", eg_status_name(status), (void *)file);
    eg_gguf_close(file);
    test_memory_close(&test);
    return status;
}

static void expect(gguf_bytes *g, const char *name, eg_status expected, const char *part) {
    unsigned char *exact = gguf_exact(g, g->size);
    eg_error error = {0};
    eg_status status = parse(exact, g->size, &error);
    CHECK(status == expected && (!status || strstr(error.message, part)),
          "%s: %s '%s', expected %s with '%s'", name, eg_status_name(status), error.message,
          eg_status_name(expected), part);
    CHECK(parse(exact, g->size, NULL) == status, "%s: another status without a message", name);
    free(exact);
    free(g->bytes);
    memset(g, 0, sizeof *g);
}

TEST(gguf_damage, heads) {
    static const struct {
        const char *magic;
        uint32_t version;
        uint64_t tensors, entries;
        eg_status status;
        const char *part;
    } rows[] = {
        {"GGUF", 3, 0, 0, EG_OK, ""},
        {"GGUF", 2, 0, 0, EG_OK, ""},
        {"FUGG", 3, 0, 0, EG_ERR_FORMAT, "not a GGUF file"},
        {"GGUF", 0, 0, 0, EG_ERR_UNSUPPORTED, "GGUF version '0' is not within 2..3"},
        {"GGUF", 1, 0, 0, EG_ERR_UNSUPPORTED, "version '1'"},
        {"GGUF", 4, 0, 0, EG_ERR_UNSUPPORTED, "version '4'"},
        {"GGUF", 0x03000000, 0, 0, EG_ERR_UNSUPPORTED, "big-endian"},
        {"GGUF", 3, UINT64_MAX, 0, EG_ERR_FORMAT, "'18446744073709551615' tensors in a file of 24"},
        {"GGUF", 3, 0, UINT64_MAX, EG_ERR_FORMAT, "'18446744073709551615' entries in a file of 24"},
        {"GGUF", 3, UINT64_C(1) << 60, 0, EG_ERR_FORMAT, "tensors in a file"},
        {"GGUF", 3, 0, UINT64_C(1) << 60, EG_ERR_FORMAT, "entries in a file"},
        {"GGUF", 3, 1, 0, EG_ERR_FORMAT, "'1' tensors in a file"},
        {"GGUF", 3, 0, 1, EG_ERR_FORMAT, "'1' entries in a file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_bytes g = {0};
        gguf_head(&g, rows[i].version, rows[i].tensors, rows[i].entries);
        memcpy(g.bytes, rows[i].magic, 4);
        expect(&g, rows[i].part, rows[i].status, rows[i].part);
    }
    gguf_bytes g = {0};
    expect(&g, "nothing", EG_ERR_FORMAT, "not a GGUF file");
}

TEST(gguf_damage, keys) {
    gguf_bytes g = {0};
    gguf_head(&g, 3, 0, 1), gguf_u64(&g, UINT64_MAX), gguf_zeros(&g, 20);
    expect(&g, "key size", EG_ERR_FORMAT, "a key of '18446744073709551615' bytes in the last 20");
    gguf_head(&g, 3, 0, 1), gguf_key_u32(&g, "", 1);
    expect(&g, "empty key", EG_ERR_FORMAT, "empty key before byte '32'");
    gguf_head(&g, 3, 0, 1), gguf_u64(&g, 3), gguf_add(&g, "a\0b", 3), gguf_u32(&g, 4),
        gguf_u32(&g, 1);
    expect(&g, "zero byte", EG_ERR_FORMAT, "key 'a?b' has a zero byte");
    gguf_head(&g, 3, 0, 1), gguf_key_u32(&g, "\xff\xff", 1);
    expect(&g, "UTF-8", EG_ERR_FORMAT, "is not UTF-8");
    gguf_head(&g, 3, 0, 2), gguf_key_u32(&g, "k", 1), gguf_key_u32(&g, "k", 2);
    expect(&g, "twice", EG_ERR_FORMAT, "two entries have the key 'k'");
    static const uint32_t types[] = {13, 14, UINT32_MAX, 1u << 31};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        gguf_head(&g, 3, 0, 1), gguf_key(&g, "k", types[i]), gguf_zeros(&g, 16);
        expect(&g, "type", EG_ERR_FORMAT, "of a value in key 'k'");
        gguf_head(&g, 3, 0, 1), gguf_array(&g, "k", types[i], 1), gguf_zeros(&g, 16);
        expect(&g, "array type", EG_ERR_FORMAT, "unknown type '");
    }
    gguf_head(&g, 3, 0, 1), gguf_key(&g, "k", EG_GGUF_FLAG), gguf_add(&g, "\2", 1);
    expect(&g, "flag", EG_ERR_FORMAT, "'2' is no flag in key 'k'");
    gguf_head(&g, 3, 0, 1), gguf_array(&g, "k", EG_GGUF_FLAG, 3), gguf_add(&g, "\0\1\xff", 3);
    expect(&g, "flags", EG_ERR_FORMAT, "'255' is no flag");
    gguf_head(&g, 3, 0, 1), gguf_key(&g, "k", EG_GGUF_TEXT), gguf_u64(&g, UINT64_MAX - 7);
    expect(&g, "text", EG_ERR_FORMAT, "a text of '18446744073709551608' bytes in the last 0");
}

TEST(gguf_damage, arrays) {
    static const uint64_t counts[] = {UINT64_C(1) << 61, UINT64_C(1) << 62, UINT64_MAX, 3};
    gguf_bytes g = {0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        gguf_head(&g, 3, 0, 1), gguf_array(&g, "k", EG_GGUF_U64, counts[i]), gguf_zeros(&g, 16);
        expect(&g, "numbers", EG_ERR_FORMAT, "values in the last 16 bytes in key 'k'");
        gguf_head(&g, 3, 0, 1), gguf_array(&g, "k", EG_GGUF_TEXT, counts[i]), gguf_zeros(&g, 16);
        expect(&g, "texts", EG_ERR_FORMAT, "texts in the last 16 bytes in key 'k'");
    }
    gguf_head(&g, 3, 0, 1), gguf_array(&g, "k", EG_GGUF_TEXT, 2);
    gguf_text(&g, "fine"), gguf_u64(&g, 1);
    expect(&g, "a text of an array", EG_ERR_FORMAT,
           "a text of an array of '1' bytes in the last 0");
    gguf_head(&g, 3, 0, 1), gguf_array(&g, "k", 9, 1), gguf_zeros(&g, 16);
    expect(&g, "arrays", EG_ERR_FORMAT, "array of arrays in key 'k'");
    gguf_head(&g, 3, 0, 1), gguf_key(&g, "k", 9);
    for (int i = 0; i < 100000; i++) gguf_u32(&g, 9), gguf_u64(&g, 1);
    expect(&g, "deep arrays", EG_ERR_FORMAT, "array of arrays");
}

TEST(gguf_damage, alignments) {
    gguf_bytes g = {0};
    static const uint32_t bad[] = {0, 13, 33, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gguf_head(&g, 3, 0, 1), gguf_key_u32(&g, "general.alignment", bad[i]);
        expect(&g, "alignment", EG_ERR_FORMAT, "is no power of two");
    }
    gguf_head(&g, 3, 0, 1), gguf_key(&g, "general.alignment", EG_GGUF_I32), gguf_u32(&g, 32);
    expect(&g, "type", EG_ERR_FORMAT, "'general.alignment' is 'i32', not u32");
    gguf_head(&g, 3, 0, 1), gguf_array(&g, "general.alignment", EG_GGUF_U32, 1), gguf_u32(&g, 32);
    expect(&g, "array", EG_ERR_FORMAT, "'general.alignment' is 'array of u32', not u32");
    /* tensors one behind the other, nothing between them */
    gguf_head(&g, 3, 2, 1), gguf_key_u32(&g, "general.alignment", 1);
    gguf_tensor(&g, "a", 1, (uint64_t[]){3}, 24, 0), gguf_tensor(&g, "b", 1, (uint64_t[]){1}, 0, 3);
    gguf_zeros(&g, 7);
    expect(&g, "one", EG_OK, "");
    gguf_head(&g, 3, 1, 1), gguf_key_u32(&g, "general.alignment", 1u << 31);
    gguf_tensor(&g, "a", 1, (uint64_t[]){1}, 24, 0), gguf_zeros(&g, 7);
    expect(&g, "far", EG_ERR_FORMAT, "ends before byte '2147483649', the end of tensor 'a'");
}

/* One tensor: rank, shape, type, offset, bytes of data behind the head. */
TEST(gguf_damage, tensors) {
    static const struct {
        const char *name;
        uint32_t rank;
        uint64_t shape[5];
        uint32_t type;
        uint64_t offset;
        size_t data;
        eg_status status;
        const char *part;
    } rows[] = {
        {"a", 1, {4}, 0, 0, 16, EG_OK, ""},
        {"a", 0, {0}, 0, 0, 4, EG_OK, ""},
        {"a", 2, {0, 5}, 0, 0, 0, EG_OK, ""},
        {"a", 4, {1, 1, 1, 1}, 24, 0, 1, EG_OK, ""},
        {"", 1, {1}, 24, 0, 1, EG_OK, ""},
        {"a", 1, {4}, 0, 0, 15, EG_ERR_FORMAT, "the end of tensor 'a'"},
        {"a", 5, {1, 1, 1, 1, 1}, 0, 0, 99, EG_ERR_FORMAT, "rank '5' above 4 in tensor 'a'"},
        {"a", UINT32_MAX, {1}, 0, 0, 99, EG_ERR_FORMAT, "rank"}, /* no shape is written */
        {"a", 1, {UINT64_MAX}, 0, 0, 99, EG_ERR_FORMAT, "extent '-1' is negative in tensor 'a'"},
        {"a",
         2,
         {4 * UINT64_C(2147483647), 4 * UINT64_C(2147483647)},
         0,
         0,
         99,
         EG_ERR_OVERFLOW,
         "63 bits"},
        {"a", 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, 0, 0, 99, EG_ERR_OVERFLOW, "63 bits"},
        {"a", 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, 24, 0, 99, EG_ERR_OVERFLOW, "63 bits"},
        {"a", 3, {UINT64_C(1) << 32, UINT64_C(1) << 32, 0}, 24, 0, 99, EG_ERR_OVERFLOW, "63 bits"},
        {"a", 2, {1533789200, 1533789200}, 27, 0, 99, EG_ERR_OVERFLOW, "63 bits"},
        {"a",
         2,
         {UINT64_C(1) << 22, (UINT64_C(1) << 42) + 1},
         0,
         0,
         99,
         EG_ERR_OVERFLOW,
         "63 bits"},
        {"a", 1, {INT64_MAX}, 24, 0, 99, EG_ERR_OVERFLOW, "data beyond 63 bits in tensor 'a'"},
        {"a", 1, {INT64_MAX - 63}, 24, 0, 99, EG_ERR_FORMAT, "the end of tensor 'a'"},
        {"a", 1, {33}, 2, 0, 99, EG_ERR_FORMAT, "rows of '33' elements, no whole blocks of Q4_0"},
        {"a", 0, {0}, 8, 0, 99, EG_ERR_FORMAT, "rows of '1' elements, no whole blocks of Q8_0"},
        {"a", 2, {16, 2}, 8, 0, 99, EG_ERR_FORMAT, "no whole blocks of Q8_0 in tensor 'a'"},
        {"a", 1, {32}, 2, 1, 99, EG_ERR_FORMAT, "offset '1' instead of 0"},
        {"a", 1, {32}, 2, 32, 99, EG_ERR_FORMAT, "offset '32' instead of 0"},
        {"a", 1, {32}, 2, UINT64_MAX, 99, EG_ERR_FORMAT, "offset '18446744073709551615'"},
        {"a", 1, {1}, 41, 0, 99, EG_ERR_UNSUPPORTED, "unknown element type '41' in tensor 'a'"},
        {"a", 1, {1}, UINT32_MAX, 0, 99, EG_ERR_UNSUPPORTED, "unknown element type '4294967295'"},
        {"\xff", 1, {1}, 0, 0, 99, EG_ERR_FORMAT, "name '?' of a tensor is not UTF-8"},
        {"a234567890123456789012345678901234567890123456789012345678901234",
         1,
         {1},
         0,
         0,
         99,
         EG_ERR_FORMAT,
         "of a tensor is longer than 63 bytes"},
        {"a23456789012345678901234567890123456789012345678901234567890123",
         1,
         {1},
         0,
         0,
         4,
         EG_OK,
         ""},
    };
    gguf_bytes g = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_head(&g, 3, 1, 0);
        gguf_text(&g, rows[i].name), gguf_u32(&g, rows[i].rank);
        for (uint32_t k = 0; rows[i].rank <= 5 && k < rows[i].rank; k++)
            gguf_u64(&g, rows[i].shape[k]);
        gguf_u32(&g, rows[i].type), gguf_u64(&g, rows[i].offset);
        gguf_pad(&g, 32), gguf_zeros(&g, rows[i].data);
        char name[32];
        snprintf(name, sizeof name, "row %zu", i);
        expect(&g, name, rows[i].status, rows[i].part);
    }
    static const uint32_t removed[] = {4, 5, 31, 32, 33, 36, 37, 38};
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        gguf_head(&g, 3, 1, 0), gguf_tensor(&g, "a", 1, (uint64_t[]){256}, removed[i], 0);
        expect(&g, "removed", EG_ERR_UNSUPPORTED, "unknown element type '");
    }
    gguf_head(&g, 3, 1, 0), gguf_u64(&g, 2), gguf_add(&g, "a\0", 2), gguf_zeros(&g, 99);
    expect(&g, "zero byte", EG_ERR_FORMAT, "name 'a?' of a tensor has a zero byte");
}

/* Two tensors of 4 bytes: where the second one begins, and how it is called. */
TEST(gguf_damage, orders) {
    static const struct {
        const char *name;
        uint64_t first, second, extent;
        eg_status status;
        const char *part;
    } rows[] = {{"b", 0, 32, 4, EG_OK, ""},
                {"a", 0, 32, 4, EG_ERR_FORMAT, "two tensors are called 'a'"},
                {"b", 0, 0, 4, EG_ERR_FORMAT, "offset '0' instead of 32 in tensor 'b'"},
                {"b", 0, 4, 4, EG_ERR_FORMAT, "offset '4' instead of 32"},
                {"b", 0, 64, 4, EG_ERR_FORMAT, "offset '64' instead of 32"},
                {"b", 32, 0, 4, EG_ERR_FORMAT, "offset '32' instead of 0 in tensor 'a'"},
                {"b", 0, UINT64_C(0x7fffffffffffffc0), UINT64_C(0x7fffffffffffffc0),
                 EG_ERR_OVERFLOW, "data beyond 63 bits in tensor 'b'"}};
    gguf_bytes g = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_head(&g, 3, 2, 0);
        gguf_tensor(&g, "a", 1, &rows[i].extent, 24, rows[i].first);
        gguf_tensor(&g, rows[i].name, 1, &rows[i].extent, 24, rows[i].second);
        gguf_pad(&g, 32), gguf_zeros(&g, 36);
        expect(&g, rows[i].part, rows[i].status, rows[i].part);
    }
}

/* A file with everything in it, of which every byte matters but the padding. */
static gguf_bytes make_small(void) {
    gguf_bytes g = {0};
    gguf_head(&g, 3, 2, 4);
    gguf_key_text(&g, "general.name", "worm");
    gguf_array(&g, "texts", EG_GGUF_TEXT, 2), gguf_text(&g, "a"), gguf_text(&g, "bc");
    gguf_array(&g, "numbers", EG_GGUF_F32, 2), gguf_u64(&g, 0);
    gguf_key(&g, "flag", EG_GGUF_FLAG), gguf_add(&g, "\1", 1);
    gguf_tensor(&g, "x", 2, (uint64_t[]){32, 2}, 8, 0);
    gguf_tensor(&g, "y", 1, (uint64_t[]){5}, 0, 96);
    gguf_pad(&g, 32), gguf_zeros(&g, 96 + 20);
    return g;
}

TEST(gguf_damage, every_truncation) {
    gguf_bytes g = make_small();
    for (size_t n = 0; n <= g.size; n++) {
        unsigned char *exact = gguf_exact(&g, n);
        eg_error error = {0};
        eg_status status = parse(exact, n, &error);
        CHECK(status == (n == g.size ? EG_OK : EG_ERR_FORMAT) && (!status || error.message[0]),
              "%zu of %zu bytes: %s", n, g.size, eg_status_name(status));
        free(exact);
    }
    free(g.bytes);
}

/* What still opens must be readable to its last byte. */
static bool read_all(eg__memory *memory, const unsigned char *bytes, size_t size) {
    eg_gguf *file;
    if (eg__gguf_parse(memory, bytes, size, &file, NULL)) return false;
    volatile unsigned sum = 0;
    (void)sum; /* every byte is read */
    for (size_t i = 0; i < eg_gguf_tensor_count(file); i++) {
        eg_gguf_tensor tensor;
        CHECK(!eg_gguf_tensor_at(file, i, &tensor), "no tensor %zu", i);
        for (uint64_t k = 0; k < tensor.bytes; k++) sum += ((const unsigned char *)tensor.data)[k];
    }
    for (size_t i = 0; i < eg_gguf_entry_count(file); i++) {
        eg_gguf_entry entry;
        CHECK(!eg_gguf_entry_at(file, i, &entry), "no entry %zu", i);
        for (uint64_t k = 0; k < entry.count; k++) {
            const char *text;
            size_t length;
            double number = 0;
            if (!eg_gguf_text(file, entry.key, k, &text, &length, NULL))
                for (size_t c = 0; c < length; c++) sum += (unsigned char)text[c];
            else if (!eg_gguf_number(file, entry.key, k, &number, NULL)) sum += number > 0;
        }
    }
    eg_gguf_close(file);
    return true;
}

TEST(gguf_damage, every_flipped_bit) {
    test_memory test;
    test_memory_open(&test, UINT64_C(1) << 28);
    gguf_bytes g = make_small();
    unsigned char *bytes = gguf_exact(&g, g.size);
    size_t refused = 0, harmless = 0;
    for (size_t at = 0; at < g.size; at++)
        for (int k = 0; k < 10; k++) {
            unsigned char before = bytes[at];
            bytes[at] = (unsigned char)(k == 8 ? 0 : k == 9 ? 255 : before ^ 1 << k);
            if (read_all(test.memory, bytes, g.size)) harmless++;
            else refused++;
            bytes[at] = before;
        }
    CHECK(refused > 500 && harmless > 500, "%zu refused, %zu harmless", refused, harmless);
    free(bytes);
    free(g.bytes);
    test_memory_close(&test);
}

/* Pieces of the file moved about. */
TEST(gguf_damage, random_damage) {
    test_memory test;
    test_memory_open(&test, UINT64_C(1) << 28);
    gguf_bytes g = make_small();
    unsigned char *bytes = gguf_exact(&g, g.size);
    uint64_t state = 1;
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, g.bytes, g.size);
        for (int k = 0; k <= round % 4; k++) {
            size_t at = (size_t)((test_random(&state) + 1) / 2 * (float)g.size) % g.size;
            size_t from = (size_t)((test_random(&state) + 1) / 2 * (float)g.size) % g.size;
            size_t size = eg__min((size_t)round % 13, g.size - eg__max(at, from));
            memmove(bytes + at, g.bytes + from, size);
        }
        read_all(test.memory, bytes, g.size);
    }
    free(bytes);
    free(g.bytes);
    test_memory_close(&test);
}
