/* Scoped temporaries: memory for a while, given back together.
 * Experimental. */
#ifndef ELEGANS_SCOPE_H
#define ELEGANS_SCOPE_H

#include "elegans/context.h"
#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stack of memory of a context (EG_TAG_TENSOR, within its budget) for temporaries of a computation.
 * A scope gives back what was taken in it, all at once; scopes nest. What a scope gave back is kept for
 * the next one, so that a loop whose iterations ask for the same sizes allocates in the first iteration only.
 *
 *     eg_temporaries_create(context, &t, &error);
 *     for (...) {
 *         eg_scope scope;
 *         eg_scope_begin(t, &scope, &error);
 *         eg_scope_take(t, bytes, &buffer, &error);
 *         ...
 *         eg_scope_end(t, scope, &error);
 *     }
 *     eg_temporaries_destroy(t);
 *
 * One thread at a time uses an eg_temporaries; threads that work at once have one each, on the same
 * context. */
typedef struct eg_temporaries eg_temporaries; /* opaque */
typedef uint64_t eg_scope; /* a number that no other scope of these temporaries ever has; never 0 */

/* On failure *out is NULL. You own *out, and destroy it before its context. */
EG_API eg_status eg_temporaries_create(eg_context *context, eg_temporaries **out, eg_error *error);
/* With everything in it, in whatever scopes; NULL is fine. */
EG_API void eg_temporaries_destroy(eg_temporaries *temporaries);

/* From now on everything is taken in this scope, until it ends or another begins in it. On failure (EG_ERR_MEMORY,
 * EG_ERR_BUDGET) *out is 0, and whatever was open is open as before. */
EG_API eg_status eg_scope_begin(eg_temporaries *temporaries, eg_scope *out, eg_error *error);
/* Everything that was taken in it is gone, and every scope that began in it has ended, too.
 * EG_ERR_ARGUMENT: it is not open (any more), nothing has changed. */
EG_API eg_status eg_scope_end(eg_temporaries *temporaries, eg_scope scope, eg_error *error);

/* `size` bytes, aligned to 64, contents undefined, in the scope that began last. 0 bytes are a valid address.
 * EG_ERR_ARGUMENT: no scope is open. EG_ERR_MEMORY, EG_ERR_BUDGET, EG_ERR_OVERFLOW: *out is NULL, and what was
 * taken before is untouched. */
EG_API eg_status eg_scope_take(eg_temporaries *temporaries, size_t size, void **out,
                               eg_error *error);
/* The same for a tensor of zeros: a view that nobody releases. On failure *out is all zero. */
EG_API eg_status eg_scope_tensor(eg_temporaries *temporaries, eg_type type, unsigned rank,
                                 const uint64_t *shape, eg_tensor *out, eg_error *error);

typedef struct eg_temporaries_figures {
    uint64_t scopes; /* that are open */
    uint64_t taken;  /* bytes in them, each request rounded up to 64 */
    uint64_t most;   /* of `taken`, ever */
} eg_temporaries_figures;
EG_API void eg_temporaries_query(const eg_temporaries *temporaries, eg_temporaries_figures *out);

#ifdef __cplusplus
}
#endif
#endif
