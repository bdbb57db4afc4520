/* What the fit and the projection share: a machine as ceilings, a step as times at those ceilings. */
#ifndef EG__PROJECT_H
#define EG__PROJECT_H

#include "base/base.h"
#include "elegans/project.h"

enum { EG__LEVELS = EG_MEMORY_LEVELS };
typedef struct eg__machine {
    double peak;                  /* FLOP/ns, one core */
    double size[EG__LEVELS];      /* bytes that fit; 0 = there is no such level */
    double bandwidth[EG__LEVELS]; /* bytes/ns, one core */
    double memory_all;            /* bytes/ns of the memory, all cores */
    double cluster_l2, all_l2;    /* bytes: what one core may fill alone, what the fast ones share;
                                   * 0 = size[1] is nobody else's */
    unsigned fast, slow;          /* cores; fast 0 = as many as are asked for, all alike */
    double slow_speed;            /* of a slow core, in times of a fast one */
    double launch;                /* ns to start and join threads */
    double clock;                 /* GHz; 0 = unknown */
} eg__machine;
/* Bytes of the last cache: as it was measured, where that is less than what the system tells, which a guest has
 * from its host. `ceilings` may be NULL. 0 = there is none, or none that is quicker than the DRAM. */
uint64_t eg__last_cache(const eg_chip *chip, const eg_ceilings *ceilings);
/* EG_ERR_ARGUMENT names the ceiling that is missing. */
eg_status eg__machine_measured(const eg_chip *chip, const eg_ceilings *ceilings, eg__machine *out,
                               eg_error *error);
/* The machine with so many threads, the fast cores first: its second level is shared by them. */
eg__machine eg__machine_shared(const eg__machine *machine, unsigned threads);
/* What so many threads do together, in times of one fast core. */
double eg__machine_speed(const eg__machine *machine, unsigned threads);
/* By the table; caches are as quick, in times of the peak, as those of the efficiency's machine. */
eg_status eg__machine_of_row(const eg_chip_row *row, const eg_efficiency *efficiency,
                             eg__machine *out, eg_error *error);

/* One call of a step in ns: what each factor of eg_work_efficiency is a factor of. */
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
    double weights, values; /* bytes of an element, in times of those of an f32 */
} eg__storage;
typedef struct eg__retyping {
    eg__storage storage;
    double footprint[2]; /* what is left of it: outside of scans, inside */
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
