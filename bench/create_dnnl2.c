/* Objects of oneDNN 2: operation descriptors, and memory descriptors that are structs. */
#include "create_dnnl.h"

static dnnl_memory_desc_t matrix(size_t rows, size_t columns, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32, tag);
    return desc;
}

static dnnl_memory_t memory(dnnl_engine_t engine, const dnnl_memory_desc_t *desc, void *data) {
    dnnl_memory_t out;
    return dnnl_memory_create(&out, desc, engine, data) == dnnl_success ? out : NULL;
}

static dnnl_primitive_desc_t primitive_desc(dnnl_engine_t engine, const_dnnl_op_desc_t operation) {
    dnnl_primitive_desc_t out;
    return dnnl_primitive_desc_create(&out, operation, NULL, engine, NULL) == dnnl_success ? out
                                                                                           : NULL;
}

dnnl_memory_t create_matrix(dnnl_engine_t engine, size_t rows, size_t columns, float *data) {
    dnnl_memory_desc_t desc = matrix(rows, columns, dnnl_ab);
    return memory(engine, &desc, data);
}

dnnl_memory_t create_vector(dnnl_engine_t engine, size_t n, float *data) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t dims = {(dnnl_dim_t)n};
    dnnl_memory_desc_init_by_tag(&desc, 1, dims, dnnl_f32, dnnl_a);
    return memory(engine, &desc, data);
}

dnnl_primitive_desc_t create_matmul(dnnl_engine_t engine, size_t m, size_t n, size_t k) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(k, n, dnnl_format_tag_any),
                       to = matrix(m, n, dnnl_ab);
    dnnl_matmul_desc_t operation;
    if (dnnl_matmul_desc_init(&operation, &source, &weights, NULL, &to) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation);
}

dnnl_primitive_desc_t create_inner_product(dnnl_engine_t engine, size_t m, size_t n, size_t k) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(n, k, dnnl_format_tag_any),
                       to = matrix(m, n, dnnl_ab);
    dnnl_inner_product_desc_t operation;
    if (dnnl_inner_product_forward_desc_init(&operation, dnnl_forward_inference, &source, &weights,
                                             NULL, &to) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation);
}

dnnl_primitive_desc_t create_layernorm(dnnl_engine_t engine, size_t rows, size_t columns,
                                       float epsilon) {
    dnnl_memory_desc_t data = matrix(rows, columns, dnnl_ab);
    dnnl_layer_normalization_desc_t operation;
    if (dnnl_layer_normalization_forward_desc_init(&operation, dnnl_forward_inference, &data, NULL,
                                                   epsilon,
                                                   dnnl_use_scale | dnnl_use_shift) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation);
}

dnnl_primitive_desc_t create_softmax(dnnl_engine_t engine, size_t rows, size_t columns) {
    dnnl_memory_desc_t data = matrix(rows, columns, dnnl_ab);
    dnnl_softmax_desc_t operation;
    if (dnnl_softmax_forward_desc_init(&operation, dnnl_forward_inference, &data, 1) !=
        dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation);
}

dnnl_memory_t create_weights(dnnl_engine_t engine, dnnl_primitive_desc_t from) {
    return memory(engine, dnnl_primitive_desc_query_md(from, dnnl_query_weights_md, 0),
                  DNNL_MEMORY_ALLOCATE);
}

dnnl_primitive_desc_t create_reorder(dnnl_engine_t engine, dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_memory_desc_t *from_desc, *to_desc;
    dnnl_primitive_desc_t out;
    dnnl_memory_get_memory_desc(from, &from_desc);
    dnnl_memory_get_memory_desc(to, &to_desc);
    return dnnl_reorder_primitive_desc_create(&out, from_desc, engine, to_desc, engine, NULL) ==
                   dnnl_success
               ? out
               : NULL;
}
