/* What recording costs: the same runs recorded, no longer recorded and never recorded, in turns; and whether the
 * recorded steps add up to what a clock around each run shows. */
#include "compiled.h"

#include <math.h>
#include <stdio.h>

enum { CASES = 4, SUM_RUNS = 64, COPIES = 3 };
static const double OVERHEAD = 0.03, STEP_NS = 60, SUM_WITHIN = 0.02;

typedef struct subject {
    const char *title;
    uint64_t batch, steps;
    bool limited; /* the overhead is to stay below its limit; a step always is */
} subject;

typedef struct way {
    eg_instance *instance;
    eg_recorder *recorder; /* NULL = off */
} way;

/* Where an instance lies decides about more than a comparison does: of those that are off, and of those that were
 * never recorded, there are several, and the best place of each counts. */
enum { ON, OFF, NEVER = OFF + COPIES, WAYS = NEVER + COPIES };
typedef struct recorded {
    compiled *c; /* its instance is recorded, and the first that is off */
    eg_recorder *recorder;
    way ways[WAYS];
    uint64_t events; /* of one run */
} recorded;

static void need(eg_status status, const eg_error *error) {
    if (status != EG_OK) bench_fail("%s", error->message);
}

static void run_way(void *state) {
    const way *w = state;
    eg_error error;
    need(eg_instance_record(w->instance, w->recorder, &error), &error);
    need(eg_run(w->instance, NULL, &error), &error);
}
static void run_never(void *state) {
    eg_error error;
    need(eg_run(((const way *)state)->instance, NULL, &error), &error);
}

static eg_instance *another(bench *b, const recorded *r) {
    compiled other = *r->c;
    eg_error error;
    need(eg_instance_create(other.program, other.weights, &other.instance, &error), &error);
    compiled_bind_inputs(b, &other);
    return other.instance;
}

static void open(bench *b, const subject *s, recorded *r) {
    eg_error error;
    r->c = compiled_model(b, "cfc:autoncp:64:16,in=16,seed=1", s->batch, s->steps);
    compiled_bind_inputs(b, r->c);
    need(eg_recorder_create(r->c->context, NULL, &r->recorder, &error), &error);
    for (int i = 0; i < WAYS; i++) r->ways[i].instance = i <= OFF ? r->c->instance : another(b, r);
    for (int i = ON; i < NEVER; i++) { /* those that are off were on once */
        r->ways[i].recorder = r->recorder;
        run_way(&r->ways[i]);
        if (i == ON) r->events = eg_recorder_count(r->recorder);
        else r->ways[i].recorder = NULL;
    }
}

static void close(recorded *r) {
    run_way(&r->ways[OFF]);
    for (int i = OFF + 1; i < WAYS; i++) eg_instance_destroy(r->ways[i].instance);
    eg_recorder_destroy(r->recorder);
    compiled_end(r->c);
}

/* The steps' own times, added up, over the clock around the very runs they are of. */
static double sum_share(const recorded *r) {
    double wall[SUM_RUNS], around = 0, self = 0;
    eg_record_run list[SUM_RUNS];
    eg_step_time steps[256];
    eg_program_info info = {.size = sizeof info};
    eg_error error;
    uint64_t counted = 0;
    eg_program_info_get(r->c->program, &info);
    if (info.steps > sizeof steps / sizeof *steps) bench_fail("%zu steps", info.steps);
    eg_recorder_clear(r->recorder);
    need(eg_instance_record(r->c->instance, r->recorder, &error), &error);
    for (int i = 0; i < SUM_RUNS; i++) {
        const uint64_t start = eg_clock_ns();
        need(eg_run(r->c->instance, NULL, &error), &error);
        wall[i] = (double)(eg_clock_ns() - start) * 1e-9;
    }
    need(eg_recorder_steps(r->recorder, r->c->program, steps, NULL, &error), &error);
    need(eg_recorder_run_list(r->recorder, list, &error), &error);
    for (uint64_t i = 0; i < eg_recorder_runs(r->recorder); i++) {
        if (!list[i].counted) continue;
        around += wall[list[i].run - 1];
        counted++;
    }
    for (size_t i = 0; i < info.steps; i++) self += steps[i].self;
    return self * (double)counted / around;
}

/* Names of their own: of those who share one, the slower are dropped. */
static void add_contestants(race *to, recorded *r) {
    static const char *const names[WAYS] = {"on",      "off 1",   "off 2",  "off 3",
                                            "never 1", "never 2", "never 3"};
    for (int i = 0; i < WAYS; i++)
        race_add(to, (contestant){.role = ROLE_OTHER,
                                  .name = names[i],
                                  .variant = "",
                                  .run = i < NEVER ? run_way : run_never,
                                  .state = &r->ways[i],
                                  .work = 1});
}

/* The best of some ways in a round. */
static double best(const race *r, int first, int count, unsigned round) {
    double ns = INFINITY;
    for (int i = first; i < first + count; i++) ns = fmin(ns, r->list[i].ns[round]);
    return ns;
}

/* One line; returns whether it keeps what is promised. */
static bool print_case(const subject *s, const recorded *r, const race *t, const double *sums) {
    double per_step[ROUNDS_MAX], ratio[ROUNDS_MAX], idle[ROUNDS_MAX], low = INFINITY, high = 0;
    for (unsigned k = 0; k < t->rounds; k++) {
        const double on = t->list[ON].ns[k], off = t->list[OFF].ns[k];
        ratio[k] = on / off;
        per_step[k] = (on - off) / (double)r->events;
        idle[k] = best(t, OFF, COPIES, k) / best(t, NEVER, COPIES, k);
        low = fmin(low, sums[k]);
        high = fmax(high, sums[k]);
    }
    const double overhead = median(ratio, t->rounds) - 1, step = median(per_step, t->rounds),
                 sum = median(sums, t->rounds);
    const bool kept =
        (!s->limited || (overhead < OVERHEAD && fabs(sum - 1) <= SUM_WITHIN)) && step < STEP_NS;
    printf("%-16s %6llu %9.2f %9.2f %+8.2f %% %7.1f %+9.2f %% %8.2f %% %7.2f-%.2f%s\n", s->title,
           (unsigned long long)r->events, median(t->list[OFF].ns, t->rounds) * 1e-3,
           median(t->list[ON].ns, t->rounds) * 1e-3, 100 * overhead, step,
           100 * (median(idle, t->rounds) - 1), 100 * sum, 100 * low, 100 * high,
           kept ? "" : "  missed");
    return kept;
}

void bench_recorder(bench *b) {
    static const subject subjects[CASES] = {{"32 x 16", 32, 16, true},
                                            {"32 x 32", 32, 32, true},
                                            {"32 x 64", 32, 64, true},
                                            {"1 x 64", 1, 64, false}};
    unsigned missed = 0;
    report_progress(b, NULL);
    printf(
        "\nrecorder: a CfC (AutoNCP 64:16), batch x length, one thread; us, medians of %u rounds\n"
        "%-16s %6s %9s %9s %10s %7s %11s %10s %s\n",
        b->pace.rounds, "", "events", "off", "on", "on/off", "ns each", "off/never", "sum",
        "of the rounds");
    for (int i = 0; i < CASES; i++) {
        eg__arena_scope scope = eg__arena_scope_begin(b->arena);
        recorded r = {0};
        race turns = {.work = 1};
        double sums[ROUNDS_MAX];
        open(b, &subjects[i], &r);
        add_contestants(&turns, &r);
        race_run(&turns, &b->pace);
        for (unsigned k = 0; k < turns.rounds; k++) sums[k] = sum_share(&r);
        missed += !print_case(&subjects[i], &r, &turns, sums);
        race_end(&turns);
        close(&r);
        eg__arena_scope_end(b->arena, scope);
    }
    printf(
        "%u of %d miss: at batch 32 recording below %.0f %%, steps that add up to the run within "
        "%.0f %%; below %.0f ns an event\n",
        missed, CASES, 100 * OVERHEAD, 100 * SUM_WITHIN, STEP_NS);
}
