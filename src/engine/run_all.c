/* Runs of one or several instances with options. */
#include "base/abi.h"
#include "engine/loop.h"
#include "engine/program.h"
#include "graph/steps/stop.h"

typedef struct runs {
    eg_instance *const *instances;
    const eg_run_options *options;
    eg__stop *stop;
    eg__failure failure;
} runs;

static void run_one(void *user, size_t index, unsigned thread) {
    runs *r = user;
    eg_error error;
    (void)thread;
    const eg_status status = eg__instance_run(r->instances[index], r->options->length,
                                              r->options->seed + index, r->stop, &error);
    if (status) eg__failure_add(&r->failure, index, status, &error);
}

static eg_status check(size_t count, eg_instance *const *instances, eg_error *error) {
    if (!count || !instances) return eg__fail(error, EG_ERR_ARGUMENT, "no instance");
    for (size_t i = 0; i < count; i++) {
        if (!instances[i]) return eg__fail(error, EG_ERR_ARGUMENT, "instance %zu is NULL", i);
        if (eg__instance_program(instances[i])->context !=
            eg__instance_program(instances[0])->context)
            return eg__fail(error, EG_ERR_ARGUMENT, "instances 0 and %zu are of two contexts", i);
        for (size_t k = 0; k < i; k++)
            if (instances[k] == instances[i])
                return eg__fail(error, EG_ERR_ARGUMENT, "instances %zu and %zu are the same", k, i);
    }
    return EG_OK;
}

eg_status eg_run_all(size_t count, eg_instance *const *instances, const eg_run_options *given,
                     eg_error *error) {
    eg_run_options options;
    eg_status status = check(count, instances, error);
    if (!status) status = EG__OPTIONS(eg_run_options, &options, given, error);
    if (status) return status;
    eg__stop stop;
    if (options.stop)
        stop = (eg__stop){.function = options.stop,
                          .user = options.stop_user,
                          .caller = pthread_self(),
                          .next = eg_clock_ns()};
    runs r = {.instances = instances,
              .options = &options,
              .stop = options.stop ? &stop : NULL,
              .failure = {.error = error}};
    eg__threads *threads = eg__instance_program(instances[0])->context->threads;
    /* fewer than threads: one after the other, each on all of them. Inside a run on the pool, the steps of the instances
     * find it in use and are not divided. */
    if (count >= eg__threads_count(threads)) eg__threads_run(threads, count, run_one, &r);
    else
        for (size_t i = 0; i < count; i++) run_one(&r, i, 0);
    return r.failure.status;
}
