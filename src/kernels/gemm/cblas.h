/* A CBLAS that is opened at run time: Accelerate on macOS, OpenBLAS or BLIS on Linux. It is the supported way to Apple's matrix
 * units, and is used only where `elegans tune` measured it to be faster. */
#ifndef EG__CBLAS_H
#define EG__CBLAS_H

#include "base/base.h"

enum { EG__CBLAS_PATH = 512 };

typedef struct eg__cblas {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    char path[EG__CBLAS_PATH]; /* what was opened */
} eg__cblas;

/* Opens the library at `path` (NULL = the first that the system has) and makes its calls single-threaded, for the whole process:
 * threads are ours to divide. A library stays loaded until the process ends. EG_ERR_NOT_FOUND names what is missing. */
eg_status eg__cblas_open(const char *path, eg__cblas *out, eg_error *error);

/* Names that are tried, the best first, then NULL: cblas_<system>.c. */
extern const char *const eg__cblas_names[];

/* Columns of B that are unpacked at a time: enough for a call to be worth its start. */
static inline size_t eg__cblas_columns(size_t n) {
    enum { COLUMNS = 512 };
    return n < COLUMNS ? eg__round_up(n, 16) : COLUMNS;
}

#endif
