/* A process that generates keeps the file that it maps or reads and the cache in memory, and little else. */
#include "test_transformer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(generator_memory, "resident memory of elegans generate: at most 1.15 x (file + cache)")

enum { WIDTH = 1024, HIDDEN = 2816, LAYERS = 8, HEADS = 16, VOCABULARY = 256, CONTEXT = 512 };

/* A checkpoint of llama2.c that is all zeros: a file without blocks, whose pages are as resident as others. */
static uint64_t write_checkpoint(const char *path) {
    const int32_t head[7] = {WIDTH, HIDDEN, LAYERS, HEADS, HEADS, VOCABULARY, CONTEXT};
    const uint64_t layer = 2 * WIDTH + 4 * (uint64_t)WIDTH * WIDTH + 3 * (uint64_t)WIDTH * HIDDEN;
    const uint64_t floats =
        (uint64_t)VOCABULARY * WIDTH + LAYERS * layer + WIDTH + (uint64_t)CONTEXT * (WIDTH / HEADS);
    const uint64_t size = sizeof head + floats * sizeof(float);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && write(file, head, sizeof head) == (ssize_t)sizeof head &&
              ftruncate(file, (off_t)size) == 0,
          "cannot write '%s'", path);
    if (file >= 0) close(file);
    return size;
}

/* Bytes that `generate` had in memory at most; `option` is one more, or NULL. */
static uint64_t resident_bytes(const char *program, const char *path, const char *option) {
    struct rusage usage = {0};
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        execl(program, program, "generate", path, "-p", "a prompt of some bytes", "-n", "4",
              "--temp", "0", "--threads", "1", option, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0 && wait4(child, &status, 0, &usage) == child && status == 0, "status %d",
          status);
    return (uint64_t)usage.ru_maxrss * 1024;
}

TEST(generator_memory, resident) {
    const char *program = getenv("ELEGANS"), *options[] = {NULL, "--no-map"};
    char path[600];
    double shares[2];
    if (!program || strchr(program, ' ') || test_quick()) {
        test_skip("only where the program runs by itself");
        return;
    }
    snprintf(path, sizeof path, "%s/zeros.bin", test_folder());
    const uint64_t file = write_checkpoint(path);
    const uint64_t cache = 2ull * LAYERS * CONTEXT * WIDTH * sizeof(float);
    for (int i = 0; i < 2; i++) {
        const uint64_t resident = resident_bytes(program, path, options[i]);
        CHECK(resident <= (file + cache) * 115 / 100, "%llu bytes resident, file %llu, cache %llu",
              (unsigned long long)resident, (unsigned long long)file, (unsigned long long)cache);
        CHECK(resident > file, "%llu bytes resident: the file of %llu was not read",
              (unsigned long long)resident, (unsigned long long)file);
        shares[i] = (double)resident / (double)(file + cache);
    }
    test_claim("%.3f x (file + cache) resident while generating, %.3f x with --no-map", shares[0],
               shares[1]);
}
