/* .npy files of numpy read and written byte for byte, and everything else refused by name. */
#include "test_formats.h"

#include "elegans/tensor.h"
#include "formats/files/npy.h"

AREA(npy, "numpy's files byte for byte, headers in any form, damage refused by name")

static const struct {
    const char *file;
    eg_tensor tensor;
} good[] = {
    {"f32_2x3", {EG_F32, 2, {2, 3}, NULL}},
    {"f16_5", {EG_F16, 1, {5}, NULL}},
    {"i8_2x2x2", {EG_I8, 3, {2, 2, 2}, NULL}},
    {"u8_4", {EG_U8, 1, {4}, NULL}},
    {"i32_3x1", {EG_I32, 2, {3, 1}, NULL}},
    {"i64_2x2", {EG_I64, 2, {2, 2}, NULL}},
    {"bool_3x3", {EG_BOOL, 2, {3, 3}, NULL}},
    {"f32_scalar", {EG_F32, 0, {0}, NULL}},
    {"f32_0x3", {EG_F32, 2, {0, 3}, NULL}},
    {"i8_rank6", {EG_I8, 6, {1, 2, 1, 2, 1, 2}, NULL}},
    {"i8_long", {EG_I8, 6, {0, 1000, 1000, 10000, 10000, 10000}, NULL}},
    {"version_2", {EG_F32, 2, {2, 3}, NULL}},
    {"fortran_2x3", {EG_F32, 2, {2, 3}, NULL}}, /* transposed */
    {"version_3", {EG_F32, 2, {2, 3}, NULL}},
};

static const char *fixture(const char *file, const char *extension) {
    static char path[512];
    char below[128];
    snprintf(below, sizeof below, "fixtures/npy/%s%s", file, extension);
    snprintf(path, sizeof path, "%s", test_path(below));
    return path;
}

static bool same_shape(const eg_tensor *a, const eg_tensor *b) {
    return a->type == b->type && a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

/* Every golden file holds -1, 0, 1, ... in its type. */
static double element(const eg_tensor *tensor, uint64_t i) {
    static const uint16_t halves[] = {0xbc00, 0x0000, 0x3c00, 0x4000, 0x4200};
    switch (tensor->type) {
    case EG_F32: return ((const float *)tensor->data)[i];
    case EG_I32: return ((const int32_t *)tensor->data)[i];
    case EG_I64: return (double)((const int64_t *)tensor->data)[i];
    case EG_I8: return ((const int8_t *)tensor->data)[i];
    case EG_U8: return (int8_t)((const uint8_t *)tensor->data)[i];
    case EG_F16:
        return i < 5 && ((const uint16_t *)tensor->data)[i] == halves[i] ? (double)i - 1 : 1e9;
    case EG_BOOL: return ((const uint8_t *)tensor->data)[i] == (i != 1) ? (double)i - 1 : 1e9;
    default: return 1e9;
    }
}

TEST(npy, golden_files_are_read) {
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        eg_tensor tensor;
        eg_error error = {0};
        CHECK_OK(eg__npy_load(test.memory, fixture(good[i].file, ".npy"), NULL, &tensor, &error),
                 error);
        CHECK(same_shape(&tensor, &good[i].tensor), "%s: %s of rank %u", good[i].file,
              eg_type_name(tensor.type), tensor.rank);
        CHECK((uintptr_t)tensor.data % 64 == 0 && tensor.data, "%s: alignment", good[i].file);
        uint64_t elements = 0;
        CHECK_OK(eg_tensor_measure(&tensor, &elements, NULL, &error), error);
        for (uint64_t k = 0; k < elements; k++)
            CHECK(element(&tensor, k) == (double)k - 1, "%s: element %d is %g", good[i].file,
                  (int)k, element(&tensor, k));
        eg__memory_give(test.memory, tensor.data);
    }
    test_memory_close(&test);
}

TEST(npy, written_files_are_numpys) {
    test_memory test;
    test_memory_open(&test, 0);
    char path[300];
    snprintf(path, sizeof path, "%s/out.npy", test_folder());
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        /* we write version 1, in C order */
        if (strncmp(good[i].file, "version", 7) == 0 || strstr(good[i].file, "fortran")) continue;
        eg_tensor tensor;
        eg_error error = {0};
        CHECK_OK(eg__npy_load(test.memory, fixture(good[i].file, ".npy"), NULL, &tensor, &error),
                 error);
        CHECK_OK(eg_npy_write(path, &tensor, &error), error);
        CHECK(test_same_bytes(path, fixture(good[i].file, ".npy")), "%s differs", good[i].file);
        eg__memory_give(test.memory, tensor.data);
    }
    test_memory_close(&test);
}

TEST(npy, foreign_arrays_are_refused) {
    static const struct {
        const char *file, *part;
    } rows[] = {{"bad_big_endian", "big-endian type '>f4'"},
                {"bad_f64", "type '<f8' is none of <f4 <f2 |i1 |u1 <i4 <i8 |b1"},
                {"bad_u16", "'<u2'"},
                {"bad_complex", "'<c8'"},
                {"bad_text", "'<U2'"},
                {"bad_structured", "structured array"},
                {"bad_objects", "array of objects '|O'"},
                {"bad_rank7", "rank '7' is above 6"}};
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_tensor tensor = {.rank = 9};
        eg_error error = {0};
        const char *path = fixture(rows[i].file, ".npy");
        CHECK_FAILS(eg__npy_load(test.memory, path, NULL, &tensor, &error), error,
                    EG_ERR_UNSUPPORTED, rows[i].part);
        CHECK(strstr(error.message, path), "'%s' does not name the path", error.message);
        CHECK(!tensor.data && !tensor.rank, "%s: not zero after a failure", rows[i].file);
    }
    /* tables take more, and say what */
    eg_tensor tensor;
    eg_error error = {0};
    CHECK_FAILS(eg__npy_load(test.memory, fixture("bad_complex", ".npy"),
                             &(eg__npy_layout){.any = true}, &tensor, &error),
                error, EG_ERR_UNSUPPORTED,
                "type '<c8' is none of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1");
    test_memory_close(&test);
}

/* An .npy in exactly as many bytes as it has: `size` of data after a header of `text`. */
static unsigned char *make_npy(int version, const char *text, size_t size, size_t *length) {
    size_t letters = strlen(text), start = version == 1 ? 10 : 12;
    *length = start + letters + size;
    unsigned char *bytes = test_alloc(*length);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)version;
    bytes[7] = 0;
    for (size_t i = 8; i < start; i++) bytes[i] = (unsigned char)(letters >> 8 * (i - 8));
    memcpy(bytes + start, text, letters);
    memset(bytes + start + letters, 7, size);
    return bytes;
}

static eg_status decode(test_memory *test, int version, const char *text, size_t size,
                        eg_tensor *out, eg_error *error) {
    size_t length;
    unsigned char *bytes = make_npy(version, text, size, &length);
    eg_status status = eg__npy_decode(test->memory, bytes, length, out, error);
    free(bytes);
    return status;
}

TEST(npy, headers_in_any_form) {
    static const struct {
        const char *text;
        size_t size;
        eg_tensor expected;
    } rows[] = {
        {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}", 24, {EG_F32, 2, {2, 3}, NULL}},
        {" {'shape': (2, 3, ), \"descr\": \"<f4\" , 'fortran_order' : False,}  \n",
         24,
         {EG_F32, 2, {2, 3}, NULL}},
        {"{\n\t'fortran_order': False,\r\n 'descr': '<i8', 'shape': ( )}",
         8,
         {EG_I64, 0, {0}, NULL}},
        {"{'descr': '|i1', 'fortran_order': True, 'shape': (5,)}", 5, {EG_I8, 1, {5}, NULL}},
        {"{'descr': '|i1', 'fortran_order': True, 'shape': ()}", 1, {EG_I8, 0, {0}, NULL}},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 0L)}", 0, {EG_I32, 2, {2}, NULL}},
        {"{'descr': '<b1', 'fortran_order': False, 'shape': (1,)}", 1, {EG_BOOL, 1, {1}, NULL}},
        {"{'descr': '>u1', 'fortran_order': False, 'shape': (2,)}", 2, {EG_U8, 1, {2}, NULL}},
        {"{'descr': '|i1', 'fortran_order': False, 'shape': (0, 1099511627776)}",
         0,
         {EG_I8, 2, {0, UINT64_C(1) << 40}, NULL}},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < 3 * sizeof rows / sizeof *rows; i++) {
        int version = 1 + (int)(i % 3);
        eg_tensor tensor;
        eg_error error = {0};
        CHECK_OK(decode(&test, version, rows[i / 3].text, rows[i / 3].size, &tensor, &error),
                 error);
        CHECK(same_shape(&tensor, &rows[i / 3].expected), "%s", rows[i / 3].text);
        if (tensor.type == EG_BOOL)
            CHECK(*(unsigned char *)tensor.data == 1, "true is %d", *(unsigned char *)tensor.data);
        eg__memory_give(test.memory, tensor.data);
    }
    test_memory_close(&test);
}

#define START "{'descr': '<f4', 'fortran_order': False, "
#define SHAPE "'shape': (2,)"

TEST(npy, bad_headers) {
    static const struct {
        const char *text;
        size_t size;
        eg_status status;
        const char *part;
    } rows[] = {
        {"", 8, EG_ERR_FORMAT, "'' where '{' belongs, byte 0"},
        {"[1, 2]", 8, EG_ERR_FORMAT, "'[1, 2]' where '{' belongs"},
        {"{}", 8, EG_ERR_FORMAT, "no 'descr'"},
        {"{'descr': '<f4', " SHAPE "}", 8, EG_ERR_FORMAT, "no 'fortran_order'"},
        {START "}", 8, EG_ERR_FORMAT, "no 'shape'"},
        {START SHAPE, 8, EG_ERR_FORMAT, "'' where ',' or '}' belongs"},
        {START SHAPE ", 'shape': (2,)}", 8, EG_ERR_FORMAT, "'shape' twice"},
        {START SHAPE ", 'more': 1}", 8, EG_ERR_FORMAT, "unknown key 'more'"},
        {START SHAPE "} x", 8, EG_ERR_FORMAT, "'x' where the end belongs"},
        {START SHAPE "}\x01", 8, EG_ERR_FORMAT, "'?' where the end belongs"},
        {START SHAPE ",, }", 8, EG_ERR_FORMAT, "', }' where a key belongs"},
        {START "shape: (2,)}", 8, EG_ERR_FORMAT, "'shape: (2,)}' where a key belongs"},
        {START "'shape", 8, EG_ERR_FORMAT, "a key belongs"},
        {START "'shape' (2,)}", 8, EG_ERR_FORMAT, "where ':' belongs"},
        {START "'shape': 2}", 8, EG_ERR_FORMAT, "where a shape belongs"},
        {START "'shape': (2)}", 8, EG_ERR_FORMAT, "',' after a single extent"},
        {START "'shape': (,)}", 8, EG_ERR_FORMAT, "an extent"},
        {START "'shape': (1, 2", 8, EG_ERR_FORMAT, "where ',' or ')' belongs"},
        {START "'shape': (1 2)}", 8, EG_ERR_FORMAT, "where ',' or ')' belongs"},
        {START "'shape': (-2,)}", 8, EG_ERR_FORMAT, "'-2,)}' where an extent belongs"},
        {START "'shape': (2.0,)}", 8, EG_ERR_FORMAT, "'.0,)}'"},
        {START "'shape': (0x2,)}", 8, EG_ERR_FORMAT, "'x2,)}'"},
        {START "'shape': (18446744073709551616,)}", 8, EG_ERR_OVERFLOW, "18446744073709551616"},
        {START "'shape': (99999999999999999999,)}", 8, EG_ERR_OVERFLOW, "99999999999999999999"},
        {START "'shape': (1099511627776, 1099511627776)}", 8, EG_ERR_OVERFLOW, "too large"},
        {START "'shape': (0, 1099511627776, 1099511627776)}", 0, EG_ERR_OVERFLOW, "too large"},
        {START "'shape': (4611686018427387904,)}", 0, EG_ERR_OVERFLOW, "too large"},
        {START "'shape': (1, 1, 1, 1, 1, 1, 2)}", 8, EG_ERR_UNSUPPORTED, "rank '7'"},
        {START "'shape': (2305843009213693951,)}", 8, EG_ERR_FORMAT, "8 bytes of data"},
        {START SHAPE "}", 7, EG_ERR_FORMAT, "7 bytes of data, and the header promises 8"},
        {START SHAPE "}", 9, EG_ERR_FORMAT, "9 bytes of data, and the header promises 8"},
        {START SHAPE "}", 0, EG_ERR_FORMAT, "0 bytes of data"},
        {"{'descr': '<f4', 'fortran_order': 0, " SHAPE "}", 8, EG_ERR_FORMAT, "True or False"},
        {"{'descr': '<f4', 'fortran_order': Fals", 8, EG_ERR_FORMAT, "'Fals' where True"},
        {"{'descr': 5, 'fortran_order': False, " SHAPE "}", 8, EG_ERR_FORMAT, "a type belongs"},
        {"{'descr': '<f4, 'fortran_order': False", 8, EG_ERR_UNSUPPORTED, "type '<f4, '"},
        {"{'descr': '', 'fortran_order': False, " SHAPE "}", 8, EG_ERR_UNSUPPORTED, "type ''"},
        {"{'descr': 'f4', 'fortran_order': False, " SHAPE "}", 8, EG_ERR_UNSUPPORTED, "'f4'"},
        {"{'descr': '=f4', 'fortran_order': False, " SHAPE "}", 8, EG_ERR_UNSUPPORTED, "'=f4'"},
        {"{'descr': '\n\x80', 'fortran_order': False}", 8, EG_ERR_UNSUPPORTED, "type '?\?'"},
        {"{'descr': ('<f4', (2,)), 'fortran_order': False}", 8, EG_ERR_UNSUPPORTED, "structured"},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_tensor tensor;
        eg_error error = {0};
        CHECK_FAILS(decode(&test, 1, rows[i].text, rows[i].size, &tensor, &error), error,
                    rows[i].status, rows[i].part);
        CHECK(decode(&test, 2, rows[i].text, rows[i].size, &tensor, NULL) == rows[i].status,
              "%s: status without a message", rows[i].text);
        CHECK(!tensor.data, "%s: a tensor after a failure", rows[i].text);
    }
    test_memory_close(&test);
}

TEST(npy, bad_prefixes) {
    static const struct {
        const char *bytes;
        size_t length;
        eg_status status;
        const char *part;
    } rows[] = {
        {"", 0, EG_ERR_FORMAT, "too short"},
        {"\x93NUMPY\x01", 7, EG_ERR_FORMAT, "too short"},
        {"\x93NUMPX\x01\0\0\0", 10, EG_ERR_FORMAT, "not an .npy array"},
        {"PK\3\4\0\0\0\0\0\0", 10, EG_ERR_FORMAT, "not an .npy array"},
        {"\x93NUMPY\0\0\0\0", 10, EG_ERR_UNSUPPORTED, "version '0.0'"},
        {"\x93NUMPY\4\0\0\0", 10, EG_ERR_UNSUPPORTED, "version '4.0'"},
        {"\x93NUMPY\1\1\0\0", 10, EG_ERR_UNSUPPORTED, "version '1.1'"},
        {"\x93NUMPY\1\0\1", 9, EG_ERR_FORMAT, "too short"},
        {"\x93NUMPY\2\0\1\0\0", 11, EG_ERR_FORMAT, "too short"},
        {"\x93NUMPY\1\0\5\0{}  ", 14, EG_ERR_FORMAT, "header of 5 bytes, and only 4 are left"},
        {"\x93NUMPY\2\0\0\0\1\0", 12, EG_ERR_FORMAT, "header of 65536 bytes is longer than 65535"},
        {"\x93NUMPY\3\0\377\377\377\377", 12, EG_ERR_FORMAT, "header of 4294967295 bytes"},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char *exact = test_alloc(rows[i].length);
        memcpy(exact, rows[i].bytes, rows[i].length);
        eg_tensor tensor;
        eg_error error = {0};
        CHECK_FAILS(eg__npy_decode(test.memory, exact, rows[i].length, &tensor, &error), error,
                    rows[i].status, rows[i].part);
        free(exact);
    }
    test_memory_close(&test);
}

TEST(npy, zero_bytes_end_nothing) {
    test_memory test;
    test_memory_open(&test, 0);
    size_t length;
    unsigned char *bytes = test_file("fixtures/npy/i8_2x2x2.npy", &length);
    unsigned char *order = memchr(bytes, '|', length);
    eg_tensor tensor;
    eg_error error = {0};
    *order = 0;
    CHECK_FAILS(eg__npy_decode(test.memory, bytes, length, &tensor, &error), error,
                EG_ERR_UNSUPPORTED, "type '?i1'");
    free(bytes);
    test_memory_close(&test);
}

TEST(npy, every_truncation) {
    test_memory test;
    test_memory_open(&test, 0);
    size_t length;
    unsigned char *whole = test_file("fixtures/npy/f32_2x3.npy", &length);
    for (size_t n = 0; n < length; n++) {
        unsigned char *exact = test_alloc(n);
        memcpy(exact, whole, n);
        eg_tensor tensor;
        eg_status status = eg__npy_decode(test.memory, exact, n, &tensor, NULL);
        CHECK(status == EG_ERR_FORMAT, "%zu of %zu bytes: %s", n, length, eg_status_name(status));
        free(exact);
    }
    free(whole);
    test_memory_close(&test);
}

/* Any other byte anywhere before the data: a status, or a tensor of exactly the data's size. */
TEST(npy, every_corruption) {
    test_memory test;
    test_memory_open(&test, 0);
    size_t length, refused = 0, taken = 0;
    unsigned char *bytes = test_file("fixtures/npy/f32_2x3.npy", &length);
    for (size_t at = 0; at < 128; at++)
        for (int flip = 1; flip < 256; flip++) {
            bytes[at] ^= (unsigned char)flip;
            eg_tensor tensor;
            eg_error error = {0};
            eg_status status = eg__npy_decode(test.memory, bytes, length, &tensor, &error);
            uint64_t size = 0;
            if (status) {
                refused++;
                CHECK(error.status == status && error.message[0], "byte %zu: no message", at);
            } else {
                taken++;
                CHECK(!eg_tensor_measure(&tensor, NULL, &size, NULL) && size == 24,
                      "byte %zu ^ %d: %llu bytes", at, flip, (unsigned long long)size);
                CHECK(memcmp(tensor.data, bytes + 128, 24) == 0, "byte %zu: other data", at);
                eg__memory_give(test.memory, tensor.data);
            }
            bytes[at] ^= (unsigned char)flip;
        }
    CHECK(refused > 30000 && taken > 0, "%zu refused, %zu taken", refused, taken);
    free(bytes);
    test_memory_close(&test);
}

TEST(npy, bad_tensors_are_not_written) {
    float data[6] = {0};
    static const uint64_t p40 = UINT64_C(1) << 40;
    const struct {
        eg_tensor tensor;
        eg_status status;
        const char *part;
    } rows[] = {{{EG_BF16, 1, {6}, data}, EG_ERR_UNSUPPORTED, "no type for 'bf16'"},
                {{EG_I4, 1, {6}, data}, EG_ERR_UNSUPPORTED, "no type for 'i4'"},
                {{EG_TYPE_COUNT, 1, {6}, data}, EG_ERR_ARGUMENT, "unknown type"},
                {{EG_F32, 7, {1}, data}, EG_ERR_ARGUMENT, "rank '7'"},
                {{EG_F32, 2, {p40, p40}, data}, EG_ERR_OVERFLOW, "too large"},
                {{EG_F32, 1, {6}, NULL}, EG_ERR_ARGUMENT, "without data"}};
    char path[300];
    snprintf(path, sizeof path, "%s/out.npy", test_folder());
    test_file_write(path, "old", 3);
    eg_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_FAILS(eg_npy_write(path, &rows[i].tensor, &error), error, rows[i].status,
                    rows[i].part);
    eg_tensor fine = {EG_F32, 1, {6}, data};
    CHECK_FAILS(eg_npy_write(NULL, &fine, &error), error, EG_ERR_ARGUMENT, "no path");
    CHECK_FAILS(eg_npy_write(path, NULL, &error), error, EG_ERR_ARGUMENT, "no tensor");
    CHECK_FAILS(eg_npy_write("/nonexistent/x.npy", &fine, &error), error, EG_ERR_FILE,
                "'/nonexistent/x.npy': No such file");
    size_t length;
    free(test_file(path, &length));
    CHECK(length == 3, "the old file has %zu bytes", length);
    eg_tensor nothing = {EG_F32, 2, {0, 3}, NULL};
    CHECK_OK(eg_npy_write(path, &nothing, &error), error);
    CHECK(test_same_bytes(path, fixture("f32_0x3", ".npy")), "an empty tensor without data");
}

static eg_status load(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_tensor tensor;
    status = eg__npy_load(memory, user, NULL, &tensor, error);
    eg__memory_give(memory, tensor.data);
    eg__memory_destroy(memory);
    return status;
}

TEST(npy, every_allocation) {
    char path[512];
    snprintf(path, sizeof path, "%s", fixture("f32_2x3", ".npy"));
    int failed = test_every_allocation(load, path);
    CHECK(failed >= 3, "only %d allocations", failed);
}

TEST(npy, nothing_is_taken_for_promises) {
    test_memory test;
    test_memory_open(&test, 0);
    int64_t before = test.state.requests;
    eg_tensor tensor;
    eg_error error = {0};
    CHECK_FAILS(decode(&test, 1, START "'shape': (99999999999,)}", 8, &tensor, &error), error,
                EG_ERR_FORMAT, "promises 399999999996");
    CHECK(test.state.requests == before + 1, "more than the header was taken");
    test_memory_close(&test);
}
