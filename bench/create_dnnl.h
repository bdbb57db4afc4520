/* How objects of oneDNN are made: the part of its interface that version 3 changed. */
#ifndef BENCH_CREATE_DNNL_H
#define BENCH_CREATE_DNNL_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stddef.h>

/* What a product does with its result; tanh comes after the bias. */
typedef enum finish { FINISH_NONE, FINISH_BIAS, FINISH_TANH } finish;

/* All return NULL where the library refuses. Matrices are row-major, activations plain, weights in
 * the format that the primitive likes best. */
dnnl_memory_t create_matrix(dnnl_engine_t engine, size_t rows, size_t columns, float *data);
dnnl_memory_t create_vector(dnnl_engine_t engine, size_t n, float *data);
/* Row-major, of 3 to 5 axes. */
dnnl_memory_t create_tensor(dnnl_engine_t engine, int rank, const dnnl_dims_t dims, float *data);
/* The bias is a matrix of one row for the matmul, a vector for the inner product. */
dnnl_primitive_desc_t create_matmul(dnnl_engine_t engine, size_t m, size_t n, size_t k, finish how);
/* Bytes times int8, exact sums as floats; `raised` = the left side has no sign. */
dnnl_memory_t create_bytes(dnnl_engine_t engine, size_t rows, size_t columns, bool raised,
                           void *data);
dnnl_primitive_desc_t create_matmul_bytes(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                          bool raised);
/* bf16 times bf16, sums as floats. */
dnnl_memory_t create_halves(dnnl_engine_t engine, size_t rows, size_t columns, void *data);
dnnl_primitive_desc_t create_matmul_halves(dnnl_engine_t engine, size_t m, size_t n, size_t k);
dnnl_primitive_desc_t create_inner_product(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                           finish how);
dnnl_primitive_desc_t create_layernorm(dnnl_engine_t engine, size_t rows, size_t columns,
                                       float epsilon);
dnnl_primitive_desc_t create_softmax(dnnl_engine_t engine, size_t rows, size_t columns);
/* One layer from left to right, linear before reset, for inference; `plain` leaves the weights
 * row-major. */
dnnl_primitive_desc_t create_gru(dnnl_engine_t engine, size_t steps, size_t batch, size_t input,
                                 size_t hidden, bool plain);
/* Memory of its own for the weights of `from`; a GRU has those of the input (0) and of the state
 * (1). */
dnnl_memory_t create_weights(dnnl_engine_t engine, dnnl_primitive_desc_t from, int index);
dnnl_primitive_desc_t create_reorder(dnnl_engine_t engine, dnnl_memory_t from, dnnl_memory_t to);

#endif
