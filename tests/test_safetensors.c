/* .safetensors: the package's files read and written byte for byte, views, memory that runs out. */
#include "elegans/context.h"
#include "test_safetensors.h"

#include <dirent.h>

AREA(safetensors, "the package's files byte for byte, views into them, every allocation fails")

/* Reads all of `path`, writes it again in the same order, and compares; returns the tensors. */
static size_t check_copy(eg__memory *memory, const char *path, const char *copy) {
    eg_safetensors *file = NULL;
    eg_error error = {0};
    CHECK_OK(eg__safetensors_open(memory, path, true, &file, &error), error);
    size_t count = eg_safetensors_count(file), pairs = eg_safetensors_metadata_count(file);
    const char **names = test_alloc(count * sizeof *names);
    eg_tensor *tensors = test_alloc(count * sizeof *tensors);
    eg_pair *metadata = test_alloc(pairs * sizeof *metadata);
    for (size_t i = 0; i < count; i++) {
        names[i] = eg_safetensors_name(file, i);
        CHECK_OK(eg_safetensors_tensor(file, names[i], &tensors[i], &error), error);
        size_t bytes = eg_type_bits(tensors[i].type) / 8;
        CHECK((uintptr_t)tensors[i].data % bytes == 0, "%s: '%s' is not aligned", path, names[i]);
    }
    for (size_t i = 0; i < pairs; i++) {
        const char *key, *value;
        CHECK(!eg_safetensors_metadata_at(file, i, &key, &value), "%s: no pair %zu", path, i);
        metadata[i] = (eg_pair){key, value};
        CHECK(eg_safetensors_metadata(file, key) == value, "%s: another '%s'", path, key);
    }
    CHECK_OK(eg__safetensors_save(memory, copy, count, names, tensors, pairs, metadata, &error),
             error);
    CHECK(test_same_bytes(path, copy), "%s: written again, it differs", path);
    free(names);
    free(tensors);
    free(metadata);
    eg_safetensors_close(file);
    return count;
}

TEST(safetensors, golden_files_are_read_and_written) {
    static const struct {
        const char *file;
        size_t count;
    } rows[] = {{"types", 11}, {"empty", 0}, {"pairs", 1}, {"names", 5}};
    if (!test_reads_safetensors()) return;
    test_memory test;
    test_memory_open(&test, 0);
    const char *folder = test_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[100];
        snprintf(name, sizeof name, "fixtures/safetensors/%s.safetensors", rows[i].file);
        size_t count = check_copy(test.memory, test_path(name), test_join(folder, "copy"));
        CHECK(count == rows[i].count, "%s: %zu tensors", name, count);
    }
    test_memory_close(&test);
}

TEST(safetensors, golden_tensors_are_what_was_written) {
    static const eg_tensor expected[] = {
        {EG_I64, 2, {2, 2}, NULL},
        {EG_F32, 2, {2, 3}, NULL},
        {EG_F32, 2, {0, 3}, NULL},
        {EG_F32, 0, {0}, NULL},
        {EG_I32, 2, {3, 1}, NULL},
        {EG_BF16, 1, {3}, NULL},
        {EG_F16, 1, {5}, NULL},
        {EG_I8, 3, {2, 2, 2}, NULL},
        {EG_I8, 6, {1, 2, 1, 2, 1, 2}, NULL},
        {EG_U8, 1, {4}, NULL},
        {EG_BOOL, 2, {3, 3}, NULL},
    };
    static const char *const names[] = {"i64", "f32", "none",  "scalar", "i32", "bf16",
                                        "f16", "i8",  "rank6", "u8",     "bool"};
    if (!test_reads_safetensors()) return;
    test_memory test;
    test_memory_open(&test, 0);
    eg_safetensors *file = NULL;
    eg_error error = {0};
    const char *path = test_path("fixtures/safetensors/types.safetensors");
    CHECK_OK(eg__safetensors_open(test.memory, path, true, &file, &error), error);
    for (size_t i = 0; i < eg_safetensors_count(file); i++) {
        const char *name = eg_safetensors_name(file, i);
        CHECK(strcmp(name, names[i]) == 0, "tensor %zu is '%s'", i, name);
        eg_tensor tensor;
        CHECK_OK(eg_safetensors_tensor(file, names[i], &tensor, &error), error);
        CHECK(tensor.type == expected[i].type && tensor.rank == expected[i].rank &&
                  memcmp(tensor.shape, expected[i].shape, sizeof tensor.shape) == 0,
              "'%s' has another type or shape", name);
        uint64_t size = 0;
        CHECK_OK(eg_tensor_measure(&tensor, NULL, &size, &error), error);
        const unsigned char *bytes = tensor.data;
        for (uint64_t k = 0; k < size; k++)
            CHECK(bytes[k] == (k + 1) % (tensor.type == EG_BOOL ? 2 : 251), "'%s' byte %llu is %d",
                  name, (unsigned long long)k, bytes[k]);
    }
    CHECK(!eg_safetensors_name(file, 11), "a name past the end");
    CHECK(strcmp(eg_safetensors_metadata(file, "format"), "pt") == 0, "another format");
    CHECK(!eg_safetensors_metadata(file, "Format") && !eg_safetensors_metadata(file, NULL), "more");
    const char *key = "", *value = "";
    CHECK(eg_safetensors_metadata_at(file, 1, &key, &value) == EG_ERR_NOT_FOUND && !key && !value,
          "a pair past the end");
    eg_safetensors_close(file);
    test_memory_close(&test);
}

TEST(safetensors, foreign_types_open_and_are_refused_by_name) {
    if (!test_reads_safetensors()) return;
    test_memory test;
    test_memory_open(&test, 0);
    eg_safetensors *file = NULL;
    eg_tensor tensor;
    eg_error error = {0};
    const char *path = test_path("fixtures/safetensors/foreign.safetensors");
    CHECK_OK(eg__safetensors_open(test.memory, path, true, &file, &error), error);
    CHECK(eg_safetensors_count(file) == 9, "%zu tensors", eg_safetensors_count(file));
    static const char *const rows[][2] = {{"f64", "no type for dtype 'F64' of tensor 'f64' in '"},
                                          {"u64", "'U64'"},
                                          {"u32", "'U32'"},
                                          {"u16", "'U16'"},
                                          {"i16", "'I16'"},
                                          {"c64", "'C64'"},
                                          {"f8_e4m3", "'F8_E4M3'"},
                                          {"f8_e5m2", "'F8_E5M2'"},
                                          {"rank7", "rank '7' above 6"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(eg_safetensors_tensor(file, rows[i][0], &tensor, &error), error,
                    EG_ERR_UNSUPPORTED, rows[i][1]);
        CHECK(!tensor.data, "a tensor after a failure");
    }
    CHECK_FAILS(eg_safetensors_tensor(file, "f6", &tensor, &error), error, EG_ERR_NOT_FOUND,
                "no tensor 'f6' in '");
    CHECK(strstr(error.message, "foreign.safetensors"), "'%s'", error.message);
    eg_safetensors_close(file);
    test_memory_close(&test);
}

/* All files of recorded models, where they are there. */
TEST(safetensors, recorded_models) {
    const char *found = test_data("ncp-golden/public/models");
    char folder[512], path[800];
    snprintf(folder, sizeof folder, "%s", found ? found : "");
    DIR *directory = found ? opendir(folder) : NULL;
    if (!directory) {
        test_skip("no ncp-golden in $ELEGANS_DATA");
        return;
    }
    test_memory test;
    test_memory_open(&test, 0);
    size_t files = 0, tensors = 0;
    const char *copies = test_reads_safetensors() ? test_folder() : NULL;
    for (struct dirent *entry; copies && (entry = readdir(directory));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".safetensors") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        tensors += check_copy(test.memory, path, test_join(copies, "copy"));
        files++;
    }
    closedir(directory);
    CHECK(!copies || (files && tensors), "%zu files, %zu tensors", files, tensors);
    test_memory_close(&test);
}

TEST(safetensors, missing_files_and_arguments) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_safetensors *file;
    eg_tensor tensor;
    eg_error error = {0};
    CHECK_FAILS(eg__safetensors_open(test.memory, "/nonexistent", true, &file, &error), error,
                EG_ERR_FILE, "'/nonexistent': No such file");
    CHECK_FAILS(eg__safetensors_open(test.memory, test_folder(), true, &file, &error), error,
                EG_ERR_FILE, "it is a folder");
    CHECK_FAILS(eg_safetensors_open(NULL, "x", &file, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_safetensors_write(NULL, "x", 0, NULL, NULL, 0, NULL, &error), error,
                EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_safetensors_tensor(NULL, "w", &tensor, &error), error, EG_ERR_ARGUMENT,
                "no file");
    eg_safetensors_close(NULL);
    CHECK(!eg_safetensors_count(NULL) && !eg_safetensors_name(NULL, 0) &&
              !eg_safetensors_metadata_count(NULL) && !eg_safetensors_metadata(NULL, "k"),
          "a file that is none");
    test_memory_close(&test);
}

TEST(safetensors, context) {
    eg_context *context = NULL;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const char *path = test_join(test_folder(), "out.safetensors");
    float numbers[3] = {1, 2, 3};
    eg_tensor tensor = {EG_F32, 1, {3}, numbers}, back;
    const char *name = "x";
    eg_pair pair = {"key", "value"};
    CHECK_OK(eg_safetensors_write(context, path, 1, &name, &tensor, 1, &pair, &error), error);
    if (test_reads_safetensors()) {
        eg_safetensors *file = NULL;
        CHECK_OK(eg_safetensors_open(context, path, &file, &error), error);
        CHECK_OK(eg_safetensors_tensor(file, "x", &back, &error), error);
        CHECK(back.data && memcmp(back.data, numbers, sizeof numbers) == 0, "another tensor");
        /* replaced while open: the old one stays what it was */
        numbers[0] = 9;
        CHECK_OK(eg_safetensors_write(context, path, 1, &name, &tensor, 0, NULL, &error), error);
        CHECK(back.data && ((const float *)back.data)[0] == 1, "the view changed");
        eg_safetensors_close(file);
    }
    eg_context_destroy(context);
}

/* A header beyond the format's limit. */
static void save_beyond_limit(eg__memory *memory, const char *path) {
    const size_t length = EG__SAFETENSORS_HEADER_MAX;
    char *value = test_alloc(length);
    eg_error error = {0};
    memset(value, 'v', length - 1);
    value[length - 1] = 0;
    const eg_pair pair = {"k", value};
    CHECK_FAILS(eg__safetensors_save(memory, path, 0, NULL, NULL, 1, &pair, &error), error,
                EG_ERR_OVERFLOW, "is longer than 100000000");
    free(value);
}

TEST(safetensors, bad_tensors_are_not_written) {
    static float numbers[6];
    eg_tensor fine = {EG_F32, 2, {2, 3}, numbers}, four = {EG_I4, 1, {6}, numbers};
    eg_tensor huge = {EG_I8, 1, {INT64_MAX}, numbers}, nothing = {EG_F32, 1, {1}, NULL};
    eg_tensor deep = {EG_F32, 7, {0}, numbers}, endless = {EG_F32, 2, {1u << 31, 1u << 31}, NULL};
    const struct {
        const char *names[2];
        eg_tensor second;
        eg_pair pairs[2];
        eg_status status;
        const char *part;
    } rows[] = {
#define PAIRS {{"k", "v"}, {"l", "v"}}
        {{"a", "a"}, fine, PAIRS, EG_ERR_ARGUMENT, "two tensors are called 'a'"},
        {{"a", NULL}, fine, PAIRS, EG_ERR_ARGUMENT, "tensor '1' has no name"},
        {{"", "b"}, fine, PAIRS, EG_ERR_ARGUMENT, "tensor '0' has no name"},
        {{"a", "\xff"}, fine, PAIRS, EG_ERR_ARGUMENT, "name of tensor '1' is not UTF-8"},
        {{"a", "__metadata__"}, fine, PAIRS, EG_ERR_ARGUMENT, "'1' is called '__metadata__'"},
        {{"a", "b"}, four, PAIRS, EG_ERR_UNSUPPORTED, "no dtype for 'i4' in tensor 'b'"},
        {{"a", "b"}, huge, PAIRS, EG_ERR_OVERFLOW, "a size beyond 63 bits"},
        {{"a", "b"}, endless, PAIRS, EG_ERR_OVERFLOW, "in tensor 'b'"},
        {{"a", "b"}, nothing, PAIRS, EG_ERR_ARGUMENT, "no data in tensor 'b'"},
        {{"a", "b"}, deep, PAIRS, EG_ERR_ARGUMENT, "rank '7' is above 6 in tensor 'b'"},
        {{"a", "b"}, fine, {{"k", "v"}, {"k", "w"}}, EG_ERR_ARGUMENT, "two pairs are called 'k'"},
        {{"a", "b"}, fine, {{"k", NULL}, {"l", ""}}, EG_ERR_ARGUMENT, "pair '0' has no"},
        {{"a", "b"}, fine, {{"k", ""}, {NULL, ""}}, EG_ERR_ARGUMENT, "pair '1' has no"},
        {{"a", "b"}, fine, {{"k", "\xed\xa0\x80"}, {"l", ""}}, EG_ERR_ARGUMENT, "not UTF-8"}};
    test_memory test;
    test_memory_open(&test, 0);
    const char *path = test_join(test_folder(), "out.safetensors");
    test_file_write(path, "old", 3);
    eg_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_tensor tensors[2] = {fine, rows[i].second};
        CHECK_FAILS(eg__safetensors_save(test.memory, path, 2, rows[i].names, tensors, 2,
                                         rows[i].pairs, &error),
                    error, rows[i].status, rows[i].part);
    }
    CHECK_FAILS(eg__safetensors_save(test.memory, path, 1, NULL, &fine, 0, NULL, &error), error,
                EG_ERR_ARGUMENT, "no names");
    CHECK_FAILS(
        eg__safetensors_save(test.memory, path, SIZE_MAX, rows[0].names, &fine, 0, NULL, &error),
        error, EG_ERR_OVERFLOW, "too many");
    if (!test_emulated())
        save_beyond_limit(test.memory, path); /* 100 MB, of the same C everywhere */
    size_t length;
    free(test_file(path, &length));
    CHECK(length == 3, "the old file has %zu bytes", length);
    test_memory_close(&test);
}

TEST(safetensors, files_that_cannot_be_mapped_are_read) {
    test_memory test;
    test_memory_open(&test, 0);
    eg__source source;
    eg__mapping mapping, read;
    eg_error error = {0};
    const char *path = test_path("fixtures/safetensors/types.safetensors");
    CHECK_OK(eg__source_open(&source, path, &error), error);
    CHECK_OK(eg__mapping_read(&read, test.memory, &source, &error), error);
    CHECK_OK(eg__mapping_open(&mapping, test.memory, path, true, &error), error);
    CHECK(mapping.mapped && read.taken && mapping.size == read.size &&
              memcmp(mapping.bytes, read.bytes, read.size) == 0,
          "%zu and %zu bytes", mapping.size, read.size);
    eg__mapping_close(&mapping, test.memory);
    eg__mapping_close(&read, test.memory);
    source.size++; /* as if it had become shorter */
    CHECK_FAILS(eg__mapping_read(&read, test.memory, &source, &error), error, EG_ERR_FILE,
                "became shorter");
    eg__source_close(&source);
    const char *empty = test_join(test_folder(), "empty");
    test_file_write(empty, "", 0);
    eg_safetensors *file;
    CHECK_FAILS(eg__safetensors_open(test.memory, empty, true, &file, &error), error, EG_ERR_FORMAT,
                "'0' bytes are no safetensors file in '");
    test_memory_close(&test);
}

static eg_status save_and_open(void *user, const eg_allocator *allocator, eg_error *error) {
    static float numbers[2] = {1, 2};
    static const char *const names[] = {"odd", "x"};
    const eg_tensor tensors[] = {{EG_U8, 1, {3}, numbers}, {EG_F32, 1, {2}, numbers}};
    const eg_pair pair = {"key", "value"};
    eg__memory_options options = {.allocator = *allocator};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    status = eg__safetensors_save(memory, user, 2, names, tensors, 1, &pair, error);
    eg_safetensors *file = NULL;
    if (!status) status = eg__safetensors_open(memory, user, true, &file, error);
    CHECK(!status || !file, "a file after a failure");
    if (file) {
        eg_tensor x; /* three bytes before it: it must be a copy */
        CHECK(!eg_safetensors_tensor(file, "x", &x, NULL), "no 'x'");
        CHECK(x.data && (uintptr_t)x.data % 64 == 0 && memcmp(x.data, numbers, 8) == 0, "'x'");
    }
    eg_safetensors_close(file);
    eg__memory_destroy(memory);
    return status;
}

TEST(safetensors, every_allocation_fails) {
    if (!test_reads_safetensors()) return;
    char path[512];
    snprintf(path, sizeof path, "%s/out.safetensors", test_folder());
    int failed = test_every_allocation(save_and_open, path);
    CHECK(failed >= 8, "only %d allocations", failed);
}
