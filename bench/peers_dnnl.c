/* oneDNN: primitives and memory objects made once, weights reordered ahead as the primitive likes
 * them. */
#include "create_dnnl.h"
#include "peers.h"

enum { ARGUMENTS_MAX = 8 };

static dnnl_engine_t engine; /* filled by onednn_open */
static dnnl_stream_t stream;

void onednn_open(void) {
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = NULL;
    if (engine && dnnl_stream_create(&stream, engine, dnnl_stream_in_order) != dnnl_success)
        engine = NULL;
}

void onednn_versions(peer_versions *out) {
    const dnnl_version_t *version = dnnl_version();
    if (engine)
        peer_versions_add(out, "onednn", "oneDNN %d.%d.%d", version->major, version->minor,
                          version->patch);
}

typedef struct onednn_state {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[ARGUMENTS_MAX];
    int count;
} onednn_state;

static void run_primitive(void *state) {
    const onednn_state *s = state;
    dnnl_primitive_execute(s->primitive, stream, s->count, s->arguments);
}

static void end_primitive(void *state) {
    onednn_state *s = state;
    if (s->primitive) dnnl_primitive_destroy(s->primitive);
    for (int i = 0; i < s->count; i++) dnnl_memory_destroy(s->arguments[i].memory);
}

/* Takes `desc` over; NULL leaves the primitive NULL. */
static onednn_state *state_make(bench *b, dnnl_primitive_desc_t desc) {
    onednn_state *state = bench_take(b, sizeof *state);
    *state = (onednn_state){.primitive = NULL};
    if (!desc) return state;
    if (dnnl_primitive_create(&state->primitive, desc) != dnnl_success) state->primitive = NULL;
    dnnl_primitive_desc_destroy(desc);
    return state;
}

/* Takes `memory` over. */
static void state_argument(onednn_state *state, int name, dnnl_memory_t memory) {
    if (memory) state->arguments[state->count++] = (dnnl_exec_arg_t){name, memory};
}

/* Joins the race, if all that it needs could be made. */
static void state_race(race *r, onednn_state *state, const char *variant, int arguments) {
    if (!state->primitive || state->count != arguments) {
        end_primitive(state);
        return;
    }
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = "onednn",
                             .variant = variant,
                             .run = run_primitive,
                             .end = end_primitive,
                             .state = state});
}

/* The plain weights in the format that `desc` wants; takes `plain` over. */
static dnnl_memory_t weights_reordered(bench *b, dnnl_primitive_desc_t desc, int index,
                                       dnnl_memory_t plain) {
    dnnl_memory_t weights = desc ? create_weights(engine, desc, index) : NULL;
    if (!weights) {
        dnnl_memory_destroy(plain);
        return NULL;
    }
    onednn_state *reorder = state_make(b, create_reorder(engine, plain, weights));
    state_argument(reorder, DNNL_ARG_FROM, plain);
    reorder->arguments[reorder->count] = (dnnl_exec_arg_t){DNNL_ARG_TO, weights};
    if (reorder->primitive)
        dnnl_primitive_execute(reorder->primitive, stream, 2, reorder->arguments);
    end_primitive(reorder);
    return weights;
}

static void add_product(bench *b, race *r, const gemm_problem *p, dnnl_primitive_desc_t desc,
                        dnnl_memory_t plain, const char *variant) {
    dnnl_memory_t weights = weights_reordered(b, desc, 0, plain);
    onednn_state *state = state_make(b, desc);
    state_argument(state, DNNL_ARG_SRC, create_matrix(engine, p->m, p->k, p->a));
    state_argument(state, DNNL_ARG_WEIGHTS, weights);
    state_argument(state, DNNL_ARG_DST, create_matrix(engine, p->m, p->n, p->c));
    state_race(r, state, variant, 3);
}

static void run_sgemm(void *state) {
    const gemm_problem *p = state;
    dnnl_dim_t m = (dnnl_dim_t)p->m, n = (dnnl_dim_t)p->n, k = (dnnl_dim_t)p->k;
    dnnl_sgemm('N', 'N', m, n, k, 1, p->a, k, p->b, n, 0, p->c, n);
}

void onednn_gemm(bench *b, race *r, const gemm_problem *p) {
    if (!engine) return;
    add_product(b, r, p, create_matmul(engine, p->m, p->n, p->k, FINISH_NONE),
                create_matrix(engine, p->k, p->n, p->b), "matmul");
    add_product(b, r, p, create_inner_product(engine, p->m, p->n, p->k, FINISH_NONE),
                create_matrix(engine, p->n, p->k, p->bt), "inner product");
    gemm_problem *plain = bench_take(b, sizeof *plain);
    *plain = *p;
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = "onednn",
                             .variant = "sgemm",
                             .run = run_sgemm,
                             .state = plain});
}

/* Floats become bytes, then the product: what ours does, but for finding the scale of each row, which is 1. */
typedef struct onednn_bytes_state {
    onednn_state *rounding, *product;
} onednn_bytes_state;

static void run_bytes(void *state) {
    const onednn_bytes_state *s = state;
    run_primitive(s->rounding);
    run_primitive(s->product);
}

static void end_bytes(void *state) {
    const onednn_bytes_state *s = state;
    end_primitive(s->rounding);
    end_primitive(s->product);
}

static void add_bytes(bench *b, race *r, const bytes_problem *p, bool raised, const char *variant) {
    dnnl_primitive_desc_t desc = create_matmul_bytes(engine, p->m, p->n, p->k, raised);
    dnnl_memory_t weights =
        weights_reordered(b, desc, 0, create_bytes(engine, p->k, p->n, false, p->b));
    dnnl_memory_t floats = create_matrix(engine, p->m, p->k, p->a);
    void *rows = bench_take(b, p->m * p->k);
    dnnl_memory_t to = create_bytes(engine, p->m, p->k, raised, rows);
    onednn_bytes_state *s = bench_take(b, sizeof *s);
    *s = (onednn_bytes_state){state_make(b, create_reorder(engine, floats, to)),
                              state_make(b, desc)};
    state_argument(s->rounding, DNNL_ARG_FROM, floats);
    state_argument(s->rounding, DNNL_ARG_TO, to);
    state_argument(s->product, DNNL_ARG_SRC, create_bytes(engine, p->m, p->k, raised, rows));
    state_argument(s->product, DNNL_ARG_WEIGHTS, weights);
    state_argument(s->product, DNNL_ARG_DST, create_matrix(engine, p->m, p->n, p->c));
    if (!s->rounding->primitive || s->rounding->count != 2 || !s->product->primitive ||
        s->product->count != 3) {
        end_bytes(s);
        return;
    }
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = "onednn",
                             .variant = variant,
                             .run = run_bytes,
                             .end = end_bytes,
                             .state = s});
}

void onednn_bytes(bench *b, race *r, const bytes_problem *p) {
    if (!engine) return;
    add_bytes(b, r, p, false, "s8");
    add_bytes(b, r, p, true, "u8");
}

void onednn_halves(bench *b, race *r, const halves_problem *p) {
    if (!engine) return;
    dnnl_primitive_desc_t desc = create_matmul_halves(engine, p->m, p->n, p->k);
    dnnl_memory_t weights = weights_reordered(b, desc, 0, create_halves(engine, p->k, p->n, p->b));
    onednn_state *state = state_make(b, desc);
    state_argument(state, DNNL_ARG_SRC, create_halves(engine, p->m, p->k, p->a));
    state_argument(state, DNNL_ARG_WEIGHTS, weights);
    state_argument(state, DNNL_ARG_DST, create_matrix(engine, p->m, p->n, p->c));
    state_race(r, state, "bf16", 3);
}

void onednn_layernorm(bench *b, race *r, const rows_problem *p) {
    if (!engine) return;
    onednn_state *state = state_make(b, create_layernorm(engine, p->rows, p->columns, p->epsilon));
    state_argument(state, DNNL_ARG_SRC, create_matrix(engine, p->rows, p->columns, p->x));
    state_argument(state, DNNL_ARG_DST, create_matrix(engine, p->rows, p->columns, p->y));
    state_argument(state, DNNL_ARG_SCALE, create_vector(engine, p->columns, p->gain));
    state_argument(state, DNNL_ARG_SHIFT, create_vector(engine, p->columns, p->bias));
    state_race(r, state, "", 4);
}

void onednn_softmax(bench *b, race *r, const rows_problem *p) {
    if (!engine) return;
    onednn_state *state = state_make(b, create_softmax(engine, p->rows, p->columns));
    state_argument(state, DNNL_ARG_SRC, create_matrix(engine, p->rows, p->columns, p->x));
    state_argument(state, DNNL_ARG_DST, create_matrix(engine, p->rows, p->columns, p->y));
    state_race(r, state, "", 2);
}

/* ---- networks. The interface takes weights as memory that could be written; it is not. */
typedef struct onednn_mlp_state {
    onednn_state *layer[MLP_LAYERS];
} onednn_mlp_state;

static void run_mlp(void *state) {
    const onednn_mlp_state *s = state;
    for (int i = 0; i < MLP_LAYERS; i++) run_primitive(s->layer[i]);
}

static void end_mlp(void *state) {
    const onednn_mlp_state *s = state;
    for (int i = 0; i < MLP_LAYERS; i++) end_primitive(s->layer[i]);
}

static onednn_state *layer_make(bench *b, const mlp_problem *p, int i, bool as_matmul) {
    const size_t m = p->batch, n = p->width[i + 1], k = p->width[i];
    const finish how = i < MLP_LAYERS - 1 ? FINISH_TANH : FINISH_BIAS;
    float *w = (float *)(as_matmul ? p->w[i] : p->wt[i]), *bias = (float *)p->bias[i];
    dnnl_primitive_desc_t desc =
        (as_matmul ? create_matmul : create_inner_product)(engine, m, n, k, how);
    dnnl_memory_t weights = weights_reordered(
        b, desc, 0, as_matmul ? create_matrix(engine, k, n, w) : create_matrix(engine, n, k, w));
    onednn_state *state = state_make(b, desc);
    state_argument(state, DNNL_ARG_SRC, create_matrix(engine, m, k, p->value[i]));
    state_argument(state, DNNL_ARG_WEIGHTS, weights);
    state_argument(state, DNNL_ARG_BIAS,
                   as_matmul ? create_matrix(engine, 1, n, bias) : create_vector(engine, n, bias));
    state_argument(state, DNNL_ARG_DST, create_matrix(engine, m, n, p->value[i + 1]));
    return state;
}

static void add_mlp(bench *b, race *r, const mlp_problem *p, bool as_matmul, const char *variant) {
    onednn_mlp_state *state = bench_take(b, sizeof *state);
    bool complete = true;
    for (int i = 0; i < MLP_LAYERS; i++) {
        state->layer[i] = layer_make(b, p, i, as_matmul);
        complete = complete && state->layer[i]->primitive && state->layer[i]->count == 4;
    }
    if (!complete) {
        end_mlp(state);
        return;
    }
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = "onednn",
                             .variant = variant,
                             .run = run_mlp,
                             .end = end_mlp,
                             .state = state});
}

void onednn_mlp(bench *b, race *r, const mlp_problem *p) {
    if (!engine) return;
    add_mlp(b, r, p, true, "matmul");
    add_mlp(b, r, p, false, "inner product");
}

static void add_gru(bench *b, race *r, const gru_problem *p, bool plain, const char *variant) {
    const dnnl_dim_t t = (dnnl_dim_t)p->steps, n = (dnnl_dim_t)p->batch, i = (dnnl_dim_t)p->input,
                     h = (dnnl_dim_t)p->hidden;
    const dnnl_dims_t of_input = {1, 1, i, GRU_GATES, h}, of_state = {1, 1, h, GRU_GATES, h},
                      bias = {1, 1, GRU_BIASES, h}, state_dims = {1, 1, n, h};
    dnnl_primitive_desc_t desc = create_gru(engine, p->steps, p->batch, p->input, p->hidden, plain);
    dnnl_memory_t wx = weights_reordered(b, desc, 0, create_tensor(engine, 5, of_input, p->wx)),
                  wh = weights_reordered(b, desc, 1, create_tensor(engine, 5, of_state, p->wh));
    onednn_state *state = state_make(b, desc);
    state_argument(state, DNNL_ARG_SRC_LAYER,
                   create_tensor(engine, 3, (dnnl_dims_t){t, n, i}, p->x));
    state_argument(state, DNNL_ARG_SRC_ITER, create_tensor(engine, 4, state_dims, p->h0));
    state_argument(state, DNNL_ARG_WEIGHTS_LAYER, wx);
    state_argument(state, DNNL_ARG_WEIGHTS_ITER, wh);
    state_argument(state, DNNL_ARG_BIAS, create_tensor(engine, 4, bias, p->bias));
    state_argument(state, DNNL_ARG_DST_LAYER,
                   create_tensor(engine, 3, (dnnl_dims_t){t, n, h}, p->y));
    state_argument(state, DNNL_ARG_DST_ITER, create_tensor(engine, 4, state_dims, p->last));
    state_race(r, state, variant, 7);
}

void onednn_gru(bench *b, race *r, const gru_problem *p) {
    if (!engine) return;
    add_gru(b, r, p, false, "packed");
    add_gru(b, r, p, true, "plain");
}
