/* A small test frame: one topic per file, tables of ways to be wrong, failures that reproduce.
 *
 *   AREA(gemm, "every gemm kernel against the reference in double")
 *   TEST(gemm, odd_shapes) { CHECK(error < 1e-6, "m %zu n %zu: error %g", m, n, error); }
 *
 * `build/tests [FILTER] [-AREA]...` runs the tests whose "area.name" contains FILTER, without those of the
 * areas left out. With ELEGANS_TIMES set, the processor seconds of each go to stderr. */
#ifndef EG__TEST_H
#define EG__TEST_H

#include "base/base.h"
#include "memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_area {
    const char *name, *claim;
    struct test_area *next;
    unsigned passed, failed, skipped;
} test_area;

typedef struct test_case {
    const char *area, *name;
    void (*function)(void);
    struct test_case *next;
} test_case;

void test_area_add(test_area *area);
void test_case_add(test_case *test);
/* Reports a failure of the running test; the test goes on, its first ten failures are printed. */
void test_fail(const char *file, int line, const char *format, ...) EG_PRINTF(3, 4);
/* Marks the running test as skipped and says why; the test should return. */
void test_skip(const char *format, ...) EG_PRINTF(1, 2);
/* ELEGANS_QUICK is set, under sanitizers to 1 or, where threads are watched, "threads", and under emulators to
 * "emulated": tables may be shortened, what is only large left out. */
bool test_quick(void);
/* Under emulators only: what is the same C on every processor may be left to the other runs. */
bool test_emulated(void);
bool test_gives_away(
    void); /* this process may give files to other users: root, outside of a user namespace */
/* Under the thread sanitizer only. */
bool test_watches_threads(void);
/* More detail than the claim: replaces it in the printed line ("412 shapes x 3 kernels ..."). */
void test_claim(const char *format, ...) EG_PRINTF(1, 2);

#define AREA(area, claim)                                         \
    static test_area area_##area = {#area, claim, NULL, 0, 0, 0}; \
    __attribute__((constructor)) static void area_add_##area(void) { test_area_add(&area_##area); }

#define TEST(area, name)                                                                \
    static void test_##area##_##name(void);                                             \
    static test_case case_##area##_##name = {#area, #name, test_##area##_##name, NULL}; \
    __attribute__((constructor)) static void case_add_##area##_##name(void) {           \
        test_case_add(&case_##area##_##name);                                           \
    }                                                                                   \
    static void test_##area##_##name(void)

#define CHECK(condition, ...)                                         \
    do {                                                              \
        if (!(condition)) test_fail(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)
#define CHECK_OK(call, error)                                                         \
    do {                                                                              \
        eg_status status_ = (call);                                                   \
        if (status_) test_fail(__FILE__, __LINE__, "%s: %s", #call, (error).message); \
    } while (0)
/* The call must fail with `status`, and its message must contain `part`. */
#define CHECK_FAILS(call, error, expected, part)                                       \
    do {                                                                               \
        (error).message[0] = 0;                                                        \
        eg_status status_ = (call);                                                    \
        if (status_ != (expected) || !strstr((error).message, part))                   \
            test_fail(__FILE__, __LINE__, "%s: %s '%s', expected %s with '%s'", #call, \
                      eg_status_name(status_), (error).message, #expected, part);      \
    } while (0)

/* Exactly n bytes of heap, so that the address sanitizer sees an access beyond; never NULL. */
void *test_alloc(size_t size);
/* The larger of a distance so far and one more; a NaN stays, where fmax would pass over it. */
double test_worse(double worst, double off);
/* Reproducible numbers: uniform in [-1, 1), the same on every machine. */
float test_random(uint64_t *state);

/* `path` below tests/ of the source tree, and below $ELEGANS_DATA (NULL when that is not set). Both
 * return a static buffer that the next call overwrites. */
const char *test_path(const char *path);
const char *test_data(const char *path);
/* A fresh empty folder for files of the running test, removed at the end of the run. */
const char *test_folder(void);

/* Calls attempt(user, memory) with the 1st, 2nd, ... allocation failing until it succeeds; each
 * failure must be EG_ERR_MEMORY and nothing may stay allocated. Under an emulator and
 * where threads are watched only some of them fail. Returns how many there are. */
typedef eg_status (*test_attempt)(void *user, const eg_allocator *allocator, eg_error *error);
int test_every_allocation(test_attempt attempt, void *user);
/* The same within one context, whose making takes longer than many an attempt. */
typedef eg_status (*test_inner_attempt)(void *user, eg_context *context, eg_error *error);
int test_every_allocation_within(test_inner_attempt attempt, void *user);

#endif
