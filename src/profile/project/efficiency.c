/* Efficiencies of our kernels relative to the ceilings: fitted to single kernels, never to
 * models. */
#include "elegans/project.h"
#include "engine/context.h"
#include "profile/measure/burst.h"
#include "profile/project/project.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- non-negative least squares by coordinate descent until convergence: six factors and about
 * ten cases, so speed does not matter */
void eg__fit_factors(size_t count, const double (*terms)[EG__TERMS], const double *times,
                     const double *scales, double factors[EG__TERMS]) {
    enum { TURNS = 4000 };
    memset(factors, 0, EG__TERMS * sizeof *factors);
    for (int turn = 0; turn < TURNS; turn++)
        for (int f = 0; f < EG__TERMS; f++) {
            double up = 0, down = 0;
            for (size_t i = 0; i < count; i++) {
                double rest = times[i];
                for (int k = 0; k < EG__TERMS; k++)
                    if (k != f) rest -= factors[k] * terms[i][k];
                const double weight = 1 / (scales[i] * scales[i]);
                up += weight * rest * terms[i][f];
                down += weight * terms[i][f] * terms[i][f];
            }
            factors[f] = down > 0 && up > 0 ? up / down : 0;
        }
}

static void factors_store(const double factors[EG__TERMS], eg_work_efficiency *out) {
    out->call = factors[EG__TERM_CALL];
    out->row = factors[EG__TERM_ROW];
    out->product = factors[EG__TERM_PRODUCT];
    out->simple = factors[EG__TERM_SIMPLE];
    out->functions = factors[EG__TERM_FUNCTIONS];
    out->bytes = factors[EG__TERM_BYTES];
}

static double predicted(const eg_efficiency *e, const eg_step_cost *cost,
                        const eg__machine *machine) {
    double terms[EG__TERMS];
    const eg_work_efficiency *k = &e->work[cost->work];
    eg__cost_terms(cost, machine, terms);
    return k->call + k->row * terms[EG__TERM_ROW] + k->product * terms[EG__TERM_PRODUCT] +
           k->simple * terms[EG__TERM_SIMPLE] + k->functions * terms[EG__TERM_FUNCTIONS] +
           k->bytes * terms[EG__TERM_BYTES];
}

/* ---- the measurement: rounds over all cases, so that a slow phase of the machine affects all
 * alike */
enum { ROUNDS = 5, CASES_MAX = 96, COSTS_MAX = 16 };
typedef struct fit {
    eg_context *context;
    eg__machine machine;
    size_t count;
    eg__fit_case *cases[CASES_MAX];
    double rounds[CASES_MAX][ROUNDS];
    double ns[CASES_MAX]; /* of one run */
} fit;

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(fit *f, double seconds) {
    const double each = seconds / (double)(ROUNDS * f->count);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < f->count; i++)
            f->rounds[i][round] = eg__burst_measure(eg__fit_case_run, f->cases[i], each).best * 1e9;
    for (size_t i = 0; i < f->count; i++) {
        qsort(f->rounds[i], ROUNDS, sizeof f->rounds[i][0], compare);
        f->ns[i] = f->rounds[i][ROUNDS / 2];
    }
}

/* For one case: the summed terms of its steps of `kind`, and the part of its time that remains for
 * them. */
static eg_status case_terms(const fit *f, size_t index, eg_work work, const eg_efficiency *e,
                            double terms[EG__TERMS], double *left, eg_error *error) {
    eg_step_cost costs[COSTS_MAX];
    const eg_program *program = eg__fit_case_program(f->cases[index]);
    eg_program_info info = {.size = sizeof info};
    size_t count;
    eg_program_info_get(program, &info);
    if (info.steps > COSTS_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "a case of %zu steps", info.steps);
    eg_status status = eg_program_costs(program, costs, &count, error);
    if (status) return status;
    memset(terms, 0, EG__TERMS * sizeof *terms);
    *left = f->ns[index] - e->run;
    for (size_t i = 0; i < count; i++) {
        double step[EG__TERMS];
        if (costs[i].work != work) {
            *left -= costs[i].calls * predicted(e, &costs[i], &f->machine);
            continue;
        }
        eg__cost_terms(&costs[i], &f->machine, step);
        for (int k = 0; k < EG__TERMS; k++) terms[k] += costs[i].calls * step[k];
    }
    return EG_OK;
}

/* Degrees of freedom: cases beyond the number of factors. */
static size_t freedom(size_t cases, const double factors[EG__TERMS]) {
    size_t used = 0;
    for (int i = 0; i < EG__TERMS; i++) used += factors[i] > 0;
    return cases > used ? cases - used : 1;
}

static eg_status fit_work(const fit *f, eg_work work, eg_efficiency *e, double *squares,
                          eg_error *error) {
    double terms[CASES_MAX][EG__TERMS], times[CASES_MAX] = {0}, scales[CASES_MAX] = {0};
    double factors[EG__TERMS];
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (eg__fit_case_work(i) != work) continue;
        eg_status status = case_terms(f, i, work, e, terms[n], &times[n], error);
        if (status) return status;
        scales[n++] = f->ns[i];
    }
    eg_work_efficiency *out = &e->work[work];
    eg__fit_factors(n, (const double(*)[EG__TERMS])terms, times, scales, factors);
    factors_store(factors, out);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double residual = -times[i];
        for (int k = 0; k < EG__TERMS; k++) residual += factors[k] * terms[i][k];
        sum += residual * residual / (scales[i] * scales[i]);
    }
    out->cases = (unsigned)n;
    out->error = sqrt(sum / (double)freedom(n, factors));
    *squares += sum;
    return EG_OK;
}

static eg_status fit_all(const fit *f, eg_efficiency *out, eg_error *error) {
    double squares = 0;
    eg_status status = EG_OK;
    memset(out, 0, sizeof *out);
    /* the first case has two tiny steps, the second six */
    const double step = fmax(0, (f->ns[1] - f->ns[0]) / 4);
    out->run = fmax(0, f->ns[0] - 2 * step);
    out->clock = f->machine.clock;
    for (int i = 0; i < 3; i++)
        if (f->machine.size[i] > 0) out->level[i] = f->machine.bandwidth[i] / f->machine.peak;
    /* loops last: their remaining time needs the factors of the others */
    for (int work = 0; !status && work < EG_WORK_COUNT; work++)
        status = fit_work(f, (eg_work)work, out, &squares, error);
    out->error = sqrt(squares / (double)f->count);
    out->provenance = EG_MEASURED;
    out->source = "fitted to single kernels on this machine";
    return status;
}

eg_status eg_efficiency_fit(eg_context *context, const eg_ceilings *ceilings, double seconds,
                            eg_efficiency *out, eg_error *error) {
    if (!context || !ceilings || !out || !(seconds >= 0))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, no ceilings, no output pointer or no time");
    if (eg__threads_count(context->threads) != 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "the context has %u threads, efficiencies need 1",
                        eg__threads_count(context->threads));
    eg_error reason = {EG_ERR_MEMORY, ""};
    fit *f = eg__memory_take_zeroed(context->memory, EG_TAG_MEASURE, sizeof *f, &reason);
    if (!f) return eg__fail(error, reason.status, "%s", reason.message);
    f->context = context;
    f->count = eg__min(eg__fit_case_count(), CASES_MAX);
    eg_status status = eg__machine_measured(&context->chip, ceilings, &f->machine, error);
    for (size_t i = 0; !status && i < f->count; i++)
        status = eg__fit_case_create(context, i, &f->cases[i], error);
    if (!status) {
        measure(f, seconds > 0 ? seconds : 1.5);
        status = fit_all(f, out, error);
    }
    for (size_t i = 0; i < f->count; i++) eg__fit_case_destroy(f->cases[i]);
    eg__memory_give(context->memory, f);
    return status;
}
