/* The thread pool: a launch is one store that spinning workers see; they sleep when idle. */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Spinning catches the next launch of a busy program within some 50 ns; a wake-up through the
 * system costs 20-40 us. Half a millisecond of spinning pays for that many times over and stays
 * below the millisecond after which an idle core must be quiet. */
enum { SPIN_NS = 400000, SPINS_PER_YIELD = 64 };

/* A worker's own cache lines: the launcher writes `sleeping` only under the lock, the worker writes
 * `done` once per job, so there is no false sharing. */
typedef struct worker {
    _Alignas(64) atomic_uint done; /* the last job this worker finished */
    atomic_uint claimed; /* the last job of which it, or the launcher for it, began its blocks */
    atomic_bool sleeping;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t handle;
    eg__threads *pool;
    unsigned index;
    bool running, locks_made;
} worker;

struct eg__threads {
    _Alignas(64) atomic_uint launched; /* number of the current job; workers watch it */
    eg__block_function function;
    void *job;
    size_t blocks;
    _Alignas(64) atomic_flag busy; /* a thread is inside eg__threads_run */
    unsigned count;
    pid_t process; /* process that owns the workers; a forked child has none */
    atomic_bool stopping;
    eg__thread_start start;
    void *user;
    eg_team_function team;
    void *team_user;
    worker workers[]; /* 0 stands for the caller and is unused */
};

static inline void pause_core(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* `yield` is a no-op on most cores */
#endif
}

size_t eg__threads_size(unsigned count) {
    return sizeof(eg__threads) + (size_t)count * sizeof(worker);
}

/* The blocks of `owner`, run by `thread`. */
static void run_owned(eg__threads *pool, unsigned owner, unsigned thread) {
    size_t first = pool->blocks * owner / pool->count;
    size_t last = pool->blocks * (owner + 1) / pool->count;
    for (size_t block = first; block < last; block++) pool->function(pool->job, block, thread);
}

/* Whoever is first runs the blocks of a worker. A worker that comes late must not even look at the job: there may be
 * another one by now. */
static bool claim(worker *w, unsigned job) {
    unsigned before = job - 1;
    return atomic_compare_exchange_strong_explicit(&w->claimed, &before, job, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Waits until `launched` differs from `seen`: spins, then sleeps until woken. */
static unsigned wait_for_job(eg__threads *pool, worker *self, unsigned seen) {
    uint64_t give_up = 0;
    for (unsigned spins = 1;; spins++) {
        unsigned now = atomic_load_explicit(&pool->launched, memory_order_acquire);
        if (now != seen) return now;
        pause_core();
        if (spins % SPINS_PER_YIELD) continue;
        sched_yield(); /* the launcher may be waiting for this core */
        uint64_t time = eg_clock_ns();
        if (!give_up) give_up = time + SPIN_NS;
        if (time > give_up) break;
    }
    pthread_mutex_lock(&self->lock);
    /* Sequentially consistent with the launcher's store and load: either it sees `sleeping` and
     * wakes us, or we see its job here. */
    atomic_store(&self->sleeping, true);
    unsigned now;
    while ((now = atomic_load(&pool->launched)) == seen)
        pthread_cond_wait(&self->wake, &self->lock);
    atomic_store(&self->sleeping, false);
    pthread_mutex_unlock(&self->lock);
    return now;
}

static void *worker_main(void *argument) {
    worker *self = argument;
    eg__threads *pool = self->pool;
    if (pool->start) pool->start(pool->user, self->index);
    for (unsigned seen = 0;;) {
        seen = wait_for_job(pool, self, seen);
        if (atomic_load(&pool->stopping)) return NULL;
        if (!claim(self, seen)) continue;
        run_owned(pool, self->index, self->index);
        atomic_store_explicit(&self->done, seen, memory_order_release);
    }
}

static void launch(eg__threads *pool) {
    atomic_fetch_add(&pool->launched, 1);
    for (unsigned t = 1; t < pool->count; t++) {
        worker *w = &pool->workers[t];
        if (!atomic_load(&w->sleeping)) continue;
        pthread_mutex_lock(&w->lock);
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
    }
}

/* A worker that has not begun when the launcher is done with its own blocks sleeps, or has no core: other libraries let
 * their threads spin there for milliseconds. Then the launcher runs its blocks. One that has begun may have lost its core,
 * perhaps to us: let the system run something else now and then. On a crowded core a launch takes 6 us that way instead of
 * 400. */
static void wait_until_done(eg__threads *pool, unsigned job) {
    for (unsigned t = 1; t < pool->count; t++) {
        worker *w = &pool->workers[t];
        if (claim(w, job)) {
            run_owned(pool, t, 0);
            continue;
        }
        for (unsigned spins = 1; atomic_load_explicit(&w->done, memory_order_acquire) != job;
             spins++) {
            if (spins % SPINS_PER_YIELD) pause_core();
            else sched_yield();
        }
    }
}

void eg__threads_join(eg__threads *pool, eg_team_function team, void *user) {
    pool->team = team;
    pool->team_user = user;
}

static void run_member(void *argument, unsigned thread) {
    eg__threads *pool = argument;
    run_owned(pool, thread, thread);
}

void eg__threads_run(eg__threads *pool, size_t blocks, eg__block_function function, void *job) {
    bool alone = !pool || pool->count < 2 || blocks < 2;
    if (alone || atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        for (size_t block = 0; block < blocks; block++) function(job, block, 0);
        return;
    }
    pool->function = function;
    pool->job = job;
    pool->blocks = blocks;
    if (!pool->team || !pool->team(pool->team_user, pool->count, run_member, pool)) {
        launch(pool);
        run_owned(pool, 0, 0);
        wait_until_done(pool, atomic_load_explicit(&pool->launched, memory_order_relaxed));
    }
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

void eg__threads_stop(eg__threads *pool) {
    if (!pool || pool->process != getpid()) return;
    atomic_store(&pool->stopping, true);
    launch(pool);
    for (unsigned t = 1; t < pool->count; t++) {
        worker *w = &pool->workers[t];
        if (w->running) pthread_join(w->handle, NULL);
        if (!w->locks_made) continue;
        pthread_cond_destroy(&w->wake);
        pthread_mutex_destroy(&w->lock);
    }
}

eg_status eg__threads_start(void *memory, unsigned count, eg__thread_start start, void *user,
                            eg__threads **out, eg_error *error) {
    *out = NULL;
    if (count < 1 || count > EG__THREADS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "%u threads are not within 1..%d", count,
                        EG__THREADS_MAX);
    memset(memory, 0, eg__threads_size(count));
    eg__threads *pool = memory;
    pool->count = count;
    pool->process = getpid();
    pool->start = start;
    pool->user = user;
    atomic_flag_clear(&pool->busy);
    for (unsigned t = 1; t < count; t++) {
        worker *w = &pool->workers[t];
        w->pool = pool;
        w->index = t;
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->wake, NULL);
        w->locks_made = true;
        w->running = pthread_create(&w->handle, NULL, worker_main, w) == 0;
        if (w->running) continue;
        eg__threads_stop(pool);
        return eg__fail(error, EG_ERR_SYSTEM, "cannot start thread %u of %u", t, count);
    }
    *out = pool;
    return EG_OK;
}

unsigned eg__threads_count(const eg__threads *pool) { return pool ? pool->count : 1; }
