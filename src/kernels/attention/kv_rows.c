/* Rows of a cache: their layout, and how values are stored. */
#include "kernels/attention/attention_cached.h"

#include <math.h>
#include <string.h>

bool eg__kv_rows_make(eg_type type, uint64_t slots, uint64_t heads, uint64_t d, eg__kv_rows *out) {
    const size_t number = eg_type_bits(type) / 8;
    size_t columns, numbers, all;
    if ((type != EG_F32 && type != EG_F16 && type != EG_I8) || !slots || !heads || !d) return false;
    if (slots > INT32_MAX || heads > INT32_MAX || d > INT32_MAX) return false;
    if (!eg__size_mul((size_t)heads, (size_t)d, &columns) ||
        !eg__size_mul(columns, number, &numbers) || !eg__size_mul(numbers, (size_t)slots, &all) ||
        all > SIZE_MAX / 8)
        return false;
    numbers = eg__round_up(numbers, sizeof(float));
    const size_t size = numbers + (type == EG_I8 ? (size_t)heads * sizeof(float) : 0);
    *out = (eg__kv_rows){type, (size_t)slots, (size_t)heads, (size_t)d, number, size, numbers};
    return true;
}

float eg__kv_scale(size_t n, const float *x) {
    float largest = 0, zero = 0;
    for (size_t i = 0; i < n; i++) {
        const float size = fabsf(x[i]);
        largest = size > largest ? size : largest;
        zero += x[i] * 0; /* 0 unless a value is not finite */
    }
    return zero == 0 ? largest / 127 : NAN;
}

static void write_bytes(const eg__kv_rows *rows, const float *from, char *to) {
    for (size_t head = 0; head < rows->heads; head++, from += rows->d) {
        const float scale = eg__kv_scale(rows->d, from);
        int8_t *numbers = (int8_t *)to + head * rows->d;
        for (size_t i = 0; i < rows->d; i++) numbers[i] = (int8_t)eg__kv_nearest(from[i], scale);
        memcpy(to + rows->scales + head * sizeof scale, &scale, sizeof scale);
    }
}

void eg__kv_write_row(const eg__kv_rows *rows, eg__kv_narrow *narrow, const float *from, void *to) {
    const size_t columns = rows->heads * rows->d;
    if (rows->type == EG_F32) memcpy(to, from, columns * sizeof *from);
    else if (rows->type == EG_F16) narrow(columns, from, to);
    else write_bytes(rows, from, to);
}
