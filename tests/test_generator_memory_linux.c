/* A process that runs a model keeps its weights in memory once, with the cache, and little else. */
#include "test_transformer.h"

#include <fcntl.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

AREA(generator_memory,
     "weights of every kind of model and number are in memory once: at most 1.2 x the file")

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

/* Bytes that the program had in memory at most; `command` has the name of a model where it says $1. A child's figure
 * begins with what its parent holds, and this process may hold much: a shell starts it, ends, and leaves it to us. */
static uint64_t resident_bytes(const char *program, const char *path, const char *command) {
    char script[300];
    snprintf(script, sizeof script, "\"$0\" %s --threads 1 >/dev/null &", command);
    struct rusage usage = {0};
    int status = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t shell = fork();
    if (shell == 0) {
        execl("/bin/sh", "sh", "-c", script, program, path, (char *)NULL);
        _exit(127);
    }
    CHECK(shell > 0 && waitpid(shell, &status, 0) == shell && status == 0, "no shell: %d", status);
    CHECK(wait4(-1, &status, 0, &usage) > 0 && status == 0, "status %d", status);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

#define GENERATE "generate \"$1\" -p 'a prompt of some bytes' -n 4 --temp 0"
#define PROFILE  "profile \"$1\" --quick --runs 2"

TEST(generator_memory, resident) {
    const char *program = getenv("ELEGANS"), *commands[] = {GENERATE, GENERATE " --no-map"};
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
        const uint64_t resident = resident_bytes(program, path, commands[i]);
        CHECK(resident <= (file + cache) * 115 / 100, "%llu bytes resident, file %llu, cache %llu",
              (unsigned long long)resident, (unsigned long long)file, (unsigned long long)cache);
        CHECK(resident > file, "%llu bytes resident: the file of %llu was not read",
              (unsigned long long)resident, (unsigned long long)file);
        shares[i] = (double)resident / (double)(file + cache);
    }
    test_claim("%.3f x (file + cache) resident while generating, %.3f x with --no-map", shares[0],
               shares[1]);
}

static void save_model(const char *spec, eg_type type, eg_granularity per, const char *path) {
    const eg_model_quantization quantization = {
        .quantization = {.type = type, .per = per, .block = EG_BLOCK_DEFAULT}};
    eg_error error;
    eg_context *context;
    eg_model *model;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    if (type != EG_F32) CHECK_OK(eg_model_quantize(model, &quantization, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* Models that we saved, of every kind and number: what they need beyond a tiny one of the same kind is their file, which
 * is mapped or packed for the kernels, but never both, and for a generator the cache and its two longer programs. */
TEST(generator_memory, saved) {
    enum { PROGRAMS = 1 << 20 };
    static const struct {
        const char *tiny, *large, *command;
        double more;
        size_t
            types; /* how many of those below: of small files the wiring and what a process has anyway would count */
    } kinds[] = {
        {"llama:1:32,vocab=256,context=64", "llama:12:512,vocab=256,context=64", GENERATE,
         2.0 * 12 * 64 * 512 * sizeof(float) + PROGRAMS, 5},
        {"llama:1:32,vocab=256,context=64", "llama:12:512,vocab=256,context=64", PROFILE, 0, 5},
        {"bert:1:32,vocab=100", "bert:6:512,vocab=16000", PROFILE, 0, 5},
        {"cfc:16,in=64,backbone=16x2", "cfc:2048,in=64,backbone=2048x2", PROFILE, 0, 5},
        /* heads that do not end with a panel */
        {"cfc:16,in=64,backbone=16", "cfc:1500,in=64,backbone=3008", PROFILE, 0, 5},
        {"cfc:16,in=64,mixed=1", "cfc:1400,in=64,mixed=1", PROFILE, 0, 1},
        {"cfc:full:16,in=64", "cfc:full:1504,in=64", PROFILE, 0, 1},
        {"cfc:autoncp:30:6,in=64", "cfc:autoncp:3000:64,in=64", PROFILE, 0, 5},
        {"ltc:full:16,in=64", "ltc:full:1000,in=64", PROFILE, 0, 1},
    };
    static const struct {
        eg_type type;
        eg_granularity per;
    } types[] = {{EG_F32, EG_PER_CHANNEL},
                 {EG_F16, EG_PER_CHANNEL},
                 {EG_I8, EG_PER_CHANNEL},
                 {EG_I4, EG_PER_CHANNEL},
                 {EG_I4, EG_PER_BLOCK}};
    const char *program = getenv("ELEGANS");
    char tiny[600], large[600];
    double most = 0;
    if (!program || strchr(program, ' ') || test_quick()) {
        test_skip("only where the program runs by itself");
        return;
    }
    snprintf(tiny, sizeof tiny, "%s/tiny.safetensors", test_folder());
    snprintf(large, sizeof large, "%s/large.safetensors", test_folder());
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t t = 0; t < kinds[i].types; t++) {
            struct stat info = {0};
            save_model(kinds[i].tiny, types[t].type, types[t].per, tiny);
            save_model(kinds[i].large, types[t].type, types[t].per, large);
            CHECK(stat(large, &info) == 0, "no '%s'", large);
            const double file = (double)info.st_size;
            const double resident = (double)resident_bytes(program, large, kinds[i].command) -
                                    (double)resident_bytes(program, tiny, kinds[i].command) -
                                    kinds[i].more;
            CHECK(resident <= 1.2 * file && resident > 0.7 * file,
                  "%s as %s per %s, %.12s: %.0f bytes resident, file %.0f", kinds[i].large,
                  eg_type_name(types[t].type), eg_granularity_name(types[t].per), kinds[i].command,
                  resident, file);
            most = fmax(most, resident / file);
        }
    unlink(tiny);
    unlink(large);
    test_claim(
        "weights of every kind of model and number are in memory once: at most %.2f x the file",
        most);
}
