/* .npz archives: numpy's read and written byte for byte, zip64, memory that runs out. */
#include "test_npz.h"

#include <fcntl.h>
#include <unistd.h>

AREA(npz, "numpy's archives byte for byte, 65600 arrays, beyond 4 GB, refused names")

static void check_refusal(test_memory *test, const char *file) {
    eg_npz *archive;
    eg_tensor tensor;
    eg_error error = {0};
    CHECK_OK(eg__npz_open(test->memory, test_path(file), &archive, &error), error);
    CHECK_FAILS(eg_npz_read(archive, "w", &tensor, &error), error, EG_ERR_UNSUPPORTED,
                "built without zlib in array 'w' in '");
    eg_npz_close(archive);
}

static void check_archive(test_memory *test, const char *file, size_t count) {
    eg_tensor expected[COUNT], tensor;
    make_tensors(expected);
    eg_npz *archive = NULL;
    eg_error error = {0};
    CHECK_OK(eg__npz_open(test->memory, test_path(file), &archive, &error), error);
    CHECK(eg_npz_count(archive) == count, "%s: %zu arrays", file, eg_npz_count(archive));
    for (size_t i = 0; i < eg_npz_count(archive); i++) {
        CHECK(strcmp(eg_npz_name(archive, i), names[i]) == 0, "%s: array %zu is '%s'", file, i,
              eg_npz_name(archive, i));
        CHECK_OK(eg_npz_read(archive, names[i], &tensor, &error), error);
        if (tensor.data) CHECK(same(&tensor, &expected[i]), "%s: '%s' differs", file, names[i]);
        eg__memory_give(test->memory, tensor.data);
    }
    CHECK(!eg_npz_name(archive, count), "%s: a name past the end", file);
    CHECK_FAILS(eg_npz_read(archive, "w.npy", &tensor, &error), error, EG_ERR_NOT_FOUND,
                "no array 'w.npy' in '");
    CHECK(strstr(error.message, file) && !tensor.data, "'%s'", error.message);
    eg_npz_close(archive);
}

TEST(npz, golden_archives_are_read) {
    test_memory test;
    test_memory_open(&test, 0);
    check_archive(&test, "fixtures/npy/stored.npz", 3);
    check_archive(&test, "fixtures/npy/empty.npz", 0);
    check_archive(&test, "fixtures/npy/commented.npz", 1); /* and a member that is no array */
    if (inflates()) {
        check_archive(&test, "fixtures/npy/deflated.npz", 3);
        check_archive(&test, "fixtures/npy/streamed.npz", 1); /* sizes after the data */
    } else check_refusal(&test, "fixtures/npy/deflated.npz");
    test_memory_close(&test);
}

TEST(npz, written_archives_are_numpys) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_tensor tensors[COUNT];
    make_tensors(tensors);
    char path[300];
    snprintf(path, sizeof path, "%s/out.npz", test_folder());
    eg_error error = {0};
    CHECK_OK(eg__npz_save(test.memory, path, COUNT, names, tensors, &error), error);
    CHECK(test_same_bytes(path, test_path("fixtures/npy/stored.npz")), "not what numpy writes");
    CHECK_OK(eg__npz_save(test.memory, path, 0, NULL, NULL, &error), error);
    CHECK(test_same_bytes(path, test_path("fixtures/npy/empty.npz")), "empty archives differ");
    test_memory_close(&test);
}

TEST(npz, missing_files_and_arguments) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_npz *archive;
    eg_tensor tensor;
    eg_error error = {0};
    CHECK_FAILS(eg__npz_open(test.memory, "/nonexistent.npz", &archive, &error), error, EG_ERR_FILE,
                "'/nonexistent.npz': No such file");
    CHECK_FAILS(eg__npz_open(test.memory, test_folder(), &archive, &error), error, EG_ERR_FILE,
                "it is a folder");
    CHECK_FAILS(eg_npz_read(NULL, "w", &tensor, &error), error, EG_ERR_ARGUMENT, "no archive");
    eg_npz_close(NULL);
    CHECK(eg_npz_count(NULL) == 0 && !eg_npz_name(NULL, 0), "an archive that is none");
    test_memory_close(&test);
}

TEST(npz, bad_names_and_tensors_are_not_written) {
    static char endless[65536];
    memset(endless, 'n', sizeof endless - 1);
    eg_tensor fine = {EG_F32, 2, {2, 3}, (void *)w_data};
    eg_tensor brain = {EG_BF16, 1, {6}, (void *)w_data};
    const struct {
        const char *names[2];
        eg_tensor second;
        eg_status status;
        const char *part;
    } rows[] = {{{"a", "a"}, fine, EG_ERR_ARGUMENT, "two tensors are called 'a'"},
                {{"a", NULL}, fine, EG_ERR_ARGUMENT, "tensor '1' has no name"},
                {{"", "b"}, fine, EG_ERR_ARGUMENT, "tensor '0' has no name"},
                {{"a", endless}, fine, EG_ERR_ARGUMENT, "of 65535 bytes is too long"},
                {{"a", "\xff"}, fine, EG_ERR_ARGUMENT, "tensor '1' is not UTF-8"},
                {{"a", "\xc0\x80"}, fine, EG_ERR_ARGUMENT, "not UTF-8"},
                {{"a", "\xe0\x80\x80"}, fine, EG_ERR_ARGUMENT, "not UTF-8"},
                {{"a", "\xed\xa0\x80"}, fine, EG_ERR_ARGUMENT, "not UTF-8"},
                {{"a", "\xf4\x90\x80\x80"}, fine, EG_ERR_ARGUMENT, "not UTF-8"},
                {{"a", "\xe2\x82"}, fine, EG_ERR_ARGUMENT, "not UTF-8"},
                {{"a", "b"}, brain, EG_ERR_UNSUPPORTED, "no type for 'bf16' in tensor 'b'"}};
    test_memory test;
    test_memory_open(&test, 0);
    char path[300];
    snprintf(path, sizeof path, "%s/out.npz", test_folder());
    test_file_write(path, "old", 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_tensor tensors[2] = {fine, rows[i].second};
        eg_error error = {0};
        CHECK_FAILS(eg__npz_save(test.memory, path, 2, rows[i].names, tensors, &error), error,
                    rows[i].status, rows[i].part);
    }
    eg_error error = {0};
    CHECK_FAILS(eg__npz_save(test.memory, path, 1, NULL, &fine, &error), error, EG_ERR_ARGUMENT,
                "no names");
    size_t length;
    free(test_file(path, &length));
    CHECK(length == 3, "the old file has %zu bytes", length);
    static const char *const wide[] = {"\xe2\x82\xac", "\xf0\x9f\x90\x9b"};
    eg_tensor both[2] = {fine, fine};
    CHECK_OK(eg__npz_save(test.memory, path, 2, wide, both, &error), error);
    test_memory_close(&test);
}

/* More arrays than 16 bits count, in one zip64 archive. */
TEST(npz, many_arrays) {
    enum { MANY = 65600 };
    test_memory test;
    test_memory_open(&test, 0);
    char path[300], (*texts)[16] = test_alloc(MANY * sizeof *texts);
    snprintf(path, sizeof path, "%s/many.npz", test_folder());
    const char **pointers = test_alloc(MANY * sizeof *pointers);
    eg_tensor *tensors = test_alloc(MANY * sizeof *tensors);
    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        pointers[i] = texts[i];
        tensors[i] = (eg_tensor){EG_BOOL, 1, {2}, (void *)b_data};
    }
    eg_error error = {0};
    eg_npz *archive = NULL;
    eg_tensor tensor;
    CHECK_OK(eg__npz_save(test.memory, path, MANY, pointers, tensors, &error), error);
    CHECK_OK(eg__npz_open(test.memory, path, &archive, &error), error);
    CHECK(eg_npz_count(archive) == MANY, "%zu arrays", eg_npz_count(archive));
    CHECK_OK(eg_npz_read(archive, "65599", &tensor, &error), error);
    if (tensor.data) CHECK(same(&tensor, &tensors[0]), "the last array differs");
    eg__memory_give(test.memory, tensor.data);
    eg_npz_close(archive);
    free(texts);
    free(pointers);
    free(tensors);
    test_memory_close(&test);
}

/* Sizes and offsets beyond 32 bits, in a file that is one large hole with an archive's end. */
TEST(npz, beyond_four_gigabytes) {
    char path[300], part[300];
    const char *folder = test_folder();
    snprintf(path, sizeof path, "%s/large.npz", folder);
    snprintf(part, sizeof part, "%s/part", folder);
    static const uint64_t far = UINT64_C(5) << 30;
    eg_tensor tensor = {EG_F32, 2, {2, 3}, (void *)w_data};
    eg_error error = {0};
    size_t length;
    CHECK_OK(eg_npy_write(part, &tensor, &error), error);
    unsigned char *array = test_file(part, &length);
    eg__zip_entry entries[2] = {
        {.name = "hole.npy", .name_length = 8, .packed = far - 100, .size = far - 100},
        {.name = "w.npy", .name_length = 5, .packed = length, .size = length, .offset = far}};
    entries[1].crc = eg__crc32(0, array, length);
    eg__writer writer;
    CHECK_OK(eg__writer_begin(&writer, part, &error), error);
    CHECK_OK(eg__zip_write_local(&writer, &entries[1], &error), error);
    CHECK_OK(eg__writer_append(&writer, array, length, &error), error);
    free(array);
    CHECK_OK(eg__zip_write_directory(&writer, far + writer.size, entries, 2, &error), error);
    CHECK_OK(eg__writer_commit(&writer, &error), error);
    unsigned char *end = test_file(part, &length);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    bool made = file >= 0 && pwrite(file, end, length, (off_t)far) == (ssize_t)length;
    if (file >= 0) close(file);
    free(end);
    if (!made) {
        test_skip("no file of 5 GB can be made here");
        return;
    }
    test_memory test;
    test_memory_open(&test, 1 << 20);
    eg_npz *archive = NULL;
    eg_tensor back;
    CHECK_OK(eg__npz_open(test.memory, path, &archive, &error), error);
    CHECK_OK(eg_npz_read(archive, "w", &back, &error), error);
    if (back.data) CHECK(same(&back, &tensor), "the array beyond 4 GB differs");
    eg__memory_give(test.memory, back.data);
    CHECK_FAILS(eg_npz_read(archive, "hole", &back, &error), error, EG_ERR_FORMAT,
                "no header that agrees");
    eg_npz_close(archive);
    eg__source source;
    eg__zip zip = {0};
    CHECK_OK(eg__source_open(&source, path, &error), error);
    CHECK_OK(eg__zip_open(&zip, test.memory, &source, &error), error);
    CHECK(zip.count == 2 && zip.entries[0].size == far - 100 && zip.entries[1].offset == far,
          "%zu entries", zip.count);
    eg__zip_close(&zip, test.memory);
    eg__source_close(&source);
    test_memory_close(&test);
    unlink(path);
}

TEST(npz, budget_is_kept) {
    test_memory test;
    eg_error error = {0};
    for (uint64_t budget = 8000; budget < 200000; budget += 1000) {
        test_memory_open(&test, budget);
        for (int file = 0; file < 1 + inflates(); file++) {
            eg_npz *archive = NULL;
            eg_tensor tensor = {0};
            eg_status status = eg__npz_open(test.memory, test_path(small[file]), &archive, &error);
            if (!status) status = eg_npz_read(archive, "w", &tensor, NULL);
            CHECK(status == EG_OK || status == EG_ERR_BUDGET, "budget %d: %s", (int)budget,
                  eg_status_name(status));
            CHECK(budget < 190000 || !status, "budget %d: %s", (int)budget, error.message);
            eg__memory_give(test.memory, tensor.data);
            eg_npz_close(archive);
        }
        test_memory_close(&test);
    }
}

static eg_status read_one(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_npz *archive = NULL;
    eg_tensor tensor = {0};
    status = eg__npz_open(memory, user, &archive, error);
    if (!status) status = eg_npz_read(archive, "w", &tensor, error);
    eg__memory_give(memory, tensor.data);
    eg_npz_close(archive);
    eg__memory_destroy(memory);
    return status;
}

static eg_status save_three(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_tensor tensors[COUNT];
    make_tensors(tensors);
    status = eg__npz_save(memory, user, COUNT, names, tensors, error);
    eg__memory_destroy(memory);
    return status;
}

TEST(npz, every_allocation) {
    char path[512];
    for (int file = 0; file < 1 + inflates(); file++) {
        snprintf(path, sizeof path, "%s", test_path(small[file]));
        int failed = test_every_allocation(read_one, path);
        CHECK(failed >= 10, "only %d allocations", failed);
    }
    snprintf(path, sizeof path, "%s/out.npz", test_folder());
    CHECK(test_every_allocation(save_three, path) >= 4, "too few allocations");
}

TEST(npz, checksums) {
    /* 0xcbf43926 is the check value in every table of checksums */
    CHECK(eg__crc32(0, "123456789", 9) == 0xcbf43926, "%08x", eg__crc32(0, "123456789", 9));
    CHECK(eg__crc32(eg__crc32(0, "1234", 4), "56789", 5) == 0xcbf43926, "in two parts");
    CHECK(eg__crc32(0, "", 0) == 0 && eg__crc32(5, NULL, 0) == 5, "of nothing");
}
