/* A GRU over a sequence, as a scan that is compiled into one program. */
#include "compiled.h"
#include "peers.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 64, INPUT = 32 };
static const size_t HIDDEN[] = {64, 256}, BATCHES[] = {1, 32};
enum { HIDDEN_COUNT = sizeof HIDDEN / sizeof *HIDDEN };
enum { BATCH_COUNT = sizeof BATCHES / sizeof *BATCHES };

/* In the order of gru_problem: update, reset, new. */
static const char *const OF_INPUT[GRU_GATES] = {"xz", "xr", "xn"};
static const char *const OF_STATE[GRU_GATES] = {"hz", "hr", "hn"};

static compiled *gru_make(bench *b, size_t batch, size_t hidden) {
    compiled *c = compiled_start(b);
    eg_graph *g = c->graph;
    eg_node sequence = eg_input(g, "x", EG_F32, 3, (uint64_t[]){STEPS, batch, INPUT}),
            initial = eg_input(g, "h0", EG_F32, 2, (uint64_t[]){batch, hidden}),
            scan = eg_scan(g, STEPS, 0), h = eg_scan_carry(g, scan, initial),
            x = eg_scan_step(g, scan, sequence), from_x[GRU_GATES], from_h[GRU_GATES];
    for (int i = 0; i < GRU_GATES; i++) {
        from_x[i] = compiled_linear(c, OF_INPUT[i], x, INPUT, hidden);
        from_h[i] = compiled_linear(c, OF_STATE[i], h, hidden, hidden);
    }
    eg_node update = eg_sigmoid(g, eg_add(g, from_x[0], from_h[0])),
            reset = eg_sigmoid(g, eg_add(g, from_x[1], from_h[1])),
            new = eg_tanh(g, eg_add(g, from_x[2], eg_mul(g, reset, from_h[2]))),
            next = eg_add(g, new, eg_mul(g, update, eg_sub(g, h, new)));
    eg_scan_update(g, h, next);
    const eg_output outputs[] = {{"y", eg_scan_stack(g, scan, next)}, {"last", eg_scan_last(g, h)}};
    compiled_finish(c, 2, outputs);
    return c;
}

static const float *parameter(const compiled *c, const char *name, const char *end) {
    char full[16];
    snprintf(full, sizeof full, "%s.%s", name, end);
    return compiled_parameter(c, full);
}

/* Our matrices of one gate each side by side. */
static float *joined(bench *b, const compiled *c, const char *const *names, size_t rows,
                     size_t hidden) {
    float *out = bench_floats(b, rows * GRU_GATES * hidden);
    for (size_t gate = 0; gate < GRU_GATES; gate++) {
        const float *from = parameter(c, names[gate], "w");
        for (size_t row = 0; row < rows; row++)
            memcpy(out + (row * GRU_GATES + gate) * hidden, from + row * hidden,
                   hidden * sizeof *out);
    }
    return out;
}

/* We have a bias for the input and one for the state of each gate; elsewhere their sum is one,
 * except for the new gate, where only that of the state is reset. */
static float *biases(bench *b, const compiled *c, size_t hidden) {
    float *out = bench_floats(b, GRU_BIASES * hidden);
    for (size_t gate = 0; gate < GRU_GATES; gate++) {
        const float *x = parameter(c, OF_INPUT[gate], "b"), *h = parameter(c, OF_STATE[gate], "b");
        const bool is_new = gate == GRU_GATES - 1;
        for (size_t i = 0; i < hidden; i++) {
            out[gate * hidden + i] = is_new ? x[i] : x[i] + h[i];
            if (is_new) out[(gate + 1) * hidden + i] = h[i];
        }
    }
    return out;
}

static gru_problem problem_make(bench *b, const compiled *c, size_t batch, size_t hidden) {
    const size_t values = batch * hidden;
    float *out = bench_floats(b, (STEPS + 1) * values);
    gru_problem p = {STEPS,
                     batch,
                     INPUT,
                     hidden,
                     bench_floats(b, STEPS * batch * INPUT),
                     bench_floats(b, values),
                     joined(b, c, OF_INPUT, INPUT, hidden),
                     joined(b, c, OF_STATE, hidden, hidden),
                     biases(b, c, hidden),
                     out,
                     out + STEPS * values};
    bench_fill(p.x, STEPS * batch * INPUT, 1, 1);
    bench_fill(p.h0, values, 1, 2);
    return p;
}

static void gru_case(bench *b, size_t batch, size_t hidden) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    compiled *c = gru_make(b, batch, hidden);
    gru_problem p = problem_make(b, c, batch, hidden);
    compiled_bind(c, "x", p.x);
    compiled_bind(c, "h0", p.h0);
    compiled_bind(c, "y", p.y);
    compiled_bind(c, "last", p.last);
    race r = {.out = p.y, /* and behind it the last state */
              .out_size = (STEPS + 1) * batch * hidden,
              .work = 2.0 * (double)(STEPS * batch * GRU_GATES * hidden * (hidden + INPUT))};
    char title[48];
    snprintf(title, sizeof title, "hidden %zu, batch %zu", hidden, batch);
    compiled_race(&r, ROLE_OURS, "ours", c);
    peers_gru(b, &r, &p);
    bench_add_peak(b, &r, NULL);
    bench_race(b, &r, title, 1e-5);
    eg__arena_scope_end(b->arena, scope);
}

void bench_gru(bench *b) {
    for (int h = 0; h < HIDDEN_COUNT; h++)
        for (int i = 0; i < BATCH_COUNT; i++) gru_case(b, BATCHES[i], HIDDEN[h]);
}
