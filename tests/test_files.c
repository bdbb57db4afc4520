/* Reading what is not a file, and writing that leaves the old file or the new one. */
#include "test_formats.h"

#include "formats/files/file.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(files, "whole or not at all: sizes, kinds, links, full disks, leftovers")

/* How many files a folder holds, hidden ones included: a leftover temporary file shows here. */
static int count_files(const char *folder) {
    int count = 0;
    DIR *list = opendir(folder);
    CHECK(list, "cannot list %s", folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    if (list) closedir(list);
    return count;
}

static eg_status write_text(const char *path, const char *text, eg_error *error) {
    eg__writer writer;
    eg_status status = eg__writer_begin(&writer, path, error);
    if (status) return status;
    size_t length = strlen(text), half = length / 2;
    status = eg__writer_append(&writer, text, half, error);
    if (!status) status = eg__writer_append(&writer, text + half, length - half, error);
    return eg__writer_end(&writer, status, error);
}

static void check_text(const char *path, const char *expected) {
    size_t length;
    unsigned char *bytes = test_file(path, &length);
    CHECK(length == strlen(expected) && memcmp(bytes, expected, length) == 0, "%s has %zu bytes",
          path, length);
    free(bytes);
}

TEST(files, read_whole) {
    test_memory test;
    test_memory_open(&test, 0);
    const char *path = test_join(test_folder(), "text");
    eg_error error = {0};
    void *bytes = NULL;
    size_t length = 1;
    test_file_write(path, "", 0);
    CHECK_OK(eg__file_read(test.memory, path, 0, &bytes, &length, &error), error);
    CHECK(bytes && length == 0, "an empty file has %zu bytes", length);
    eg__memory_give(test.memory, bytes);
    test_file_write(path, "hello", 5);
    CHECK_OK(eg__file_read(test.memory, path, 5, &bytes, &length, &error), error);
    CHECK(length == 5 && memcmp(bytes, "hello", 5) == 0, "%zu bytes", length);
    eg__memory_give(test.memory, bytes);
    CHECK_FAILS(eg__file_read(test.memory, path, 4, &bytes, &length, &error), error, EG_ERR_FORMAT,
                "5 bytes are more than the limit of 4");
    CHECK(strstr(error.message, path) && !bytes && !length, "'%s'", error.message);
    test_memory_close(&test);
}

TEST(files, limits_come_before_memory) {
    test_memory test;
    test_memory_open(&test, 6000);
    const char *path = test_join(test_folder(), "large");
    test_file_write(path, "", 0);
    CHECK(!truncate(path, 1 << 30), "truncate");
    int64_t requests = test.state.requests;
    eg_error error = {0};
    void *bytes;
    size_t length;
    CHECK_FAILS(eg__file_read(test.memory, path, 1000, &bytes, &length, &error), error,
                EG_ERR_FORMAT, "1073741824");
    CHECK(test.state.requests == requests, "memory was taken before the limit was looked at");
    CHECK_FAILS(eg__file_read(test.memory, path, UINT64_MAX, &bytes, &length, &error), error,
                EG_ERR_BUDGET, path);
    CHECK(eg__file_read(test.memory, path, UINT64_MAX, &bytes, &length, NULL) == EG_ERR_BUDGET,
          "status without a message");
    test_memory_close(&test);
}

TEST(files, unreadable_things) {
    test_memory test;
    test_memory_open(&test, 0);
    const char *folder = test_folder();
    char pipe_path[512];
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    CHECK(!mkfifo(pipe_path, 0666), "mkfifo");
    const struct {
        const char *path, *part;
    } rows[] = {{"/nonexistent/file", "No such file"},
                {"", "No such file"},
                {folder, "it is a folder"},
                {pipe_path, "not a regular file"},
                {"/dev/null", "not a regular file"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *bytes;
        size_t length;
        eg_error error = {0};
        CHECK_FAILS(eg__file_read(test.memory, rows[i].path, 100, &bytes, &length, &error), error,
                    EG_ERR_FILE, rows[i].part);
        CHECK(strstr(error.message, rows[i].path), "'%s' does not name the path", error.message);
    }
    test_memory_close(&test);
}

TEST(files, sources_end_where_they_end) {
    const char *path = test_join(test_folder(), "five");
    test_file_write(path, "hello", 5);
    unsigned char *exact = test_alloc(5);
    memcpy(exact, "hello", 5);
    eg__source sources[2] = {eg__source_of_bytes(exact, 5)};
    eg_error error = {0};
    CHECK_OK(eg__source_open(&sources[1], path, &error), error);
    for (int i = 0; i < 2; i++) {
        char *out = test_alloc(5);
        CHECK_OK(eg__source_read(&sources[i], 1, out, 4, &error), error);
        CHECK(memcmp(out, "ello", 4) == 0, "source %d", i);
        CHECK_OK(eg__source_read(&sources[i], 5, out, 0, &error), error);
        CHECK_FAILS(eg__source_read(&sources[i], 1, out, 5, &error), error, EG_ERR_FORMAT,
                    "ends at byte 5");
        CHECK_FAILS(eg__source_read(&sources[i], 6, out, 0, &error), error, EG_ERR_FORMAT,
                    "byte 6");
        CHECK_FAILS(eg__source_read(&sources[i], UINT64_MAX, out, 5, &error), error, EG_ERR_FORMAT,
                    "ends at byte 5");
        free(out);
    }
    char out[5];
    CHECK(!truncate(path, 2), "truncate");
    CHECK_FAILS(eg__source_read(&sources[1], 0, out, 5, &error), error, EG_ERR_FILE,
                "became shorter");
    for (int i = 0; i < 2; i++) eg__source_close(&sources[i]);
    free(exact);
}

TEST(files, write_and_replace) {
    const char *folder = test_folder(), *path = test_join(folder, "file");
    eg_error error = {0};
    CHECK_OK(write_text(path, "first", &error), error);
    check_text(path, "first");
    CHECK(!chmod(path, 0640), "chmod");
    CHECK_OK(write_text(path, "the second one", &error), error);
    check_text(path, "the second one");
    struct stat facts;
    CHECK(!stat(path, &facts) && (facts.st_mode & 0777) == 0640, "mode %o",
          (unsigned)facts.st_mode & 0777);
    CHECK_OK(write_text(path, "", &error), error);
    check_text(path, "");
    CHECK(count_files(folder) == 1, "%d files", count_files(folder));
}

/* Pieces around the size of the writer's buffer, in every order, after one byte. */
TEST(files, pieces_of_every_size) {
    static const size_t sizes[] = {0,
                                   1,
                                   7,
                                   EG__WRITER_BUFFER - 1,
                                   EG__WRITER_BUFFER,
                                   EG__WRITER_BUFFER + 1,
                                   3 * EG__WRITER_BUFFER};
    enum { KINDS = sizeof sizes / sizeof *sizes };
    const char *path = test_join(test_folder(), "file");
    unsigned char *pieces = test_alloc(3 * 3 * EG__WRITER_BUFFER);
    for (size_t i = 0; i < 9 * EG__WRITER_BUFFER; i++)
        pieces[i] = (unsigned char)(i * 31 + i / 256);
    for (int order = 0; order < KINDS * KINDS; order++) {
        size_t parts[] = {1, sizes[order % KINDS], sizes[order / KINDS]};
        eg__writer writer;
        eg_error error = {0};
        CHECK_OK(eg__writer_begin(&writer, path, &error), error);
        size_t total = 0, length;
        for (int i = 0; i < 3; i++) {
            CHECK_OK(eg__writer_append(&writer, pieces + total, parts[i], &error), error);
            total += parts[i];
        }
        CHECK(writer.size == total, "%zu bytes counted as %zu", total, (size_t)writer.size);
        CHECK_OK(eg__writer_commit(&writer, &error), error);
        unsigned char *back = test_file(path, &length);
        CHECK(length == total && memcmp(back, pieces, total) == 0, "%zu, %zu, %zu bytes", parts[0],
              parts[1], parts[2]);
        free(back);
    }
    free(pieces);
}

TEST(files, new_files_obey_the_umask) {
    const char *path = test_join(test_folder(), "file");
    eg_error error = {0};
    mode_t before = umask(027);
    CHECK_OK(write_text(path, "x", &error), error);
    umask(before);
    struct stat facts;
    CHECK(!stat(path, &facts) && (facts.st_mode & 0777) == 0640, "mode %o",
          (unsigned)facts.st_mode & 0777);
}

TEST(files, links_stay_links) {
    char folder[256], link_path[300], target[300];
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    test_file_write(target, "old", 3);
    CHECK(!symlink("target", link_path), "symlink");
    eg_error error = {0};
    CHECK_OK(write_text(link_path, "new", &error), error);
    check_text(target, "new");
    struct stat facts;
    CHECK(!lstat(link_path, &facts) && S_ISLNK(facts.st_mode), "the link became a file");
    CHECK(count_files(folder) == 2, "%d files", count_files(folder));
}

TEST(files, longest_names) {
    char name[256];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    const char *path = test_join(test_folder(), name);
    eg_error error = {0};
    CHECK_OK(write_text(path, "x", &error), error);
    check_text(path, "x");
    char *endless = test_alloc(6000);
    memset(endless, 'n', 5999);
    endless[5999] = 0;
    CHECK_FAILS(write_text(endless, "x", &error), error, EG_ERR_FILE, "path of 5999 bytes");
    CHECK_FAILS(write_text("", "x", &error), error, EG_ERR_FILE, "path of 0 bytes");
    free(endless);
}

TEST(files, unwritable_places) {
    char folder[256], inside[300], closed[300];
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(inside, sizeof inside, "%s/file/x", folder);
    snprintf(closed, sizeof closed, "%s/closed/x", folder);
    test_file_write(test_join(folder, "file"), "old", 3);
    CHECK(!mkdir(test_join(folder, "closed"), 0555), "mkdir");
    const struct {
        const char *path, *part;
    } rows[] = {{"/nonexistent/x", "No such file"},
                {inside, "Not a directory"},
                {folder, "it is a folder"},
                {"/dev/null", "not a regular file"},
                {closed, "Permission denied"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].path == closed && geteuid() == 0) continue; /* root may write anywhere */
        eg_error error = {0};
        CHECK_FAILS(write_text(rows[i].path, "x", &error), error, EG_ERR_FILE, rows[i].part);
        CHECK(strstr(error.message, rows[i].path), "'%s' does not name the path", error.message);
        CHECK(write_text(rows[i].path, "x", NULL) == EG_ERR_FILE, "status without a message");
    }
    check_text(test_join(folder, "file"), "old");
    CHECK(count_files(folder) == 2, "%d files", count_files(folder));
}

/* A limit on the size of files stands in for a full disk. */
TEST(files, full_disk_keeps_the_old_file) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s", test_folder());
    const char *path = test_join(folder, "file");
    test_file_write(path, "old", 3);
    static char large[3 * EG__WRITER_BUFFER];
    memset(large, 'x', sizeof large - 1);
    struct rlimit before, small;
    CHECK(!getrlimit(RLIMIT_FSIZE, &before), "getrlimit");
    small = before;
    small.rlim_cur = 10;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    eg_error error = {0};
    bool limited = !setrlimit(RLIMIT_FSIZE, &small);
    eg_status small_status = write_text(path, "0123456789abcdef", &error);
    eg_status large_status = write_text(path, large, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    CHECK(limited && small_status == EG_ERR_FILE && large_status == EG_ERR_FILE, "%s, %s",
          eg_status_name(small_status), eg_status_name(large_status));
    CHECK(strstr(error.message, "File too large"), "'%s'", error.message);
    check_text(path, "old");
    CHECK(count_files(folder) == 1, "%d files", count_files(folder));
}

TEST(files, abort_and_two_writers) {
    char folder[256];
    snprintf(folder, sizeof folder, "%s", test_folder());
    const char *path = test_join(folder, "file");
    test_file_write(path, "old", 3);
    eg_error error = {0};
    eg__writer first, second;
    CHECK_OK(eg__writer_begin(&first, path, &error), error);
    CHECK_OK(eg__writer_begin(&second, path, &error), error);
    CHECK(strcmp(first.file.temporary, second.file.temporary) != 0, "both write '%s'",
          first.file.temporary);
    CHECK_OK(eg__writer_append(&first, "first", 5, &error), error);
    CHECK_OK(eg__writer_append(&second, "second", 6, &error), error);
    check_text(path, "old");
    CHECK_OK(eg__writer_commit(&second, &error), error);
    check_text(path, "second");
    eg__writer_abort(&first);
    check_text(path, "second");
    CHECK(count_files(folder) == 1, "%d files", count_files(folder));
}

TEST(files, a_folder_that_appears_is_not_replaced) {
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(path, sizeof path, "%s/file", folder);
    eg_error error = {0};
    eg__writer writer;
    CHECK_OK(eg__writer_begin(&writer, path, &error), error);
    CHECK(!mkdir(path, 0777), "mkdir");
    CHECK_FAILS(eg__writer_commit(&writer, &error), error, EG_ERR_FILE, "cannot replace");
    CHECK(count_files(folder) == 1, "%d files", count_files(folder));
}

/* ---- what killed processes leave */
static bool is_there(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

TEST(files, leftovers) {
    eg_error error;
    char folder[256], path[400], own[200];
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(path, sizeof path, "%s/it", folder);
    /* a process that is gone, and its number with it */
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    eg_file_output file;
    CHECK_OK(eg_file_begin(path, &file, &error), error);
    snprintf(own, sizeof own, "%s", strrchr(file.temporary, '/') + 1);
    unsigned host = 0;
    CHECK(sscanf(own, ".elegans-%8x-", &host) == 1, "'%s'", own);
    enum { NAMES = 10 };
    char names[NAMES][64];
    snprintf(names[0], 64, ".elegans-%08x-%ld-0", host, (long)dead);
    snprintf(names[1], 64, ".elegans-%08x-%ld-999", host, (long)dead);
    snprintf(names[2], 64, ".elegans-%08x-%ld-7", host, (long)getpid());
    snprintf(names[3], 64, ".elegans-%08x-%ld-0", host ^ 1, (long)dead);
    snprintf(names[4], 64, ".elegans-%08x-%ld-0.txt", host, (long)dead);
    snprintf(names[5], 64, "elegans-%08x-%ld-0", host, (long)dead);
    snprintf(names[6], 64, ".elegans-%08x-0-0", host);
    snprintf(names[7], 64, ".elegans-%08x--1-0", host);
    snprintf(names[8], 64, ".elegans-%08x--%ld-0", host, (long)dead);
    snprintf(names[9], 64, ".elegans-%08x-%ld-5", host, (long)dead); /* a link */
    for (int i = 0; i < NAMES; i++) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        if (i == 9) {
            CHECK(symlink("/dev/null", name) == 0, "cannot make '%s'", name);
            continue;
        }
        FILE *left = fopen(name, "w");
        CHECK(left != NULL, "cannot make '%s'", name);
        if (left) fclose(left);
    }
    eg_file_output second;
    CHECK_OK(eg_file_begin(path, &second, &error), error);
    for (int i = 0; i < NAMES; i++)
        CHECK(is_there(folder, names[i]) == (i > 1), "'%s' is %s", names[i],
              i > 1 ? "gone" : "still there");
    CHECK(is_there(folder, own), "one that is being written is gone");
    eg_file_abort(&second);
    CHECK(write(file.descriptor, "new", 3) == 3, "not written");
    CHECK_OK(eg_file_commit(&file, &error), error);
    CHECK(is_there(folder, "it") && !is_there(folder, own), "not in its place");
    CHECK_FAILS(eg_file_commit(&file, &error), error, EG_ERR_ARGUMENT, "begun");
    CHECK_FAILS(eg_file_begin(folder, &file, &error), error, EG_ERR_FILE, "folder");
    CHECK_FAILS(eg_file_begin(NULL, &file, &error), error, EG_ERR_ARGUMENT, "no path");
}

/* ---- mapped bytes that may be written to, and pages that are given back */
/* From any byte on, across pieces; and from memory that is no file. */
TEST(files, copied_pages) {
    static const size_t firsts[] = {0, 1, 4095, 4096, 70000}, sizes[] = {0, 1, 4096, 300001};
    const size_t size = 400000;
    eg_error error;
    eg__memory *memory;
    eg__mapping mapping;
    char path[400];
    snprintf(path, sizeof path, "%s/copied", test_folder());
    unsigned char *bytes = test_alloc(size), *to = test_alloc(size);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(i % 251);
    test_file_write(path, bytes, size);
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    CHECK_OK(eg__mapping_open(&mapping, memory, path, true, &error), error);
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int mapped = 0; mapped < 2; mapped++) {
                const unsigned char *from = mapped ? mapping.bytes : bytes;
                memset(to, 255, size);
                eg__mapping_copy(&mapping, from + firsts[i], sizes[k], to);
                CHECK(memcmp(to, bytes + firsts[i], sizes[k]) == 0 && to[sizes[k]] == 255,
                      "%zu bytes from %zu on, mapped %d", sizes[k], firsts[i], mapped);
            }
    CHECK(memcmp(mapping.bytes, bytes, size) == 0, "the file is another one");
    eg__mapping_close(&mapping, memory);
    eg__memory_destroy(memory);
    free(bytes);
    free(to);
}

TEST(files, forgotten_pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 5 * page;
    eg_error error;
    eg__memory *memory;
    eg__mapping mapping;
    char path[400];
    snprintf(path, sizeof path, "%s/pages", test_folder());
    unsigned char *bytes = test_alloc(size);
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(i % 251);
    test_file_write(path, bytes, size);
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    CHECK_OK(eg__mapping_open(&mapping, memory, path, true, &error), error);
    CHECK(mapping.mapped && eg__mapping_own(&mapping), "not mapped, or not ours");
    unsigned char *at = mapping.mapped;
    for (size_t i = 0; i < size; i++) at[i] = 255;
    eg__mapping_forget(&mapping, at + size - 1, 2); /* not all of it is mapped */
    eg__mapping_forget(&mapping, bytes, size);
    /* from within the second page to within the fourth: only the third lies wholly among them */
    eg__mapping_forget(&mapping, at + page + 1, 2 * page + page / 2);
    for (size_t i = 0; i < size; i++) {
        if (at[i] == 255 || (i / page == 2 && at[i] == bytes[i]))
            continue; /* not all systems forget */
        CHECK(false, "byte %zu of page %zu is %d", i % page, i / page, at[i]);
        break;
    }
    eg__mapping_close(&mapping, memory);
    size_t left;
    unsigned char *after = test_file(path, &left);
    CHECK(left == size && memcmp(after, bytes, size) == 0, "the file has changed");
    free(after);
    free(bytes);
    eg__memory_destroy(memory);
}
