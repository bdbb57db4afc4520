/* Recorded runs: every step once, one after the other, also inside of scans and on threads. */
#include "test.h"
#include "test_models.h"
#include "profile/record/recorder.h"

#include <math.h>

AREA(recorder, "every step of a run is an event, end to end; turns, lost events, threads, sums")

enum { BATCH = 8, TIME = 6 };

typedef struct fixture {
    eg_context *context;
    eg_graph *graph;
    eg_program *program;
    eg_instance *instance;
    eg_program_info info;
    float x[TIME][BATCH][3], y[TIME][BATCH][4];
} fixture;

static void open_fixture(fixture *f, unsigned threads) {
    static const uint64_t shape[] = {TIME, BATCH, 3}, state[] = {BATCH, 4}, w[] = {3, 4};
    const eg_context_options options = {.size = sizeof options, .threads = threads};
    eg_error error;
    float weights[12];
    memset(f, 0, sizeof *f);
    for (int i = 0; i < 12; i++) weights[i] = (float)i / 12;
    CHECK_OK(eg_context_create(&options, &f->context, &error), error);
    CHECK_OK(eg_graph_create(f->context, &f->graph, &error), error);
    eg_graph *g = f->graph;
    eg_node x = eg_input(g, "x", EG_F32, 3, shape);
    eg_node scan = eg_scan(g, TIME, 0);
    eg_node h = eg_scan_carry(g, scan, eg_broadcast(g, eg_scalar(g, 0), 2, state));
    eg_node step = eg_tanh(g, eg_scan_step(g, scan, x)); /* keeps the product inside */
    eg_node next = eg_tanh(
        g, eg_add(g, h,
                  eg_matmul(g, eg_mul(g, step, eg_slice(g, h, 1, 0, 3)),
                            eg_constant(g, &(eg_tensor){EG_F32, 2, {w[0], w[1]}, weights}))));
    eg_scan_update(g, h, next);
    const eg_output output = {"y", eg_softmax(g, eg_scan_stack(g, scan, next))};
    CHECK_OK(eg_compile(f->context, g, 1, &output, NULL, &f->program, &error), error);
    CHECK_OK(eg_instance_create(f->program, NULL, &f->instance, &error), error);
    const eg_tensor in = {EG_F32, 3, {TIME, BATCH, 3}, f->x},
                    out = {EG_F32, 3, {TIME, BATCH, 4}, f->y};
    CHECK_OK(eg_instance_bind(f->instance, "x", &in, &error), error);
    CHECK_OK(eg_instance_bind(f->instance, "y", &out, &error), error);
    f->info.size = sizeof f->info;
    eg_program_info_get(f->program, &f->info);
}

static void close_fixture(fixture *f) {
    eg_instance_destroy(f->instance);
    eg_program_release(f->program);
    eg_graph_destroy(f->graph);
    eg_context_destroy(f->context);
}

static void run(fixture *f, int runs) {
    eg_error error;
    for (int i = 0; i < runs; i++) CHECK_OK(eg_run(f->instance, NULL, &error), error);
}

/* How many events a run of one thread has. */
static uint64_t events_of(const fixture *f) {
    uint64_t count = f->info.run_steps;
    for (size_t i = 0; i < f->info.run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        eg_program_step(f->program, i, &step, NULL);
        count += step.body_steps * TIME;
    }
    return count;
}

TEST(recorder, events_are_end_to_end) {
    fixture f;
    eg_error error;
    eg_recorder *r;
    open_fixture(&f, 1);
    CHECK_OK(eg_recorder_create(
                 f.context, &(eg_recorder_options){.size = sizeof(eg_recorder_options), .every = 1},
                 &r, &error),
             error);
    run(&f, 3);
    CHECK(eg_recorder_count(r) == 0, "events of nobody");
    CHECK_OK(eg_instance_record(f.instance, r, &error), error);
    run(&f, 3);
    CHECK_OK(eg_instance_record(f.instance, NULL, &error), error);
    run(&f, 1);
    const uint64_t each = events_of(&f);
    CHECK(eg_recorder_count(r) == 3 * each && eg_recorder_runs(r) == 3, "%llu events, not 3 x %llu",
          (unsigned long long)eg_recorder_count(r), (unsigned long long)each);
    CHECK(each > f.info.run_steps, "no scan in it");
    /* a step of the run begins where the one before ended; what is inside of a scan lies inside of it */
    uint64_t last_end = 0, inner_end = 0, inner_begin = UINT64_MAX;
    uint64_t last_run = 0;
    for (uint64_t i = 0; i < eg_recorder_count(r); i++) {
        eg_record_event e;
        CHECK_OK(eg_recorder_event(r, i, &e, &error), error);
        CHECK(e.begin <= e.end && e.thread == 0 && e.parts == 1, "event %llu",
              (unsigned long long)i);
        if (e.time != UINT32_MAX) {
            if (e.begin < inner_begin) inner_begin = e.begin;
            CHECK(e.begin >= inner_end, "overlaps");
            inner_end = e.end;
            continue;
        }
        if (e.run == last_run)
            CHECK(e.begin == last_end, "a gap before event %llu", (unsigned long long)i);
        if (inner_begin != UINT64_MAX)
            CHECK(e.begin <= inner_begin && inner_end <= e.end, "a body outside of its scan");
        inner_begin = UINT64_MAX;
        last_end = e.end;
        last_run = e.run;
    }
    eg_record_event none;
    CHECK_FAILS(eg_recorder_event(r, eg_recorder_count(r), &none, &error), error, EG_ERR_ARGUMENT,
                "no such event");
    eg_recorder_destroy(r);
    close_fixture(&f);
}

TEST(recorder, sums) {
    for (unsigned threads = 1; threads <= 2; threads++) {
        fixture f;
        eg_error error;
        eg_recorder *r;
        eg_step_time steps[64];
        double whole, sum = 0, shares = 0;
        open_fixture(&f, threads);
        CHECK(f.info.steps <= 64, "%zu steps", f.info.steps);
        CHECK_OK(eg_recorder_create(f.context, NULL, &r, &error), error);
        CHECK_OK(eg_instance_record(f.instance, r, &error), error);
        CHECK_FAILS(eg_recorder_steps(r, f.program, steps, &whole, &error), error, EG_ERR_ARGUMENT,
                    "nothing was recorded");
        run(&f, 5);
        CHECK_OK(eg_recorder_steps(r, f.program, steps, &whole, &error), error);
        for (size_t i = 0; i < f.info.steps; i++) {
            eg_step_info info = {.size = sizeof info};
            CHECK_OK(eg_program_step(f.program, i, &info, &error), error);
            const bool prologue = strcmp(info.part, "prologue") == 0, inside = info.part[0] == 's';
            CHECK(steps[i].calls == (prologue ? 0u
                                     : inside ? TIME
                                              : 1u),
                  "step %zu (%s): %llu calls", i, info.part, (unsigned long long)steps[i].calls);
            CHECK(steps[i].self <= steps[i].seconds + 1e-12 && steps[i].least <= steps[i].most,
                  "step %zu: %g of %g s", i, steps[i].self, steps[i].seconds);
            sum += steps[i].self;
            shares += steps[i].share;
        }
        CHECK(fabs(sum - whole) < 1e-9 + 1e-6 * whole && fabs(shares - 1) < 1e-6,
              "steps take %g s of %g, shares %g", sum, whole, shares);
        eg_recorder_destroy(r);
        close_fixture(&f);
    }
}

/* ---- a clock that is made up: a tick is a nanosecond, and how long everything takes is known */
enum { PRETEND_RUNS = 4, BETWEEN = 7, AROUND = 11 };

/* Of one thread's part of a step inside of a scan. */
static uint64_t inner_ticks(unsigned thread, uint32_t time, uint64_t k) {
    return 100 + 10 * k + time + 3 * thread;
}

/* All parts of a scan, and the scan around them; returns when it ended. */
static uint64_t pretend_scan(eg__record *record, uint64_t begin, uint32_t index,
                             const eg_step_info *step, uint64_t slow, uint64_t run) {
    uint64_t last = begin;
    for (unsigned thread = 0; thread < record->threads; thread++) {
        uint64_t now = begin + AROUND;
        for (uint32_t t = 0; t < TIME; t++, now += BETWEEN)
            for (uint64_t k = 0; k < step->body_steps; k++) {
                const uint64_t end = now + slow * inner_ticks(thread, t, k);
                eg__ring_add(&record->rings[thread], now, end, (uint32_t)(step->body + k), t, 1,
                             run);
                eg__ring_last(&record->rings[thread])->first = t == 0;
                now = end;
            }
        if (now > last) last = now;
    }
    eg__ring_add(&record->rings[0], begin, last + AROUND, index, UINT32_MAX, record->threads, run);
    return last + AROUND;
}

static uint64_t pretend_run(const fixture *f, eg__record *record, uint64_t now, uint64_t slow,
                            uint64_t run) {
    for (size_t i = 0; i < f->info.run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        eg_program_step(f->program, i, &step, NULL);
        if (step.body_steps) {
            now = pretend_scan(record, now, (uint32_t)i, &step, slow, run);
            continue;
        }
        const uint64_t end = now + slow * (1000 + 10 * i);
        eg__ring_add(&record->rings[0], now, end, (uint32_t)i, UINT32_MAX, 1, run);
        now = end;
    }
    return now;
}

static double difference(double a, double b) { return fabs(a - b); }

/* What the quicker two of the runs took, counted by hand; its sums are those of the recorder. */
static void check_pretended(const fixture *f, unsigned threads, const eg_step_time *steps,
                            double whole) {
    const double slow = (1 + 2) / 2.0, ns = 1e-9;
    double self = 0;
    for (size_t i = 0; i < f->info.steps; i++) self += steps[i].self;
    CHECK(difference(self, whole) < 1e-15, "steps take %.17g s of %.17g", self, whole);
    for (size_t i = 0; i < f->info.run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        eg_program_step(f->program, i, &step, NULL);
        if (!step.body_steps) {
            const double expected = slow * (double)(1000 + 10 * i) * ns;
            CHECK(difference(steps[i].self, expected) < 1e-15, "step %zu: %g s, not %g", i,
                  steps[i].self, expected);
            continue;
        }
        double of_last = 0, of_mean = 0;
        for (uint64_t k = 0; k < step.body_steps; k++) {
            double mean = 0;
            for (uint32_t t = 0; t < TIME; t++) {
                of_last += (double)inner_ticks(threads - 1, t, k);
                for (unsigned p = 0; p < threads; p++)
                    mean += (double)inner_ticks(p, t, k) / threads;
            }
            of_mean += mean;
            const eg_step_time *inner = &steps[step.body + k];
            CHECK(difference(inner->self, slow * mean * ns) < 1e-15 && inner->calls == TIME,
                  "%llu of the body: %g s, not %g", (unsigned long long)k, inner->self,
                  slow * mean * ns);
        }
        const double around = 2 * AROUND + TIME * BETWEEN;
        CHECK(difference(steps[i].seconds, (slow * of_last + around) * ns) < 1e-15 &&
                  difference(steps[i].self, (slow * (of_last - of_mean) + around) * ns) < 1e-15,
              "a scan of %g s, %g of it its own", steps[i].seconds, steps[i].self);
    }
}

TEST(recorder, sums_of_a_clock_made_up) {
    static const uint64_t slow[PRETEND_RUNS] = {1, 5, 2, 7};
    /* far apart, and further than 32 bits tell */
    static const uint64_t number[PRETEND_RUNS] = {1, 4000000000u, UINT64_C(1) << 33,
                                                  (UINT64_C(1) << 47) + 1};
    for (unsigned threads = 1; threads <= 3; threads++) {
        fixture f;
        eg_error error;
        eg_recorder *r;
        eg_step_time steps[64];
        eg_record_run list[PRETEND_RUNS];
        double whole, sum = 0;
        open_fixture(&f, threads);
        CHECK_OK(eg_recorder_create(f.context, NULL, &r, &error), error);
        uint64_t now = 5000;
        r->record.began = now;
        for (int i = 0; i < PRETEND_RUNS; i++)
            now = 13 + pretend_run(&f, &r->record, now, slow[i], number[i]);
        r->record.ended = now;
        r->record.ended_ns = now - 5000;
        CHECK_OK(eg_recorder_steps(r, f.program, steps, &whole, &error), error);
        check_pretended(&f, threads, steps, whole);
        CHECK(eg_recorder_runs(r) == PRETEND_RUNS, "%llu runs",
              (unsigned long long)eg_recorder_runs(r));
        CHECK_OK(eg_recorder_run_list(r, list, &error), error);
        for (int i = 0; i < PRETEND_RUNS; i++) {
            CHECK(list[i].run == number[i] && list[i].counted == (slow[i] <= 2),
                  "run %llu of number %llu", (unsigned long long)list[i].run,
                  (unsigned long long)number[i]);
            if (list[i].counted) sum += list[i].seconds;
        }
        CHECK(difference(sum / 2, whole) < 1e-15, "runs of %g s, not %g", sum / 2, whole);
        eg_recorder_destroy(r);
        close_fixture(&f);
    }
}

/* One of several time steps stands for all of them: fewer events, the same calls, and still every part of the run. */
TEST(recorder, every_so_many_time_steps) {
    for (uint32_t every = 2; every <= EG_RECORD_EVERY;
         every = every < TIME ? every + 1 : every * 16) {
        fixture f;
        eg_error error;
        eg_recorder *r;
        eg_step_time steps[64];
        double whole, sum = 0;
        open_fixture(&f, 1);
        CHECK_OK(eg_recorder_create(
                     f.context,
                     &(eg_recorder_options){.size = sizeof(eg_recorder_options), .every = every},
                     &r, &error),
                 error);
        CHECK_OK(eg_instance_record(f.instance, r, &error), error);
        run(&f, 3);
        uint64_t stands = 0, recorded = 0, body = 0;
        for (size_t i = 0; i < f.info.run_steps; i++) {
            eg_step_info step = {.size = sizeof step};
            CHECK_OK(eg_program_step(f.program, i, &step, &error), error);
            body += step.body_steps;
        }
        for (uint64_t i = 0; i < eg_recorder_count(r); i++) {
            eg_record_event e;
            CHECK_OK(eg_recorder_event(r, i, &e, &error), error);
            if (e.time == UINT32_MAX) continue;
            stands += e.parts;
            recorded++;
        }
        CHECK(stands == 3 * TIME * body, "%llu time steps of %llu", (unsigned long long)stands,
              (unsigned long long)(3 * TIME * body));
        CHECK(recorded == 3 * body * (1 + (TIME - 1 + every - 1) / every), "every %u: %llu events",
              every, (unsigned long long)recorded);
        CHECK_OK(eg_recorder_steps(r, f.program, steps, &whole, &error), error);
        for (size_t i = 0; i < f.info.steps; i++) {
            eg_step_info info = {.size = sizeof info};
            CHECK_OK(eg_program_step(f.program, i, &info, &error), error);
            CHECK(info.part[0] != 's' || steps[i].calls == TIME, "step %zu: %llu calls", i,
                  (unsigned long long)steps[i].calls);
            sum += steps[i].self;
        }
        CHECK(fabs(sum - whole) < 1e-9 + 1e-6 * whole, "steps take %g s of %g", sum, whole);
        eg_recorder_destroy(r);
        close_fixture(&f);
    }
    fixture f;
    eg_error error;
    eg_recorder *r;
    open_fixture(&f, 1);
    CHECK_FAILS(eg_recorder_create(f.context,
                                   &(eg_recorder_options){.size = sizeof(eg_recorder_options),
                                                          .every = EG_RECORD_EVERY + 1},
                                   &r, &error),
                error, EG_ERR_ARGUMENT, "4097 time steps");
    close_fixture(&f);
}

TEST(recorder, turns) {
    static const struct {
        eg_recorder_options options;
        const char *kept; /* of runs 1 .. 12 */
    } cases[] = {{{0}, "111111111111"},
                 {{.skip = 2}, "001111111111"},
                 {{.skip = 1, .wait = 1, .warmup = 1, .active = 3, .repeat = 2}, "000111001110"},
                 {{.active = 1, .wait = 1}, "010101010101"},
                 {{.warmup = 2, .active = 2, .repeat = 1}, "001100000000"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fixture f;
        eg_error error;
        eg_recorder *r;
        open_fixture(&f, 1);
        CHECK_OK(eg_recorder_create(f.context, &cases[c].options, &r, &error), error);
        CHECK_OK(eg_instance_record(f.instance, r, &error), error);
        for (int round = 0; round < 2; round++) {
            char kept[13] = "000000000000";
            run(&f, 12);
            for (uint64_t i = 0; i < eg_recorder_count(r); i++) {
                eg_record_event e;
                CHECK_OK(eg_recorder_event(r, i, &e, &error), error);
                if (e.run >= 1 && e.run <= 12) kept[e.run - 1] = '1';
            }
            CHECK(strcmp(kept, cases[c].kept) == 0, "case %zu: %s, not %s", c, kept, cases[c].kept);
            eg_recorder_clear(r);
            CHECK(eg_recorder_count(r) == 0, "not cleared");
        }
        eg_recorder_destroy(r);
        close_fixture(&f);
    }
}

TEST(recorder, lost_events) {
    fixture f;
    eg_error error;
    eg_recorder *r;
    eg_step_time steps[64];
    open_fixture(&f, 1);
    const uint64_t each = events_of(&f);
    CHECK_OK(eg_recorder_create(f.context,
                                &(eg_recorder_options){.size = sizeof(eg_recorder_options),
                                                       .events = 3 * each,
                                                       .every = 1},
                                &r, &error),
             error);
    CHECK_OK(eg_instance_record(f.instance, r, &error), error);
    run(&f, 20);
    CHECK(eg_recorder_lost(r) + eg_recorder_count(r) == 20 * each, "%llu lost",
          (unsigned long long)eg_recorder_lost(r));
    CHECK(eg_recorder_runs(r) >= 2, "%llu whole runs", (unsigned long long)eg_recorder_runs(r));
    CHECK_OK(eg_recorder_steps(r, f.program, steps, NULL, &error), error);
    CHECK(steps[0].calls == 1, "%llu calls", (unsigned long long)steps[0].calls);
    eg_recorder_destroy(r);
    CHECK_OK(eg_recorder_create(f.context, &(eg_recorder_options){.events = 2}, &r, &error), error);
    CHECK_OK(eg_instance_record(f.instance, r, &error), error);
    run(&f, 3);
    CHECK_FAILS(eg_recorder_steps(r, f.program, steps, NULL, &error), error, EG_ERR_ARGUMENT,
                "more events than the recorder keeps");
    CHECK_OK(eg_instance_record(f.instance, NULL, &error), error);
    eg_recorder_destroy(r);
    fixture other;
    open_fixture(&other, 1);
    CHECK_OK(eg_recorder_create(other.context, NULL, &r, &error), error);
    CHECK_FAILS(eg_instance_record(f.instance, r, &error), error, EG_ERR_ARGUMENT,
                "another context");
    eg_recorder_destroy(r);
    close_fixture(&other);
    CHECK_FAILS(
        eg_recorder_create(f.context, &(eg_recorder_options){.events = UINT64_MAX}, &r, &error),
        error, EG_ERR_ARGUMENT, "events");
    close_fixture(&f);
}
