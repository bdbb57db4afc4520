/* .gguf: every type of value, shapes, floats of every type that has them, a real model, memory that
 * runs out. */
#include "elegans/context.h"
#include "test_gguf.h"

#include <math.h>

AREA(gguf, "every type of value, tensors as floats, a real model, every allocation fails")

/* A value of each type, arrays, and tensors of five types; *size bytes that the caller frees. */
static unsigned char *make_all(size_t *size) {
    gguf_bytes g = {0};
    gguf_head(&g, 3, 6, 16);
    gguf_key(&g, "u8", EG_GGUF_U8), gguf_add(&g, "\xff", 1);
    gguf_key(&g, "i8", EG_GGUF_I8), gguf_add(&g, "\xff", 1);
    gguf_key(&g, "u16", EG_GGUF_U16), gguf_add(&g, "\xfe\xff", 2);
    gguf_key(&g, "i16", EG_GGUF_I16), gguf_add(&g, "\xfe\xff", 2);
    gguf_key_u32(&g, "u32", UINT32_MAX);
    gguf_key(&g, "i32", EG_GGUF_I32), gguf_u32(&g, UINT32_MAX - 2);
    gguf_key(&g, "f32", EG_GGUF_F32), gguf_u32(&g, 0x3fc00000);
    gguf_key(&g, "flag", EG_GGUF_FLAG), gguf_add(&g, "\1", 1);
    gguf_key(&g, "text", EG_GGUF_TEXT), gguf_u64(&g, 3), gguf_add(&g, "a\0\xff", 3);
    gguf_key(&g, "u64", EG_GGUF_U64), gguf_u64(&g, UINT64_MAX);
    gguf_key(&g, "i64", EG_GGUF_I64), gguf_u64(&g, UINT64_MAX - 4);
    gguf_key(&g, "f64", EG_GGUF_F64), gguf_u64(&g, UINT64_C(0xbff8000000000000));
    gguf_array(&g, "texts", EG_GGUF_TEXT, 3);
    gguf_text(&g, "one"), gguf_text(&g, ""), gguf_text(&g, "three");
    gguf_array(&g, "flags", EG_GGUF_FLAG, 2), gguf_add(&g, "\0\1", 2);
    gguf_array(&g, "ints", EG_GGUF_I16, 2), gguf_add(&g, "\1\0\xff\xff", 4);
    gguf_array(&g, "none", EG_GGUF_F32, 0);
    gguf_tensor(&g, "wide", 2, (uint64_t[]){3, 2}, 0, 0);    /* F32 */
    gguf_tensor(&g, "half", 1, (uint64_t[]){3}, 1, 32);      /* F16 */
    gguf_tensor(&g, "brain", 1, (uint64_t[]){2}, 30, 64);    /* BF16 */
    gguf_tensor(&g, "eight", 2, (uint64_t[]){32, 2}, 8, 96); /* Q8_0 */
    gguf_tensor(&g, "four", 1, (uint64_t[]){32}, 2, 192);    /* Q4_0 */
    gguf_tensor(&g, "other", 3, (uint64_t[]){1, 2, 3}, 26, 224);
    gguf_pad(&g, 32);
    for (uint32_t i = 0; i < 6; i++) gguf_u32(&g, 0x3f800000 + (i << 20));
    gguf_pad(&g, 32);
    gguf_add(&g, "\0\x3c\0\xc0\1\0", 6); /* 1, -2, 2^-24 */
    gguf_pad(&g, 32);
    gguf_add(&g, "\x80\x3f\x80\xff", 4); /* 1, -inf */
    gguf_pad(&g, 32);
    for (int block = 0; block < 2; block++) {
        gguf_add(&g, block ? "\0\x40" : "\0\x38", 2); /* scales of 2 and 0.5 */
        for (int i = 0; i < 32; i++) gguf_add(&g, &(signed char){(signed char)(i * 8 - 128)}, 1);
    }
    gguf_pad(&g, 32);
    gguf_add(&g, "\0\x3c", 2);
    for (int i = 0; i < 16; i++)
        gguf_add(&g, &(unsigned char){(unsigned char)(i | (15 - i) << 4)}, 1);
    gguf_pad(&g, 32);
    gguf_zeros(&g, 24); /* the padding of the last may be missing */
    unsigned char *exact = gguf_exact(&g, g.size);
    *size = g.size;
    free(g.bytes);
    return exact;
}

static void check_numbers(const eg_gguf *file) {
    static const struct {
        const char *key;
        uint64_t index;
        double value;
    } rows[] = {{"u8", 0, 255},         {"i8", 0, -1},
                {"u16", 0, 65534},      {"i16", 0, -2},
                {"u32", 0, 4294967295}, {"i32", 0, -3},
                {"f32", 0, 1.5},        {"u64", 0, 18446744073709551615.0},
                {"i64", 0, -5},         {"f64", 0, -1.5},
                {"ints", 0, 1},         {"ints", 1, -1}};
    eg_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double number = 0;
        int64_t integer = 0;
        CHECK_OK(eg_gguf_number(file, rows[i].key, rows[i].index, &number, &error), error);
        CHECK(number == rows[i].value, "'%s' is %g", rows[i].key, number);
        const eg_status status =
            eg_gguf_integer(file, rows[i].key, rows[i].index, &integer, &error);
        if (rows[i].value != floor(rows[i].value))
            CHECK(status == EG_ERR_FORMAT && strstr(error.message, "not an integer"), "'%s': '%s'",
                  rows[i].key, error.message);
        else if (rows[i].value > 1e18)
            CHECK(status == EG_ERR_OVERFLOW, "'%s': %s", rows[i].key, eg_status_name(status));
        else CHECK(!status && (double)integer == rows[i].value, "'%s'", rows[i].key);
    }
}

TEST(gguf, values) {
    test_memory test;
    test_memory_open(&test, 0);
    size_t size, length;
    unsigned char *bytes = make_all(&size);
    eg_gguf *file = NULL;
    eg_gguf_entry entry;
    eg_error error = {0};
    const char *text;
    int flag = 0;
    double number;
    CHECK_OK(eg__gguf_parse(test.memory, bytes, size, &file, &error), error);
    CHECK(eg_gguf_entry_count(file) == 16, "%zu entries", eg_gguf_entry_count(file));
    check_numbers(file);
    CHECK_OK(eg_gguf_text(file, "text", 0, &text, &length, &error), error);
    CHECK(length == 3 && memcmp(text, "a\0\xff", 3) == 0, "another text");
    CHECK_OK(eg_gguf_text(file, "texts", 2, &text, &length, &error), error);
    CHECK(length == 5 && memcmp(text, "three", 5) == 0, "another last text");
    CHECK_OK(eg_gguf_text(file, "texts", 1, &text, &length, &error), error);
    CHECK(length == 0 && text, "the empty text");
    CHECK_OK(eg_gguf_flag(file, "flag", 0, &flag, &error), error);
    CHECK(flag == 1, "flag %d", flag);
    CHECK_OK(eg_gguf_flag(file, "flags", 0, &flag, &error), error);
    CHECK(flag == 0, "flag %d", flag);
    CHECK_OK(eg_gguf_entry_find(file, "texts", &entry, &error), error);
    CHECK(entry.is_array && entry.count == 3 && entry.type == EG_GGUF_TEXT, "another entry");
    CHECK(!eg_gguf_entry_at(file, 8, &entry) && strcmp(entry.key, "text") == 0 && !entry.is_array &&
              strcmp(eg_gguf_type_name(entry.type), "text") == 0,
          "another entry 8");
    CHECK(eg_gguf_entry_at(file, 16, &entry) == EG_ERR_NOT_FOUND && !entry.key, "an entry past");
    CHECK_FAILS(eg_gguf_text(file, "texts", 3, &text, &length, &error), error, EG_ERR_NOT_FOUND,
                "no value '3' of 'texts', which has 3");
    CHECK_FAILS(eg_gguf_number(file, "none", 0, &number, &error), error, EG_ERR_NOT_FOUND,
                "no value '0' of 'none', which has 0");
    CHECK_FAILS(eg_gguf_text(file, "u8", 0, &text, &length, &error), error, EG_ERR_FORMAT,
                "'u8' is 'u8', not text");
    CHECK_FAILS(eg_gguf_number(file, "texts", 0, &number, &error), error, EG_ERR_FORMAT,
                "'texts' is 'text', not a number");
    CHECK_FAILS(eg_gguf_flag(file, "ints", 0, &flag, &error), error, EG_ERR_FORMAT,
                "'ints' is 'i16', not bool");
    CHECK_FAILS(eg_gguf_entry_find(file, "Text", &entry, &error), error, EG_ERR_NOT_FOUND,
                "no key 'Text'");
    eg_gguf_close(file);
    free(bytes);
    test_memory_close(&test);
}

static float expected_float(const char *name, uint64_t i) {
    if (strcmp(name, "wide") == 0)
        return (const float[]){1, 1.125f, 1.25f, 1.375f, 1.5f, 1.625f}[i];
    if (strcmp(name, "half") == 0) return (const float[]){1, -2, 0x1p-24f}[i];
    if (strcmp(name, "brain") == 0) return (const float[]){1, -INFINITY}[i];
    if (strcmp(name, "eight") == 0)
        return (float)((int)(i % 32) * 8 - 128) * (i < 32 ? 0.5f : 2.0f);
    return (float)(i < 16 ? (int)i - 8 : 15 - (int)(i - 16) - 8);
}

TEST(gguf, tensors_as_floats) {
    static const char *const names[] = {"wide", "half", "brain", "eight", "four"};
    test_memory test;
    test_memory_open(&test, 0);
    size_t size;
    unsigned char *bytes = make_all(&size);
    eg_gguf *file = NULL;
    eg_gguf_tensor tensor;
    eg_error error = {0};
    CHECK_OK(eg__gguf_parse(test.memory, bytes, size, &file, &error), error);
    CHECK(eg_gguf_tensor_count(file) == 6, "%zu tensors", eg_gguf_tensor_count(file));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        CHECK_OK(eg_gguf_tensor_find(file, names[k], &tensor, &error), error);
        float *floats = test_alloc(tensor.elements * sizeof *floats);
        CHECK_OK(eg_gguf_floats(&tensor, 0, tensor.elements, floats, &error), error);
        for (uint64_t i = 0; i < tensor.elements; i++)
            CHECK(floats[i] == expected_float(names[k], i), "'%s' element %llu is %g", names[k],
                  (unsigned long long)i, (double)floats[i]);
        free(floats);
    }
    float row[32];
    CHECK_OK(eg_gguf_tensor_find(file, "eight", &tensor, &error), error);
    CHECK(tensor.rank == 2 && tensor.shape[0] == 2 && tensor.shape[1] == 32 && tensor.bytes == 68,
          "another shape");
    CHECK_OK(eg_gguf_floats(&tensor, 32, 32, row, &error), error);
    CHECK(row[0] == -256, "the second row begins with %g", (double)row[0]);
    CHECK_FAILS(eg_gguf_floats(&tensor, 16, 32, row, &error), error, EG_ERR_ARGUMENT,
                "elements '16' to '48' are no blocks of 32");
    CHECK_FAILS(eg_gguf_floats(&tensor, 64, 32, row, &error), error, EG_ERR_ARGUMENT,
                "elements '64' to '96' of 64 of tensor 'eight'");
    CHECK_FAILS(eg_gguf_floats(&tensor, UINT64_MAX, 2, row, &error), error, EG_ERR_ARGUMENT,
                "of 64 of tensor");
    CHECK_FAILS(eg_gguf_floats(NULL, 0, 0, row, &error), error, EG_ERR_ARGUMENT, "no tensor");
    CHECK(!eg_gguf_tensor_at(file, 5, &tensor) && strcmp(tensor.type, "I32") == 0 &&
              tensor.shape[0] == 3 && tensor.shape[2] == 1,
          "another last tensor");
    CHECK_FAILS(eg_gguf_floats(&tensor, 0, 1, row, &error), error, EG_ERR_UNSUPPORTED,
                "no floats from type 'I32' of tensor 'other'");
    CHECK(eg_gguf_tensor_at(file, 6, &tensor) == EG_ERR_NOT_FOUND && !tensor.name, "one past");
    CHECK_FAILS(eg_gguf_tensor_find(file, "none", &tensor, &error), error, EG_ERR_NOT_FOUND,
                "no tensor 'none'");
    eg_gguf_close(file);
    free(bytes);
    test_memory_close(&test);
}

/* The same numbers as in the checkpoint that the file was made of: 7 integers, then the embedding. */
TEST(gguf, real_model) {
    const char *path = test_data("models/stories260K.gguf");
    eg_context *context = NULL;
    eg_gguf *file = NULL;
    eg_gguf_tensor tensor;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_status status = path ? eg_gguf_open(context, path, &file, &error) : EG_ERR_FILE;
    if (!path || status == EG_ERR_FILE) test_skip("no models/stories260K.gguf in $ELEGANS_DATA");
    else {
        CHECK_OK(status, error);
        CHECK_OK(eg_gguf_tensor_find(file, "token_embd.weight", &tensor, &error), error);
        CHECK(tensor.rank == 2 && tensor.shape[0] == 512 && tensor.shape[1] == 64, "shape");
        float *floats = test_alloc(tensor.elements * sizeof *floats);
        CHECK_OK(eg_gguf_floats(&tensor, 0, tensor.elements, floats, &error), error);
        size_t length;
        unsigned char *checkpoint = test_file(test_data("models/stories260K.bin"), &length);
        CHECK(length > 28 + tensor.bytes && memcmp(floats, checkpoint + 28, tensor.bytes) == 0,
              "another embedding");
        CHECK_FAILS(eg_gguf_tensor_find(file, "x", &tensor, &error), error, EG_ERR_NOT_FOUND,
                    "no tensor 'x' in '");
        CHECK(strstr(error.message, "stories260K.gguf"), "'%s'", error.message);
        free(floats);
        free(checkpoint);
    }
    eg_gguf_close(file);
    eg_context_destroy(context);
}

TEST(gguf, missing_files_and_arguments) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_gguf *file;
    eg_gguf_entry entry;
    eg_gguf_tensor tensor;
    int64_t integer;
    eg_error error = {0};
    CHECK_FAILS(eg__gguf_load(test.memory, "/nonexistent", true, &file, &error), error, EG_ERR_FILE,
                "'/nonexistent': No such file");
    CHECK_FAILS(eg_gguf_open(NULL, "x", &file, &error), error, EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_gguf_integer(NULL, "k", 0, &integer, &error), error, EG_ERR_ARGUMENT, "no file");
    CHECK_FAILS(eg_gguf_entry_find(NULL, "k", &entry, &error), error, EG_ERR_ARGUMENT, "no file");
    CHECK_FAILS(eg_gguf_tensor_find(NULL, "k", &tensor, &error), error, EG_ERR_ARGUMENT, "no file");
    CHECK(!eg_gguf_entry_count(NULL) && !eg_gguf_tensor_count(NULL), "a file that is none");
    CHECK(!eg_gguf_type_name((eg_gguf_type)9), "a value of arrays");
    eg_gguf_close(NULL);
    const char *path = test_join(test_folder(), "short.gguf");
    test_file_write(path, "GGUF", 4);
    CHECK_FAILS(eg__gguf_load(test.memory, path, true, &file, &error), error, EG_ERR_FORMAT,
                "file ends at byte '4', within its head in '");
    test_memory_close(&test);
}

static eg_status load(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_gguf *file;
    status = eg__gguf_load(memory, user, true, &file, error);
    CHECK(!status == (file != NULL), "a file after a failure");
    eg_gguf_close(file);
    eg__memory_destroy(memory);
    return status;
}

TEST(gguf, every_allocation) {
    size_t size;
    unsigned char *bytes = make_all(&size);
    char path[512];
    snprintf(path, sizeof path, "%s/all.gguf", test_folder());
    test_file_write(path, bytes, size);
    free(bytes);
    const int failed = test_every_allocation(load, path);
    CHECK(failed > 20, "only %d allocations", failed);
}
