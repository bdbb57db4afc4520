/* Shared libraries of others, loaded side by side although their symbols have the same names. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

enum { LIBRARY_NAMES_MAX = 4 };

typedef struct blas_name {
    const char *name;
    const char *files[LIBRARY_NAMES_MAX]; /* best first; patterns as of a shell */
} blas_name;

/* The BLAS libraries of this system; the one without a name ends the list. */
extern const blas_name library_blas[];
extern const char *const library_gomp[LIBRARY_NAMES_MAX];
extern const char *const library_sleef[LIBRARY_NAMES_MAX];
extern const char *const library_mvec[LIBRARY_NAMES_MAX];

/* The first of `files` that loads; NULL when none does. It sees its own symbols before ours. */
void *library_open(const char *const files[LIBRARY_NAMES_MAX]);
/* Puts the address of a function into *to, a pointer to one; NULL when there is none. */
void library_find(void *library, const char *symbol, void *to);

#endif
