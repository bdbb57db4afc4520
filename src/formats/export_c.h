/* A program on its way to C source: what its steps touch, names for it, and the text. */
#ifndef EG__EXPORT_C_H
#define EG__EXPORT_C_H

#include "elegans/export.h"
#include "engine/program.h"
#include "formats/file.h"

enum { EG__C_NAME = 64, EG__C_TEXT = 256 };

/* A piece of memory that steps touch as one. Pieces of the arena lie without gaps in the exported one;
 * pieces of weights become arrays. */
typedef struct eg__c_range {
    uint32_t space;
    size_t from, size; /* in its space, in floats */
    size_t place;      /* in the exported arena */
    size_t k, n;       /* the right side of a product, packed where it comes from; 0 = as it is */
    bool is_index;     /* i32 */
    const eg__step_gemm *small; /* whose right side it is, in small numbers; NULL = floats */
    char name[EG__C_NAME];
    char more[3]
             [EG__C_NAME]; /* names of scales, zero points and ends of groups, where it has them */
} eg__c_range;

/* How a step runs: all its items at once, and in a scan with a variable `t`. */
typedef struct eg__c_frame {
    size_t count;
    size_t length; /* of the scan it is in; 0 = outside */
} eg__c_frame;

typedef struct eg__c_export {
    eg_program *program;
    const char *name;
    const float *data[EG__SPACE_BOUND]; /* of parameters, derived values and constants */
    eg__c_range *ranges;
    size_t range_count;
    char (*names)[EG__C_NAME]; /* taken: of states, inputs, outputs, then arrays */
    size_t name_count;
    bool *used;       /* per input and output: some step touches it */
    uint64_t helpers; /* functions of the source that steps call, by bit */
    size_t row;       /* in the exported arena: a row that is made int8; behind all else */
    eg_export_info info;
    eg__writer *writer;
    unsigned indent;
    uint64_t lines;   /* written so far, to either file */
    eg_status status; /* of the first failure; later calls do nothing */
    eg_error *error;
} eg__c_export;

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
bool eg__c_is_identifier(const char *name); /* and no word that C or the source uses */
/* An identifier like `wanted` that nothing has, entered into the list. */
const char *eg__c_name(eg__c_export *x, const char *wanted);

/* ---- what steps touch */
typedef void eg__c_visitor(eg__c_export *x, const eg__step *step, const eg__c_frame *frame);
/* The steps of a run in order; bodies of scans come after the step that is the scan. */
void eg__c_each(eg__c_export *x, eg__c_visitor *visit);
/* The frame of a step in the body of `scan`. */
eg__c_frame eg__c_body_frame(const eg__c_export *x, const eg__step *scan, const eg__step *step);
static inline size_t eg__c_timed(const eg__c_export *x, size_t n, bool timed) {
    return timed ? n * x->program->length : n;
}
static inline bool eg__c_is_product(const eg__step *step) {
    return step->run == eg__run_gemm || step->run == eg__run_gemm_turned ||
           step->run == eg__run_gemm_small;
}
static inline bool eg__c_is_synapses(const eg__step *step) {
    return step->run == eg__run_synapses || step->run == eg__run_synapses_dv ||
           step->run == eg__run_synapses_dp;
}
/* Floats of an operand that a step touches, from where it begins at one step of a scan. */
size_t eg__c_span(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                  unsigned operand);
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

/* The array that an operand lies in; NULL = it is no array. */
const eg__c_range *eg__c_array(const eg__c_export *x, const eg__step *step,
                               const eg__c_frame *frame, unsigned operand);

/* ---- right sides in small numbers: one row per column of the product */
void eg__c_small_collect(eg__c_export *x, const eg__step *step); /* what is not supported */
void eg__c_small_name(eg__c_export *x, eg__c_range *range, const char *wanted);
size_t eg__c_small_bytes(const eg__c_export *x, const eg__c_range *range);
void eg__c_small_write(eg__c_export *x, const eg__c_range *range);
/* "w_a, scale_a, NULL, 1": what the function takes of it, in order. */
void eg__c_small_arguments(const eg__c_export *x, const eg__c_range *range, char out[EG__C_TEXT]);
const char *eg__c_small_helper(const eg__step *step); /* "product_i8" */

/* ---- parts of the source */
typedef struct eg__c_function {
    const char *name, *text;
} eg__c_function;
enum { EG__C_SMALL_FUNCTIONS = 17 };
extern const eg__c_function eg__c_small_functions[EG__C_SMALL_FUNCTIONS];
bool eg__c_is_function(const char *name); /* of any source */
void eg__c_write_data(eg__c_export *x);
/* The text of an operation with inputs $a, $b, $c; NULL = it has none. */
const char *eg__c_operation(eg__fused_op op);
void eg__c_write_fused(eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                       const eg__fused_program *program, unsigned first, size_t rows,
                       size_t columns);
/* The function that a step calls; NULL = none. */
const char *eg__c_helper(const eg__step *step);
bool eg__c_needs_integers(const eg__c_export *x);
void eg__c_need_helpers(eg__c_export *x, const eg__step *step);
void eg__c_write_helpers(eg__c_export *x);
void eg__c_write_steps(eg__c_export *x);

#endif
