/* Arenas: requests are served one behind the other from chunks that outlive them. */
#include "memory/guard.h"
#include "memory/block.h"

enum { CHUNK_SIZE = 64 << 10 };

/* Lies at the start of its own memory. */
typedef struct eg__chunk {
    _Alignas(EG__ALIGNMENT) struct eg__chunk *next;
    size_t capacity; /* bytes behind this header */
} eg__chunk;

/* Two lists: chunks of the common size, filled in order, and chunks that hold one large request
 * each. So a large request does not strand the rest of a chunk, and a scope that repeats the
 * requests of the last one finds every chunk where it was. */
struct eg__arena {
    eg__memory *memory;
    eg_tag tag;
    size_t capacity; /* of a common chunk */
    eg__chunk *first, *current;
    size_t used;                         /* bytes of `current` */
    eg__chunk *first_large, *last_large; /* the first there is, the last in use */
};

static void *data_of(eg__chunk *chunk) { return chunk + 1; }

static eg__chunk *chunk_take(eg__arena *arena, size_t capacity, eg_error *error) {
    size_t size;
    if (!eg__size_add(capacity, sizeof(eg__chunk), &size)) {
        eg__fail(error, EG_ERR_OVERFLOW, "arena cannot hold '%zu' bytes", capacity);
        return NULL;
    }
    eg__chunk *chunk = eg__memory_take(arena->memory, arena->tag, size, error);
    if (!chunk) return NULL;
    chunk->next = NULL;
    chunk->capacity = capacity;
    eg__guard_close(data_of(chunk), capacity);
    return chunk;
}

static void chunks_give(eg__arena *arena, eg__chunk *chunk) {
    while (chunk) {
        eg__chunk *next = chunk->next;
        eg__memory_give(arena->memory, chunk);
        chunk = next;
    }
}

eg_status eg__arena_create(eg__arena **out, eg__memory *memory, eg_tag tag, size_t chunk_size,
                           eg_error *error) {
    *out = NULL;
    if (!chunk_size) chunk_size = CHUNK_SIZE;
    if (chunk_size > PTRDIFF_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "arena cannot have chunks of '%zu' bytes",
                        chunk_size);
    eg_error why = {0};
    eg__arena *arena = eg__memory_take_zeroed(memory, tag, sizeof *arena, &why);
    if (!arena) return eg__fail(error, why.status, "%s", why.message);
    arena->memory = memory;
    arena->tag = tag;
    chunk_size = eg__max(chunk_size, sizeof(eg__chunk) + EG__ALIGNMENT);
    arena->capacity = eg__round_up(chunk_size, EG__ALIGNMENT) - sizeof(eg__chunk);
    *out = arena;
    return EG_OK;
}

void eg__arena_destroy(eg__arena *arena) {
    if (!arena) return;
    chunks_give(arena, arena->first);
    chunks_give(arena, arena->first_large);
    eg__memory_give(arena->memory, arena);
}

static void *take_common(eg__arena *arena, size_t size, eg_error *error) {
    size_t step = eg__round_up(eg__max(size, 1), EG__ALIGNMENT);
    if (!arena->current || arena->capacity - arena->used < step) {
        eg__chunk **next = arena->current ? &arena->current->next : &arena->first;
        if (!*next) *next = chunk_take(arena, arena->capacity, error);
        if (!*next) return NULL;
        arena->current = *next;
        arena->used = 0;
    }
    void *memory = (char *)data_of(arena->current) + arena->used;
    arena->used += step;
    eg__guard_open(memory, size);
    return memory;
}

static void *take_large(eg__arena *arena, size_t size, eg_error *error) {
    eg__chunk **next = arena->last_large ? &arena->last_large->next : &arena->first_large;
    eg__chunk *chunk = *next;
    if (!chunk || chunk->capacity < size) {
        if (chunk) { /* replaced, not skipped: there are never more than were in use at once */
            *next = chunk->next;
            eg__memory_give(arena->memory, chunk);
        }
        chunk = chunk_take(arena, size, error);
        if (!chunk) return NULL;
        chunk->next = *next;
        *next = chunk;
    }
    arena->last_large = chunk;
    eg__guard_open(data_of(chunk), size);
    return data_of(chunk);
}

void *eg__arena_take(eg__arena *arena, size_t size, eg_error *error) {
    return size <= arena->capacity ? take_common(arena, size, error)
                                   : take_large(arena, size, error);
}

eg__arena_scope eg__arena_scope_begin(eg__arena *arena) {
    return (eg__arena_scope){arena->current, arena->used, arena->last_large};
}

void eg__arena_scope_end(eg__arena *arena, eg__arena_scope scope) {
    arena->current = scope.chunk;
    arena->used = scope.used;
    arena->last_large = scope.large;
    if (scope.chunk)
        eg__guard_close((char *)data_of(scope.chunk) + scope.used, arena->capacity - scope.used);
    for (eg__chunk *c = scope.chunk ? scope.chunk->next : arena->first; c; c = c->next)
        eg__guard_close(data_of(c), c->capacity);
    for (eg__chunk *c = scope.large ? scope.large->next : arena->first_large; c; c = c->next)
        eg__guard_close(data_of(c), c->capacity);
}
