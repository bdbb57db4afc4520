/* All 2^32 floats through exp, sigmoid, tanh, log and erf of every kernel this machine can run:
 * `exhaustive [ISA]` prints the worst error of each and fails where it is above what is promised.
 * `exhaustive numbers` writes all of them as text and compares with what printf and strtof make. */
#include "test_decimal.h"
#include "test_vmath.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 4096, BLOCK = 1 << 20, BLOCKS = 4096, ROWS_MAX = 8, THREADS_MAX = 64 };

typedef struct worst {
    double error;
    float at, got;
} worst;

/* One function at a time; threads take the next block until there is none. */
static struct {
    pthread_mutex_t lock;
    const vmath_function *function;
    const eg__kernel *row[ROWS_MAX];
    unsigned rows, next;
    worst worst[ROWS_MAX];
} job = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void chunk_run(uint32_t start, worst found[ROWS_MAX]) {
    float x[CHUNK], y[CHUNK];
    double exact[CHUNK];
    for (uint32_t i = 0; i < CHUNK; i++) {
        const uint32_t bits = start + i;
        memcpy(&x[i], &bits, sizeof bits);
        exact[i] = job.function->exact(x[i]);
    }
    for (unsigned r = 0; r < job.rows; r++) {
        vmath_run(job.row[r], job.function->op, CHUNK, x, y);
        for (uint32_t i = 0; i < CHUNK; i++) {
            const double error = float_error(y[i], exact[i], 0);
            if (error > found[r].error) found[r] = (worst){error, x[i], y[i]};
        }
    }
}

static void *thread_run(void *unused) {
    worst found[ROWS_MAX] = {{0, 0, 0}};
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&job.lock);
        const unsigned block = job.next;
        if (block < BLOCKS) job.next++;
        for (unsigned r = 0; r < job.rows && block == BLOCKS; r++)
            if (found[r].error > job.worst[r].error) job.worst[r] = found[r];
        pthread_mutex_unlock(&job.lock);
        if (block == BLOCKS) return NULL;
        if (block % 64 == 0)
            fprintf(stderr, "\r%s %u %%  ", eg__fused_op_name(job.function->op),
                    block * 100 / BLOCKS);
        for (uint32_t i = 0; i < BLOCK; i += CHUNK) chunk_run(block * BLOCK + i, found);
    }
}

/* The number of kernels that break the promise. */
static unsigned function_run(const vmath_function *function, unsigned threads) {
    pthread_t others[THREADS_MAX];
    unsigned started = 0, broken = 0;
    job.function = function;
    job.next = 0;
    memset(job.worst, 0, sizeof job.worst);
    while (started + 1 < threads && !pthread_create(&others[started], NULL, thread_run, NULL))
        started++;
    thread_run(NULL);
    for (unsigned i = 0; i < started; i++) pthread_join(others[i], NULL);
    fprintf(stderr, "\r             \r");
    for (unsigned r = 0; r < job.rows; r++) {
        const worst *w = &job.worst[r];
        printf("%-8s %-7s %.4f ulp at %a: %a, exact %a\n", eg__fused_op_name(function->op),
               job.row[r]->isa, w->error, (double)w->at, (double)w->got, function->exact(w->at));
        broken += !(w->error <= function->bound);
    }
    fflush(stdout);
    return broken;
}

/* ---- numbers: the sign is a character of its own, so that the positive ones are enough */
static struct {
    pthread_mutex_t lock;
    unsigned next;
    uint64_t wrong;
} texts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *texts_run(void *unused) {
    enum { LAST = 0x7f8 }; /* infinity begins there */
    uint64_t wrong = 0;
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&texts.lock);
        const unsigned block = texts.next++;
        if (block >= LAST) texts.wrong += wrong;
        pthread_mutex_unlock(&texts.lock);
        if (block >= LAST) return NULL;
        fprintf(stderr, "\rnumbers %u %%  ", block * 100 / LAST);
        for (uint32_t i = 0; i < BLOCK; i++) {
            const uint32_t bits = block * BLOCK + i;
            char got[EG_NUMBER_SIZE], want[32];
            float value;
            memcpy(&value, &bits, sizeof value);
            decimal_define_f32(want, value);
            if (eg_number_format_f32(got, value) == strlen(want) && !strcmp(got, want)) continue;
            if (!wrong++) printf("numbers: %a is '%s', not '%s'\n", (double)value, got, want);
        }
    }
}

static int numbers_run(unsigned threads) {
    pthread_t others[THREADS_MAX];
    unsigned started = 0;
    while (started + 1 < threads && !pthread_create(&others[started], NULL, texts_run, NULL))
        started++;
    texts_run(NULL);
    for (unsigned i = 0; i < started; i++) pthread_join(others[i], NULL);
    printf("\rnumbers: %llu of 2139095040 differ\n", (unsigned long long)texts.wrong);
    return texts.wrong != 0;
}

int main(int argc, char **argv) {
    eg_chip chip;
    eg_error error = {0};
    if (argc > 2 || eg_chip_detect(NULL, NULL, NULL, &chip, &error)) {
        fprintf(stderr, "usage: exhaustive [ISA|numbers] %s\n", error.message);
        return 2;
    }
    const unsigned threads = chip.threads < THREADS_MAX ? chip.threads : THREADS_MAX;
    if (argc > 1 && strcmp(argv[1], "numbers") == 0) return numbers_run(threads);
    /* without a name, all but the reference, which is the C library in double */
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        if (row->operation != EG__OP_fused_f32 || (row->features & ~chip.features)) continue;
        if (argc > 1 ? strcmp(row->isa, argv[1]) == 0 : row->features != 0)
            job.row[job.rows++] = row;
    }
    if (!job.rows) {
        fprintf(stderr, "exhaustive: no kernel '%s' runs here\n", argc > 1 ? argv[1] : "");
        return 2;
    }
    unsigned broken = 0;
    for (size_t f = 0; f < VMATH_PROMISED; f++)
        broken += function_run(&vmath_functions[f], threads);
    if (broken) fprintf(stderr, "exhaustive: %u kernels are less accurate than promised\n", broken);
    return broken || (argc == 1 && numbers_run(threads));
}
