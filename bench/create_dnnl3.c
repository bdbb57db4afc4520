/* Objects of oneDNN 3: no operation descriptors, and memory descriptors that are handles. */
#include "create_dnnl.h"

static dnnl_memory_desc_t matrix(size_t rows, size_t columns, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t desc = NULL;
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    dnnl_memory_desc_create_with_tag(&desc, 2, dims, dnnl_f32, tag);
    return desc;
}

/* Takes `desc` over. */
static dnnl_memory_t memory(dnnl_engine_t engine, dnnl_memory_desc_t desc, void *data) {
    dnnl_memory_t out;
    dnnl_status_t status = dnnl_memory_create(&out, desc, engine, data);
    dnnl_memory_desc_destroy(desc);
    return status == dnnl_success ? out : NULL;
}

dnnl_memory_t create_matrix(dnnl_engine_t engine, size_t rows, size_t columns, float *data) {
    return memory(engine, matrix(rows, columns, dnnl_ab), data);
}

dnnl_memory_t create_vector(dnnl_engine_t engine, size_t n, float *data) {
    dnnl_memory_desc_t desc = NULL;
    const dnnl_dims_t dims = {(dnnl_dim_t)n};
    dnnl_memory_desc_create_with_tag(&desc, 1, dims, dnnl_f32, dnnl_a);
    return memory(engine, desc, data);
}

dnnl_primitive_desc_t create_matmul(dnnl_engine_t engine, size_t m, size_t n, size_t k) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(k, n, dnnl_format_tag_any),
                       to = matrix(m, n, dnnl_ab);
    dnnl_primitive_desc_t out;
    dnnl_status_t status =
        dnnl_matmul_primitive_desc_create(&out, engine, source, weights, NULL, to, NULL);
    dnnl_memory_desc_destroy(source);
    dnnl_memory_desc_destroy(weights);
    dnnl_memory_desc_destroy(to);
    return status == dnnl_success ? out : NULL;
}

dnnl_primitive_desc_t create_inner_product(dnnl_engine_t engine, size_t m, size_t n, size_t k) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(n, k, dnnl_format_tag_any),
                       to = matrix(m, n, dnnl_ab);
    dnnl_primitive_desc_t out;
    dnnl_status_t status = dnnl_inner_product_forward_primitive_desc_create(
        &out, engine, dnnl_forward_inference, source, weights, NULL, to, NULL);
    dnnl_memory_desc_destroy(source);
    dnnl_memory_desc_destroy(weights);
    dnnl_memory_desc_destroy(to);
    return status == dnnl_success ? out : NULL;
}

dnnl_primitive_desc_t create_layernorm(dnnl_engine_t engine, size_t rows, size_t columns,
                                       float epsilon) {
    dnnl_memory_desc_t data = matrix(rows, columns, dnnl_ab);
    dnnl_primitive_desc_t out;
    dnnl_status_t status = dnnl_layer_normalization_forward_primitive_desc_create(
        &out, engine, dnnl_forward_inference, data, data, NULL, epsilon,
        dnnl_use_scale | dnnl_use_shift, NULL);
    dnnl_memory_desc_destroy(data);
    return status == dnnl_success ? out : NULL;
}

dnnl_primitive_desc_t create_softmax(dnnl_engine_t engine, size_t rows, size_t columns) {
    dnnl_memory_desc_t data = matrix(rows, columns, dnnl_ab);
    dnnl_primitive_desc_t out;
    dnnl_status_t status = dnnl_softmax_forward_primitive_desc_create(
        &out, engine, dnnl_forward_inference, dnnl_softmax_accurate, data, data, 1, NULL);
    dnnl_memory_desc_destroy(data);
    return status == dnnl_success ? out : NULL;
}

dnnl_memory_t create_weights(dnnl_engine_t engine, dnnl_primitive_desc_t from) {
    dnnl_memory_t out;
    const_dnnl_memory_desc_t desc = dnnl_primitive_desc_query_md(from, dnnl_query_weights_md, 0);
    return dnnl_memory_create(&out, desc, engine, DNNL_MEMORY_ALLOCATE) == dnnl_success ? out
                                                                                        : NULL;
}

dnnl_primitive_desc_t create_reorder(dnnl_engine_t engine, dnnl_memory_t from, dnnl_memory_t to) {
    const_dnnl_memory_desc_t from_desc, to_desc;
    dnnl_primitive_desc_t out;
    dnnl_memory_get_memory_desc(from, &from_desc);
    dnnl_memory_get_memory_desc(to, &to_desc);
    return dnnl_reorder_primitive_desc_create(&out, from_desc, engine, to_desc, engine, NULL) ==
                   dnnl_success
               ? out
               : NULL;
}
