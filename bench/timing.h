/* Contestants of one case, measured in turns: short bursts one after the other, so that a slow
 * phase of the machine hits all of them alike, and the best burst of each round kept. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include "base/base.h"

enum { CONTESTANTS_MAX = 32, ROUNDS_MAX = 64 };

typedef enum role {
    ROLE_OURS,
    ROLE_PEER,
    ROLE_PEAK, /* what the hardware can do: shown, not raced */
    ROLE_OTHER /* ours in another configuration: shown, not raced */
} role;

typedef struct contestant {
    role role;
    const char *name;    /* the library; its variants share it, and the fastest one stands for it */
    const char *variant; /* "nt", "avx512"; "" = there is only one */
    void (*run)(void *state);
    void (*end)(void *state); /* gives back what `state` holds; NULL = nothing */
    void *state;
    double work;           /* operations or elements of one call; 0 = the race's */
    double ulp;            /* largest error, for functions; 0 = not measured */
    size_t calls;          /* in a burst */
    double pilot;          /* ns per call, roughly */
    double ns[ROUNDS_MAX]; /* per call, the best of each round */
} contestant;

typedef struct race {
    contestant list[CONTESTANTS_MAX];
    size_t count;
    unsigned rounds;
    double work;
    float *out; /* what all of them compute */
    size_t out_size;
    bool settles; /* idle threads of one contestant may still spin while the next one runs */
} race;

typedef struct pace {
    unsigned rounds;
    double round_ns;    /* time for one round of a case ... */
    unsigned min_turns; /* ... and the bursts it has at least, however long they are */
} pace;

void race_add(race *r, contestant c);
/* Runs each contestant once and drops, loudly, those whose result differs from ours by more than
 * `tolerance` times the largest value. Returns how many it dropped. */
unsigned race_verify(race *r, const char *title, double tolerance);
void race_run(race *r, const pace *p);
void race_end(race *r);

double median(const double *values, size_t count);

#endif
