/* Quantized tensors: f32 to int8, int4, f16 or bf16 with the library's scales, and back. int4 is one value per byte
 * here, as numpy has no smaller type; `bytes` is what the library needs for it. */
#include "core.h"

#include <string.h>

static int nibble_get(const uint8_t *packed, uint64_t i) {
    const int value = packed[i / 2] >> (i % 2 ? 4 : 0) & 15;
    return value < 8 ? value : value - 16;
}

static void nibble_set(uint8_t *packed, uint64_t i, int value) {
    const int shift = i % 2 ? 4 : 0;
    packed[i / 2] = (uint8_t)((packed[i / 2] & ~(15 << shift)) | (value & 15) << shift);
}

static int take_quantization(PyObject *const *given, eg_quantization *out) {
    uint64_t block = 0;
    if (given[0] && core_type_take(given[0], "dtype", &out->type)) return -1;
    if (given[2] && core_count(given[2], "block", &block)) return -1;
    if (block > 1u << 30) {
        PyErr_SetString(PyExc_ValueError, "block: at most 2^30");
        return -1;
    }
    out->block = (uint32_t)block;
    if (given[2]) out->per = EG_PER_BLOCK;
    const char *word;
    PyObject *text = given[1] ? core_text(given[1], "per", &word) : NULL;
    if (given[1] && !text) return -1;
    int found = !text;
    for (int i = 0; !found && eg_granularity_name((eg_granularity)i); i++)
        if (!strcmp(word, eg_granularity_name((eg_granularity)i))) {
            out->per = (eg_granularity)i;
            found = 1;
        }
    if (!found)
        PyErr_Format(PyExc_ValueError, "per: expected 'tensor', 'channel' or 'block', given '%s'",
                     word);
    Py_XDECREF(text);
    return found ? 0 : -1;
}

/* The type of numpy that values of such a type are kept in. */
static eg_type kept_as(eg_type type) { return type == EG_I4 ? EG_I8 : type; }

static PyObject *values_out(const eg_quantized *q) {
    core_view view;
    uint64_t elements, bytes;
    eg_tensor shape = q->values;
    eg_error error;
    shape.type = kept_as(shape.type);
    if (eg_tensor_measure(&shape, &elements, &bytes, &error)) return core_raise(&error);
    PyObject *out = core_array(&view, shape.type, shape.rank, shape.shape);
    if (!out) return NULL;
    if (q->values.type == EG_I4)
        for (uint64_t i = 0; i < elements; i++)
            ((int8_t *)view.tensor.data)[i] = (int8_t)nibble_get(q->values.data, i);
    else if (bytes) memcpy(view.tensor.data, q->values.data, bytes);
    core_view_give(&view);
    return out;
}

static PyObject *array_of(eg_type type, const void *data, uint64_t count) {
    core_view view;
    PyObject *out = core_array(&view, type, 1, &count);
    if (!out) return NULL;
    const size_t size = eg_type_bits(type) / 8;
    if (data && count) memcpy(view.tensor.data, data, count * size);
    else if (count) memset(view.tensor.data, 0, count * size);
    core_view_give(&view);
    return out;
}

static PyObject *quantize(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"x",         "dtype",         "per", "block",
                                        "symmetric", "least_squares", NULL};
    PyObject *given[6], *out = NULL;
    eg_quantization how = {.type = EG_I8};
    core_view x;
    if (core_arguments("quantize", names, 1, given, args, count, keywords) ||
        take_quantization(given + 1, &how))
        return NULL;
    how.symmetric = given[4] ? PyObject_IsTrue(given[4]) : 0;
    how.least_squares = given[5] ? PyObject_IsTrue(given[5]) : 0;
    if (how.symmetric < 0 || how.least_squares < 0 ||
        core_view_take(&x, given[0], EG_F32, CORE_READ, "x"))
        return NULL;
    core_context *context = core_context_take();
    eg_quantized q;
    eg_error error;
    eg_status status = EG_ERR_MEMORY;
    if (context) {
        Py_BEGIN_ALLOW_THREADS;
        status = eg_quantize(context->context, &x.tensor, &how, &q, &error);
        Py_END_ALLOW_THREADS;
        if (status) core_raise(&error);
    }
    if (!status) {
        PyObject *values = values_out(&q);
        PyObject *scales = values ? array_of(EG_F32, q.scale, q.scales) : NULL;
        PyObject *zeros = scales ? array_of(EG_I8, q.zero, q.scales) : NULL;
        out = zeros ? Py_BuildValue("{s:O,s:O,s:O,s:K,s:K,s:{s:K,s:d,s:d,s:d}}", "values", values,
                                    "scales", scales, "zero_points", zeros, "bytes",
                                    eg_quantized_bytes(&q), "not_finite", q.odd, "difference",
                                    "count", q.off.count, "most", q.off.most, "rms", q.off.rms,
                                    "snr", q.off.snr)
                    : NULL;
        Py_XDECREF(values);
        Py_XDECREF(scales);
        Py_XDECREF(zeros);
        eg_quantized_release(context->context, &q);
    }
    core_view_give(&x);
    core_context_give(context);
    return out;
}

/* ---- back */
static int fill(eg_quantized *q, const core_view *values, PyObject *scales, PyObject *zeros) {
    core_view scale = {0}, zero = {0};
    uint64_t elements, bytes;
    eg_error error;
    int failed = 0;
    if (q->scale)
        failed = core_view_take(&scale, scales, EG_F32, CORE_READ, "scales") ||
                 core_view_expect(&scale, "scales", 1, &q->scales) ||
                 core_view_take(&zero, zeros, EG_I8, CORE_READ, "zero_points") ||
                 core_view_expect(&zero, "zero_points", 1, &q->scales);
    if (!failed && eg_tensor_measure(&values->tensor, &elements, &bytes, &error)) {
        core_raise(&error);
        failed = 1;
    }
    if (!failed) {
        if (q->scale) memcpy(q->scale, scale.tensor.data, q->scales * sizeof *q->scale);
        if (q->zero) memcpy(q->zero, zero.tensor.data, q->scales);
        if (q->values.type == EG_I4)
            for (uint64_t i = 0; i < elements; i++)
                nibble_set(q->values.data, i, ((const int8_t *)values->tensor.data)[i]);
        else if (bytes) memcpy(q->values.data, values->tensor.data, bytes);
    }
    core_view_give(&scale);
    core_view_give(&zero);
    return failed;
}

static PyObject *dequantize(PyObject *module, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords) {
    (void)module;
    static const char *const names[] = {"values", "scales", "zero_points", "dtype",
                                        "per",    "block",  NULL};
    PyObject *given[6], *out = NULL;
    eg_quantization how = {.type = EG_I8};
    core_view values, to;
    eg_error error;
    if (core_arguments("dequantize", names, 3, given, args, count, keywords) ||
        take_quantization(given + 3, &how) ||
        core_view_take(&values, given[0], kept_as(how.type), CORE_READ, "values"))
        return NULL;
    core_context *context = core_context_take();
    eg_quantized q = {0};
    if (context && eg_quantized_create(context->context, values.tensor.rank, values.tensor.shape,
                                       &how, &q, &error))
        core_raise(&error);
    else if (context) {
        if (!fill(&q, &values, given[1], given[2]) &&
            (out = core_array(&to, EG_F32, values.tensor.rank, values.tensor.shape))) {
            if (eg_dequantize(context->context, &q, &to.tensor, &error)) {
                core_raise(&error);
                Py_CLEAR(out);
            }
            core_view_give(&to);
        }
        eg_quantized_release(context->context, &q);
    }
    core_view_give(&values);
    core_context_give(context);
    return out;
}

PyMethodDef core_quantize_functions[] = {
    {"quantize", CORE_FASTCALL(quantize), METH_FASTCALL | METH_KEYWORDS,
     "quantize(x, dtype='int8', per='channel', block=None, symmetric=False, least_squares=False)\n--\n\n"
     "Values, scales and zero points of an array of float32: x = scale (value - zero point); bytes in the library, and the\n"
     "difference from x."},
    {"dequantize", CORE_FASTCALL(dequantize), METH_FASTCALL | METH_KEYWORDS,
     "dequantize(values, scales, zero_points, dtype='int8', per='channel', block=None)\n--\n\n"
     "The array of float32 that quantize() was given, as far as it is left."},
    {NULL, NULL, 0, NULL}};
