/* Objects of oneDNN 3: no operation descriptors, and memory descriptors that are handles. */
#include "create_dnnl.h"

static dnnl_memory_desc_t matrix_of(dnnl_data_type_t type, size_t rows, size_t columns,
                                    dnnl_format_tag_t tag) {
    dnnl_memory_desc_t desc = NULL;
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    dnnl_memory_desc_create_with_tag(&desc, 2, dims, type, tag);
    return desc;
}
static dnnl_memory_desc_t matrix(size_t rows, size_t columns, dnnl_format_tag_t tag) {
    return matrix_of(dnnl_f32, rows, columns, tag);
}

static dnnl_memory_desc_t tensor(int rank, const dnnl_dims_t dims, bool plain) {
    static const dnnl_format_tag_t tags[] = {
        dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};
    dnnl_memory_desc_t desc = NULL;
    dnnl_memory_desc_create_with_tag(&desc, rank, dims, dnnl_f32,
                                     plain ? tags[rank] : dnnl_format_tag_any);
    return desc;
}

/* Takes `desc` over. */
static dnnl_memory_t memory(dnnl_engine_t engine, dnnl_memory_desc_t desc, void *data) {
    dnnl_memory_t out;
    dnnl_status_t status = dnnl_memory_create(&out, desc, engine, data);
    dnnl_memory_desc_destroy(desc);
    return status == dnnl_success ? out : NULL;
}

/* NULL where nothing is asked for. */
static dnnl_primitive_attr_t attributes(finish how) {
    dnnl_primitive_attr_t out;
    dnnl_post_ops_t operations;
    if (how != FINISH_TANH || dnnl_primitive_attr_create(&out) != dnnl_success) return NULL;
    if (dnnl_post_ops_create(&operations) == dnnl_success) {
        dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_tanh, 0, 0);
        dnnl_primitive_attr_set_post_ops(out, operations);
        dnnl_post_ops_destroy(operations);
    }
    return out;
}

dnnl_memory_t create_matrix(dnnl_engine_t engine, size_t rows, size_t columns, float *data) {
    return memory(engine, matrix(rows, columns, dnnl_ab), data);
}

dnnl_memory_t create_bytes(dnnl_engine_t engine, size_t rows, size_t columns, bool raised,
                           void *data) {
    return memory(engine, matrix_of(raised ? dnnl_u8 : dnnl_s8, rows, columns, dnnl_ab), data);
}

dnnl_memory_t create_halves(dnnl_engine_t engine, size_t rows, size_t columns, void *data) {
    return memory(engine, matrix_of(dnnl_bf16, rows, columns, dnnl_ab), data);
}

static dnnl_primitive_desc_t matmul_of(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                       dnnl_data_type_t left, dnnl_data_type_t right) {
    dnnl_memory_desc_t source = matrix_of(left, m, k, dnnl_ab),
                       weights = matrix_of(right, k, n, dnnl_format_tag_any),
                       to = matrix(m, n, dnnl_ab);
    dnnl_primitive_desc_t out;
    dnnl_status_t status =
        dnnl_matmul_primitive_desc_create(&out, engine, source, weights, NULL, to, NULL);
    dnnl_memory_desc_destroy(source);
    dnnl_memory_desc_destroy(weights);
    dnnl_memory_desc_destroy(to);
    return status == dnnl_success ? out : NULL;
}
dnnl_primitive_desc_t create_matmul_bytes(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                          bool raised) {
    return matmul_of(engine, m, n, k, raised ? dnnl_u8 : dnnl_s8, dnnl_s8);
}
dnnl_primitive_desc_t create_matmul_halves(dnnl_engine_t engine, size_t m, size_t n, size_t k) {
    return matmul_of(engine, m, n, k, dnnl_bf16, dnnl_bf16);
}

dnnl_memory_t create_vector(dnnl_engine_t engine, size_t n, float *data) {
    dnnl_memory_desc_t desc = NULL;
    const dnnl_dims_t dims = {(dnnl_dim_t)n};
    dnnl_memory_desc_create_with_tag(&desc, 1, dims, dnnl_f32, dnnl_a);
    return memory(engine, desc, data);
}

dnnl_memory_t create_tensor(dnnl_engine_t engine, int rank, const dnnl_dims_t dims, float *data) {
    return memory(engine, tensor(rank, dims, true), data);
}

dnnl_primitive_desc_t create_matmul(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                    finish how) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(k, n, dnnl_format_tag_any),
                       bias = matrix(1, n, dnnl_ab), to = matrix(m, n, dnnl_ab);
    dnnl_primitive_attr_t with = attributes(how);
    dnnl_primitive_desc_t out;
    dnnl_status_t status = dnnl_matmul_primitive_desc_create(
        &out, engine, source, weights, how == FINISH_NONE ? NULL : bias, to, with);
    dnnl_memory_desc_destroy(source);
    dnnl_memory_desc_destroy(weights);
    dnnl_memory_desc_destroy(bias);
    dnnl_memory_desc_destroy(to);
    if (with) dnnl_primitive_attr_destroy(with);
    return status == dnnl_success ? out : NULL;
}

dnnl_primitive_desc_t create_inner_product(dnnl_engine_t engine, size_t m, size_t n, size_t k,
                                           finish how) {
    dnnl_memory_desc_t source = matrix(m, k, dnnl_ab), weights = matrix(n, k, dnnl_format_tag_any),
                       bias = tensor(1, (dnnl_dims_t){(dnnl_dim_t)n}, true),
                       to = matrix(m, n, dnnl_ab);
    dnnl_primitive_attr_t with = attributes(how);
    dnnl_primitive_desc_t out;
    dnnl_status_t status = dnnl_inner_product_forward_primitive_desc_create(
        &out, engine, dnnl_forward_inference, source, weights, how == FINISH_NONE ? NULL : bias, to,
        with);
    dnnl_memory_desc_destroy(source);
    dnnl_memory_desc_destroy(weights);
    dnnl_memory_desc_destroy(bias);
    dnnl_memory_desc_destroy(to);
    if (with) dnnl_primitive_attr_destroy(with);
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
    dnnl_primitive_desc_t out;
    dnnl_status_t status = dnnl_lbr_gru_forward_primitive_desc_create(
        &out, engine, dnnl_forward_inference, dnnl_unidirectional_left2right, source, state,
        of_input, of_state, bias, to, state, 0, NULL);
    dnnl_memory_desc_t all[] = {source, state, of_input, of_state, bias, to};
    for (size_t d = 0; d < sizeof all / sizeof *all; d++) dnnl_memory_desc_destroy(all[d]);
    return status == dnnl_success ? out : NULL;
}

dnnl_memory_t create_weights(dnnl_engine_t engine, dnnl_primitive_desc_t from, int index) {
    dnnl_memory_t out;
    const_dnnl_memory_desc_t desc =
        dnnl_primitive_desc_query_md(from, dnnl_query_weights_md, index);
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
