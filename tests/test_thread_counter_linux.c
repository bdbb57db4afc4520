/* Counters of all threads of the process: with an event of the kernel that needs no hardware. */
#include "test.h"
#include "base/threads.h"
#include "profile/measure/hardware.h"

#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

AREA(thread_counter,
     "an event is counted on threads that are older than the counter, and on new ones")

enum { PAGES = 64, THREADS = 3 };

/* Touches pages that nobody touched: each is one fault of this thread. */
static void touch(void *user, size_t block, unsigned thread) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)user;
    (void)block;
    (void)thread;
    volatile char *memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK((void *)memory != MAP_FAILED, "no pages");
    madvise((void *)memory, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++) memory[i * page] = 1;
    munmap((void *)memory, PAGES * page);
}

/* Not before every thread has one: else the first might do the work of all. */
static void touch_together(void *user, size_t block, unsigned thread) {
    unsigned *begun = user;
    __atomic_add_fetch(begun, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(begun, __ATOMIC_ACQUIRE) < THREADS) sched_yield();
    touch(user, block, thread);
}

static void *touch_alone(void *user) {
    touch(user, 0, 0);
    return NULL;
}

/* Faults while `work` ran; NAN where the kernel refuses. */
static double faults(void (*work)(eg__threads *threads), eg__threads *threads) {
    eg__thread_counter c;
    double value;
    bool whole;
    if (!eg__thread_counter_open(&c, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS)) return NAN;
    eg__thread_counter_start(&c);
    work(threads);
    CHECK(eg__thread_counter_stop(&c, &value, &whole) && whole, "nothing was told");
    CHECK(!c.count, "counters stay open");
    return value;
}

static void nothing(eg__threads *threads) { (void)threads; }
static void by_pool(eg__threads *threads) {
    unsigned begun = 0;
    eg__threads_run(threads, THREADS, touch_together, &begun);
}
static void by_new_thread(eg__threads *threads) {
    pthread_t thread;
    (void)threads;
    CHECK(pthread_create(&thread, NULL, touch_alone, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

TEST(thread_counter, old_and_new_threads) {
    eg__threads *threads;
    eg_error error;
    void *memory = aligned_alloc(64, (eg__threads_size(THREADS) + 63) / 64 * 64);
    CHECK_OK(eg__threads_start(memory, THREADS, NULL, NULL, &threads, &error), error);
    const double idle = faults(nothing, threads);
    if (isnan(idle)) test_skip("the kernel refuses counters");
    else {
        const double pool = faults(by_pool, threads), fresh = faults(by_new_thread, threads);
        CHECK(idle < PAGES, "%g faults of nothing", idle);
        CHECK(pool >= THREADS * PAGES, "%g faults of %d", pool, THREADS * PAGES);
        CHECK(fresh >= PAGES, "%g faults of %d", fresh, PAGES);
    }
    eg__threads_stop(threads);
    free(memory);
}

TEST(thread_counter, refusals) {
    eg__thread_counter c;
    CHECK(!eg__thread_counter_open(&c, 0xffff, 0) && !c.count && c.reason, "an event of no kind");
}
