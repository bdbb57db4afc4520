/* What the tests of file formats share: counted memory, and files as exact-size blocks. */
#ifndef EG__TEST_FORMATS_H
#define EG__TEST_FORMATS_H

#include "test.h"

/* Memory that knows what is still taken. */
typedef struct test_memory {
    eg__failing_allocator state;
    eg__memory *memory;
} test_memory;

static inline void test_memory_open(test_memory *test, uint64_t budget) {
    memset(test, 0, sizeof *test);
    eg__memory_options options = {
        .allocator = eg__failing_allocator_use(&test->state), .budget = budget, .no_cache = true};
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&test->memory, &options, &error), error);
}

static inline void test_memory_close(test_memory *test) {
    eg__memory_destroy(test->memory);
    CHECK(test->state.live == 0, "%lld blocks leaked", (long long)test->state.live);
}

/* The bytes of a file below tests/, or of an absolute path. The caller frees them. */
static inline unsigned char *test_file(const char *path, size_t *length) {
    FILE *file = fopen(path[0] == '/' ? path : test_path(path), "rb");
    *length = 0;
    if (!file) {
        CHECK(false, "cannot open %s", path);
        return test_alloc(0);
    }
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = test_alloc(*length);
    CHECK(fread(bytes, 1, *length, file) == *length, "cannot read %s", path);
    fclose(file);
    return bytes;
}

static inline void test_file_write(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, length, file) == length && !fclose(file), "cannot write %s",
          path);
}

/* `name` in a folder; a static buffer for each of two calls in a row. */
static inline const char *test_join(const char *folder, const char *name) {
    static char paths[2][512];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static inline bool test_same_bytes(const char *a, const char *b) {
    size_t a_length, b_length;
    unsigned char *left = test_file(a, &a_length), *right = test_file(b, &b_length);
    bool same = a_length == b_length && memcmp(left, right, a_length) == 0;
    free(left);
    free(right);
    return same;
}

#endif
