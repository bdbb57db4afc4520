/* Kernels that work row by row, and those that only move data. Strides are in floats. */
#ifndef EG__ROWS_H
#define EG__ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum eg__reduction {
    EG__REDUCE_SUM,
    EG__REDUCE_MEAN,
    EG__REDUCE_MAX,
    EG__REDUCE_MIN,
    EG__REDUCE_ARGMAX, /* the first of equal maxima, or the first NaN */
    EG__REDUCE_COUNT
} eg__reduction;

/* One result per row, in y or, for argmax, in index. A row of no columns gives sum 0, mean NaN, max
 * -inf, min inf, argmax -1. A NaN in a row makes its sum, mean, max and min NaN. */
typedef struct eg__reduce_f32_args {
    eg__reduction reduction;
    size_t rows, columns;
    const float *x;
    size_t x_stride;
    float *y;
    int32_t *index;
} eg__reduce_f32_args;

/* y[c] = the sum (or the mean) of x[r][c] over the rows: what a bias collects. Rows are added in
 * blocks, so that the error grows with the number of blocks and not of rows. */
typedef struct eg__column_sum_f32_args {
    size_t rows, columns;
    const float *x;
    size_t x_stride;
    float *y;
    bool mean;
} eg__column_sum_f32_args;
enum { EG__COLUMN_SUM_BLOCK = 128 };

/* *sum = the sum of the squares of x, in double: in lanes side by side, which are added in their order. A product of two
 * floats is exact in double, so that all instruction sets give the same bits. */
typedef struct eg__squares_f32_args {
    size_t n;
    const float *x;
    double *sum;
} eg__squares_f32_args;
enum { EG__SQUARES_LANES = 8 };

/* y = exp(x - max) / sum per row or, with `logarithm`, x - max - log(sum). y may be x. */
typedef struct eg__softmax_f32_args {
    size_t rows, columns;
    const float *x;
    size_t x_stride;
    float *y;
    size_t y_stride;
    bool logarithm;
} eg__softmax_f32_args;

/* Layer norm: (x - mean) / sqrt(variance + epsilon) * gain + bias; rms norm: x / sqrt(mean(x^2) +
 * epsilon) * gain + bias. gain and bias have one value per column; NULL = 1 and 0. y may be x. */
typedef struct eg__norm_f32_args {
    size_t rows, columns;
    const float *x;
    size_t x_stride;
    float *y;
    size_t y_stride;
    const float *gain, *bias;
    float epsilon;
} eg__norm_f32_args;

/* copy: y[r][c] = x[r][c]; transpose: y[c][r] = x[r][c]. No overlap. */
typedef struct eg__move_f32_args {
    size_t rows, columns;
    const float *x;
    size_t x_stride;
    float *y;
    size_t y_stride;
} eg__move_f32_args;

/* y[r] = x[index[r]]; the caller has checked the indices. */
typedef struct eg__gather_f32_args {
    size_t rows, columns;
    const float *x;
    size_t x_stride;
    const int32_t *index;
    float *y;
    size_t y_stride;
} eg__gather_f32_args;

#endif
