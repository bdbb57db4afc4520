/* OpenBLAS and BLIS (Accelerate on a Mac), through the C interface that all of them have. Their
 * interface packs no weights ahead, so B is offered both ways round. */
#include "library.h"
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112, BLAS_MAX = 8 };

typedef void sgemm_function(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                            const float *a, int lda, const float *b, int ldb, float beta, float *c,
                            int ldc);
typedef void sgemv_function(int order, int trans, int m, int n, float alpha, const float *a,
                            int lda, const float *x, int incx, float beta, float *y, int incy);

typedef struct blas {
    const char *name;
    sgemm_function *sgemm;
    sgemv_function *sgemv;
    void (*openblas_threads)(int count);
    void (*blis_threads)(long count);
    const char *(*openblas_core)(void), *(*openblas_config)(void), *(*blis_version)(void);
    const char *(*blis_core)(int id);
    int (*blis_core_id)(void);
} blas;

static blas libraries[BLAS_MAX]; /* filled by blas_open */
static size_t library_count;

/* The wheels of SciPy (scipy-openblas32) prefix all names. */
static void find(void *handle, const char *symbol, void *to) {
    char prefixed[64];
    void *address;
    snprintf(prefixed, sizeof prefixed, "scipy_%s", symbol);
    library_find(handle, symbol, to);
    memcpy(&address, to, sizeof address);
    if (!address) library_find(handle, prefixed, to);
}

static bool blas_add(const char *name, void *handle) {
    if (library_count == BLAS_MAX) return false;
    blas *to = &libraries[library_count];
    to->name = name;
    find(handle, "cblas_sgemm", &to->sgemm);
    find(handle, "cblas_sgemv", &to->sgemv);
    find(handle, "openblas_set_num_threads", &to->openblas_threads);
    find(handle, "openblas_get_corename", &to->openblas_core);
    find(handle, "openblas_get_config", &to->openblas_config);
    find(handle, "bli_thread_set_num_threads", &to->blis_threads);
    find(handle, "bli_info_get_version_str", &to->blis_version);
    find(handle, "bli_arch_string", &to->blis_core);
    find(handle, "bli_arch_query_id", &to->blis_core_id);
    if (!to->sgemm || !to->sgemv) return false;
    library_count++;
    return true;
}

/* Libraries that ELEGANS_BENCH_BLAS names, with colons between their paths: newer ones than the system has. */
static void blas_open_given(void) {
    static char paths[4096];
    const char *given = getenv("ELEGANS_BENCH_BLAS");
    if (!given || snprintf(paths, sizeof paths, "%s", given) >= (int)sizeof paths) return;
    for (char *path = strtok(paths, ":"); path; path = strtok(NULL, ":")) {
        const char *files[LIBRARY_NAMES_MAX] = {path}, *name = strrchr(path, '/');
        if (!blas_add(name ? name + 1 : path, library_open(files)))
            bench_fail("ELEGANS_BENCH_BLAS: '%s' is no library with cblas_sgemm of 32-bit sizes",
                       path);
    }
}

void blas_open(void) {
    /* what they read when they are loaded: no thread of theirs until we ask for one */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("BLIS_NUM_THREADS", "1", 1);
    for (const blas_name *from = library_blas; from->name; from++)
        blas_add(from->name, library_open(from->files));
    blas_open_given();
}

/* Of the first two words. */
static int version_length(const char *config) {
    size_t length = strcspn(config, " ");
    if (config[length]) length += 1 + strcspn(config + length + 1, " ");
    return (int)length;
}

void blas_versions(peer_versions *out) {
    for (size_t i = 0; i < library_count; i++) {
        const blas *library = &libraries[i];
        if (library->openblas_core && library->openblas_config) {
            const char *config = library->openblas_config(); /* "OpenBLAS 0.3.21 NO_LAPACKE ..." */
            peer_versions_add(out, library->name, "%.*s, kernels for %s", version_length(config),
                              config, library->openblas_core());
        } else if (library->blis_version && library->blis_core && library->blis_core_id)
            peer_versions_add(out, library->name, "BLIS %s, kernels for %s",
                              library->blis_version(), library->blis_core(library->blis_core_id()));
        else peer_versions_add(out, library->name, "version not told");
    }
}

typedef struct blas_state {
    const blas *library;
    gemm_problem problem;
} blas_state;

static void run_gemm_nn(void *state) {
    const blas_state *s = state;
    const gemm_problem *p = &s->problem;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    s->library->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
}

static void run_gemm_nt(void *state) {
    const blas_state *s = state;
    const gemm_problem *p = &s->problem;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    s->library->sgemm(ROW_MAJOR, NO_TRANS, TRANS, m, n, k, 1, p->a, k, p->bt, k, 0, p->c, n);
}

static void run_gemv_n(void *state) {
    const blas_state *s = state;
    const gemm_problem *p = &s->problem;
    int n = (int)p->n, k = (int)p->k;
    s->library->sgemv(ROW_MAJOR, TRANS, k, n, 1, p->b, n, p->a, 1, 0, p->c, 1);
}

static void run_gemv_t(void *state) {
    const blas_state *s = state;
    const gemm_problem *p = &s->problem;
    int n = (int)p->n, k = (int)p->k;
    s->library->sgemv(ROW_MAJOR, NO_TRANS, n, k, 1, p->bt, k, p->a, 1, 0, p->c, 1);
}

static void threads_set(const blas *library, unsigned count) {
    if (library->openblas_threads) library->openblas_threads((int)count);
    if (library->blis_threads) library->blis_threads((long)count);
}

static const struct variant {
    const char *name;
    void (*run)(void *state);
    bool for_one_row;
} variants[] = {
    {"nn", run_gemm_nn, false},
    {"nt", run_gemm_nt, false},
    {"gemv n", run_gemv_n, true},
    {"gemv t", run_gemv_t, true},
};

void blas_gemm(bench *b, race *r, const gemm_problem *problem) {
    for (size_t i = 0; i < library_count; i++) {
        threads_set(&libraries[i], problem->threads);
        blas_state *state = bench_take(b, sizeof *state);
        *state = (blas_state){&libraries[i], *problem};
        for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
            if (variants[v].for_one_row && problem->m != 1) continue;
            race_add(r, (contestant){.role = ROLE_PEER,
                                     .name = libraries[i].name,
                                     .variant = variants[v].name,
                                     .run = variants[v].run,
                                     .state = state});
        }
    }
}
