/* elegans run: sequences in, a model over them, sequences out. */
#ifndef EG__CLI_RUN_H
#define EG__CLI_RUN_H

#include "cli/cli.h"

typedef struct run_settings {
    const char *model;
    const char *input, *output;
    const char *time, *timespans; /* the column that has them: a name, a number, "last" */
    const char *first;            /* elapsed time of the first step, of --time */
    const char *state, *save_state;
    table_settings table;
    uint64_t digits;
    const char *batch;  /* a number, "auto", or NULL: all samples at once */
    const char *preset; /* of a chip: its batch and memory budget */
    uint64_t size;      /* of the batch; 0 = auto */
    bool stream, raw, json;
    const char *activations;
} run_settings;

/* A batch of sequences and what becomes of them. */
typedef struct run_data {
    uint64_t batch, steps;
    bool batched;        /* the input has an axis for samples */
    eg_tensor x;         /* [batch, steps, inputs] */
    eg_tensor timespans; /* [batch, steps]; all zero = 1 for each */
    eg_tensor y;         /* [batch, steps, outputs] */
    eg_tensor states;    /* [batch, state]: before the run, and after it */
    eg_link link;        /* of the model, also with --raw */
    double seconds;      /* of the run alone */
    eg_type activations; /* of runs of all samples at once */
} run_data;

/* How far a model is from another one, and what both take. */
typedef struct run_difference {
    uint64_t samples, steps;
    bool is_random;
    eg_difference off; /* of the outputs */
    double seconds[2]; /* of a run, best of several: of the one, of the other */
} run_difference;

/* ---- run_input.c */
int run_read(eg_context *context, const run_settings *settings, const eg_model *model,
             run_data *data);
/* The elapsed time of the first step: what was asked for, or what the model learned. */
int run_first_span(const run_settings *settings, const eg_model *model, bool timed, double *out);
/* Zeros, or what the file has; one row per sample. */
int run_read_state(eg_context *context, const run_settings *settings, const eg_model_info *info,
                   run_data *data);
/* ---- run_steps.c */
/* One sample; `name` is the model's. */
int run_steps(eg_context *context, eg_model *model, const char *name, const eg_model_info *info,
              run_data *data);
int run_batch(eg_context *context, const eg_model *model, run_data *data);
/* The same with activations of f32 and with those of the data, and how far these are from each other. */
int run_rounded(eg_context *context, const eg_model *model, run_data *data);
/* So many samples at a time; 0 = as many as fit into memory, more and more of them. */
int run_batches(eg_context *context, const eg_model *model, const char *name, uint64_t size,
                run_data *data);
/* ---- run_compare.c */
/* On the input of the wish or, without, on random sequences. Both have the same inputs and outputs. */
int run_compare(eg_context *context, const run_settings *settings, const eg_model *wide,
                const eg_model *other, run_difference *out);
/* ---- run_tokens.c: the same of transformers, on random tokens */
int run_tokens(eg_context *context, const eg_model *wide, const eg_model *other,
               run_difference *out);
void run_print_difference(const run_difference *difference);
void run_put_difference(json *object, const eg_difference *difference);
void run_put_outputs(json *object, const run_settings *settings, const run_difference *difference);
/* ---- run_stream.c: lines from stdin, one step each */
int run_stream(eg_context *context, eg_model *model, const run_settings *settings,
               const eg_model_info *info, run_data *data);
/* ---- run_output.c */
int run_write(eg_context *context, const run_settings *settings, const eg_model *model,
              const run_data *data);
int run_write_state(const run_settings *settings, const run_data *data);
void run_print_values(const run_settings *settings, const float *values, uint64_t count);

#endif
