/* The pool runs every block exactly once whatever the number of threads, nests and shuts down. */
#include "test.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

AREA(threads, "every block once, for 1..8 threads, nested, concurrent, asleep")

enum { BLOCKS = 1000 };
typedef struct job {
    atomic_int seen[BLOCKS];
    eg__threads *pool;
} job;

static void mark(void *argument, size_t block, unsigned thread) {
    (void)thread;
    atomic_fetch_add(&((job *)argument)->seen[block], 1);
}

static eg__threads *start(unsigned count) {
    void *memory = NULL;
    if (posix_memalign(&memory, 128, eg__threads_size(count))) exit(1);
    eg__threads *pool;
    eg_error error;
    CHECK_OK(eg__threads_start(memory, count, NULL, NULL, &pool, &error), error);
    return pool;
}

static void stop(eg__threads *pool) {
    eg__threads_stop(pool);
    free(pool);
}

static void check_seen(job *j, size_t blocks, int times) {
    for (size_t b = 0; b < BLOCKS; b++)
        CHECK(j->seen[b] == (b < blocks ? times : 0), "block %zu of %zu ran %d times", b, blocks,
              j->seen[b]);
}

TEST(threads, every_block_once) {
    static const size_t blocks[] = {0, 1, 2, 3, 7, 8, 64, 999, 1000};
    for (unsigned count = 1; count <= 8; count++) {
        eg__threads *pool = start(count);
        CHECK(eg__threads_count(pool) == count, "count");
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            job j = {0};
            eg__threads_run(pool, blocks[i], mark, &j);
            check_seen(&j, blocks[i], 1);
        }
        stop(pool);
    }
    job j = {0};
    eg__threads_run(NULL, 10, mark, &j);
    check_seen(&j, 10, 1);
}

/* ---- workers that do not come: the launcher runs their blocks, and they leave later jobs alone */
static void wait_for_gate(void *user, unsigned thread) {
    (void)thread;
    while (!atomic_load((atomic_bool *)user)) usleep(100);
}

TEST(threads, a_worker_that_does_not_come_is_not_waited_for) {
    atomic_bool gate = false;
    void *memory = NULL;
    eg__threads *pool;
    eg_error error;
    if (posix_memalign(&memory, 128, eg__threads_size(3))) exit(1);
    CHECK_OK(eg__threads_start(memory, 3, wait_for_gate, &gate, &pool, &error), error);
    for (int i = 0; i < 10; i++) { /* would never end if it waited */
        job j = {0};
        eg__threads_run(pool, BLOCKS, mark, &j);
        check_seen(&j, BLOCKS, 1);
    }
    atomic_store(&gate, true);
    for (int i = 0; i < 1000;
         i++) { /* meanwhile they come, and see a job that is done or one that is not */
        job j = {0};
        eg__threads_run(pool, BLOCKS, mark, &j);
        check_seen(&j, BLOCKS, 1);
    }
    stop(pool);
}

static void nested(void *argument, size_t block, unsigned thread) {
    (void)block, (void)thread;
    eg__threads_run(((job *)argument)->pool, BLOCKS, mark, argument);
}

TEST(threads, a_block_may_run_blocks) {
    eg__threads *pool = start(3);
    job j = {.pool = pool};
    eg__threads_run(pool, 5, nested, &j);
    check_seen(&j, BLOCKS, 5);
    stop(pool);
}

static void *run_many(void *argument) {
    job *j = argument;
    for (int i = 0; i < 200; i++) eg__threads_run(j->pool, BLOCKS, mark, j);
    return NULL;
}

TEST(threads, two_callers_at_once) {
    eg__threads *pool = start(2);
    job j = {.pool = pool};
    pthread_t other;
    CHECK(pthread_create(&other, NULL, run_many, &j) == 0, "thread");
    run_many(&j);
    pthread_join(other, NULL);
    check_seen(&j, BLOCKS, 400);
    stop(pool);
}

static double processor_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

TEST(threads, idle_workers_sleep_and_wake) {
    eg__threads *pool = start(4);
    job j = {0};
    eg__threads_run(pool, BLOCKS, mark, &j);
    usleep(20000); /* far beyond the millisecond after which they must sleep */
    double before = processor_seconds();
    usleep(100000);
    double used = processor_seconds() - before;
    CHECK(used < 0.03, "%g s of processor time in 0.1 s of idleness", used);
    eg__threads_run(pool, BLOCKS, mark, &j);
    check_seen(&j, BLOCKS, 2);
    stop(pool);
}

/* ---- another pool, which may refuse, and may have one thread only */
typedef struct team {
    int calls, refuses;
} team;
static int ask_team(void *user, unsigned threads, void (*member)(void *, unsigned),
                    void *argument) {
    team *t = user;
    t->calls++;
    if (t->refuses) return 0;
    for (unsigned i = threads; i-- > 0;) member(argument, i);
    return 1;
}

TEST(threads, another_pool) {
    for (unsigned count = 1; count <= 4; count++)
        for (int refuses = 0; refuses < 2; refuses++) {
            team t = {.refuses = refuses};
            eg__threads *pool = start(count);
            eg__threads_join(pool, ask_team, &t);
            job j = {.pool = pool};
            eg__threads_run(pool, 7, mark, &j);
            eg__threads_run(pool, 1, mark, &j);
            CHECK(t.calls == (count > 1), "%u threads: asked %d times", count, t.calls);
            CHECK(j.seen[0] == 2, "block 0 ran %d times", j.seen[0]);
            atomic_store(&j.seen[0], 1);
            check_seen(&j, 7, 1);
            stop(pool);
        }
}

static void note_start(void *user, unsigned thread) {
    atomic_fetch_or((atomic_uint *)user, 1u << thread);
}

TEST(threads, start_function_and_limits) {
    atomic_uint started = 0;
    void *memory = NULL;
    if (posix_memalign(&memory, 128, eg__threads_size(4))) exit(1);
    eg__threads *pool;
    eg_error error;
    CHECK_OK(eg__threads_start(memory, 4, note_start, &started, &pool, &error), error);
    job j = {0};
    for (int i = 0; i < 100; i++) eg__threads_run(pool, 4, mark, &j);
    stop(pool);
    CHECK(started == 14, "threads %x", started);
    CHECK_FAILS(eg__threads_start(&j, 0, NULL, NULL, &pool, &error), error, EG_ERR_ARGUMENT, "0");
    CHECK_FAILS(eg__threads_start(&j, 257, NULL, NULL, &pool, &error), error, EG_ERR_ARGUMENT,
                "257");
    eg__threads_stop(NULL);
}
