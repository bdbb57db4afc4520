/* Block sizes of products, and where a CBLAS is faster: measured once per machine, instead of modelled.
 * Experimental. */
#ifndef ELEGANS_TUNE_H
#define ELEGANS_TUNE_H

#include "elegans/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was measured on one machine with one instruction set and number of threads. Only what beat the model by 2 % is in it. */
typedef struct eg_tuning {
    size_t size;          /* sizeof(eg_tuning); 0 = the fields of version 0.1 */
    char fingerprint[24]; /* of the chip */
    char isa[16];
    unsigned threads;
    int64_t measured_at; /* seconds since 1970 */
    double seconds;      /* duration of the measurement */
    unsigned rows;       /* of a block of a product, which stays in L2; 0 = the model's */
    unsigned
        depth; /* of a block, which stays in L1; 0 = the model's. Longer sums are split here, so it affects their bits */
    double
        blocks_gain; /* their speed over that of the model's blocks, measured; 1 where the model's are used */
    char cblas[512];      /* a library whose cblas_sgemm is faster; "" = none */
    unsigned cblas_least; /* products with m, n and k from here on use it */
    double cblas_gain;    /* its speed over ours at that size, measured; 0 = none was measured */
    unsigned model_rows, model_depth; /* what the model says: from the sizes of the caches */
} eg_tuning;

typedef struct eg_tune_options { /* all zero = defaults */
    size_t size;                 /* sizeof(eg_tune_options); 0 = the fields of version 0.1 */
    double seconds;              /* approximate duration; 0 = 4 */
    const char *cache_folder;    /* NULL = $XDG_CACHE_HOME/elegans or ~/.cache/elegans */
    const char *cblas; /* a library with cblas_sgemm; NULL = the one of the system; "" = none */
    void (*progress)(void *user, const char *what,
                     double done); /* `done` within 0..1; NULL = silent */
    void *user;                    /* handed to `progress` */
} eg_tune_options;

/* Measures with the threads of the context, and stores the result for contexts with `tuned` set; the file is replaced at once, or
 * stays as it was. The context itself does not change. Keep the machine idle meanwhile. */
EG_API eg_status eg_tune(eg_context *context, const eg_tune_options *options, eg_tuning *out,
                         eg_error *error);

/* What the context uses: the model's blocks, or a stored result. */
EG_API eg_status eg_context_tuning(const eg_context *context, eg_tuning *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
