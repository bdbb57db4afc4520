/* How objects of oneDNN are made: the part of its interface that version 3 changed. */
#ifndef BENCH_CREATE_DNNL_H
#define BENCH_CREATE_DNNL_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stddef.h>

/* All return NULL where the library refuses. Matrices are row-major, activations plain, weights in
 * the format that the primitive likes best. */
dnnl_memory_t create_matrix(dnnl_engine_t engine, size_t rows, size_t columns, float *data);
dnnl_memory_t create_vector(dnnl_engine_t engine, size_t n, float *data);
dnnl_primitive_desc_t create_matmul(dnnl_engine_t engine, size_t m, size_t n, size_t k);
dnnl_primitive_desc_t create_inner_product(dnnl_engine_t engine, size_t m, size_t n, size_t k);
dnnl_primitive_desc_t create_layernorm(dnnl_engine_t engine, size_t rows, size_t columns,
                                       float epsilon);
dnnl_primitive_desc_t create_softmax(dnnl_engine_t engine, size_t rows, size_t columns);
/* Memory of its own for the weights of `from`. */
dnnl_memory_t create_weights(dnnl_engine_t engine, dnnl_primitive_desc_t from);
dnnl_primitive_desc_t create_reorder(dnnl_engine_t engine, dnnl_memory_t from, dnnl_memory_t to);

#endif
