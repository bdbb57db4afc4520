/* Attention and rotary positions as statements of C. */
#include "export/c.h"

static size_t span_attention(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                             unsigned i) {
    (void)x, (void)frame;
    const eg__step_attention *s = &step->u.attention;
    const eg__attention_f32_args *a = &s->args;
    const size_t stride = step->operand[i].stride;
    const size_t queries = s->samples * a->queries, keys = s->samples * a->keys;
    const unsigned others = step->kind == EG__STEP_attention ? 4 : 6; /* after y and d */
    if (i == 0) return eg__c_rows(queries, stride, a->heads * a->d);
    if (i == 1) return eg__c_rows(keys, stride, a->kv_heads * a->d);
    if (i == 2) return eg__c_rows(keys, stride, a->kv_heads * a->dv);
    if (i == 3)
        return eg__c_rows(step->kind == EG__STEP_attention_dkv ? keys : queries, stride,
                          step->columns);
    if (i < others) return eg__c_rows(queries, stride, a->heads * (a->dv + 1));
    if (i > others || !s->has_mask) return s->samples; /* lengths */
    return (s->samples - 1) * a->mask_sample + (a->queries - 1) * a->mask_row + a->keys;
}

static size_t span_rotary(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                          unsigned i) {
    (void)x;
    if (i < 2) return eg__c_rows(frame->count * step->rows, step->operand[i].stride, step->columns);
    if (i == 2) return step->u.rotary.d / 2;
    return step->u.rotary.has_list ? step->u.rotary.period : 1;
}

/* q, k, v, the result, for gradients y and d, then mask and lengths if there are any */
static void write_attention(eg__c_writing *w) {
    const eg__step_attention *s = &w->step->u.attention;
    const eg__attention_f32_args *a = &s->args;
    const eg__operand *o = w->step->operand;
    const bool back = w->step->kind != EG__STEP_attention;
    const unsigned others = back ? 6 : 4;
    char at[8][EG__C_TEXT], scale[32];
    for (unsigned i = 0; i < w->step->operands; i++)
        eg__c_pointer(w->x, w->step, w->frame, i, at[i]);
    eg__c_line(w->x, "%s(%s%zu, %zu, %zu, %zu, %zu, %zu, %zu, %s, %d, %zu,",
               eg__c_function_of(w->step),
               !back                                     ? ""
               : w->step->kind == EG__STEP_attention_dkv ? "1, "
                                                         : "0, ",
               s->samples, a->queries, a->keys, a->heads, a->kv_heads, a->d, a->dv,
               eg__c_number(a->scale, scale), a->causal, eg__min(a->window, a->keys + a->queries));
    eg__c_line(w->x, "    %s, %zu, %s, %zu, %s, %zu, %s, %zu, %zu,", at[0], o[0].stride, at[1],
               o[1].stride, at[2], o[2].stride, s->has_mask ? at[others] : "0", a->mask_sample,
               a->mask_row);
    eg__c_line(w->x, "    %s, %d, %s, %zu%s", s->has_lengths ? at[others + s->has_mask] : "0",
               a->lengths_are_i32, at[3], o[3].stride, back ? "," : ");");
    if (back) eg__c_line(w->x, "    %s, %zu, %s, %zu);", at[4], o[4].stride, at[5], o[5].stride);
}

static void write_rotary(eg__c_writing *w) {
    const eg__step_rotary *r = &w->step->u.rotary;
    const eg__operand *o = w->step->operand;
    char list[EG__C_TEXT] = "0";
    if (w->step->operands > 3) eg__c_pointer(w->x, w->step, w->frame, 3, list);
    eg__c_line(w->x, "rotary(%zu, %zu, %zu, %zu, %s, %zu, %s, %zu, %s, %s, %d, %d, %s);", w->rows,
               r->heads, r->d, r->period, w->at[0], o[0].stride, w->at[1], o[1].stride, w->at[2],
               list, r->has_list, r->interleaved, r->back ? "-1.0f" : "1.0f");
}

static bool is_lengths(const eg__c_export *x, const eg__step *step, unsigned i) {
    (void)x;
    return step->u.attention.args.lengths_are_i32 && i + 1 == step->operands; /* they come last */
}
static bool is_positions(const eg__c_export *x, const eg__step *step, unsigned i) {
    (void)x, (void)step;
    return i == 3;
}

const eg__c_step eg__c_step_attention = {.function = {.name = "attention"},
                                         .span = span_attention,
                                         .write = write_attention,
                                         .is_index = is_lengths};
const eg__c_step eg__c_step_attention_back = {.function = {.name = "attention_back"},
                                              .span = span_attention,
                                              .write = write_attention,
                                              .is_index = is_lengths};
const eg__c_step eg__c_step_rotary = {.function = {.name = "rotary"},
                                      .span = span_rotary,
                                      .write = write_rotary,
                                      .is_index = is_positions};

/* ---- functions */
static const eg__c_function functions[] = {
    {"attention_end",
     "/* the keys that query i of sample b sees end here */\n"
     "static int attention_end(int queries, int keys, int behind, const void *lengths, int integers,\n"
     "                         int b, int i) {\n"
     "    int end = keys;\n"
     "    if (lengths) {\n"
     "        int32_t whole;\n"
     "        float n;\n"
     "        memcpy(&whole, (const int32_t *)lengths + b, sizeof whole);\n"
     "        memcpy(&n, &whole, sizeof n);\n"
     "        if (integers) n = (float)whole;\n"
     "        end = !(n > 0.0f) ? 0 : n < (float)keys ? (int)n : keys;\n"
     "    }\n"
     "    if (!behind || i + 1 >= queries) return end;\n"
     "    return i + 1 + end > queries ? i + 1 + end - queries : 0;\n"
     "}\n"},
    {"attention",
     "/* softmax of scale q k' + mask, times v, of each head; its log-sum-exp behind all columns */\n"
     "static void attention(int samples, int queries, int keys, int heads, int kv_heads, int d, int dv,\n"
     "                      float scale, int causal, int window, const float *q, int q_stride,\n"
     "                      const float *k, int k_stride, const float *v, int v_stride,\n"
     "                      const float *mask, int mask_sample, int mask_row, const void *lengths,\n"
     "                      int integers, float *y, int y_stride) {\n"
     "    for (int row = 0; row < samples * queries * heads; row++) {\n"
     "        const int h = row % heads, i = row / heads % queries, b = row / heads / queries;\n"
     "        const int kv = h / (heads / kv_heads);\n"
     "        const float *from = q + (b * queries + i) * q_stride + h * d;\n"
     "        float *out = y + (b * queries + i) * y_stride, largest = -1e30f, sum = 0.0f;\n"
     "        const int end = attention_end(queries, keys, causal || window, lengths, integers, b, i);\n"
     "        const int first = window && end > window ? end - window : 0;\n"
     "        memset(out + h * dv, 0, (size_t)dv * sizeof *out);\n"
     "        for (int key = first; key < end; key++) {\n"
     "            const float *k_row = k + (b * keys + key) * k_stride + kv * d;\n"
     "            const float *v_row = v + (b * keys + key) * v_stride + kv * dv;\n"
     "            const float add = mask ? mask[b * mask_sample + i * mask_row + key] : 0.0f;\n"
     "            float score = 0.0f;\n"
     "            if (add <= -1e30f) continue;\n"
     "            for (int c = 0; c < d; c++) score += from[c] * k_row[c];\n"
     "            score = score * scale + add;\n"
     "            if (score > largest) {\n"
     "                const float shrink = expf(largest - score);\n"
     "                for (int c = 0; c < dv; c++) out[h * dv + c] *= shrink;\n"
     "                sum *= shrink;\n"
     "                largest = score;\n"
     "            }\n"
     "            const float weight = expf(score - largest);\n"
     "            sum += weight;\n"
     "            for (int c = 0; c < dv; c++) out[h * dv + c] += weight * v_row[c];\n"
     "        }\n"
     "        for (int c = 0; c < dv && sum != 0.0f; c++) out[h * dv + c] /= sum;\n"
     "        out[heads * dv + h] = sum == 0.0f ? 1e30f : largest + logf(sum);\n"
     "    }\n"
     "}\n"},
    {"attention_back",
     "/* its gradient by q or, by_keys, by k and v; y is its result, dy the gradient of that */\n"
     "static void attention_back(int by_keys, int samples, int queries, int keys, int heads,\n"
     "                           int kv_heads, int d, int dv, float scale, int causal, int window,\n"
     "                           const float *q, int q_stride, const float *k, int k_stride,\n"
     "                           const float *v, int v_stride, const float *mask, int mask_sample,\n"
     "                           int mask_row, const void *lengths, int integers, float *to,\n"
     "                           int to_stride, const float *y, int y_stride, const float *dy,\n"
     "                           int dy_stride) {\n"
     "    const int columns = by_keys ? kv_heads * (d + dv) : heads * d;\n"
     "    for (int r = 0; r < samples * (by_keys ? keys : queries); r++)\n"
     "        memset(to + r * to_stride, 0, (size_t)columns * sizeof *to);\n"
     "    for (int row = 0; row < samples * queries * heads; row++) {\n"
     "        const int h = row % heads, i = row / heads % queries, b = row / heads / queries;\n"
     "        const int kv = h / (heads / kv_heads), at = b * queries + i;\n"
     "        const float *from = q + at * q_stride + h * d, *dy_row = dy + at * dy_stride + h * dv;\n"
     "        const float *y_row = y + at * y_stride + h * dv;\n"
     "        const int end = attention_end(queries, keys, causal || window, lengths, integers, b, i);\n"
     "        float delta = -dy[at * dy_stride + heads * dv + h];\n"
     "        for (int c = 0; c < dv; c++) delta += y_row[c] * dy_row[c];\n"
     "        for (int key = window && end > window ? end - window : 0; key < end; key++) {\n"
     "            const float *k_row = k + (b * keys + key) * k_stride + kv * d;\n"
     "            const float *v_row = v + (b * keys + key) * v_stride + kv * dv;\n"
     "            const float add = mask ? mask[b * mask_sample + i * mask_row + key] : 0.0f;\n"
     "            float score = 0.0f, dp = -delta;\n"
     "            if (add <= -1e30f) continue;\n"
     "            for (int c = 0; c < d; c++) score += from[c] * k_row[c];\n"
     "            for (int c = 0; c < dv; c++) dp += dy_row[c] * v_row[c];\n"
     "            const float p = expf(score * scale + add - y[at * y_stride + heads * dv + h]);\n"
     "            float *dq = to + at * to_stride + h * d;\n"
     "            float *dk = to + (b * keys + key) * to_stride + kv * d;\n"
     "            for (int c = 0; c < d && !by_keys; c++) dq[c] += p * dp * scale * k_row[c];\n"
     "            for (int c = 0; c < d && by_keys; c++) dk[c] += p * dp * scale * from[c];\n"
     "            dk += kv_heads * d + kv * dv - kv * d;\n"
     "            for (int c = 0; c < dv && by_keys; c++) dk[c] += p * dy_row[c];\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"rotary",
     "/* pairs of columns turned by position * frequency */\n"
     "static void rotary(int rows, int heads, int d, int period, const float *x, int x_stride, float *y,\n"
     "                   int y_stride, const float *frequency, const void *positions, int is_list,\n"
     "                   int interleaved, float sign) {\n"
     "    const int step = interleaved ? 1 : d / 2;\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        int32_t at = 0;\n"
     "        if (positions)\n"
     "            memcpy(&at, (const int32_t *)positions + (is_list ? r % period : 0), sizeof at);\n"
     "        if (!is_list) at += r % period;\n"
     "        for (int i = 0; i < d / 2; i++) {\n"
     "            const float c = cosf((float)at * frequency[i]);\n"
     "            const float s = sign * sinf((float)at * frequency[i]);\n"
     "            for (int h = 0; h < heads; h++) {\n"
     "                const int first = h * d + (interleaved ? 2 * i : i);\n"
     "                const float a = x[r * x_stride + first], b = x[r * x_stride + first + step];\n"
     "                y[r * y_stride + first] = a * c - b * s;\n"
     "                y[r * y_stride + first + step] = b * c + a * s;\n"
     "            }\n"
     "        }\n"
     "    }\n"
     "}\n"},
};
const eg__c_functions eg__c_functions_attention = {functions, sizeof functions / sizeof *functions};
