/* Fork-join over fixed blocks. Which thread runs a block depends on the number of threads, what is
 * computed in it never does. */
#ifndef EG__THREADS_H
#define EG__THREADS_H

#include "base/base.h"

enum { EG__THREADS_MAX = 256 };

typedef struct eg__threads eg__threads;

/* Called once in each worker (1 .. count-1) as it starts; may bind it to a core. */
typedef void (*eg__thread_start)(void *user, unsigned thread);
/* One block of a job. `thread` (0 .. count-1) names per-thread scratch memory. */
typedef void (*eg__block_function)(void *job, size_t block, unsigned thread);

/* Bytes that eg__threads_start needs for `count` threads; the caller owns the memory (aligned to
 * 64), so that this folder allocates nothing. */
size_t eg__threads_size(unsigned count);
/* Starts count-1 workers; the caller of eg__threads_run is thread 0. On failure nothing runs. */
eg_status eg__threads_start(void *memory, unsigned count, eg__thread_start start, void *user,
                            eg__threads **out, eg_error *error);
/* Another thread pool, asked before the workers. It may have fewer threads: no member waits for another. */
void eg__threads_join(eg__threads *threads, eg_team_function team, void *user);
/* Ends and joins the workers. NULL is fine. */
void eg__threads_stop(eg__threads *threads);
unsigned eg__threads_count(const eg__threads *threads);

/* Runs function(job, b, t) for every b < blocks and returns when all are done. Thread t owns the
 * blocks from t*blocks/count up. From a second thread at the same time, or from inside a block, the
 * blocks run in the calling thread alone: same results. `threads` NULL does that, too. */
void eg__threads_run(eg__threads *threads, size_t blocks, eg__block_function function, void *job);

#endif
