/* Export of a program to C source: memory that its steps use, names, and the text. */
#ifndef EG__EXPORT_C_H
#define EG__EXPORT_C_H

#include "elegans/export.h"
#include "engine/program.h"
#include "formats/files/file.h"

enum { EG__C_NAME = 64, EG__C_TEXT = 256 };

/* A range of memory that steps use as one. Ranges of the arena are contiguous in the exported one;
 * ranges of weights become arrays. */
typedef struct eg__c_range {
    uint32_t space;
    size_t from, size;              /* in its space, in floats */
    size_t place;                   /* in the exported arena */
    size_t k, n;                    /* the packed right side of a product; 0 = not packed */
    bool is_index;                  /* i32 */
    const eg__step_gemm *quantized; /* whose quantized right side it is; NULL = floats */
    char name[EG__C_NAME];
    char more[3]
             [EG__C_NAME]; /* names of scales, zero points and ends of groups, where it has them */
} eg__c_range;

/* How a step runs: all its items at once, and in a scan with a variable `t`. */
typedef struct eg__c_frame {
    size_t count;
    size_t length; /* of the scan it is in; 0 = outside */
} eg__c_frame;

typedef struct eg__c_export eg__c_export;
/* What a model adds to the comment of both files: lines that begin with " * ". */
typedef void eg__c_describe(eg__c_export *x, const void *user);

struct eg__c_export {
    eg_program *program;
    const char *name;
    eg__c_describe *describe; /* NULL = a program has nothing to add */
    const void *described;
    const float *data[EG__SPACE_BOUND]; /* of parameters, derived values and constants */
    eg__c_range *ranges;
    size_t range_count;
    char (*names)[EG__C_NAME]; /* taken: of states, inputs, outputs, then arrays */
    size_t name_count;
    bool *used;         /* per input and output: some step touches it */
    uint64_t functions; /* of the source that steps call, by bit */
    size_t row;         /* in the exported arena: a row that is made int8; behind all else */
    eg_export_info info;
    eg__writer *writer;
    unsigned indent;
    uint64_t lines;   /* written so far, to either file */
    eg_status status; /* of the first failure; later calls do nothing */
    eg_error *error;
};

/* eg_export_c, with more to say in the comment. */
eg_status eg__export_c(eg_program *program, eg_weights *weights, const char *directory,
                       const char *name, eg__c_describe *describe, const void *user,
                       eg_export_info *info, eg_error *error);

/* ---- text */
void eg__c_fail(eg__c_export *x, eg_status status, const char *format, ...) EG_PRINTF(3, 4);
void eg__c_put(eg__c_export *x, const char *format, ...) EG_PRINTF(2, 3);  /* as it is */
void eg__c_line(eg__c_export *x, const char *format, ...) EG_PRINTF(2, 3); /* indented */
void eg__c_open(eg__c_export *x, const char *format, ...) EG_PRINTF(2, 3); /* and "{": a block */
void eg__c_close(eg__c_export *x);
/* Text at the end of what `out` (EG__C_TEXT) has. */
void eg__c_add(char out[EG__C_TEXT], const char *format, ...) EG_PRINTF(2, 3);
/* "0.5f": the shortest text that is this float again. */
const char *eg__c_number(float value, char out[32]);
const char *eg__c_name_fault(const char *name); /* why it is not a valid C name; NULL = it is */
/* A unique identifier like `wanted`, added to the list of names. */
const char *eg__c_name(eg__c_export *x, const char *wanted);

/* ---- kinds of steps: what a row of steps.def names */
typedef struct eg__c_writing {
    eg__c_export *x;
    const eg__step *step;
    const eg__c_frame *frame;
    char at[3][EG__C_TEXT]; /* pointers to the first operands */
    size_t rows;
} eg__c_writing;

/* A function of the source. */
typedef struct eg__c_function {
    const char *name, *text;
} eg__c_function;

typedef struct eg__c_step {
    /* What it calls, without a text where a list of functions has that; no name = none, or it depends on the step: */
    eg__c_function function;
    const char *(*function_of)(const eg__step *step);
    /* Floats of an operand that a step uses, from its beginning at one step of a scan. */
    size_t (*span)(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                   unsigned operand);
    void (*write)(eg__c_writing *w); /* its statements; NULL = it has none */
    /* Whether an operand is a list of i32; NULL = none is. */
    bool (*is_index)(const eg__c_export *x, const eg__step *step, unsigned operand);
    void (*collect)(eg__c_export *x,
                    const eg__step *step); /* looks at it beforehand; may be NULL */
    unsigned chain;   /* the first operand of its elementwise chain, where it has one */
    bool packed_side; /* operand 1 is a right side that the prologue packs */
    /* Steps of the prologue: the name of what was packed to `offset` of the derived values. */
    const char *(*packed)(const eg__c_export *x, const eg__step *step, size_t offset);
    bool (*reads_infile)(const eg__step *step); /* an input in file layout: not supported in C */
} eg__c_step;
const eg__c_step *eg__c_row(const eg__step *step);
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, c, ...) \
    extern const eg__c_step eg__c_step_##c;
#include "graph/steps/steps.def"

/* Floats from the first of `columns` in a row to the last in the last row. */
static inline size_t eg__c_rows(size_t rows, size_t stride, size_t columns) {
    return rows ? (rows - 1) * stride + columns : 0;
}
/* The same for an operand of an elementwise chain. */
size_t eg__c_chain(eg__fused_kind kind, size_t stride, size_t rows, size_t columns);

/* ---- what steps touch */
typedef void eg__c_visitor(eg__c_export *x, const eg__step *step, const eg__c_frame *frame);
/* The steps of a run in order; bodies of scans come after the step that is the scan. */
void eg__c_each(eg__c_export *x, eg__c_visitor *visit);
/* The frame of a step in the body of `scan`. */
eg__c_frame eg__c_body_frame(const eg__c_export *x, const eg__step *scan, const eg__step *step);
static inline size_t eg__c_timed(const eg__c_export *x, size_t n, bool timed) {
    return timed ? n * x->program->length : n;
}
void eg__c_collect(eg__c_export *x); /* fills ranges, names, used */
/* A constant of one element that is written into the code; NULL = something else. */
const float *eg__c_literal(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                           unsigned operand);
/* "arena", "self->h", "w_bias" and, in `terms`, what is to be added: "20 + t * 8", or "". */
void eg__c_place(eg__c_export *x, const eg__step *step, const eg__c_frame *frame, unsigned operand,
                 char base[EG__C_TEXT], char terms[EG__C_TEXT]);
/* "arena + 20 + t * 8" */
const char *eg__c_pointer(eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                          unsigned operand, char out[EG__C_TEXT]);

/* The parameter, state ... at an offset of its space; NULL = none. `index` may be NULL. */
const eg__leaf *eg__c_leaf(const eg__leaves *leaves, size_t offset, size_t *index);

/* The array that an operand lies in; NULL = it is no array. */
const eg__c_range *eg__c_array(const eg__c_export *x, const eg__step *step,
                               const eg__c_frame *frame, unsigned operand);

/* ---- quantized right sides: one row per column of the product */
void eg__c_quantized_collect(eg__c_export *x, const eg__step *step); /* what is not supported */
void eg__c_quantized_name(eg__c_export *x, eg__c_range *range, const char *wanted);
size_t eg__c_quantized_bytes(const eg__c_export *x, const eg__c_range *range);
void eg__c_quantized_write(eg__c_export *x, const eg__c_range *range);
/* "w_a, scale_a, NULL, 1": its arguments of the function, in order. */
void eg__c_quantized_arguments(const eg__c_export *x, const eg__c_range *range,
                               char out[EG__C_TEXT]);
const char *eg__c_quantized_function(const eg__step *step); /* "product_i8" */

/* ---- parts of the source */
typedef struct eg__c_functions {
    const eg__c_function *list;
    size_t count;
} eg__c_functions;
extern const eg__c_functions eg__c_functions_products, eg__c_functions_rows, eg__c_functions_moves,
    eg__c_functions_synapses, eg__c_functions_attention, eg__c_functions_conv,
    eg__c_functions_quantized;
bool eg__c_is_function(const char *name); /* of any source */
void eg__c_write_data(eg__c_export *x);
/* The text of an operation with inputs $a, $b, $c; NULL = it has none. */
const char *eg__c_operation(eg__fused_op op);
void eg__c_write_fused(eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                       const eg__fused_program *program, unsigned first, size_t rows,
                       size_t columns);
/* The function that a step calls; NULL = none. */
const char *eg__c_function_of(const eg__step *step);
bool eg__c_needs_integers(const eg__c_export *x);
void eg__c_need_functions(eg__c_export *x, const eg__step *step);
void eg__c_write_functions(eg__c_export *x);
void eg__c_write_steps(eg__c_export *x);

#endif
