/* What the fit and the projection share: a machine as ceilings, a step as times at those ceilings. */
#ifndef EG__PROJECT_H
#define EG__PROJECT_H

#include "base/base.h"
#include "elegans/project.h"

enum { EG__LEVELS = EG_MEMORY_LEVELS };
typedef struct eg__machine {
    double peak;                  /* FLOP/ns, one core */
    double size[EG__LEVELS];      /* bytes per level; 0 = no such level */
    double bandwidth[EG__LEVELS]; /* bytes/ns, one core */
    double memory_all;            /* bytes/ns of the memory, all cores */
    /* bytes of L2: what one core may use, what the fast cores share; 0 = size[1] is private */
    double cluster_l2, all_l2;
    unsigned fast, slow;        /* cores; fast 0 = as many equal ones as requested */
    double slow_speed;          /* speed of a slow core relative to a fast one */
    double launch;              /* ns to start and join threads */
    double clock;               /* GHz; 0 = unknown */
    unsigned units;             /* matrix units of the fast clusters; 0 = none, or not to be used */
    double unit_rate;           /* FLOP/ns of products on one of them */
    const char *unit_condition; /* under which that holds; static */
} eg__machine;
/* The same machine, its matrix units used; false and the reason: it has none, or none with a known rate. */
bool eg__machine_matrix(const eg_chip_row *row, eg__machine *machine, const char **why);
/* Bytes of the last-level cache: the measured size if it is less than the reported one (virtual
 * machines report their host's). `ceilings` may be NULL. 0 = none, or none faster than the DRAM. */
uint64_t eg__last_cache(const eg_chip *chip, const eg_ceilings *ceilings);
/* EG_ERR_ARGUMENT names the ceiling that is missing. */
eg_status eg__machine_measured(const eg_chip *chip, const eg_ceilings *ceilings, eg__machine *out,
                               eg_error *error);
/* The machine with so many threads, fast cores first; they share L2. */
eg__machine eg__machine_shared(const eg__machine *machine, unsigned threads);
/* The speed of so many threads relative to one fast core. */
double eg__machine_speed(const eg__machine *machine, unsigned threads);
/* A machine from the chip table; cache bandwidths relative to the peak are assumed to be those of
 * the efficiency's machine. */
eg_status eg__machine_of_row(const eg_chip_row *row, const eg_efficiency *efficiency,
                             eg__machine *out, eg_error *error);

/* One call of a step in ns, as the terms that the factors of eg_work_efficiency multiply. */
enum {
    EG__TERM_CALL,
    EG__TERM_ROW,
    EG__TERM_PRODUCT,
    EG__TERM_SIMPLE,
    EG__TERM_FUNCTIONS,
    EG__TERM_BYTES,
    EG__TERMS
};
void eg__cost_terms(const eg_step_cost *cost, const eg__machine *machine, double out[EG__TERMS]);

/* ---- project_type.c: costs counted in f32, as they would be in another type */
typedef struct eg__storage {
    double weights, values; /* bytes per element relative to f32 */
} eg__storage;
typedef struct eg__retyping {
    eg__storage storage;
    double footprint[2]; /* the remaining share: outside of scans, inside */
} eg__retyping;
bool eg__storage_of(eg_type type, eg__storage *out); /* false: nothing is projected in that type */
void eg__retyping_make(eg__storage storage, size_t count, const eg_step_cost *costs,
                       eg__retyping *out);
double eg__cost_weights(const eg_step_cost *cost); /* bytes of the right side of a product, or 0 */
eg_step_cost eg__cost_retyped(const eg__retyping *retyping, const eg_step_cost *cost);

/* Factors >= 0 for which the sum over the cases of ((terms * factors - time) / scale)^2 is least. */
void eg__fit_factors(size_t count, const double (*terms)[EG__TERMS], const double *times,
                     const double *scales, double factors[EG__TERMS]);

/* ---- single kernels as programs, to be timed */
typedef struct eg__fit_case eg__fit_case;
size_t eg__fit_case_count(void);
eg_work eg__fit_case_work(size_t index);
eg_status eg__fit_case_create(eg_context *context, size_t index, eg__fit_case **out,
                              eg_error *error);
void eg__fit_case_destroy(eg__fit_case *c);
const eg_program *eg__fit_case_program(const eg__fit_case *c);
void eg__fit_case_run(void *fit_case);

#endif
