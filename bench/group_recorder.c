/* What recording costs: the same runs recorded, no longer recorded and never recorded, in turns; and whether the
 * recorded steps add up to what a clock around each run shows. */
#include "compiled.h"

#include <math.h>
#include <stdio.h>

enum { CASES = 4, SUM_RUNS = 64, NEVER = 2 };
static const double OVERHEAD = 0.03, STEP_NS = 60, SUM_WITHIN = 0.02;

typedef struct subject {
    const char *title;
    uint64_t batch, steps;
    bool limited; /* the overhead is to stay below its limit; a step always is */
} subject;

typedef struct recorded {
    compiled *c; /* its instance is the one that is recorded, and not */
    eg_recorder *recorder;
    eg_instance *never[NEVER]; /* of the same program */
    uint64_t events;           /* of one run */
} recorded;

static void need(eg_status status, const eg_error *error) {
    if (status != EG_OK) bench_fail("%s", error->message);
}

static void run_instance(eg_instance *instance, eg_recorder *recorder) {
    eg_error error;
    need(eg_instance_record(instance, recorder, &error), &error);
    need(eg_run(instance, NULL, &error), &error);
}
static void run_on(void *state) {
    const recorded *r = state;
    run_instance(r->c->instance, r->recorder);
}
static void run_off(void *state) { run_instance(((const recorded *)state)->c->instance, NULL); }
static void run_never(void *state) {
    eg_error error;
    need(eg_run(((const recorded *)state)->never[0], NULL, &error), &error);
}
static void run_never_either(void *state) {
    eg_error error;
    need(eg_run(((const recorded *)state)->never[1], NULL, &error), &error);
}

static void open(bench *b, const subject *s, recorded *r) {
    eg_error error;
    r->c = compiled_model(b, "cfc:autoncp:64:16,in=16,seed=1", s->batch, s->steps);
    compiled_bind_inputs(b, r->c);
    need(eg_recorder_create(r->c->context, NULL, &r->recorder, &error), &error);
    run_on(r);
    r->events = eg_recorder_count(r->recorder);
    compiled other = *r->c;
    for (int i = 0; i < NEVER; i++) {
        need(eg_instance_create(other.program, other.weights, &other.instance, &error), &error);
        compiled_bind_inputs(b, &other);
        r->never[i] = other.instance;
    }
}

static void close(recorded *r) {
    for (int i = 0; i < NEVER; i++) eg_instance_destroy(r->never[i]);
    run_off(r);
    eg_recorder_destroy(r->recorder);
    compiled_end(r->c);
}

/* The steps' own times, added up, over the clock around the very runs they are of. */
static double sum_share(const recorded *r) {
    double wall[SUM_RUNS], around = 0, self = 0;
    eg_record_run list[SUM_RUNS];
    eg_step_time steps[256];
    eg_program_info info;
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

enum { ON, OFF, NEVER_ONE, NEVER_TWO };
static void add_contestants(race *to, recorded *r) {
    static const struct {
        const char *name;
        void (*run)(void *state);
    } list[] = {[ON] = {"recorded", run_on},
                [OFF] = {"no longer recorded", run_off},
                [NEVER_ONE] = {"never recorded", run_never},
                [NEVER_TWO] = {"never recorded either", run_never_either}};
    for (int i = 0; i <= NEVER_TWO; i++)
        race_add(to, (contestant){.role = ROLE_OTHER,
                                  .name = list[i].name,
                                  .variant = "",
                                  .run = list[i].run,
                                  .state = r,
                                  .work = 1});
}

static double median_ratio(const race *r, int above, int below) {
    double ratio[ROUNDS_MAX];
    for (unsigned k = 0; k < r->rounds; k++) ratio[k] = r->list[above].ns[k] / r->list[below].ns[k];
    return median(ratio, r->rounds);
}

/* One line; returns whether it keeps what is promised. */
static bool print_case(const subject *s, const recorded *r, const race *t, const double *sums) {
    double per_step[ROUNDS_MAX], low = INFINITY, high = 0;
    for (unsigned k = 0; k < t->rounds; k++) {
        per_step[k] = (t->list[ON].ns[k] - t->list[OFF].ns[k]) / (double)r->events;
        low = fmin(low, sums[k]);
        high = fmax(high, sums[k]);
    }
    const double overhead = median_ratio(t, ON, OFF) - 1, step = median(per_step, t->rounds),
                 sum = median(sums, t->rounds);
    const bool kept =
        (!s->limited || (overhead < OVERHEAD && fabs(sum - 1) <= SUM_WITHIN)) && step < STEP_NS;
    printf("%-16s %6llu %9.2f %9.2f %+8.2f %% %7.1f %+9.2f %% %+8.2f %% %7.2f %% %6.2f-%.2f%s\n",
           s->title, (unsigned long long)r->events, median(t->list[OFF].ns, t->rounds) * 1e-3,
           median(t->list[ON].ns, t->rounds) * 1e-3, 100 * overhead, step,
           100 * (median_ratio(t, OFF, NEVER_ONE) - 1),
           100 * (median_ratio(t, NEVER_TWO, NEVER_ONE) - 1), 100 * sum, 100 * low, 100 * high,
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
    printf("\nrecorder: a CfC (AutoNCP 64:16), batch x length, one thread; us, medians of %u "
           "rounds\n%-16s %6s %9s %9s %10s %7s %11s %10s %9s %s\n",
           b->pace.rounds, "", "events", "off", "on", "on/off", "ns each", "off/never", "never/n.",
           "sum", "of the rounds");
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
