/* Programs of one model by shape: a small LRU cache. */
#include "base/abi.h"
#include "elegans/session.h"
#include "engine/program.h"

#include <pthread.h>
#include <string.h>

enum { PROGRAMS = 8, OUTPUTS = 256 };

typedef struct entry {
    uint64_t dimensions[EG_SESSION_DIMENSIONS];
    size_t count;
    eg_program *program; /* NULL = free */
    eg_instance *instance;
    uint64_t used; /* last use */
} entry;

struct eg_session {
    eg_context *context;
    eg_session_build build;
    void *user;
    eg_compile_options compile;
    char *passes;
    pthread_mutex_t mutex;
    entry *entries;
    size_t room;
    uint64_t now;
    eg_weights *weights;
    eg__lender lender; /* fill NULL = the weights are the session's own */
    eg_session_figures figures;
};

eg_status eg_session_create(eg_context *context, eg_session_build build, void *user,
                            const eg_session_options *given, eg_session **out, eg_error *error) {
    eg_session_options options;
    eg_compile_options compile;
    if (!context || !build || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "session: no context, builder or output pointer");
    *out = NULL;
    eg_status status = EG__OPTIONS(eg_session_options, &options, given, error);
    if (!status) status = EG__OPTIONS(eg_compile_options, &compile, options.compile, error);
    if (status) return status;
    const size_t room = options.programs ? options.programs : PROGRAMS;
    const char *passes = compile.passes;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__memory *memory = context->memory;
    eg_session *s = eg__memory_take_zeroed(memory, EG_TAG_PROGRAM, sizeof *s, &reason);
    entry *entries = eg__memory_take_array(memory, EG_TAG_PROGRAM, room, sizeof *entries, &reason);
    char *copy = passes
                     ? eg__memory_take_text(memory, EG_TAG_PROGRAM, passes, strlen(passes), &reason)
                     : NULL;
    if (!s || !entries || (passes && !copy)) {
        eg__memory_give(memory, s);
        eg__memory_give(memory, entries);
        eg__memory_give(memory, copy);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    compile.passes = copy;
    *s = (eg_session){.context = context,
                      .build = build,
                      .user = user,
                      .compile = compile,
                      .passes = copy,
                      .entries = entries,
                      .room = room};
    pthread_mutex_init(&s->mutex, NULL);
    *out = s;
    return EG_OK;
}

void eg__session_lend(eg_session *session, const eg__lender *lender) { session->lender = *lender; }

static void drop(entry *e) {
    eg_instance_destroy(e->instance);
    eg_program_release(e->program);
    *e = (entry){.count = 0};
}

void eg_session_destroy(eg_session *s) {
    if (!s) return;
    for (size_t i = 0; i < s->room; i++) drop(&s->entries[i]);
    eg_weights_destroy(s->weights);
    pthread_mutex_destroy(&s->mutex);
    eg__memory *memory = s->context->memory;
    eg__memory_give(memory, s->entries);
    eg__memory_give(memory, s->passes);
    eg__memory_give(memory, s);
}

static entry *find(eg_session *s, const uint64_t *dimensions, size_t count) {
    for (size_t i = 0; i < s->room; i++) {
        entry *e = &s->entries[i];
        if (e->program && e->count == count &&
            memcmp(e->dimensions, dimensions, count * sizeof *dimensions) == 0)
            return e;
    }
    return NULL;
}

static eg_status compile(eg_session *s, const uint64_t *dimensions, size_t count, eg_program **out,
                         eg_error *error) {
    eg_graph *graph;
    eg_output outputs[OUTPUTS];
    size_t used = 0;
    eg_status status = eg_graph_create(s->context, &graph, error);
    if (status) return status;
    status = s->build(s->user, graph, dimensions, count, outputs, OUTPUTS, &used, error);
    if (!status) status = eg_graph_check(graph, error);
    if (!status && used > OUTPUTS)
        status = eg__fail(error, EG_ERR_ARGUMENT, "a model with %zu outputs", used);
    if (!status) status = eg_compile(s->context, graph, used, outputs, &s->compile, out, error);
    eg_graph_destroy(graph);
    return status;
}

/* The mutex is held. */
static eg_status get(eg_session *s, const uint64_t *dimensions, size_t count, entry **out,
                     eg_error *error) {
    entry *e = find(s, dimensions, count);
    if (e) s->figures.hits++;
    else {
        eg_program *program = NULL;
        eg_status status = compile(s, dimensions, count, &program, error);
        if (!status && !s->weights)
            status = s->lender.fill ? eg__weights_lend(program, &s->lender, &s->weights, error)
                                    : eg_weights_create(program, &s->weights, error);
        if (status) {
            eg_program_release(program);
            return status;
        }
        e = &s->entries[0];
        for (size_t i = 0; i < s->room && e->program; i++)
            if (!s->entries[i].program || s->entries[i].used < e->used) e = &s->entries[i];
        s->figures.evicted += e->program != NULL;
        drop(e);
        memcpy(e->dimensions, dimensions, count * sizeof *dimensions);
        e->count = count;
        e->program = program;
        s->figures.misses++;
        s->figures.compile_seconds += program->compile_seconds;
    }
    e->used = ++s->now;
    *out = e;
    return EG_OK;
}

static eg_status check(const eg_session *s, const uint64_t *dimensions, size_t count,
                       const void *out, eg_error *error) {
    if (!s || !out || (count && !dimensions))
        return eg__fail(error, EG_ERR_ARGUMENT, "no session, dimensions or output pointer");
    if (count > EG_SESSION_DIMENSIONS)
        return eg__fail(error, EG_ERR_ARGUMENT, "%zu dimensions are not within 0..%d", count,
                        EG_SESSION_DIMENSIONS);
    return EG_OK;
}

eg_status eg_session_program(eg_session *s, const uint64_t *dimensions, size_t count,
                             eg_program **out, eg_error *error) {
    eg_status status = check(s, dimensions, count, out, error);
    if (status) return status;
    *out = NULL;
    entry *e;
    pthread_mutex_lock(&s->mutex);
    status = get(s, dimensions, count, &e, error);
    if (!status) {
        *out = e->program;
        eg__program_keep(e->program);
    }
    pthread_mutex_unlock(&s->mutex);
    return status;
}

eg_status eg_session_instance(eg_session *s, const uint64_t *dimensions, size_t count,
                              eg_instance **out, eg_error *error) {
    eg_status status = check(s, dimensions, count, out, error);
    if (status) return status;
    *out = NULL;
    entry *e;
    pthread_mutex_lock(&s->mutex);
    status = get(s, dimensions, count, &e, error);
    if (!status && !e->instance)
        status = eg_instance_create(e->program, s->weights, &e->instance, error);
    if (!status) *out = e->instance;
    pthread_mutex_unlock(&s->mutex);
    return status;
}

eg_status eg_session_weights(eg_session *s, eg_weights **out, eg_error *error) {
    if (!s || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no session or no output pointer");
    pthread_mutex_lock(&s->mutex);
    *out = s->weights;
    pthread_mutex_unlock(&s->mutex);
    if (*out) return EG_OK;
    return eg__fail(error, EG_ERR_NOT_FOUND, "no weights before the first program");
}

void eg_session_figures_get(eg_session *s, eg_session_figures *out) {
    pthread_mutex_lock(&s->mutex);
    *out = s->figures;
    out->programs = 0;
    for (size_t i = 0; i < s->room; i++) out->programs += s->entries[i].program != NULL;
    pthread_mutex_unlock(&s->mutex);
}
