/* Objects of oneDNN 2: operation descriptors, and memory descriptors that are structs. */
#include "create_dnnl.h"

static dnnl_memory_desc_t matrix_of(dnnl_data_type_t type, size_t rows, size_t columns,
                                    dnnl_format_tag_t tag) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    dnnl_memory_desc_init_by_tag(&desc, 2, dims, type, tag);
    return desc;
}
static dnnl_memory_desc_t matrix(size_t rows, size_t columns, dnnl_format_tag_t tag) {
    return matrix_of(dnnl_f32, rows, columns, tag);
}

static dnnl_memory_desc_t tensor(int rank, const dnnl_dims_t dims, bool plain) {
    static const dnnl_format_tag_t tags[] = {
        dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};
    dnnl_memory_desc_t desc;
    dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_f32,
                                 plain ? tags[rank] : dnnl_format_tag_any);
    return desc;
}

static dnnl_memory_t memory(dnnl_engine_t engine, const dnnl_memory_desc_t *desc, void *data) {
    dnnl_memory_t out;
    return dnnl_memory_create(&out, desc, engine, data) == dnnl_success ? out : NULL;
}

/* NULL where nothing is asked for. */
static dnnl_primitive_attr_t attributes(finish how) {
    dnnl_primitive_attr_t out;
    dnnl_post_ops_t operations;
    if (how != FINISH_TANH || dnnl_primitive_attr_create(&out) != dnnl_success) return NULL;
    if (dnnl_post_ops_create(&operations) == dnnl_success) {
        dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_tanh, 0, 0);
        dnnl_primitive_attr_set_post_ops(out, operations);
        dnnl_post_ops_destroy(operations);
    }
    return out;
}

static dnnl_primitive_desc_t primitive_desc(dnnl_engine_t engine, const_dnnl_op_desc_t operation,
                                            finish how) {
    dnnl_primitive_desc_t out;
    dnnl_primitive_attr_t with = attributes(how);
    dnnl_status_t status = dnnl_primitive_desc_create(&out, operation, with, engine, NULL);
    if (with) dnnl_primitive_attr_destroy(with);
    return status == dnnl_success ? out : NULL;
}

dnnl_memory_t create_matrix(dnnl_engine_t engine, size_t rows, size_t columns, float *data) {
    dnnl_memory_desc_t desc = matrix(rows, columns, dnnl_ab);
    return memory(engine, &desc, data);
}

dnnl_memory_t create_bytes(dnnl_engine_t engine, size_t rows, size_t columns, bool raised,
                           void *data) {
    dnnl_memory_desc_t desc = matrix_of(raised ? dnnl_u8 : dnnl_s8, rows, columns, dnnl_ab);
    return memory(engine, &desc, data);
}

dnnl_memory_t create_halves(dnnl_engine_t engine, size_t rows, size_t columns, void *data) {
    dnnl_memory_desc_t desc = matrix_of(dnnl_bf16, rows, columns, dnnl_ab);
    return memory(engine, &desc, data);
}

static dnnl_primitive_desc_t matmul_of(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                       dnnl_data_type_t left, dnnl_data_type_t right) {
    dnnl_memory_desc_t source = matrix_of(left, m, k, dnnl_ab),
                       weights = matrix_of(right, k, n, dnnl_format_tag_any),
                       to = matrix(m, n, dnnl_ab);
    dnnl_matmul_desc_t operation;
    if (dnnl_matmul_desc_init(&operation, &source, &weights, NULL, &to) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation, FINISH_NONE);
}
dnnl_primitive_desc_t create_matmul_bytes(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                          bool raised) {
    return matmul_of(engine, m, n, k, raised ? dnnl_u8 : dnnl_s8, dnnl_s8);
}
dnnl_primitive_desc_t create_matmul_halves(dnnl_engine_t engine, size_t m, size_t n, size_t k) {
    return matmul_of(engine, m, n, k, dnnl_bf16, dnnl_bf16);
}

dnnl_memory_t create_vector(dnnl_engine_t engine, size_t n, float *data) {
    dnnl_memory_desc_t desc;
    const dnnl_dims_t dims = {(dnnl_dim_t)n};
    dnnl_memory_desc_init_by_tag(&desc, 1, dims, dnnl_f32, dnnl_a);
    return memory(engine, &desc, data);
}

dnnl_memory_t create_tensor(dnnl_engine_t engine, int rank, const dnnl_dims_t dims, float *data) {
    dnnl_memory_desc_t desc = tensor(rank, dims, true);
    return memory(engine, &desc, data);
}

dnnl_primitive_desc_t create_matmul(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                    finish how) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(k, n, dnnl_format_tag_any),
                       bias = matrix(1, n, dnnl_ab), to = matrix(m, n, dnnl_ab);
    dnnl_matmul_desc_t operation;
    if (dnnl_matmul_desc_init(&operation, &source, &weights, how == FINISH_NONE ? NULL : &bias,
                              &to) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation, how);
}

dnnl_primitive_desc_t create_inner_product(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                           finish how) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(n, k, dnnl_format_tag_any),
                       bias = tensor(1, (dnnl_dims_t){(dnnl_dim_t)n}, true),
                       to = matrix(m, n, dnnl_ab);
    dnnl_inner_product_desc_t operation;
    if (dnnl_inner_product_forward_desc_init(&operation, dnnl_forward_inference, &source, &weights,
                                             how == FINISH_NONE ? NULL : &bias,
                                             &to) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation, how);
}

dnnl_primitive_desc_t create_layernorm(dnnl_engine_t engine, size_t rows, size_t columns,
                                       float epsilon) {
    dnnl_memory_desc_t data = matrix(rows, columns, dnnl_ab);
    dnnl_layer_normalization_desc_t operation;
    if (dnnl_layer_normalization_forward_desc_init(&operation, dnnl_forward_inference, &data, NULL,
                                                   epsilon,
                                                   dnnl_use_scale | dnnl_use_shift) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation, FINISH_NONE);
}

dnnl_primitive_desc_t create_softmax(dnnl_engine_t engine, size_t rows, size_t columns) {
    dnnl_memory_desc_t data = matrix(rows, columns, dnnl_ab);
    dnnl_softmax_desc_t operation;
    if (dnnl_softmax_forward_desc_init(&operation, dnnl_forward_inference, &data, 1) !=
        dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation, FINISH_NONE);
}

dnnl_primitive_desc_t create_gru(dnnl_engine_t engine, size_t steps, size_t batch, size_t input,
                                 size_t hidden, bool plain) {
    const dnnl_dim_t t = (dnnl_dim_t)steps, n = (dnnl_dim_t)batch, i = (dnnl_dim_t)input,
                     h = (dnnl_dim_t)hidden;
    dnnl_memory_desc_t source = tensor(3, (dnnl_dims_t){t, n, i}, true),
                       state = tensor(4, (dnnl_dims_t){1, 1, n, h}, true),
                       of_input = tensor(5, (dnnl_dims_t){1, 1, i, 3, h}, plain),
                       of_state = tensor(5, (dnnl_dims_t){1, 1, h, 3, h}, plain),
                       bias = tensor(4, (dnnl_dims_t){1, 1, 4, h}, true),
                       to = tensor(3, (dnnl_dims_t){t, n, h}, true);
    dnnl_rnn_desc_t operation;
    if (dnnl_lbr_gru_forward_desc_init(&operation, dnnl_forward_inference,
                                       dnnl_unidirectional_left2right, &source, &state, &of_input,
                                       &of_state, &bias, &to, &state, 0) != dnnl_success)
        return NULL;
    return primitive_desc(engine, &operation, FINISH_NONE);
}

dnnl_memory_t create_weights(dnnl_engine_t engine, dnnl_primitive_desc_t from, int index) {
    return memory(engine, dnnl_primitive_desc_query_md(from, dnnl_query_weights_md, index),
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
