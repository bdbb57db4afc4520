/* Projections beside the clock: models that no efficiency was fitted to, predicted from their steps. */
#include "compiled.h"
#include "profile/measure/burst.h"
#include "profile/measure/ceilings.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 64, HIDDEN = 64, INPUT = 32, MODELS = 12, COSTS = 256 };
static const double WITHIN = 0.25;

typedef struct subject {
    const char *title;
    compiled *c;
    eg_step_cost costs[COSTS];
    size_t count;
    double predicted[ROUNDS_MAX], measured[ROUNDS_MAX], ratio[ROUNDS_MAX]; /* ns */
    double low, high;                                                      /* of the last round */
    eg_unit best;                                                          /* on an M1 */
} subject;

static void need(eg_status status, const eg_error *error) {
    if (status != EG_OK) bench_fail("%s", error->message);
}

static compiled *mlp_make(bench *b, uint64_t batch) {
    static const uint64_t widths[] = {64, 256, 256, 64};
    static const char *const names[] = {"a", "b", "c"};
    compiled *c = compiled_start(b);
    eg_node x = eg_input(c->graph, "x", EG_F32, 2, (uint64_t[]){batch, widths[0]});
    for (int i = 0; i < 3; i++) {
        x = compiled_linear(c, names[i], x, widths[i], widths[i + 1]);
        if (i < 2) x = eg_tanh(c->graph, x);
    }
    compiled_finish(c, 1, &(eg_output){"y", x});
    return c;
}

static compiled *gru_make(bench *b, uint64_t batch) {
    static const char *const of_x[] = {"xz", "xr", "xn"}, *const of_h[] = {"hz", "hr", "hn"};
    compiled *c = compiled_start(b);
    eg_graph *g = c->graph;
    eg_node sequence = eg_input(g, "x", EG_F32, 3, (uint64_t[]){STEPS, batch, INPUT}),
            initial = eg_input(g, "h0", EG_F32, 2, (uint64_t[]){batch, HIDDEN}),
            scan = eg_scan(g, STEPS, 0), h = eg_scan_carry(g, scan, initial),
            x = eg_scan_step(g, scan, sequence), xs[3], hs[3];
    for (int i = 0; i < 3; i++) {
        xs[i] = compiled_linear(c, of_x[i], x, INPUT, HIDDEN);
        hs[i] = compiled_linear(c, of_h[i], h, HIDDEN, HIDDEN);
    }
    eg_node update = eg_sigmoid(g, eg_add(g, xs[0], hs[0])),
            reset = eg_sigmoid(g, eg_add(g, xs[1], hs[1])),
            new = eg_tanh(g, eg_add(g, xs[2], eg_mul(g, reset, hs[2]))),
            next = eg_add(g, new, eg_mul(g, update, eg_sub(g, h, new)));
    eg_scan_update(g, h, next);
    compiled_finish(c, 1, &(eg_output){"y", eg_scan_stack(g, scan, next)});
    return c;
}

static void subject_add(bench *b, subject *s, const char *title, compiled *c) {
    eg_error error;
    eg_program_info info = {.size = sizeof info};
    *s = (subject){.title = title, .c = c};
    eg_program_info_get(c->program, &info);
    if (info.steps > COSTS) bench_fail("%s has %zu steps", title, info.steps);
    need(eg_program_costs(c->program, s->costs, &s->count, &error), &error);
    compiled_bind_inputs(b, c);
}

static size_t subjects_make(bench *b, subject *s) {
    static const char cfc[] = "cfc:autoncp:64:16,in=16,seed=1";
    size_t n = 0;
    subject_add(b, &s[n++], "CfC, AutoNCP, 32 x 64", compiled_model(b, cfc, 32, STEPS));
    subject_add(b, &s[n++], "CfC, deep, 32 x 64",
                compiled_model(b, "cfc:64,in=16,backbone=64x2,activation=silu", 32, STEPS));
    /* fewer steps: what takes longer than a time slice is never seen whole on a machine in use */
    subject_add(b, &s[n++], "LTC, AutoNCP, 32 x 16",
                compiled_model(b, "ltc:autoncp:64:16,in=16,seed=1", 32, 16));
    subject_add(b, &s[n++], "CfC, wide, 32 x 64",
                compiled_model(b, "cfc:64,in=32,backbone=128", 32, STEPS));
    subject_add(b, &s[n++], "CfC, AutoNCP, 1 x 64", compiled_model(b, cfc, 1, STEPS));
    subject_add(b, &s[n++], "CfC, with memory, 16 x 32",
                compiled_model(b, "cfc:autoncp:32:8,in=4,mixed=1,seed=1", 16, 32));
    subject_add(b, &s[n++], "CfC, no gate, 8 x 32",
                compiled_model(b, "cfc:128,in=24,mode=no_gate", 8, 32));
    subject_add(b, &s[n++], "LTC, full, 16 x 16", compiled_model(b, "ltc:full:24:4,in=8", 16, 16));
    subject_add(b, &s[n++], "LTC, AutoNCP, 1 x 16",
                compiled_model(b, "ltc:autoncp:32:4,in=8,seed=2", 1, 16));
    subject_add(b, &s[n++], "MLP, batch 32", mlp_make(b, 32));
    subject_add(b, &s[n++], "MLP, batch 128", mlp_make(b, 128));
    subject_add(b, &s[n++], "GRU, 32 x 64", gru_make(b, 32));
    return n;
}

/* Ceilings, efficiencies, predictions and the clock, all within some seconds. */
static void round_run(bench *b, eg_context *context, subject *s, size_t count, unsigned round,
                      eg_efficiency *e) {
    const double quick = b->options.quick ? 0.3 : 1;
    eg_ceilings ceilings;
    eg_error error;
    eg_chip_row m1;
    eg__ceilings_run(context, quick, &ceilings);
    need(eg_efficiency_fit(context, &ceilings, quick * 1.5, e, &error), &error);
    need(eg_chip_table_find("M1", &m1, &error), &error);
    for (size_t i = 0; i < count; i++) {
        eg_projection p, other;
        const eg_project_options how = {
            .efficiency = e, .threads = 1, .chip = &b->chip, .ceilings = &ceilings};
        need(eg_project(s[i].count, s[i].costs, NULL, &how, &p, &error), &error);
        const eg_unit_projection *cores = &p.unit[EG_UNIT_CORES];
        need(eg_project(s[i].count, s[i].costs, &m1, NULL, &other, &error), &error);
        s[i].best = other.best;
        s[i].predicted[round] = cores->seconds.value * 1e9;
        s[i].low = cores->low * 1e9;
        s[i].high = cores->high * 1e9;
        s[i].measured[round] = eg__burst_measure(run_compiled, s[i].c, quick * 0.1).best * 1e9;
        s[i].ratio[round] = s[i].predicted[round] / s[i].measured[round];
    }
}

static void print_efficiency(const eg_efficiency *e) {
    printf("\nefficiencies of the last round; ns, and times of what the ceiling takes\n");
    printf("%-10s %9s %9s %9s %9s %9s %9s %7s %5s\n", "", "call", "row", "product", "simple",
           "functions", "bytes", "error", "cases");
    for (int i = 0; i < EG_WORK_COUNT; i++) {
        const eg_work_efficiency *k = &e->work[i];
        printf("%-10s %9.3g %9.3g %9.3g %9.3g %9.3g %9.3g %6.1f%% %5u\n", eg_work_name((eg_work)i),
               k->call, k->row, k->product, k->simple, k->functions, k->bytes, 100 * k->error,
               k->cases);
    }
    printf(
        "a run %.3g ns, all cases within %.1f%% (rms); clock %.2f GHz; bytes per FLOP of L1 %.3g, L2 "
        "%.3g, L3 %.3g\n",
        e->run, 100 * e->error, e->clock, e->level[0], e->level[1], e->level[2]);
}

void bench_project(bench *b) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    subject *s = bench_take(b, MODELS * sizeof *s);
    const size_t count = subjects_make(b, s);
    eg_context *context;
    eg_efficiency e = {0};
    eg_error error;
    const eg_context_options one = {.threads = 1, .isa = b->options.isa};
    need(eg_context_create(&one, &context, &error), &error);
    for (unsigned round = 0; round < b->pace.rounds; round++) {
        report_progress(b, "a round");
        round_run(b, context, s, count, round, &e);
    }
    report_progress(b, NULL);
    printf("\nproject: models predicted from kernels, one thread; us, medians of %u rounds\n",
           b->pace.rounds);
    printf("%-24s %9s %9s %7s %13s %18s %s\n", "", "predicted", "measured", "ratio",
           "of the rounds", "band", "M1");
    unsigned outside = 0;
    for (size_t i = 0; i < count; i++) {
        double low = INFINITY, high = 0;
        for (unsigned k = 0; k < b->pace.rounds; k++) {
            low = fmin(low, s[i].ratio[k]);
            high = fmax(high, s[i].ratio[k]);
        }
        const double ratio = median(s[i].ratio, b->pace.rounds);
        outside += fabs(ratio - 1) > WITHIN;
        printf("%-24s %9.2f %9.2f %7.3f %6.3f-%.3f %8.2f-%.2f %s\n", s[i].title,
               median(s[i].predicted, b->pace.rounds) * 1e-3,
               median(s[i].measured, b->pace.rounds) * 1e-3, ratio, low, high, s[i].low * 1e-3,
               s[i].high * 1e-3, eg_unit_name(s[i].best));
        compiled_end(s[i].c);
    }
    printf("%u of %zu models further off than %.0f %%\n", outside, count, 100 * WITHIN);
    print_efficiency(&e);
    eg_context_destroy(context);
    eg__arena_scope_end(b->arena, scope);
}
