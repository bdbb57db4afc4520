/* Grids: one model in batches, lengths and types, here or on another chip, and which batch to take.
 * Experimental. */
#ifndef ELEGANS_GRID_H
#define ELEGANS_GRID_H

#include "elegans/model.h"
#include "elegans/preset.h"
#include "elegans/profile.h"
#include "elegans/project.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_grid_options { /* all zero = defaults */
    size_t size;                 /* sizeof(eg_grid_options); 0 = the fields of version 0.1 */
    const uint64_t *batches; /* from 1; NULL = 1, 8, 32 and powers of two up to the preset's most */
    const uint64_t *lengths; /* steps of a sample, from 1; NULL = profile.seq alone */
    const eg_type *types;    /* EG_F32, EG_F16, EG_BF16, EG_I8, EG_I4; NULL = eg_grid_type alone */
    size_t batch_count, length_count, type_count;
    uint64_t budget;        /* bytes that a cell may take; 0 = that of the preset */
    const eg_chip_row *row; /* that chip, projected; NULL = this machine, measured */
    /* how cells are measured here, but for their batch and length; NULL = defaults */
    const eg_profile_options *profile;
} eg_grid_options;

typedef struct eg_grid_cell {
    uint64_t batch, length;
    eg_type type;
    eg_unit unit;          /* where: the quickest that computes in this type; here the cores */
    eg_metric seconds;     /* of a run, the median; unavailable: not run, and why */
    double low, high;      /* about 95 % of the time it is between; NaN = cannot be told */
    eg_metric samples;     /* samples/s */
    eg_metric tflops;      /* TFLOP/s */
    eg_metric efficiency;  /* tflops over the peak of the threads, or of the unit */
    eg_metric bandwidth;   /* GB/s to and from the DRAM */
    eg_metric memory;      /* bytes of weights, values, states, inputs and outputs, as planned */
    eg_noise noise;        /* of the times that were measured; EG_NOISE_NONE of all others */
    int fits;              /* 1: memory is within the budget */
    int best;              /* 1: the batch to take, for its length and type */
    const char *condition; /* what must hold; static; NULL = nothing */
} eg_grid_cell;

typedef struct eg_grid_choice { /* of one length and type */
    uint64_t length;
    eg_type type;
    const eg_grid_cell *cell; /* NULL = none: the reason says why */
    int most;                 /* 1: the most samples per second of all types of this length */
    char reason[200];
} eg_grid_choice;

typedef struct eg_grid eg_grid; /* opaque */
/* The type that most bytes of a model's weights have: its own, in which a cell is measured. *alone, which
 * may be NULL, is 1 where some are quantized numbers already (eg_model_quantize, a file): there is no other. */
EG_API eg_type eg_grid_type(const eg_model *model, int *alone);
/* A cell of this machine is compiled and, where it is of the model's own type and fits, profiled; other types take that time
 * times what a projection by the measured ceilings says of the type. On another chip every cell is
 * projected (eg_project), by the quickest unit that has the type. What would not fit is not run. The batch to
 * take is the smallest within 2 % of the most samples per second of those that fit: more than that is
 * noise, and a larger one answers later. EG_ERR_ARGUMENT: a batch or length of 0, more than 4096 cells;
 * EG_ERR_UNSUPPORTED: another type, or
 * one that is not its own of a model that has its own alone. `options` may be NULL. You own *out. */
EG_API eg_status eg_grid_create(eg_model *model, const eg_grid_options *options, eg_grid **out,
                                eg_error *error);
EG_API void eg_grid_destroy(eg_grid *grid);                  /* NULL is fine */
EG_API const eg_preset *eg_grid_preset(const eg_grid *grid); /* of the chip */
EG_API eg_metric eg_grid_budget(const eg_grid *grid);        /* bytes */
/* By length, then type, then batch, each in the order given. NULL past the end; both live as long as the
 * grid. */
EG_API const eg_grid_cell *eg_grid_cell_at(const eg_grid *grid, size_t index);
EG_API const eg_grid_choice *eg_grid_choice_at(const eg_grid *grid, size_t index);

#ifdef __cplusplus
}
#endif
#endif
