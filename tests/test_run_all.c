/* Several instances run by one call: each as if it ran alone, whatever the number of threads. */
#include "test.h"
#include "test_models.h"

AREA(run_all, "instances at once: the bits of eg_run, seeds, stops, refusals")

enum { MOST = 5 };
static const model_case with_dropout = {"cfc", 9, 37, 12, 20, .gradient = true, .dropout = true};

typedef struct together {
    model_run m;
    eg_instance *instances[MOST];
    eg_tensor loss[MOST], gradient[MOST];
} together;

static together open_all(unsigned threads) {
    together t = {.m = model_open(&with_dropout, threads, NULL)};
    eg_error error;
    const char *name;
    eg_tensor out;
    for (size_t k = 0; k < MOST; k++) {
        CHECK_OK(eg_instance_create(t.m.program, t.m.weights, &t.instances[k], &error), error);
        for (size_t i = 0; i < t.m.input_count; i++)
            CHECK_OK(eg_instance_bind(t.instances[k],
                                      eg_program_leaf(t.m.program, EG_LEAF_INPUT, i, NULL),
                                      &t.m.inputs[i], &error),
                     error);
        for (size_t i = 0; (name = eg_program_leaf(t.m.program, EG_LEAF_OUTPUT, i, NULL)); i++)
            CHECK_OK(eg_instance_output(t.instances[k], name, &out, &error), error);
        CHECK_OK(eg_instance_output(t.instances[k], "loss", &t.loss[k], &error), error);
        CHECK_OK(eg_instance_output(t.instances[k], "d0", &t.gradient[k], &error), error);
    }
    return t;
}

static void close_all(together *t) {
    for (size_t k = 0; k < MOST; k++) eg_instance_destroy(t->instances[k]);
    model_close(&t->m);
}

/* Instance k of a call with seed s is a run with seed s + k. */
TEST(run_all, as_alone) {
    eg_error error;
    for (unsigned threads = 1; threads <= 4; threads++) {
        together t = open_all(threads);
        model_run alone = model_open(&with_dropout, 1, NULL);
        for (size_t count = 1; count <= MOST; count++) {
            const eg_run_options options = {.size = sizeof options, .seed = 7};
            CHECK_OK(eg_run_all(count, t.instances, &options, &error), error);
            for (size_t k = 0; k < count; k++) {
                const eg_run_options own = {.size = sizeof own, .seed = 7 + k};
                CHECK_OK(eg_run(alone.instance, &own, &error), error);
                const eg_tensor loss = model_output(&alone, "loss"),
                                d0 = model_output(&alone, "d0");
                CHECK(tensor_distance(&loss, &t.loss[k]) == 0 &&
                          tensor_distance(&d0, &t.gradient[k]) == 0,
                      "%u threads: instance %zu of %zu differs by %g", threads, k, count,
                      tensor_distance(&d0, &t.gradient[k]));
            }
        }
        CHECK(tensor_distance(&t.gradient[0], &t.gradient[1]) > 0, "two seeds drew the same");
        CHECK_OK(eg_run_all(MOST, t.instances, NULL, &error), error);
        model_close(&alone);
        close_all(&t);
    }
}

static int stop_later(void *user) { return ++*(int *)user > 1; }
static int stop_at_once(void *user) { return ++*(int *)user > 0; }

TEST(run_all, stopped) {
    eg_error error;
    for (unsigned threads = 1; threads <= 4; threads++) {
        together t = open_all(threads);
        int asked = 0;
        eg_run_options options = {
            .size = sizeof options, .stop = stop_at_once, .stop_user = &asked};
        CHECK_FAILS(eg_run_all(MOST, t.instances, &options, &error), error, EG_ERR_STOPPED,
                    "stopped");
        CHECK(asked == 1, "asked %d times", asked);
        options.stop =
            stop_later; /* 20 ms later: these runs are over by then, or they are stopped */
        asked = 0;
        const eg_status status = eg_run_all(MOST, t.instances, &options, &error);
        CHECK(!status || (status == EG_ERR_STOPPED && asked == 2), "%s", error.message);
        CHECK_OK(eg_run_all(MOST, t.instances, NULL, &error), error);
        close_all(&t);
    }
}

/* The first instance that fails is the one that is heard of. */
TEST(run_all, failures) {
    eg_error error;
    together t = open_all(2), other = open_all(1);
    eg_instance *list[] = {t.instances[0], t.instances[1], t.instances[0]};
    CHECK_FAILS(eg_run_all(0, list, NULL, &error), error, EG_ERR_ARGUMENT, "no instance");
    CHECK_FAILS(eg_run_all(2, NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no instance");
    CHECK_FAILS(eg_run_all(3, list, NULL, &error), error, EG_ERR_ARGUMENT,
                "instances 0 and 2 are the same");
    list[2] = NULL;
    CHECK_FAILS(eg_run_all(3, list, NULL, &error), error, EG_ERR_ARGUMENT, "instance 2 is NULL");
    list[2] = other.instances[0];
    CHECK_FAILS(eg_run_all(3, list, NULL, &error), error, EG_ERR_ARGUMENT,
                "instances 0 and 2 are of two contexts");
    const eg_run_options small = {.size = 1}, longer = {.size = sizeof longer, .length = 1000};
    CHECK_FAILS(eg_run_all(2, list, &small, &error), error, EG_ERR_ARGUMENT, "eg_run_options");
    CHECK(eg_run_all(2, list, &longer, NULL) != EG_OK, "1000 steps ran");
    eg_instance *empty;
    CHECK_OK(eg_instance_create(t.m.program, t.m.weights, &empty, &error), error);
    list[2] = empty;
    CHECK_FAILS(eg_run_all(3, list, NULL, &error), error, EG_ERR_ARGUMENT, "has no memory");
    eg_instance_destroy(empty);
    CHECK_OK(eg_weights_begin(t.m.weights, 0, &error), error);
    CHECK_FAILS(eg_run_all(2, list, NULL, &error), error, EG_ERR_BUSY, "being changed");
    eg_weights_end(t.m.weights);
    CHECK_OK(eg_run_all(2, list, NULL, &error), error);
    close_all(&other);
    close_all(&t);
}
