/* What a transformer is made of: checked sizes, and a list of parameters named as GGUF names them. */
#include "nn/transformer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- checks */
static eg_status check_size(const char *what, uint32_t value, uint32_t most, eg_error *error) {
    if (value >= 1 && value <= most) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT, "%s %u of a transformer is not within 1..%u", what, value,
                    most);
}

static eg_status check(const eg__transformer *t, eg_error *error) {
    const eg__traits *traits = eg__transformer_traits(t);
    const struct {
        const char *what;
        uint32_t value, most;
    } sizes[] = {{"layers", t->layers, EG__TRANSFORMER_LAYERS_MAX},
                 {"width", t->width, EG__TRANSFORMER_WIDTH_MAX},
                 {"heads", t->heads, 4096},
                 {"heads of keys", t->kv_heads, 4096},
                 {"columns of a head", t->head, 4096},
                 {"feed-forward width", t->hidden, 4 * EG__TRANSFORMER_WIDTH_MAX},
                 {"vocabulary", t->vocabulary, EG__TRANSFORMER_TOKENS_MAX},
                 {"context", t->context, EG__TRANSFORMER_TOKENS_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        eg_status status = check_size(sizes[i].what, sizes[i].value, sizes[i].most, error);
        if (status) return status;
    }
    if (t->heads % t->kv_heads)
        return eg__fail(error, EG_ERR_FORMAT, "%u heads are not a multiple of %u key heads",
                        t->heads, t->kv_heads);
    if (traits->fused && t->heads != t->kv_heads)
        return eg__fail(error, EG_ERR_FORMAT, "%u heads of keys, a %s has as many as heads: %u",
                        t->kv_heads, traits->name, t->heads);
    if (!traits->grouped && (uint64_t)t->heads * t->head != t->width)
        return eg__fail(error, EG_ERR_FORMAT, "%u heads of %u columns do not make a width of %u",
                        t->heads, t->head, t->width);
    const bool rotary = eg__transformer_positions(t) == EG__POSITIONS_ROTARY;
    if (t->positions > EG__POSITIONS_SINUSOIDAL)
        return eg__fail(error, EG_ERR_FORMAT, "unknown kind %u of positions", t->positions);
    if (rotary && t->head % 2)
        return eg__fail(error, EG_ERR_FORMAT,
                        "rotary positions need an even number of columns per head, not "
                        "%u",
                        t->head);
    if (!(t->epsilon > 0 && t->epsilon < 1))
        return eg__fail(error, EG_ERR_FORMAT, "epsilon %g is not within 0..1", t->epsilon);
    if (rotary && !(t->rope_base > 0 && isfinite(t->rope_base)))
        return eg__fail(error, EG_ERR_FORMAT, "the rotary base %g is not a finite number > 0",
                        t->rope_base);
    if (!(t->attention_scale >= 0 && isfinite(t->attention_scale)))
        return eg__fail(error, EG_ERR_FORMAT,
                        "the scale %g of the attention scores is not a finite number >= "
                        "0",
                        t->attention_scale);
    if (!(t->dropout >= 0 && t->dropout < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "dropout %g is not within [0, 1)", t->dropout);
    for (uint32_t i = 0; i < t->row_steps; i++)
        if (t->row_step[i].outputs > EG__TRANSFORMER_WIDTH_MAX)
            return check_size("outputs of a dense layer", t->row_step[i].outputs,
                              EG__TRANSFORMER_WIDTH_MAX, error);
    if (traits->types) return check_size("token types", t->types, 65536, error);
    return EG_OK;
}

/* ---- parameters */
typedef struct listing {
    eg_model *model;
    const eg__traits *traits;
    eg_status status;
    eg_error *error;
} listing;

static void add(listing *l, unsigned rank, uint64_t rows, uint64_t columns, const char *name) {
    if (!l->status)
        l->status = eg__parameter_add(l->model, rank, rows, columns, name, false, l->error);
}

static void add_part(listing *l, unsigned rank, uint64_t rows, uint64_t columns, const char *name,
                     const char *part) {
    char full[EG__NAME_MAX];
    snprintf(full, sizeof full, "%s.%s", name, part);
    add(l, rank, rows, columns, full);
}

static void add_matrix(listing *l, unsigned layer, eg__matrix matrix, uint64_t rows,
                       uint64_t columns) {
    char name[64];
    snprintf(name, sizeof name, "blk.%u.%s", layer, eg__matrix_name(matrix));
    add_part(l, 2, rows, columns, name, "weight");
    if (eg__traits_bias(l->traits, matrix)) add_part(l, 1, rows, 0, name, "bias");
}

static void add_norm(listing *l, uint64_t width, const char *format, ...) EG_PRINTF(3, 4);
static void add_norm(listing *l, uint64_t width, const char *format, ...) {
    char name[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    add_part(l, 1, width, 0, name, "weight");
    if (l->traits->norm_bias) add_part(l, 1, width, 0, name, "bias");
}

static void add_layer(listing *l, const eg__transformer *t, unsigned i) {
    const uint64_t w = t->width, q = (uint64_t)t->heads * t->head;
    const uint64_t kv = (uint64_t)t->kv_heads * t->head;
    if (eg__transformer_pre(t)) add_norm(l, w, "blk.%u.attn_norm", i);
    if (l->traits->fused) add_matrix(l, i, EG__MATRIX_QKV, 3 * w, w);
    else {
        add_matrix(l, i, EG__MATRIX_Q, q, w);
        add_matrix(l, i, EG__MATRIX_K, kv, w);
        add_matrix(l, i, EG__MATRIX_V, kv, w);
    }
    add_matrix(l, i, EG__MATRIX_O, w, q);
    if (eg__transformer_pre(t)) add_norm(l, w, "blk.%u.ffn_norm", i);
    else add_norm(l, w, "blk.%u.attn_output_norm", i);
    if (l->traits->gated) add_matrix(l, i, EG__MATRIX_GATE, t->hidden, w);
    add_matrix(l, i, EG__MATRIX_UP, t->hidden, w);
    add_matrix(l, i, EG__MATRIX_DOWN, w, t->hidden);
    if (!eg__transformer_pre(t)) add_norm(l, w, "blk.%u.layer_output_norm", i);
}

static void list_rows(listing *l, const eg__transformer *t) {
    uint32_t width = t->width, number = 0;
    for (uint32_t i = 0; i < t->row_steps; i++) {
        const eg__row_step *step = &t->row_step[i];
        if (!step->outputs) continue;
        char name[64];
        snprintf(name, sizeof name, "dense.%u", number++);
        add_part(l, 2, step->outputs, width, name, "weight");
        if (step->bias) add_part(l, 1, step->outputs, 0, name, "bias");
        width = step->outputs;
    }
}

static eg_status list(eg_model *model, eg_error *error) {
    const eg__transformer *t = model->transformer;
    const eg__traits *traits = eg__transformer_traits(t);
    listing l = {model, traits, EG_OK, error};
    add(&l, 2, t->vocabulary, t->width, "token_embd.weight");
    if (eg__transformer_positions(t) == EG__POSITIONS_LEARNED)
        add(&l, 2, t->context, t->width, "position_embd.weight");
    if (traits->types) add(&l, 2, t->types, t->width, "token_types.weight");
    if (traits->norm_embedding) add_norm(&l, t->width, "token_embd_norm");
    for (unsigned i = 0; i < t->layers; i++) add_layer(&l, t, i);
    if (eg__transformer_pre(t)) add_norm(&l, t->width, "output_norm");
    if (traits->logits && !t->tied) add(&l, 2, t->vocabulary, t->width, "output.weight");
    list_rows(&l, t);
    return l.status;
}

eg_status eg__transformer_new(eg_context *context, const eg__transformer *t, eg_model **out,
                              eg_error *error) {
    *out = NULL;
    eg_model *model;
    eg_status status = check(t, error);
    if (!status) status = eg__model_new(context, &model, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    model->transformer =
        eg__memory_take(model->memory, EG_TAG_WEIGHTS, sizeof *model->transformer, &reason);
    if (!model->transformer) status = eg__fail(error, reason.status, "%s", reason.message);
    if (!status) {
        *model->transformer = *t;
        status = list(model, error);
    }
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}
