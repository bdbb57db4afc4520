/* Broken .safetensors: every rule of the format broken by one file, truncations, flipped bytes. */
#include "formats/files/bytes.h"
#include "test_safetensors.h"

AREA(safetensors_damage, "every rule broken once, every truncation, every flipped bit")

/* A file of exactly this size: `header` and then `data` zero bytes. */
static unsigned char *make_file(const char *header, size_t length, size_t data, size_t *size) {
    *size = 8 + length + data;
    unsigned char *bytes = test_alloc(*size);
    memcpy(eg__put64(bytes, length), header, length);
    memset(bytes + 8 + length, 0, data);
    return bytes;
}

static eg_status parse(const void *bytes, size_t size, eg_error *error) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_safetensors *file;
    eg_status status = eg__safetensors_parse(test.memory, bytes, size, &file, error);
    CHECK(!status == (file != NULL), "%s and %p", eg_status_name(status), (void *)file);
    eg_safetensors_close(file);
    test_memory_close(&test);
    return status;
}

static eg_status parse_header(const char *header, size_t length, size_t data, eg_error *error) {
    size_t size;
    unsigned char *bytes = make_file(header, length, data, &size);
    eg_status status = parse(bytes, size, error);
    free(bytes);
    return status;
}

/* name, dtype, shape, begin, end */
#define T(name, dtype, shape, begin, end)                                                          \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end \
    "]}"

TEST(safetensors_damage, odd_headers_are_read) {
    static const struct {
        const char *header;
        size_t data;
    } rows[] = {
        {"{}", 0},
        {" \t\r\n{} \t\r\n", 0},
        {"{\"__metadata__\":{}}", 0},
        {"{" T("a", "I32", "", "0", "4") "}", 4},
        {"{" T("a", "I32", "2,0", "0", "0") "}", 0},
        {"{" T("", "U8", "1", "0", "1") "}", 1},
        {"{" T("a", "F4", "2", "0", "1") "," T("b", "F6_E2M3", "4", "1", "4") "}", 4},
        {"{" T("a", "F6_E3M2", "8", "0", "6") "}", 6},
        /* an empty tensor at the offset of the next, before and after it in the header */
        {"{" T("a", "F32", "0", "0", "0") "," T("b", "F32", "1", "0", "4") "}", 4},
        {"{" T("b", "F32", "1", "0", "4") "," T("a", "F32", "0", "0", "0") "}", 4},
        {"{" T("b", "F32", "1", "0", "4") "," T("a", "F32", "0", "4", "4") "}", 4},
        /* the fields, and the tensors, in any order */
        {"{\"a\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}", 1},
        {"{" T("b", "U8", "1", "1", "2") "," T("a", "U8", "1", "0", "1") "}", 2},
        {"{" T("a", "U8", "1,1,1,1,1,1,1,1,1,1", "0", "1") "}", 1},
        {"{" T("\\u20ac\\ud83d\\udc1b", "U8", "1", "0", "1") "}", 1},
    };
    if (!test_reads_safetensors()) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_error error = {0};
        eg_status status =
            parse_header(rows[i].header, strlen(rows[i].header), rows[i].data, &error);
        CHECK(!status, "row %zu, %s: %s", i, rows[i].header, error.message);
    }
}

TEST(safetensors_damage, every_rule) {
    static const struct {
        const char *header;
        size_t data;
        eg_status status;
        const char *part;
    } rows[] = {
        /* JSON */
        {"", 0, EG_ERR_FORMAT, "bad JSON at byte"},
        {"{", 0, EG_ERR_FORMAT, "bad JSON"},
        {"\xff", 0, EG_ERR_FORMAT, "'{' or '[' expected"},
        {"{\"\xed\xa0\x80\":1}", 0, EG_ERR_FORMAT, "not UTF-8"},
        {"\xef\xbb\xbf{}", 0, EG_ERR_FORMAT, "bad JSON"},
        {"[]", 0, EG_ERR_FORMAT, "header is no object"},
        {"1", 0, EG_ERR_FORMAT, "bad JSON"},
        {"{} x", 0, EG_ERR_FORMAT, "behind the document"},
        {"{}{}", 0, EG_ERR_FORMAT, "behind the document"},
        {"{" T("\\u0000", "U8", "1", "0", "1") "}", 1, EG_ERR_FORMAT, "bad JSON"},
        {"{" T("\\ud800", "U8", "1", "0", "1") "}", 1, EG_ERR_FORMAT, "bad JSON"},
        {"{" T("a\nb", "U8", "1", "0", "1") "}", 1, EG_ERR_FORMAT, "bad JSON"},
        {"{" T("a", "U8", "1", "0", "1") ",}", 1, EG_ERR_FORMAT, "bad JSON"},
        /* no key twice */
        {"{" T("a", "U8", "1", "0", "1") "," T("a", "U8", "1", "1", "2") "}", 2, EG_ERR_FORMAT,
         "duplicate object key near '\"a\""},
        {"{" T("a", "U8", "1", "0", "1") "," T("\\u0061", "U8", "1", "1", "2") "}", 2,
         EG_ERR_FORMAT, "duplicate object key"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
         EG_ERR_FORMAT, "duplicate object key"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, EG_ERR_FORMAT, "duplicate object key"},
        {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0, EG_ERR_FORMAT, "duplicate object key"},
        /* metadata */
        {"{\"__metadata__\":[]}", 0, EG_ERR_FORMAT, "'__metadata__' is no object"},
        {"{\"__metadata__\":null}", 0, EG_ERR_FORMAT, "'__metadata__' is no object"},
        {"{\"__metadata__\":{\"a\":\"b\",\"k\":1}}", 0, EG_ERR_FORMAT, "'k' of '__metadata__'"},
        {"{\"__metadata__\":{\"k\":null}}", 0, EG_ERR_FORMAT, "is no text"},
        {"{\"__metadata__\":{\"k\":{}}}", 0, EG_ERR_FORMAT, "is no text"},
        {"{" T("__metadata__", "U8", "1", "0", "1") "}", 1, EG_ERR_FORMAT, "is no text"},
        /* entries */
        {"{\"a\":1}", 0, EG_ERR_FORMAT, "no object as entry in tensor 'a'"},
        {"{\"a\":[\"U8\",[1],[0,1]]}", 1, EG_ERR_FORMAT, "no object as entry"},
        {"{\"a\":{}}", 0, EG_ERR_FORMAT, "no dtype in tensor 'a'"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, EG_ERR_FORMAT, "no dtype"},
        {"{\"a\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,1]}}", 1, EG_ERR_FORMAT,
         "no dtype"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, EG_ERR_FORMAT, "no shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1, EG_ERR_FORMAT,
         "no shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, EG_ERR_FORMAT, "no two data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, EG_ERR_FORMAT,
         "no two data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,1]}}", 1, EG_ERR_FORMAT,
         "no two data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":0}}", 1,
         EG_ERR_FORMAT, "more than three fields"},
        {"{" T("a", "F31", "1", "0", "4") "}", 4, EG_ERR_FORMAT, "unknown dtype 'F31' in tensor"},
        {"{" T("a", "f32", "1", "0", "4") "}", 4, EG_ERR_FORMAT, "unknown dtype 'f32'"},
        {"{" T("a", "", "1", "0", "4") "}", 4, EG_ERR_FORMAT, "unknown dtype ''"},
        /* numbers */
        {"{" T("a", "U8", "-1", "0", "1") "}", 1, EG_ERR_FORMAT, "something else than counts"},
        {"{" T("a", "U8", "1.5", "0", "1") "}", 1, EG_ERR_FORMAT, "something else than counts"},
        {"{" T("a", "U8", "1.0", "0", "1") "}", 1, EG_ERR_FORMAT, "something else than counts"},
        {"{" T("a", "U8", "1e3", "0", "1000") "}", 1000, EG_ERR_FORMAT, "else than counts"},
        {"{" T("a", "U8", "\"1\"", "0", "1") "}", 1, EG_ERR_FORMAT, "something else than counts"},
        {"{" T("a", "U8", "true", "0", "1") "}", 1, EG_ERR_FORMAT, "something else than counts"},
        {"{" T("a", "U8", "[1]", "0", "1") "}", 1, EG_ERR_FORMAT, "something else than counts"},
        {"{" T("a", "U8", "01", "0", "1") "}", 1, EG_ERR_FORMAT, "bad JSON"},
        {"{" T("a", "U8", "1", "-1", "0") "}", 1, EG_ERR_FORMAT, "no two data_offsets"},
        {"{" T("a", "U8", "1", "0.0", "1") "}", 1, EG_ERR_FORMAT, "no two data_offsets"},
        {"{" T("a", "U8", "1", "0", "\"1\"") "}", 1, EG_ERR_FORMAT, "no two data_offsets"},
        /* overflow */
        {"{" T("a", "U8", "2,18446744073709551614", "0", "16") "}", 16, EG_ERR_OVERFLOW,
         "does not fit"},
        {"{" T("a", "I32", "2,9223372036854775807", "0", "16") "}", 16, EG_ERR_OVERFLOW,
         "a size beyond 63 bits in tensor 'a'"},
        {"{" T("a", "I32", "4611686018427387904", "0", "0") "}", 0, EG_ERR_OVERFLOW, "63 bits"},
        {"{" T("a", "U8", "4294967296,4294967296", "0", "0") "}", 0, EG_ERR_OVERFLOW, "63 bits"},
        {"{" T("a", "U8", "0,4294967296,4294967296", "0", "0") "}", 0, EG_ERR_OVERFLOW, "63 bits"},
        {"{" T("a", "F4", "9223372036854775807", "0", "0") "}", 0, EG_ERR_OVERFLOW, "63 bits"},
        {"{" T("a", "U8", "1", "0", "18446744073709551617") "}", 1, EG_ERR_OVERFLOW,
         "does not fit"},
        /* sizes */
        {"{" T("a", "I32", "2,2", "0", "4") "}", 4, EG_ERR_FORMAT,
         "data of '4' bytes instead of 16 in tensor 'a'"},
        {"{" T("a", "U8", "", "0", "0") "}", 0, EG_ERR_FORMAT, "'0' bytes instead of 1"},
        {"{" T("a", "U8", "0", "0", "1") "}", 1, EG_ERR_FORMAT, "'1' bytes instead of 0"},
        {"{" T("a", "F4", "3", "0", "1") "}", 1, EG_ERR_FORMAT, "no whole number of bytes"},
        {"{" T("a", "F6_E2M3", "2", "0", "1") "}", 1, EG_ERR_FORMAT, "no whole number of bytes"},
        {"{" T("a", "U8", "1", "1", "0") "}", 1, EG_ERR_FORMAT, "data_offsets in reverse"},
        /* cover */
        {"{" T("a", "U8", "1", "1", "2") "}", 2, EG_ERR_FORMAT, "hole before byte '1'"},
        {"{" T("a", "U8", "1", "0", "1") "," T("b", "U8", "1", "2", "3") "}", 3, EG_ERR_FORMAT,
         "hole before byte '2' of the data, tensor 'b'"},
        {"{" T("a", "U8", "2", "0", "2") "," T("b", "U8", "2", "1", "3") "}", 3, EG_ERR_FORMAT,
         "overlap before byte '2' of the data, tensor 'b'"},
        {"{" T("a", "U8", "2", "0", "2") "," T("b", "U8", "2", "0", "2") "}", 2, EG_ERR_FORMAT,
         "overlap before byte '2'"},
        {"{" T("a", "U8", "4", "0", "4") "," T("b", "U8", "0", "2", "2") "}", 4, EG_ERR_FORMAT,
         "overlap before byte '4' of the data, tensor 'b'"},
        {"{" T("a", "U8", "0", "1", "1") "}", 0, EG_ERR_FORMAT, "hole before byte '1'"},
        {"{" T("a", "U8", "4", "0", "4") "}", 2, EG_ERR_FORMAT,
         "data of 2 bytes end before byte '4'"},
        {"{" T("a", "U8", "9223372036854775807", "0", "9223372036854775807") "}", 2, EG_ERR_FORMAT,
         "data of 2 bytes end before"},
        {"{" T("a", "U8", "4", "0", "4") "}", 38, EG_ERR_FORMAT, "'34' bytes behind the last"},
        {"{}", 1, EG_ERR_FORMAT, "'1' bytes behind the last"},
    };
    if (!test_reads_safetensors()) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_error error = {0};
        eg_status status =
            parse_header(rows[i].header, strlen(rows[i].header), rows[i].data, &error);
        CHECK(status == rows[i].status && strstr(error.message, rows[i].part),
              "row %zu, %s: %s '%s', expected '%s'", i, rows[i].header, eg_status_name(status),
              error.message, rows[i].part);
        CHECK(parse_header(rows[i].header, strlen(rows[i].header), rows[i].data, NULL) == status,
              "row %zu: another status when nobody wants the message", i);
    }
}

TEST(safetensors_damage, bad_lengths) {
    static const struct {
        uint64_t length;
        size_t size; /* of the file */
        const char *part;
    } rows[] = {{0, 0, "'0' bytes are no"},
                {0, 7, "'7' bytes are no"},
                {0, 8, "bad JSON"},
                {60, 8, "header of '60' bytes in a file of 8"},
                {3, 10, "header of '3' bytes in a file of 10"},
                {100000000, 10, "header of '100000000' bytes in a file"},
                {100000001, 10, "header of '100000001' bytes is longer than 100000000"},
                {UINT64_C(0xffffff000000003c), 10, "is longer than"},
                {UINT64_C(1) << 63, 10, "is longer than"},
                {UINT64_MAX, 10, "is longer than"},
                {UINT64_MAX - 7, 10, "is longer than"}};
    if (!test_reads_safetensors()) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char whole[10] = {0}, *exact = test_alloc(rows[i].size);
        memcpy(eg__put64(whole, rows[i].length), "{}", 2);
        memcpy(exact, whole, rows[i].size);
        eg_error error = {0};
        CHECK_FAILS(parse(exact, rows[i].size, &error), error, EG_ERR_FORMAT, rows[i].part);
        free(exact);
    }
    eg_error error = {0};
    CHECK_FAILS(parse_header("{}\0", 3, 0, &error), error, EG_ERR_FORMAT, "bad JSON");
}

/* `count` times `part` between `before` and `after`. */
static eg_status parse_repeated(const char *before, const char *part, size_t count,
                                const char *after, size_t data, eg_error *error) {
    size_t first = strlen(before), length = strlen(part), last = strlen(after);
    char *header = test_alloc(first + count * length + last);
    memcpy(header, before, first);
    for (size_t i = 0; i < count; i++) memcpy(header + first + i * length, part, length);
    memcpy(header + first + count * length, after, last);
    eg_status status = parse_header(header, first + count * length + last, data, error);
    free(header);
    return status;
}

TEST(safetensors_damage, large_headers) {
    static const char shape[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1";
    static const char offsets[] = "],\"data_offsets\":[0,1]}}";
    if (!test_reads_safetensors()) return;
    eg_error error = {0};
    CHECK_OK(parse_repeated(shape, ",1", 63, offsets, 1, &error), error);
    CHECK_FAILS(parse_repeated(shape, ",1", 64, offsets, 1, &error), error, EG_ERR_UNSUPPORTED,
                "more than 64 extents in tensor 'a'");
    CHECK_FAILS(parse_repeated(shape, ",1", 1000000, offsets, 1, &error), error, EG_ERR_UNSUPPORTED,
                "more than 64 extents");
    CHECK_FAILS(parse_repeated("{\"a\":", "[", 1000000, "", 0, &error), error, EG_ERR_FORMAT,
                "nested too deeply");
    CHECK_FAILS(parse_repeated("", "{\"a\":", 1000000, "", 0, &error), error, EG_ERR_FORMAT,
                "nested too deeply");
    static const char entry[] = "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    CHECK_OK(parse_repeated("{\"", "key ", 1000000, entry, 1, &error), error);
    CHECK_FAILS(parse_repeated("{\"", "key ", 1000000, entry, 2, &error), error, EG_ERR_FORMAT,
                "'1' bytes behind");
    CHECK_OK(parse_repeated("{}", " ", 1000000, "", 0, &error), error);
}

static const char *const small[] = {"fixtures/safetensors/types.safetensors",
                                    "fixtures/safetensors/names.safetensors",
                                    "fixtures/safetensors/pairs.safetensors"};

TEST(safetensors_damage, every_truncation) {
    if (!test_reads_safetensors()) return;
    for (size_t file = 0; file < sizeof small / sizeof *small; file++) {
        size_t length;
        unsigned char *whole = test_file(small[file], &length);
        for (size_t n = 0; n <= length + 1; n++) {
            unsigned char *exact = test_alloc(n);
            memcpy(exact, whole, eg__min(n, length));
            if (n > length) exact[length] = 0;
            eg_status status = parse(exact, n, NULL);
            CHECK(status == (n == length ? EG_OK : EG_ERR_FORMAT), "%s, %zu of %zu bytes: %s",
                  small[file], n, length, eg_status_name(status));
            free(exact);
        }
        free(whole);
    }
}

/* What still opens must be readable to its last byte, and cover the file. */
static bool read_all(eg__memory *memory, const unsigned char *bytes, size_t length) {
    eg_safetensors *file;
    if (eg__safetensors_parse(memory, bytes, length, &file, NULL)) return false;
    uint64_t total = 8 + eg__get64(bytes);
    volatile unsigned sum = 0;
    (void)sum; /* every byte is read */
    bool foreign = false;
    for (size_t i = 0; i < eg_safetensors_count(file); i++) {
        eg_tensor tensor;
        uint64_t size = 0;
        if (eg_safetensors_tensor(file, eg_safetensors_name(file, i), &tensor, NULL)) {
            foreign = true;
            continue;
        }
        CHECK(!eg_tensor_measure(&tensor, NULL, &size, NULL), "a tensor without measure");
        for (uint64_t k = 0; k < size; k++) sum += ((const unsigned char *)tensor.data)[k];
        total += size;
    }
    CHECK(foreign || total == length, "%llu bytes of %zu", (unsigned long long)total, length);
    eg_safetensors_close(file);
    return true;
}

TEST(safetensors_damage, every_flipped_bit) {
    if (!test_reads_safetensors()) return;
    test_memory test;
    test_memory_open(&test, UINT64_C(1) << 28);
    size_t refused = 0, harmless = 0;
    for (size_t file = 0; file < sizeof small / sizeof *small; file++) {
        size_t length;
        unsigned char *bytes = test_file(small[file], &length);
        for (size_t at = 0; at < length; at++)
            for (int k = 0; k < 10; k++) {
                unsigned char before = bytes[at];
                bytes[at] = (unsigned char)(k == 8 ? 0 : k == 9 ? 255 : before ^ 1 << k);
                if (read_all(test.memory, bytes, length)) harmless++;
                else refused++;
                bytes[at] = before;
            }
        free(bytes);
    }
    CHECK(refused > 5000 && harmless > 1000, "%zu refused, %zu harmless", refused, harmless);
    test_memory_close(&test);
}

/* Several bytes at once, anywhere, and pieces of the file moved about. */
TEST(safetensors_damage, random_damage) {
    if (!test_reads_safetensors()) return;
    test_memory test;
    test_memory_open(&test, UINT64_C(1) << 28);
    size_t length;
    unsigned char *whole = test_file(small[0], &length), *bytes = test_alloc(length);
    uint64_t state = 1;
    for (int round = 0; round < (test_emulated() ? 2000 : 20000); round++) {
        memcpy(bytes, whole, length);
        for (int k = 0; k <= round % 4; k++) {
            size_t at = (size_t)((test_random(&state) + 1) / 2 * (float)length) % length;
            size_t from = (size_t)((test_random(&state) + 1) / 2 * (float)length) % length;
            size_t size = eg__min((size_t)round % 13, length - eg__max(at, from));
            memmove(bytes + at, whole + from, size);
        }
        read_all(test.memory, bytes, length);
    }
    free(whole);
    free(bytes);
    test_memory_close(&test);
}
