/* Damaged .npz archives: each fault has its message, and no damage goes unseen. */
#include "test_npz.h"
#include "formats/tables/table.h"

AREA(npz_damage, "every truncation and corruption of an archive is refused or harmless")

TEST(npz_damage, damage_is_named) {
    static const struct {
        const char *file;
        bool opens;
        eg_status status;
        const char *part;
    } rows[] = {
        {"bad_twice.npz", false, EG_ERR_FORMAT, "two arrays are called 'w'"},
        {"bad_bzip2.npz", true, EG_ERR_UNSUPPORTED, "compressed with 'bzip2' in array 'w' in '"},
        {"bad_lzma.npz", true, EG_ERR_UNSUPPORTED, "compressed with 'lzma'"},
        {"bad_encrypted.npz", true, EG_ERR_UNSUPPORTED, "encrypted"},
        {"bad_checksum.npz", true, EG_ERR_FORMAT, "checksum"},
        {"bad_name.npz", true, EG_ERR_FORMAT, "no header that agrees with the directory"},
        {"bad_bomb.npz", true, EG_ERR_FORMAT, "bytes cannot unpack to '1073741824'"},
        {"bad_overlap.npz", false, EG_ERR_FORMAT, "no room for zip member '1'"},
        {"bad_count.npz", false, EG_ERR_FORMAT, "'4' members in a zip directory"},
        {"bad_disks.npz", false, EG_ERR_UNSUPPORTED, "in several parts"},
        {"f32_2x3.npy", false, EG_ERR_FORMAT, "no zip archive"},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char file[100];
        snprintf(file, sizeof file, "fixtures/npy/%s", rows[i].file);
        eg_npz *archive = NULL;
        eg_error error = {0};
        eg_status status = eg__npz_open(test.memory, test_path(file), &archive, &error);
        CHECK(!status == rows[i].opens && !archive == !rows[i].opens, "%s: %s", file,
              error.message);
        eg_tensor tensor;
        if (!status) status = eg_npz_read(archive, "w", &tensor, &error);
        CHECK(status == rows[i].status && strstr(error.message, rows[i].part), "%s: %s '%s'", file,
              eg_status_name(status), error.message);
        CHECK(strstr(error.message, file), "'%s' does not name %s", error.message, file);
        eg_npz_close(archive);
    }
    test_memory_close(&test);
}

TEST(npz_damage, bad_deflate_data) {
    static const struct {
        const char *file, *part;
    } rows[] = {{"bad_slack.npz", "do not end where the directory says"},
                {"bad_longer.npz", "do not end where the directory says"},
                {"bad_early.npz", "deflate data end 1 bytes early"},
                {"bad_cut.npz", "deflate data end 1 bytes early"},
                {"bad_deflate.npz", "damaged deflate data: invalid block type"}};
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char file[100];
        snprintf(file, sizeof file, "fixtures/npy/%s", rows[i].file);
        eg_npz *archive = NULL;
        eg_tensor tensor;
        eg_error error = {0};
        CHECK_OK(eg__npz_open(test.memory, test_path(file), &archive, &error), error);
        eg_status expected = inflates() ? EG_ERR_FORMAT : EG_ERR_UNSUPPORTED;
        CHECK_FAILS(eg_npz_read(archive, "w", &tensor, &error), error, expected,
                    inflates() ? rows[i].part : "built without zlib");
        CHECK(!tensor.data, "%s: a tensor after a failure", file);
        eg_npz_close(archive);
    }
    test_memory_close(&test);
}

/* Single records of stored.npz changed: the `number`-th with this signature, from `at` on. */
TEST(npz_damage, bad_records) {
    static const struct {
        const char *signature;
        int number;
        size_t at;
        const char *bytes;
        size_t length;
        bool opens;
        const char *part;
    } rows[] = {
        {"PK\5\6", 1, 16, "\xf0\xff\xff\xff", 4, false, "zip directory of 165 bytes at byte '42"},
        {"PK\5\6", 1, 12, "\xa6", 1, false, "zip directory of 166 bytes at byte '591'"},
        {"PK\5\6", 1, 8, "\2\0\2\0", 4, false, "damaged zip directory at member '2'"},
        {"PK\1\2", 2, 0, "X", 1, false, "damaged zip directory at member '1'"},
        {"PK\1\2", 3, 32, "\1", 1, false, "damaged zip directory at member '2'"},
        {"PK\1\2", 1, 30, "\x30", 1, false, "damaged zip directory at member '0'"},
        {"PK\1\2", 1, 42, "\xff\xff", 2, false, "no room for zip member '0'"},
        {"PK\1\2", 1, 46, "\0", 1, false, "name of member '0' contains a zero byte"},
        {"PK\1\2", 1, 46, "\xff", 1, false, "of member '0' is not UTF-8"},
        {"PK\1\2", 3, 52, "\xc3", 1, false, "of member '2' is not UTF-8"}, /* cut */
        {"PK\1\2", 1, 10, "\x63", 1, true, "compressed with 'aes'"},
        {"PK\1\2", 1, 10, "\5", 1, true, "compressed with method '5'"},
        {"PK\1\2", 1, 8, "\x20", 1, true, "patch data"},
        {"PK\1\2", 1, 9, "\x20", 1, true, "encrypted"},
        {"PK\1\2", 1, 24, "\1", 1, true, "152 bytes cannot unpack to '1'"},
        {"PK\3\4", 1, 0, "X", 1, true, "no header that agrees"},
        {"PK\3\4", 1, 8, "\x08", 1, true, "no header that agrees"},
        {"PK\3\4", 1, 26, "\4", 1, true, "no header that agrees"},
        {"PK\3\4", 1, 28, "\xff\xff", 2, true, "data reach into the directory"},
        {"PK\3\4", 3, 28, "\x1e", 1, true, "data reach into the directory"},
    };
    test_memory test;
    test_memory_open(&test, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length;
        unsigned char *bytes = test_file("fixtures/npy/stored.npz", &length), *record = bytes - 1;
        for (int k = 0; k < rows[i].number; k++)
            record =
                memmem(record + 1, length - (size_t)(record + 1 - bytes), rows[i].signature, 4);
        memcpy(record + rows[i].at, rows[i].bytes, rows[i].length);
        eg_npz *archive;
        eg_tensor tensor;
        eg_error error = {0};
        eg_status status = eg__npz_open_bytes(test.memory, bytes, length, &archive, &error);
        CHECK(!status == rows[i].opens, "row %zu: %s", i, error.message);
        if (!status) status = eg_npz_read(archive, names[rows[i].number - 1], &tensor, &error);
        CHECK(status && strstr(error.message, rows[i].part), "row %zu: %s '%s'", i,
              eg_status_name(status), error.message);
        eg_npz_close(archive);
        free(bytes);
    }
    test_memory_close(&test);
}

static void check_bytes_refused(test_memory *test, const void *bytes, size_t length,
                                const char *part) {
    unsigned char *exact = test_alloc(length);
    memcpy(exact, bytes, length);
    eg_npz *archive;
    eg_error error = {0};
    CHECK_FAILS(eg__npz_open_bytes(test->memory, exact, length, &archive, &error), error,
                EG_ERR_FORMAT, part);
    free(exact);
}

TEST(npz_damage, bad_zip64_records) {
    test_memory test;
    test_memory_open(&test, 0);
    /* A locator that leaves no room for what it locates, and none before a saturated end. */
    static const char tiny[] = "PK\6\7\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0"
                               "PK\5\6\0\0\0\0\377\377\377\377\0\0\0\0\377\377\377\377\0";
    check_bytes_refused(&test, tiny, sizeof tiny, "zip64 end record at byte '0'");
    check_bytes_refused(&test, tiny + 20, sizeof tiny - 20, "zip directory of 0 bytes");
    /* A directory whose only member has sizes beyond 31 bits, in 20 bytes of zip64 field. */
    char path[300];
    snprintf(path, sizeof path, "%s/end", test_folder());
    uint64_t large = UINT64_C(3) << 30;
    eg__zip_entry entry = {.name = "w.npy", .name_length = 5, .packed = large, .size = large};
    eg__writer writer;
    eg_error error = {0};
    CHECK_OK(eg__writer_begin(&writer, path, &error), error);
    CHECK_OK(eg__zip_write_directory(&writer, 0, &entry, 1, &error), error);
    CHECK_OK(eg__writer_commit(&writer, &error), error);
    size_t length;
    unsigned char *bytes = test_file(path, &length), *field = bytes + 46 + 5;
    check_bytes_refused(&test, bytes, length, "no room for zip member '0', 3221225472 bytes");
    field[2] = 8;
    check_bytes_refused(&test, bytes, length, "damaged zip directory at member '0'");
    field[2] = 4;
    check_bytes_refused(&test, bytes, length, "damaged zip directory at member '0'");
    field[2] = 17;
    check_bytes_refused(&test, bytes, length, "damaged zip directory at member '0'");
    free(bytes);
    test_memory_close(&test);
}

/* Reads every array of `bytes`; each that can be read must be the original one of that name. */
static eg_status read_all(test_memory *test, const unsigned char *bytes, size_t length,
                          const char *what) {
    eg_tensor expected[COUNT], tensor;
    make_tensors(expected);
    eg_npz *archive;
    eg_status status = eg__npz_open_bytes(test->memory, bytes, length, &archive, NULL);
    if (status) return status;
    for (size_t i = 0; i < eg_npz_count(archive); i++) {
        const char *name = eg_npz_name(archive, i);
        eg_status one = eg_npz_read(archive, name, &tensor, NULL);
        if (one) {
            status = one;
            continue;
        }
        bool known = false;
        for (int k = 0; k < COUNT; k++)
            known = known || (strcmp(name, names[k]) == 0 && same(&tensor, &expected[k]));
        CHECK(known, "%s: '%s' was read, and differs", what, name);
        eg__memory_give(test->memory, tensor.data);
    }
    eg_npz_close(archive);
    return status;
}

TEST(npz_damage, every_truncation) {
    test_memory test;
    test_memory_open(&test, 0);
    for (int file = 0; file < 2; file++) {
        size_t length;
        unsigned char *whole = test_file(small[file], &length);
        for (size_t n = 0; n <= length + 1; n++) {
            if (n == length) continue;
            unsigned char *exact = test_alloc(n);
            memcpy(exact, whole, eg__min(n, length));
            if (n > length) exact[length] = 0;
            eg_status status = read_all(&test, exact, n, small[file]);
            CHECK(status == EG_ERR_FORMAT, "%s, %zu of %zu bytes: %s", small[file], n, length,
                  eg_status_name(status));
            free(exact);
        }
        free(whole);
    }
    test_memory_close(&test);
}

TEST(npz_damage, every_corruption) {
    test_memory test;
    test_memory_open(&test, UINT64_C(1) << 28);
    size_t refused = 0, harmless = 0;
    for (int file = 0; file < 2; file++) {
        size_t length;
        unsigned char *bytes = test_file(small[file], &length);
        for (size_t at = 0; at < length; at++)
            for (int k = 0; k < 10; k++) {
                unsigned char before = bytes[at];
                bytes[at] = (unsigned char)(k == 8 ? 0 : k == 9 ? 255 : before ^ 1 << k);
                char what[100];
                snprintf(what, sizeof what, "%s, byte %zu from %d to %d", small[file], at, before,
                         bytes[at]);
                if (read_all(&test, bytes, length, what)) refused++;
                else harmless++;
                bytes[at] = before;
            }
        free(bytes);
    }
    CHECK(refused > 8000 && harmless > 500, "%zu refused, %zu harmless", refused, harmless);
    test_memory_close(&test);
}

/* ---- an archive of 300 KB that says it unpacks to 128 MiB: deflate could, data do not */
static unsigned char *put(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

/* An archive of `count` members that say they are deflated, of zeros that are no deflate data. */
static unsigned char *make_archive(size_t count, const uint32_t (*sizes)[2], size_t *length) {
    size_t room = 22;
    for (size_t i = 0; i < count; i++) room += sizes[i][0] + 200;
    unsigned char *file = test_alloc(room), *at = file;
    uint32_t offsets[8];
    memset(file, 0, room);
    for (size_t i = 0; i < count; i++) {
        offsets[i] = (uint32_t)(at - file);
        at = put(at, 0x04034b50, 4);
        at = put(at, 20, 2), at = put(at, 0, 2), at = put(at, 8, 2), at = put(at, 0, 4);
        at = put(at, 0, 4), at = put(at, sizes[i][0], 4), at = put(at, sizes[i][1], 4);
        at = put(at, 5, 2), at = put(at, 0, 2);
        *at = (unsigned char)('a' + i);
        memcpy(at + 1, ".npy", 4);
        at += 5 + sizes[i][0];
    }
    const size_t directory = (size_t)(at - file);
    for (size_t i = 0; i < count; i++) {
        at = put(at, 0x02014b50, 4);
        at = put(at, 20, 2), at = put(at, 20, 2), at = put(at, 0, 2), at = put(at, 8, 2);
        at = put(at, 0, 4), at = put(at, 0, 4), at = put(at, sizes[i][0], 4);
        at = put(at, sizes[i][1], 4), at = put(at, 5, 2), at = put(at, 0, 2), at = put(at, 0, 2);
        at = put(at, 0, 2), at = put(at, 0, 2), at = put(at, 0, 4), at = put(at, offsets[i], 4);
        *at = (unsigned char)('a' + i);
        memcpy(at + 1, ".npy", 4);
        at += 5;
    }
    const size_t size = (size_t)(at - file) - directory;
    at = put(at, 0x06054b50, 4), at = put(at, 0, 4), at = put(at, count, 2);
    at = put(at, count, 2), at = put(at, size, 4), at = put(at, directory, 4), at = put(at, 0, 2);
    *length = (size_t)(at - file);
    return file;
}

/* Each `{packed, size}` alone and all together: what is refused as a bomb, or NULL. */
TEST(npz_damage, bomb) {
    enum { MANY = 4 };
    static const struct {
        size_t count;
        uint32_t sizes[MANY][2];
        const char *part[MANY]; /* NULL: small enough to try, and found to be no deflate data */
    } rows[] = {
        {1, {{300000, 128u << 20}}, {"would unpack to '134217728'"}},
        {1, {{300000, 0x7fffffff}}, {"cannot unpack"}},
        {1, {{200000, 60u << 20}}, {NULL}},
        {2, {{200000, 60u << 20}, {5000, 4u << 20}}, {NULL, NULL}},
        {2,
         {{200000, 60u << 20}, {9000, 5u << 20}},
         {"and all such members to 68157440", "would unpack to '5242880'"}},
        /* one that grows as data do is not of them, and can be read beside a bomb */
        {4,
         {{100000, 40u << 20}, {100000, 40u << 20}, {90000, 20u << 20}, {60000, 10u << 20}},
         {"and all such members to 83886080", "all such members", NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_memory test;
        eg_error error;
        eg_npz *npz;
        eg_tensor out;
        size_t length;
        test_memory_open(&test, 0);
        unsigned char *file = make_archive(rows[i].count, rows[i].sizes, &length);
        CHECK_OK(eg__npz_open_bytes(test.memory, file, length, &npz, &error), error);
        for (size_t k = 0; k < rows[i].count; k++) {
            const char *part = rows[i].part[k];
            const eg_status status = eg__npz_read(npz, eg_npz_name(npz, k), NULL, &out, &error);
            CHECK(status && (!part || strstr(error.message, part)), "row %zu, %zu: '%s'", i, k,
                  status ? error.message : "accepted");
            if (!part) CHECK(!strstr(error.message, "unpack to"), "'%s'", error.message);
        }
        eg_npz_close(npz);
        free(file);
        test_memory_close(&test);
    }
}

/* A table needs all arrays at once: too many are refused before the first is unpacked. */
TEST(npz_damage, more_than_the_budget) {
    static const uint32_t sizes[][2] = {{90000, 20u << 20}, {90000, 20u << 20}};
    test_memory test;
    eg_error error;
    eg_npz *npz;
    eg_table table;
    eg_memory_figures before, after;
    size_t length;
    test_memory_open(&test, 32u << 20);
    unsigned char *file = make_archive(2, sizes, &length);
    CHECK_OK(eg__npz_open_bytes(test.memory, file, length, &npz, &error), error);
    eg__memory_figures_get(test.memory, EG_TAG_COUNT, &before);
    CHECK_FAILS(eg__table_from_archive(test.memory, npz, NULL, &table, &error), error,
                EG_ERR_BUDGET, "its 2 arrays unpack to 41943040 bytes, more than the 33");
    eg__memory_figures_get(test.memory, EG_TAG_COUNT, &after);
    CHECK(after.allocations == before.allocations, "something was taken first");
    eg_npz_close(npz);
    free(file);
    test_memory_close(&test);
}
