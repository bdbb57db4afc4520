/* The shared page: what a publisher writes and a monitor reads. Its layout is frozen per version: another layout has
 * another number.
 *
 * Counters are single words, stored one by one. What belongs together (a training, shares of operations) is a block
 * behind a sequence number that is odd while the block is written; a reader that sees it change reads again. All words
 * of a block are stored with release and loaded with acquire order, which costs nothing on x86-64 and needs no fence,
 * so that the thread sanitizer understands it, too. */
#ifndef EG__PAGE_H
#define EG__PAGE_H

#include "elegans/publish.h"

#include <stdatomic.h>
#include <stdbool.h>

#define EG__PAGE_MAGIC "elegans\n"
enum {
    EG__PAGE_VERSION = 1,
    EG__PAGE_SIZE = 16384,
    EG__PAGE_PROGRAM = 64,
    EG__PAGE_ACTIVITY = 32,
    EG__PAGE_MODEL = 128,
    /* Latencies: sixteen buckets for each power of two nanoseconds, up to 2^40 (18 minutes): 6.3 % wide or less. Below
     * 16 ns every nanosecond has its own. */
    EG__LATENCY_PER_OCTAVE = 16,
    EG__LATENCY_BUCKETS = 592
};

typedef _Atomic uint64_t eg__word;
_Static_assert(sizeof(eg__word) == 8, "words of the page are shared between programs");

/* A point of the loss curve: the mean over `weight` reports, up to this step. */
typedef struct eg__loss_point {
    uint64_t step, weight;
    double loss, validation; /* NaN = none */
} eg__loss_point;
typedef struct eg__page_training {
    uint64_t reports; /* 0 = it trains nothing */
    uint64_t epoch, epochs, step;
    double loss, validation, learning_rate, gradient_norm, seconds_left;
    uint64_t points, stride; /* of the curve; reports that make a point */
    eg__loss_point curve[EG_LOSS_POINTS];
} eg__page_training;
typedef struct eg__page_operations {
    uint64_t count;
    eg_operation_share shares[EG_OPERATION_SHARES];
} eg__page_operations;
enum {
    EG__TRAINING_WORDS = sizeof(eg__page_training) / 8,
    EG__OPERATIONS_WORDS = sizeof(eg__page_operations) / 8
};

typedef struct eg__page {
    /* written once, before the file has its name, but for peak_bandwidth */
    char magic[8];
    uint32_t version, size;
    uint64_t pid, process_start; /* together they name a process, also when a pid was used again */
    uint64_t pid_space;          /* where the pid has its meaning; 0 = unknown */
    int64_t started_ns;          /* since 1970 */
    eg__word peak_flops,
        peak_bandwidth; /* bits of doubles; NaN = unknown. The second follows the costs of a step */
    char program[EG__PAGE_PROGRAM], activity[EG__PAGE_ACTIVITY], model[EG__PAGE_MODEL];
    /* counters; those that are doubles are their bits */
    eg__word steps, tokens;
    eg__word timed_every; /* one step in so many is timed, about; 1 = all, 0 = none so far */
    eg__word step_flops, step_bytes;
    eg__word held, held_peak; /* bytes of the context */
    eg__word latency[EG__LATENCY_BUCKETS];
    /* blocks */
    eg__word training_sequence, training[EG__TRAINING_WORDS];
    eg__word operations_sequence, operations[EG__OPERATIONS_WORDS];
} eg__page;
_Static_assert(sizeof(eg__page) <= EG__PAGE_SIZE, "the page has a fixed size");

static inline uint64_t eg__bits_of(double value) {
    union {
        double value;
        uint64_t bits;
    } both = {.value = value};
    return both.bits;
}
static inline double eg__double_of(uint64_t bits) {
    union {
        uint64_t bits;
        double value;
    } both = {.bits = bits};
    return both.value;
}
static inline uint64_t eg__word_get(const eg__word *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}
static inline void eg__word_set(eg__word *word, uint64_t value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* ---- blocks: begin, put what changed, end; one writer */
void eg__block_begin(eg__word *sequence);
void eg__block_put(eg__word *block, size_t offset, const void *bytes, size_t size); /* of words */
void eg__block_end(eg__word *sequence);
/* False after many tries: whoever writes it stands still in between. */
bool eg__block_get(const eg__word *sequence, const eg__word *block, size_t words, void *out);

/* ---- latencies */
unsigned eg__latency_bucket(uint64_t ns);
uint64_t eg__latency_from(unsigned bucket); /* ns; that of the next bucket is where it ends */
/* The latency below which a share q (0..1) of the counted steps lies, in seconds; NaN = none were counted. */
double eg__latency_quantile(const uint64_t counts[EG__LATENCY_BUCKETS], double q);

/* ---- names: "<pid>-<serial>.page"; before it is complete ".<pid>-<serial>.new" */
bool eg__page_name_parse(const char *name, uint64_t *pid, bool *complete);

/* ---- the folder of this user */
enum { EG__PUBLISH_PATH = 1024 };
/* Its path, and a descriptor of it that the caller closes. `given` NULL = the first of $XDG_RUNTIME_DIR/elegans and
 * $TMPDIR/elegans-<uid> that is this user's alone; with `make`, created. EG_ERR_NOT_FOUND: there is none. */
eg_status eg__publish_folder(const char *given, bool make, char path[EG__PUBLISH_PATH],
                             int *descriptor, eg_error *error);

/* ---- processes */
typedef struct eg__process {
    uint64_t start;  /* in a unit of the system's; 0 = unknown */
    double resident; /* bytes; NaN = unknown */
} eg__process;
/* False = there is no such process (or only its exit status is left). */
bool eg__process_look(uint64_t pid, eg__process *out);
uint64_t eg__process_space(void); /* where pids of this process have their meaning; 0 = unknown */

/* How often this process is a child of a fork that the library saw. */
extern _Atomic unsigned eg__forks;
bool eg__forks_watch(void); /* false = forks cannot be seen */

#endif
