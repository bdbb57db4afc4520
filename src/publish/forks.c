/* Forks of this process: counted, because a publisher must know that it is a copy, and asking the system for the pid
 * takes longer than a step may. */
#include "publish/page.h"

#include <pthread.h>

_Atomic unsigned eg__forks;

static bool watches;
static void count_fork(void) { atomic_fetch_add_explicit(&eg__forks, 1, memory_order_relaxed); }
static void watch(void) { watches = pthread_atfork(NULL, NULL, count_fork) == 0; }

bool eg__forks_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    return watches;
}
