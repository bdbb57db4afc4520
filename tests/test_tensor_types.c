/* Element types by name, and the size of every shape or the refusal to name one. */
#include "test.h"

#include "elegans/tensor.h"

AREA(types, "types by name, sizes of shapes up to the last that fits")

TEST(types, names_and_bits) {
    static const struct {
        eg_type type;
        const char *name;
        unsigned bits;
    } rows[] = {{EG_F32, "f32", 32}, {EG_F16, "f16", 16}, {EG_BF16, "bf16", 16},
                {EG_I8, "i8", 8},    {EG_I4, "i4", 4},    {EG_U8, "u8", 8},
                {EG_I32, "i32", 32}, {EG_I64, "i64", 64}, {EG_BOOL, "bool", 8}};
    CHECK(sizeof rows / sizeof *rows == EG_TYPE_COUNT, "%d types", EG_TYPE_COUNT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_type found = EG_TYPE_COUNT;
        eg_error error = {0};
        CHECK(strcmp(eg_type_name(rows[i].type), rows[i].name) == 0, "%s", rows[i].name);
        CHECK(eg_type_bits(rows[i].type) == rows[i].bits, "%s", rows[i].name);
        CHECK_OK(eg_type_find(rows[i].name, &found, &error), error);
        CHECK(found == rows[i].type, "%s found as %s", rows[i].name, eg_type_name(found));
    }
    CHECK(strcmp(eg_type_name((eg_type)99), "unknown") == 0, "name of 99");
    CHECK(eg_type_bits((eg_type)99) == 0 && eg_type_bits((eg_type)-1) == 0, "bits of 99");
}

TEST(types, unknown_names_are_refused) {
    static const char *const bad[] = {"", "f8", "F32", "f32 ", "float", "i"};
    eg_error error = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char quoted[16];
        snprintf(quoted, sizeof quoted, "'%s'", bad[i]);
        eg_type type = EG_I32;
        CHECK_FAILS(eg_type_find(bad[i], &type, &error), error, EG_ERR_UNSUPPORTED, quoted);
        CHECK(strstr(error.message, "f32, f16, bf16, i8, i4, u8, i32, i64, bool"), "'%s'",
              error.message);
        CHECK(type == EG_I32, "'%s' changed the type", bad[i]);
    }
    CHECK_FAILS(eg_type_find(NULL, &(eg_type){0}, &error), error, EG_ERR_ARGUMENT, "no name");
    CHECK_FAILS(eg_type_find("f32", NULL, &error), error, EG_ERR_ARGUMENT, "no output pointer");
}

TEST(types, shapes_are_measured) {
    static const uint64_t p40 = UINT64_C(1) << 40, p61 = UINT64_C(1) << 61, p63 = UINT64_C(1) << 63;
    const struct {
        eg_tensor tensor;
        eg_status status;
        uint64_t elements, bytes;
    } rows[] = {
        {{EG_F32, 0, {0}, NULL}, EG_OK, 1, 4},
        {{EG_F32, 1, {0}, NULL}, EG_OK, 0, 0},
        {{EG_F32, 2, {2, 3}, NULL}, EG_OK, 6, 24},
        {{EG_F16, 3, {2, 3, 5}, NULL}, EG_OK, 30, 60},
        {{EG_I64, 6, {1, 2, 3, 4, 5, 6}, NULL}, EG_OK, 720, 5760},
        {{EG_I4, 1, {4}, NULL}, EG_OK, 4, 2},
        {{EG_I4, 1, {5}, NULL}, EG_OK, 5, 3},
        {{EG_I4, 0, {0}, NULL}, EG_OK, 1, 1},
        {{EG_BOOL, 2, {7, 0}, NULL}, EG_OK, 0, 0},
        {{EG_I8, 1, {p63 - 1}, NULL}, EG_OK, p63 - 1, p63 - 1},
        {{EG_I4, 1, {p63 - 1}, NULL}, EG_OK, p63 - 1, p63 / 2},
        {{EG_I8, 1, {p63}, NULL}, EG_ERR_OVERFLOW, 0, 0},
        {{EG_I4, 1, {p63}, NULL}, EG_ERR_OVERFLOW, 0, 0},
        {{EG_F32, 1, {p61 - 1}, NULL}, EG_OK, p61 - 1, 4 * (p61 - 1)},
        {{EG_F32, 1, {p61}, NULL}, EG_ERR_OVERFLOW, 0, 0},
        {{EG_F32, 1, {UINT64_MAX}, NULL}, EG_ERR_OVERFLOW, 0, 0},
        {{EG_I8, 2, {p40, p40}, NULL}, EG_ERR_OVERFLOW, 0, 0},
        {{EG_I8, 3, {0, p40, p40}, NULL}, EG_ERR_OVERFLOW, 0, 0}, /* its strides do not fit */
        {{EG_I8, 3, {p40, p40, 0}, NULL}, EG_ERR_OVERFLOW, 0, 0},
        {{EG_I8, 7, {1, 1, 1, 1, 1, 1}, NULL}, EG_ERR_ARGUMENT, 0, 0},
        {{EG_TYPE_COUNT, 0, {0}, NULL}, EG_ERR_ARGUMENT, 0, 0},
        {{(eg_type)-1, 0, {0}, NULL}, EG_ERR_ARGUMENT, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t elements = 0, bytes = 0;
        eg_error error = {0};
        eg_status status = eg_tensor_measure(&rows[i].tensor, &elements, &bytes, &error);
        CHECK(status == rows[i].status && elements == rows[i].elements && bytes == rows[i].bytes,
              "row %zu: %s, %llu elements, %llu bytes", i, eg_status_name(status),
              (unsigned long long)elements, (unsigned long long)bytes);
        CHECK(status == EG_OK || (error.status == status && error.message[0]), "row %zu: message",
              i);
        CHECK(eg_tensor_measure(&rows[i].tensor, NULL, NULL, NULL) == status, "row %zu", i);
    }
    eg_error error = {0};
    CHECK_FAILS(eg_tensor_measure(NULL, NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no tensor");
}
