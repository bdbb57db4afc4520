/* Grids: one model at several batch sizes, lengths and data types, here or on another chip, and the best batch size.
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
    const uint64_t
        *batches; /* from 1; NULL = 1, 8, 32 and powers of two up to the preset's maximum */
    const uint64_t *lengths; /* steps of a sample, from 1; NULL = profile.seq alone */
    const eg_type *types;    /* EG_F32, EG_F16, EG_BF16, EG_I8, EG_I4; NULL = eg_grid_type alone */
    size_t batch_count, length_count, type_count;
    uint64_t budget;        /* bytes that a cell may take; 0 = that of the preset */
    const eg_chip_row *row; /* project to this chip; NULL = measure this machine */
    /* how cells are measured on this machine, except batch and length; NULL = defaults */
    const eg_profile_options *profile;
} eg_grid_options;

typedef struct eg_grid_cell {
    uint64_t batch, length;
    eg_type type;
    eg_unit unit;      /* the fastest unit that computes in this type; on this machine the cores */
    eg_metric seconds; /* of a run, the median; unavailable: not run, and why */
    double low, high;  /* 95 % interval, about; NaN = unknown */
    eg_metric samples; /* samples/s */
    eg_metric tflops;  /* TFLOP/s */
    eg_metric efficiency;  /* tflops over the peak of the threads, or of the unit */
    eg_metric bandwidth;   /* GB/s to and from the DRAM */
    eg_metric memory;      /* bytes of weights, values, states, inputs and outputs, as planned */
    eg_noise noise;        /* of measured times; EG_NOISE_NONE of projected ones */
    int fits;              /* 1: memory is within the budget */
    int best;              /* 1: the best batch for its length and type */
    const char *condition; /* under which the figures hold; static; NULL = none */
} eg_grid_cell;

typedef struct eg_grid_choice { /* of one length and type */
    uint64_t length;
    eg_type type;
    const eg_grid_cell *cell; /* NULL = none fits: see reason */
    int most;                 /* 1: the most samples per second of all types of this length */
    char reason[200];
} eg_grid_choice;

typedef struct eg_grid eg_grid; /* opaque */
/* The data type of most bytes of a model's weights: its own type, in which a cell is measured. *alone, which may be
 * NULL, is 1 where weights are quantized already (eg_model_quantize, a file): no other type is possible then. */
EG_API eg_type eg_grid_type(const eg_model *model, int *alone);
/* On this machine a cell is compiled and, if it is of the model's own type and fits, profiled; the time of another
 * type is that time multiplied by the ratio that a projection with the measured ceilings gives. On another chip every
 * cell is projected (eg_project), on the fastest unit that has the type. Cells that do not fit are not run. The best
 * batch is the smallest that fits and is within 2 % of the most samples per second: less than 2 % is noise, and a
 * larger batch has a higher latency. EG_ERR_ARGUMENT: a batch or length of 0, more than 4096 cells;
 * EG_ERR_UNSUPPORTED: a type that is not listed above, or another type than that of a quantized model. `options` may
 * be NULL. You own *out. */
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
