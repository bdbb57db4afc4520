/* Formats of weights in files: the table, what is found in it, and what its rows say against files and kernels. */
#include "elegans/elegans.h"
#include "formats/files/gguf.h"
#include "test_kernels.h"

AREA(infile_formats, "formats of weights in files: F32, F16, BF16, Q8_0, Q4_0")

static const struct {
    eg__infile_format format;
    const char *name;
    eg_type type;
    size_t bytes; /* of 64 elements */
    const char *floats, *integers;
} formats[] = {{EG__INFILE_F32, "F32", EG_F32, 256, "infile_f32", NULL},
               {EG__INFILE_F16, "F16", EG_F16, 128, "infile_f16", NULL},
               {EG__INFILE_BF16, "BF16", EG_BF16, 128, "infile_bf16", NULL},
               {EG__INFILE_Q8_0, "Q8_0", EG_I8, 68, "infile_q8", "infile_q8i8"},
               {EG__INFILE_Q4_0, "Q4_0", EG_I4, 36, "infile_q4", "infile_q4i8"}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* The type that files have under this name; NULL = none. */
static const eg__ggml_type *ggml_type(const char *name) {
    for (uint32_t id = 0; id < 64; id++) {
        const eg__ggml_type *type = eg__ggml_type_get(id);
        if (type && strcmp(type->name, name) == 0) return type;
    }
    return NULL;
}

TEST(infile_formats, table) {
    CHECK((int)FORMATS == (int)EG__INFILE_COUNT, "%d formats, %d here", (int)EG__INFILE_COUNT,
          (int)FORMATS);
    for (size_t i = 0; i < FORMATS; i++) {
        const eg__infile_traits *of = eg__infile_traits_of(formats[i].format);
        const eg__ggml_type *ggml = ggml_type(of->name);
        CHECK(strcmp(of->name, formats[i].name) == 0 && of->type == formats[i].type, "%s: '%s', %s",
              formats[i].name, of->name, eg_type_name(of->type));
        CHECK(ggml && ggml->block == of->block_elements && ggml->bytes == of->block_bytes,
              "%s is not what files have", of->name);
        CHECK(eg__infile_bytes(formats[i].format, 64) == formats[i].bytes, "%s: %zu bytes",
              of->name, eg__infile_bytes(formats[i].format, 64));
        CHECK(of->block_bytes % of->alignment == 0 && eg__infile_bytes(formats[i].format, 0) == 0,
              "%s: a row would not be aligned", of->name);
        const bool blocks = eg__infile_is_blocks(formats[i].format);
        CHECK(blocks == (of->integer != NULL) && blocks == (of->dequantize != NULL), "%s: blocks",
              of->name);
    }
}

TEST(infile_formats, kernels) {
    size_t read = 0;
    eg__infile_format format;
    for (size_t i = 0; i < FORMATS; i++)
        for (int integers = 0; integers < 2; integers++) {
            const eg__operation operation = eg__infile_operation(formats[i].format, integers);
            const char *name =
                integers && formats[i].integers ? formats[i].integers : formats[i].floats;
            CHECK(strcmp(eg__operation_name(operation), name) == 0, "%s by %s", formats[i].name,
                  eg__operation_name(operation));
            CHECK(eg__infile_integers(formats[i].format, integers) ==
                      (integers && formats[i].integers),
                  "%s: integers %d", formats[i].name, integers);
            CHECK(eg__infile_format_read_by(operation, &format) && format == formats[i].format,
                  "%s reads another format", name);
        }
    for (unsigned op = 0; op <= EG__OP_COUNT; op++)
        if (eg__infile_format_read_by((eg__operation)op, &format)) {
            CHECK(strncmp(eg__operation_name((eg__operation)op), "infile_", 7) == 0, "%s",
                  eg__operation_name((eg__operation)op));
            read++;
        }
    CHECK(read == 7, "%zu kernels for rows in files", read);
}

TEST(infile_formats, descriptions) {
    static const uint64_t shape[] = {2, 32};
    for (size_t i = 0; i < FORMATS; i++) {
        const eg_quantization quantization = eg__infile_quantization(formats[i].format);
        eg__infile_format format = EG__INFILE_COUNT, named = EG__INFILE_COUNT;
        eg_error error;
        uint64_t bytes = 0;
        CHECK(quantization.type == formats[i].type &&
                  quantization.integers == !!formats[i].integers,
              "the description of %s", formats[i].name);
        CHECK(eg__infile_format_of(&quantization, &format) && format == formats[i].format,
              "%s is described as %d", formats[i].name, (int)format);
        CHECK(eg__infile_format_named(formats[i].name, &named) && named == formats[i].format,
              "'%s' is %d", formats[i].name, (int)named);
        CHECK_OK(eg_infile_bytes(&quantization, 2, shape, &bytes, &error), error);
        CHECK(bytes == formats[i].bytes, "%llu bytes of %s", (unsigned long long)bytes,
              formats[i].name);
    }
    /* int8 and int4 with their scales elsewhere are no blocks, however many share one */
    static const eg_quantization others[] = {
        {.type = EG_I8},
        {.type = EG_I4},
        {.type = EG_I8, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1},
        {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1},
        {.type = EG_I8, .per = EG_PER_BLOCK, .block = 16, .layout = EG_LAYOUT_BLOCKS},
        {.type = EG_I8, .per = EG_PER_CHANNEL, .block = 32, .layout = EG_LAYOUT_BLOCKS},
        {.type = EG_I32}};
    static const char *const names[] = {"", "f32", "i8", "Q8_1", "Q8_0 "};
    eg__infile_format format;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!eg__infile_format_of(&others[i], &format), "description %zu has a format", i);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(!eg__infile_format_named(names[i], &format), "'%s' has a format", names[i]);
}

/* Blocks counted by hand, with a scale of 0.5; whole rows are what their elements are. */
TEST(infile_formats, elements) {
    enum { N = 96 };
    uint64_t seed = 7;
    uint8_t q8[34] = {0x00, 0x38, 1, 0x80, 127}, q4[18] = {0x00, 0x38, 0x0f, 0x70};
    CHECK(eg__infile_number(EG__INFILE_Q8_0, q8, 0) == 0.5f &&
              eg__infile_number(EG__INFILE_Q8_0, q8, 1) == -64 &&
              eg__infile_number(EG__INFILE_Q8_0, q8, 2) == 63.5f,
          "Q8_0");
    CHECK(eg__infile_number(EG__INFILE_Q4_0, q4, 0) == 3.5f &&
              eg__infile_number(EG__INFILE_Q4_0, q4, 16) == -4 &&
              eg__infile_number(EG__INFILE_Q4_0, q4, 17) == -0.5f,
          "Q4_0");
    for (size_t i = 0; i < FORMATS; i++) {
        const eg__infile_format format = formats[i].format;
        const size_t bytes = eg__infile_bytes(format, N);
        uint16_t row[N * 2]; /* of small bytes: no scale and no element is a NaN */
        float whole[N];
        for (size_t b = 0; b < bytes; b++)
            ((uint8_t *)row)[b] = (uint8_t)(test_random(&seed) * 50 + 50);
        eg__infile_widen(format == EG__INFILE_BF16 ? eg__bf16_to_f32_ref : eg__f16_to_f32_ref,
                         format, N, row, whole);
        for (size_t k = 0; k < N; k++)
            CHECK(whole[k] == eg__infile_number(format, row, k), "%s: element %zu is %g",
                  formats[i].name, k, (double)whole[k]);
    }
}
