/* A decoder that remembers: prompts in chunks, then token by token, over one cache of keys and values.
 *
 * A chunk has one of few sizes, so that few programs are compiled. Short chunks are left-padded: padding rows have
 * slot -1, are not stored in the cache, and are masked out of attention. */
#include "base/abi.h"
#include "elegans/cache.h"
#include "elegans/generate.h"
#include "nn/transformer.h"

#include <string.h>

enum { SIZES = 4, PAGE = 64, CONTEXT = 4096, CHUNK = 128 };

typedef struct chunk {
    eg_program *program;
    eg_instance *instance;
    int32_t *tokens, *positions, *slots; /* arrays of `size` each, contiguous */
    eg_tensor y;
} chunk;

/* What all texts of one cache share. */
typedef struct shared {
    eg_model *model;
    size_t users;
    eg_generator_options how;
    uint64_t slots, page_count; /* of all texts, and pages of one */
    eg_pages *pool;
    size_t sizes[SIZES]; /* ascending, the first is 1 */
    chunk chunks[SIZES];
    eg_weights *weights;
    int32_t *pages; /* of the text that is running */
    int32_t length; /* and its tokens, new ones included */
    uint64_t weight_bytes, token_bytes, cache_bytes;
} shared;

struct eg_generator {
    shared *shared;
    eg_sequence *sequence;
};

/* ---- programs */
static void close_chunk(eg_model *model, chunk *c) {
    eg_instance_destroy(c->instance);
    eg_program_release(c->program);
    eg__memory_give(model->memory, c->tokens);
    *c = (chunk){0};
}

static eg_status compile(shared *s, size_t size, eg_program **out, eg_error *error) {
    const eg__transformer_options build = {.batch = 1,
                                           .time = size,
                                           .in_place = true,
                                           .last = true,
                                           .slots = s->slots,
                                           .page = PAGE,
                                           .pages = s->page_count,
                                           .cache = s->how.cache};
    eg__transformer_nodes nodes = {0};
    eg_graph *g = NULL;
    eg_status status = eg_graph_create(s->model->context, &g, error);
    if (!status) status = eg__transformer_build(s->model, g, &build, &nodes, error);
    const eg_output output = {"y", nodes.y};
    if (!status) status = eg_compile(s->model->context, g, 1, &output, NULL, out, error);
    eg_graph_destroy(g);
    return status;
}

static eg_status bind(shared *s, chunk *c, size_t size, eg_error *error) {
    const struct {
        const char *name;
        eg_tensor tensor;
    } inputs[] = {{"tokens", {EG_I32, 2, {1, size}, c->tokens}},
                  {"positions", {EG_I32, 2, {1, size}, c->positions}},
                  {"slots", {EG_I32, 2, {1, size}, c->slots}},
                  {"pages", {EG_I32, 2, {1, s->page_count}, s->pages}},
                  {"lengths", {EG_I32, 1, {1}, &s->length}}};
    eg_status status = eg_model_bind(s->model, c->instance, error);
    for (size_t i = 0; !status && i < sizeof inputs / sizeof *inputs; i++)
        if (eg__leaf_find(&c->program->inputs, inputs[i].name, NULL))
            status = eg_instance_bind(c->instance, inputs[i].name, &inputs[i].tensor, error);
    return status ? status : eg_instance_output(c->instance, "y", &c->y, error);
}

static eg_status open_chunk(shared *s, size_t index, eg_error *error) {
    chunk *c = &s->chunks[index];
    const size_t size = s->sizes[index];
    if (c->instance) return EG_OK;
    eg_error reason = {EG_ERR_MEMORY, ""};
    c->tokens = eg__memory_take_array(s->model->memory, EG_TAG_PROGRAM, 3 * size, sizeof *c->tokens,
                                      &reason);
    eg_status status = c->tokens ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
    if (!status) {
        c->positions = c->tokens + size;
        c->slots = c->positions + size;
        status = compile(s, size, &c->program, error);
    }
    if (!status && !s->weights) {
        status = eg_model_lend(s->model, c->program, &s->weights, error);
    }
    if (!status)
        status = eg_instance_create_with(c->program, s->weights, s->chunks[0].instance,
                                         &c->instance, error);
    if (!status) status = bind(s, c, size, error);
    if (status) close_chunk(s->model, c);
    return status;
}

/* ---- what one token reads */
static void count_bytes(shared *s) {
    const eg__transformer *t = s->model->transformer;
    for (size_t i = 0; i < s->model->parameter_count; i++) {
        uint64_t bytes = 0;
        const char *name = s->model->parameters[i].name;
        eg_model_numbers(s->model, i, &bytes);
        /* of embedding tables one row; if output and embedding are tied, it is also the output */
        if (strcmp(name, "position_embd.weight") == 0) bytes /= t->context;
        if (strcmp(name, "token_embd.weight") == 0 && !t->tied) bytes /= t->vocabulary;
        s->weight_bytes += bytes;
    }
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(s->chunks[0].program, &info);
    s->cache_bytes = info.cache_bytes;
    s->token_bytes = info.cache_bytes / s->slots;
}

/* ---- lifetime */
static void release(shared *s) {
    if (!s || --s->users) return;
    eg__memory *memory = s->model->memory;
    for (size_t i = SIZES; i-- > 0;) close_chunk(s->model, &s->chunks[i]);
    eg_weights_destroy(s->weights);
    eg_pages_destroy(s->pool);
    eg__memory_give(memory, s->pages);
    eg__memory_give(memory, s);
}

static eg_status check(const eg_model *model, eg_generator_options *options, eg_error *error) {
    if (!model->transformer || !eg__transformer_traits(model->transformer)->logits)
        return eg__fail(error, EG_ERR_ARGUMENT, "%s generates no text: a decoder is needed",
                        model->transformer ? "an encoder" : "a liquid network");
    /* rotary positions have no end, others have */
    const uint64_t made_for = model->transformer->context;
    const bool rotary = eg__transformer_positions(model->transformer) == EG__POSITIONS_ROTARY;
    const uint64_t most = rotary ? EG__TRANSFORMER_TOKENS_MAX : made_for;
    if (!options->context) options->context = made_for < CONTEXT ? made_for : CONTEXT;
    if (options->context > most)
        return eg__fail(error, EG_ERR_ARGUMENT, "a context of %llu exceeds the model's %llu",
                        (unsigned long long)options->context, (unsigned long long)most);
    if (!options->sequences) options->sequences = 1;
    if (!options->chunk) options->chunk = CHUNK;
    if (options->chunk > options->context) options->chunk = options->context;
    if (options->cache != EG_F32 && options->cache != EG_F16 && options->cache != EG_I8)
        return eg__fail(error, EG_ERR_ARGUMENT, "a cache of %s is not supported: f32, f16 or int8",
                        eg_type_name(options->cache));
    return EG_OK;
}

/* With a sliding window, pages before it are reused: a text needs the window, a chunk, and one
 * partial page for each. */
static uint64_t pages_of_all(const shared *s) {
    const uint64_t window = s->model->transformer->window;
    uint64_t each = s->page_count;
    if (window) {
        const uint64_t seen = eg__ceil_div((size_t)(window + s->how.chunk), PAGE) + 1;
        if (seen < each) each = seen;
    }
    return each * s->how.sequences;
}

static eg_status create_shared(eg_model *model, const eg_generator_options *how, shared **out,
                               eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    shared *s = eg__memory_take_zeroed(model->memory, EG_TAG_PROGRAM, sizeof *s, &reason);
    if (!s) return eg__fail(error, reason.status, "%s", reason.message);
    *s = (shared){.model = model, .users = 1, .how = *how};
    s->page_count = eg__ceil_div((size_t)how->context, PAGE);
    const uint64_t all = pages_of_all(s);
    for (size_t i = SIZES, size = (size_t)how->chunk; i-- > 0; size = (size + 3) / 4)
        s->sizes[i] = i ? size : 1;
    s->slots = all * PAGE;
    s->pages = eg__memory_take_array(model->memory, EG_TAG_PROGRAM, (size_t)s->page_count,
                                     sizeof *s->pages, &reason);
    eg_status status = s->pages ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
    const eg_pages_options pool = {
        .count = all, .page = PAGE, .window = model->transformer->window};
    if (!status) status = eg_pages_create(model->context, &pool, &s->pool, error);
    if (!status) status = open_chunk(s, 0, error);
    if (!status) count_bytes(s);
    if (status) release(s);
    else *out = s;
    return status;
}

eg_status eg_generator_create(eg_model *model, const eg_generator_options *options,
                              eg_generator **out, eg_error *error) {
    if (!model || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no output pointer");
    *out = NULL;
    eg_generator_options how;
    eg_status status = EG__OPTIONS(eg_generator_options, &how, options, error);
    if (!status) status = check(model, &how, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_generator *g = eg__memory_take_zeroed(model->memory, EG_TAG_PROGRAM, sizeof *g, &reason);
    if (!g) return eg__fail(error, reason.status, "%s", reason.message);
    status = create_shared(model, &how, &g->shared, error);
    if (!status) {
        status = eg_sequence_begin(g->shared->pool, &g->sequence, error);
        if (status) release(g->shared);
    }
    if (status) eg__memory_give(model->memory, g);
    else *out = g;
    return status;
}

/* Rows of all caches, from slots to slots. */
static eg_status copy_slots(shared *s, const eg_slots_copy *copy, eg_error *error) {
    const size_t row = (size_t)(s->token_bytes / (2 * (uint64_t)s->model->transformer->layers));
    const char *name;
    if (!copy->count) return EG_OK;
    eg_status status = eg_instance_state_begin(s->chunks[0].instance, error);
    if (status) return status;
    for (size_t i = 0;
         !status && (name = eg_program_leaf(s->chunks[0].program, EG_LEAF_STATE, i, NULL)); i++) {
        eg_tensor cache;
        status = eg_instance_state(s->chunks[0].instance, name, &cache, error);
        if (!status)
            memmove((char *)cache.data + (size_t)copy->to * row,
                    (const char *)cache.data + (size_t)copy->from * row, (size_t)copy->count * row);
    }
    eg_instance_state_end(s->chunks[0].instance);
    return status;
}

eg_status eg_generator_fork(eg_generator *g, eg_generator **out, eg_error *error) {
    if (!g || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no generator or no output pointer");
    *out = NULL;
    shared *s = g->shared;
    if (s->users == s->how.sequences)
        return eg__fail(error, EG_ERR_BUDGET,
                        "%zu texts share the cache already, the limit is %llu", s->users,
                        (unsigned long long)s->how.sequences);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_generator *fresh =
        eg__memory_take_zeroed(s->model->memory, EG_TAG_PROGRAM, sizeof *fresh, &reason);
    if (!fresh) return eg__fail(error, reason.status, "%s", reason.message);
    eg_slots_copy copy;
    fresh->shared = s;
    eg_status status = eg_sequence_fork(g->sequence, &fresh->sequence, &copy, error);
    if (!status) status = copy_slots(s, &copy, error);
    if (status) {
        eg_sequence_end(fresh->sequence);
        eg__memory_give(s->model->memory, fresh);
        return status;
    }
    s->users++;
    *out = fresh;
    return EG_OK;
}

void eg_generator_destroy(eg_generator *g) {
    if (!g) return;
    eg__memory *memory = g->shared->model->memory;
    eg_sequence_end(g->sequence);
    release(g->shared);
    eg__memory_give(memory, g);
}

/* ---- tokens */

/* The chunk size for so many tokens: the next larger one, unless half of it would be padding. */
static size_t choose(const shared *s, size_t count) {
    size_t i = 0;
    while (i + 1 < SIZES && s->sizes[i] < count) i++;
    if (i && s->sizes[i] > 2 * count && s->sizes[i - 1] > 1) i--;
    return i;
}

static eg_status run_chunk(eg_generator *g, size_t index, const uint32_t *tokens, size_t count,
                           eg_error *error) {
    shared *s = g->shared;
    chunk *c = &s->chunks[index];
    const size_t size = s->sizes[index], empty = size - count;
    const uint64_t before = eg_sequence_length(g->sequence);
    for (size_t i = 0; i < size; i++) {
        c->tokens[i] = i < empty ? 0 : (int32_t)tokens[i - empty];
        c->positions[i] = i < empty ? 0 : (int32_t)(before + i - empty);
        c->slots[i] = -1;
    }
    eg_status status = eg_sequence_extend(g->sequence, count, c->slots + empty, error);
    if (!status) status = eg_sequence_pages(g->sequence, s->page_count, s->pages, error);
    s->length = (int32_t)(before + count);
    return status ? status : eg_run(c->instance, NULL, error);
}

eg_status eg_generator_prepare(eg_generator *g, size_t count, eg_error *error) {
    if (!g) return eg__fail(error, EG_ERR_ARGUMENT, "no generator");
    eg_status status = EG_OK;
    while (!status && count) {
        const size_t index = choose(g->shared, count), size = g->shared->sizes[index];
        status = open_chunk(g->shared, index, error);
        count -= count < size ? count : size;
    }
    return status;
}

eg_status eg_generator_feed(eg_generator *g, const uint32_t *tokens, size_t count,
                            const float **logits, eg_error *error) {
    if (!g || !tokens || !count)
        return eg__fail(error, EG_ERR_ARGUMENT, "no generator or no tokens");
    shared *s = g->shared;
    const uint64_t before = eg_sequence_length(g->sequence);
    if (count > s->how.context - before)
        return eg__fail(error, EG_ERR_BUDGET, "the context is full: %llu of %llu tokens, %zu more",
                        (unsigned long long)before, (unsigned long long)s->how.context, count);
    eg_status status = eg__tokens_check(s->model->transformer, tokens, count, error);
    if (!status) status = eg_generator_prepare(g, count, error);
    size_t index = 0;
    while (!status && count) {
        index = choose(s, count);
        const size_t part = count < s->sizes[index] ? count : s->sizes[index];
        status = run_chunk(g, index, tokens, part, error);
        tokens += part;
        count -= part;
    }
    if (status) eg_generator_rewind(g, before, NULL); /* the same slots are written again */
    else if (logits) *logits = s->chunks[index].y.data;
    return status;
}

eg_status eg_generator_rewind(eg_generator *g, uint64_t length, eg_error *error) {
    if (!g) return eg__fail(error, EG_ERR_ARGUMENT, "no generator");
    eg_slots_copy copy;
    const uint64_t now = eg_sequence_length(g->sequence);
    if (length > now)
        return eg__fail(error, EG_ERR_ARGUMENT, "cannot go back to %llu tokens: there are %llu",
                        (unsigned long long)length, (unsigned long long)now);
    eg_status status = eg_sequence_shrink(g->sequence, length, &copy, error);
    return status ? status : copy_slots(g->shared, &copy, error);
}

void eg_generator_info_get(const eg_generator *g, eg_generator_info *out) {
    const shared *s = g->shared;
    eg_generator_info info = {.length = eg_sequence_length(g->sequence),
                              .context = s->how.context,
                              .vocabulary = s->model->transformer->vocabulary,
                              .cache_bytes = s->cache_bytes,
                              .weight_bytes = s->weight_bytes,
                              .token_bytes = s->token_bytes};
    EG__INFO(eg_generator_info, out, &info);
}
