/* Scoped temporaries: an arena, and in it a mark for every scope that is open. */
#include "elegans/scope.h"
#include "engine/context.h"

#include <string.h>

/* The position of the arena when a scope began; stored in the arena itself. */
typedef struct mark {
    struct mark *outer;
    eg_scope number;
    eg__arena_scope place;
    uint64_t taken;
} mark;

struct eg_temporaries {
    eg__memory *memory;
    eg__arena *arena;
    mark *open; /* the scope that began last */
    eg_scope last;
    eg_temporaries_figures figures;
};

eg_status eg_temporaries_create(eg_context *context, eg_temporaries **out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer for temporaries");
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = NULL;
    eg_temporaries *t = eg__memory_take_zeroed(context->memory, EG_TAG_TENSOR, sizeof *t, &reason);
    if (!t) return eg__fail(error, reason.status, "%s", reason.message);
    t->memory = context->memory;
    eg_status status = eg__arena_create(&t->arena, t->memory, EG_TAG_TENSOR, 0, error);
    if (status) eg__memory_give(t->memory, t);
    else *out = t;
    return status;
}

void eg_temporaries_destroy(eg_temporaries *t) {
    if (!t) return;
    eg__arena_destroy(t->arena);
    eg__memory_give(t->memory, t);
}

eg_status eg_scope_begin(eg_temporaries *t, eg_scope *out, eg_error *error) {
    if (!t || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no temporaries or no output pointer");
    const eg__arena_scope place = eg__arena_scope_begin(t->arena);
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = 0;
    mark *m = eg__arena_take(t->arena, sizeof *m, &reason);
    if (!m) return eg__fail(error, reason.status, "%s", reason.message);
    *m = (mark){t->open, ++t->last, place, t->figures.taken};
    t->open = m;
    t->figures.scopes++;
    *out = m->number;
    return EG_OK;
}

eg_status eg_scope_end(eg_temporaries *t, eg_scope scope, eg_error *error) {
    if (!t) return eg__fail(error, EG_ERR_ARGUMENT, "no temporaries");
    uint64_t ended = 1;
    const mark *m = t->open;
    for (; m && m->number != scope; m = m->outer) ended++;
    if (!m)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "scope '%llu' is not open: it has ended, or the one around it has",
                        (unsigned long long)scope);
    t->open = m->outer;
    t->figures.scopes -= ended;
    t->figures.taken = m->taken;
    eg__arena_scope_end(t->arena, m->place); /* the mark itself is gone with it */
    return EG_OK;
}

eg_status eg_scope_take(eg_temporaries *t, size_t size, void **out, eg_error *error) {
    if (!t || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no temporaries or no output pointer");
    *out = NULL;
    if (!t->open)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no scope is open that would give '%zu' bytes back: eg_scope_begin", size);
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = eg__arena_take(t->arena, size, &reason);
    if (!*out) return eg__fail(error, reason.status, "%s", reason.message);
    t->figures.taken += eg__round_up(eg__max(size, 1), 64);
    if (t->figures.taken > t->figures.most) t->figures.most = t->figures.taken;
    return EG_OK;
}

eg_status eg_scope_tensor(eg_temporaries *t, eg_type type, unsigned rank, const uint64_t *shape,
                          eg_tensor *out, eg_error *error) {
    if (!t || !out || (rank && !shape))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no temporaries, shape or output pointer for the tensor");
    memset(out, 0, sizeof *out);
    eg_tensor tensor = {.type = type, .rank = rank};
    for (unsigned i = 0; i < rank && i < EG_RANK_MAX; i++) tensor.shape[i] = shape[i];
    uint64_t bytes;
    eg_status status = eg_tensor_measure(&tensor, NULL, &bytes, error);
    if (!status) status = eg_scope_take(t, (size_t)bytes, &tensor.data, error);
    if (status) return status;
    memset(tensor.data, 0, (size_t)bytes);
    *out = tensor;
    return EG_OK;
}

void eg_temporaries_query(const eg_temporaries *t, eg_temporaries_figures *out) {
    *out = t->figures;
}
