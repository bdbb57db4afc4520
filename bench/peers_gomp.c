/* The OpenMP run time of gcc: threads of oneDNN and BLIS, and a parallel loop to race against. What
 * gcc makes of `#pragma omp parallel for` is called by hand, so that no compiler needs OpenMP. */
#include "library.h"
#include "peers.h"

static struct {
    void (*set_num_threads)(int count);
    int (*get_num_threads)(void);
    int (*get_thread_num)(void);
    void (*parallel)(void (*function)(void *data), void *data, unsigned threads, unsigned flags);
} gomp; /* filled by gomp_open */

void gomp_open(void) {
    void *library = library_open(library_gomp);
    library_find(library, "omp_set_num_threads", &gomp.set_num_threads);
    library_find(library, "omp_get_num_threads", &gomp.get_num_threads);
    library_find(library, "omp_get_thread_num", &gomp.get_thread_num);
    library_find(library, "GOMP_parallel", &gomp.parallel);
}

void gomp_threads_set(unsigned count) {
    if (gomp.set_num_threads) gomp.set_num_threads((int)count);
}

/* schedule(static): each thread works out its own part */
static void loop_part(void *data) {
    const launch_problem *p = data;
    size_t threads = (size_t)gomp.get_num_threads(), thread = (size_t)gomp.get_thread_num();
    size_t first = 2 * thread / threads, last = 2 * (thread + 1) / threads;
    for (size_t block = first; block < last; block++) p->function(p->job, block);
}

static void run_loop(void *state) { gomp.parallel(loop_part, state, 2, 0); }

void gomp_launch(bench *b, race *r, const launch_problem *problem) {
    if (!gomp.parallel || !gomp.get_num_threads || !gomp.get_thread_num) return;
    launch_problem *state = bench_take(b, sizeof *state);
    *state = *problem;
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = "libgomp",
                             .variant = "parallel for",
                             .run = run_loop,
                             .state = state});
}
