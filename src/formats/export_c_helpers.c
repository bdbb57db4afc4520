/* Functions that exported code calls; only those that it does call are written. */
#include "formats/export_c.h"

#include <string.h>

#define ROWS(x, y) \
    "    for (int r = 0; r < rows; r++) {\n        const float *" x " = x + r * x_stride;\n" y

/* A function that rounds to a type of fewer digits, as floats: the place of the last digit is found by
 * the exponent, which for denormals stays the least one. */
#define ROUND(name, least, digits, most)                             \
    "static float " name "(float x) {\n"                             \
    "    int e;\n"                                                   \
    "    if (!(fabsf(x) < INFINITY)) return x;\n"                    \
    "    (void)frexpf(x, &e);\n"                                     \
    "    e = (e < " least " ? " least " : e) - " digits ";\n"        \
    "    x = ldexpf(rintf(ldexpf(x, -e)), e);\n"                     \
    "    return fabsf(x) > " most " ? copysignf(INFINITY, x) : x;\n" \
    "}\n"

static const eg__c_function functions[] = {
    {"sigmoid", "static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }\n"},
    {"silu", "static float silu(float x) { return x / (1.0f + expf(-x)); }\n"},
    {"relu", "static float relu(float x) { return x < 0.0f ? 0.0f : x; }\n"},
    {"gelu", "static float gelu(float x) { return 0.5f * x * erfcf(x * -0.707106781f); }\n"},
    {"softplus", "static float softplus(float x) {\n"
                 "    return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));\n"
                 "}\n"},
    {"round_f16", ROUND("round_f16", "-13", "11", "65504.0f")},
    {"round_bf16", ROUND("round_bf16", "-125", "8", "3.38953139e38f")},
    {"least", "static float least(float a, float b) { return a < b || a != a ? a : b; }\n"},
    {"largest", "static float largest(float a, float b) { return a > b || a != a ? a : b; }\n"},
    {"product",
     "/* c = a * b, b being k x n: four columns at a time, whose sums stay in registers */\n"
     "static void product(int rows, int n, int k, const float *a, int a_stride, const float *b,\n"
     "                    float *c, int c_stride) {\n"
     "    const int whole = n - n % 4;\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        const float *x = a + r * a_stride;\n"
     "        float *y = c + r * c_stride;\n"
     "        for (int j = 0; j < whole; j += 4) {\n"
     "            float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;\n"
     "            for (int i = 0; i < k; i++) {\n"
     "                const float *w = b + i * n + j;\n"
     "                s0 += x[i] * w[0];\n"
     "                s1 += x[i] * w[1];\n"
     "                s2 += x[i] * w[2];\n"
     "                s3 += x[i] * w[3];\n"
     "            }\n"
     "            y[j] = s0;\n"
     "            y[j + 1] = s1;\n"
     "            y[j + 2] = s2;\n"
     "            y[j + 3] = s3;\n"
     "        }\n"
     "        for (int j = whole; j < n; j++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int i = 0; i < k; i++) sum += x[i] * b[i * n + j];\n"
     "            y[j] = sum;\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"turned_product",
     "/* c = a' * b, a being k x rows and b k x n, row by row */\n"
     "static void turned_product(int rows, int n, int k, const float *a, int a_stride,\n"
     "                           const float *b, int b_stride, float *c, int c_stride) {\n"
     "    for (int r = 0; r < rows; r++)\n"
     "        for (int j = 0; j < n; j++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int i = 0; i < k; i++) sum += a[i * a_stride + r] * b[i * b_stride + j];\n"
     "            c[r * c_stride + j] = sum;\n"
     "        }\n"
     "}\n"},
    {"matrix",
     "static void matrix(int k, int n, const float *from, int row_stride, int column_stride,\n"
     "                   float *to) {\n"
     "    for (int i = 0; i < k; i++)\n"
     "        for (int j = 0; j < n; j++)\n"
     "            to[i * n + j] = from[i * row_stride + j * column_stride];\n"
     "}\n"},
    {"row_sum",
     "static void row_sum(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float sum = 0.0f;\n"
                "        for (int i = 0; i < n; i++) sum += row[i];\n"
                "        y[r] = sum;\n"
                "    }\n"
                "}\n")},
    {"row_mean",
     "static void row_mean(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float sum = 0.0f;\n"
                "        for (int i = 0; i < n; i++) sum += row[i];\n"
                "        y[r] = sum / (float)n;\n"
                "    }\n"
                "}\n")},
    {"row_largest",
     "static void row_largest(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float best = n ? row[0] : -INFINITY;\n"
                "        for (int i = 1; i < n; i++)\n"
                "            if (row[i] > best || row[i] != row[i]) best = row[i];\n"
                "        y[r] = best;\n"
                "    }\n"
                "}\n")},
    {"row_least",
     "static void row_least(int rows, int n, const float *x, int x_stride, float *y) {\n" ROWS(
         "row", "        float best = n ? row[0] : INFINITY;\n"
                "        for (int i = 1; i < n; i++)\n"
                "            if (row[i] < best || row[i] != row[i]) best = row[i];\n"
                "        y[r] = best;\n"
                "    }\n"
                "}\n")},
    {"column_sum",
     "static void column_sum(int blocks, int height, int n, const float *x, int x_stride, float *y) {\n"
     "    for (int b = 0; b < blocks; b++)\n"
     "        for (int i = 0; i < n; i++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int r = 0; r < height; r++) sum += x[(b * height + r) * x_stride + i];\n"
     "            y[b * n + i] = sum;\n"
     "        }\n"
     "}\n"},
    {"column_mean",
     "static void column_mean(int blocks, int height, int n, const float *x, int x_stride, float *y) {\n"
     "    for (int b = 0; b < blocks; b++)\n"
     "        for (int i = 0; i < n; i++) {\n"
     "            float sum = 0.0f;\n"
     "            for (int r = 0; r < height; r++) sum += x[(b * height + r) * x_stride + i];\n"
     "            y[b * n + i] = sum / (float)height;\n"
     "        }\n"
     "}\n"},
    {"softmax",
     "static void softmax(int rows, int n, const float *x, int x_stride, float *y, int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float best = from[0], sum = 0.0f;\n"
                 "        for (int i = 1; i < n; i++)\n"
                 "            if (from[i] > best || from[i] != from[i]) best = from[i];\n"
                 "        for (int i = 0; i < n; i++) sum += to[i] = expf(from[i] - best);\n"
                 "        for (int i = 0; i < n; i++) to[i] /= sum;\n"
                 "    }\n"
                 "}\n")},
    {"log_softmax",
     "static void log_softmax(int rows, int n, const float *x, int x_stride, float *y,\n"
     "                        int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float best = from[0], sum = 0.0f;\n"
                 "        for (int i = 1; i < n; i++)\n"
                 "            if (from[i] > best || from[i] != from[i]) best = from[i];\n"
                 "        for (int i = 0; i < n; i++) sum += expf(from[i] - best);\n"
                 "        sum = logf(sum);\n"
                 "        for (int i = 0; i < n; i++) to[i] = from[i] - best - sum;\n"
                 "    }\n"
                 "}\n")},
    {"norm",
     "static void norm(int rows, int n, float epsilon, const float *x, int x_stride, float *y,\n"
     "                 int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float mean = 0.0f, square = 0.0f;\n"
                 "        for (int i = 0; i < n; i++) mean += from[i];\n"
                 "        mean /= (float)n;\n"
                 "        for (int i = 0; i < n; i++)\n"
                 "            square += (from[i] - mean) * (from[i] - mean);\n"
                 "        const float scale = 1.0f / sqrtf(square / (float)n + epsilon);\n"
                 "        for (int i = 0; i < n; i++) to[i] = (from[i] - mean) * scale;\n"
                 "    }\n"
                 "}\n")},
    {"rms_norm",
     "static void rms_norm(int rows, int n, float epsilon, const float *x, int x_stride, float *y,\n"
     "                     int y_stride) {\n" ROWS(
         "from", "        float *to = y + r * y_stride;\n"
                 "        float square = 0.0f;\n"
                 "        for (int i = 0; i < n; i++) square += from[i] * from[i];\n"
                 "        const float scale = 1.0f / sqrtf(square / (float)n + epsilon);\n"
                 "        for (int i = 0; i < n; i++) to[i] = from[i] * scale;\n"
                 "    }\n"
                 "}\n")},
    {"argmax",
     "static void argmax(int rows, int n, const float *x, int x_stride, void *y) {\n" ROWS(
         "row", "        int32_t best = 0;\n"
                "        for (int i = 0; i < n && row[best] == row[best]; i++)\n"
                "            if (row[i] > row[best] || row[i] != row[i]) best = i;\n"
                "        memcpy((int32_t *)y + r, &best, sizeof best);\n"
                "    }\n"
                "}\n")},
    {"gather",
     "/* rows of x that the index names; zeros where there is no such row */\n"
     "static void gather(int rows, int n, int limit, const float *x, int x_stride, const void *index,\n"
     "                   float *y, int y_stride) {\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        int32_t at;\n"
     "        memcpy(&at, (const int32_t *)index + r, sizeof at);\n"
     "        if (at >= 0 && at < limit)\n"
     "            memcpy(y + r * y_stride, x + at * x_stride, (size_t)n * sizeof *y);\n"
     "        else memset(y + r * y_stride, 0, (size_t)n * sizeof *y);\n"
     "    }\n"
     "}\n"},
    {"place",
     "static void place(int rows, int n, int limit, const float *x, const void *row, float *y) {\n"
     "    int32_t at;\n"
     "    memcpy(&at, row, sizeof at);\n"
     "    at = at < 0 ? 0 : at > limit ? limit : at;\n"
     "    memcpy(y + at * n, x, (size_t)rows * (size_t)n * sizeof *y);\n"
     "}\n"},
    {"take",
     "static void take(int rows, int n, int limit, const float *x, const void *row, float *y) {\n"
     "    int32_t at;\n"
     "    memcpy(&at, row, sizeof at);\n"
     "    at = at < 0 ? 0 : at > limit ? limit : at;\n"
     "    memcpy(y, x + at * n, (size_t)rows * (size_t)n * sizeof *y);\n"
     "}\n"},
    {"synapses",
     "/* sums of weight * sigmoid(slope * (v[source] - middle)), with and without the reversal */\n"
     "static void synapses(int batch, int sources, int targets, int count, const float *v, int stride,\n"
     "                     const float *weight, const float *middle, const float *slope,\n"
     "                     const float *reversal, const void *source, const void *target,\n"
     "                     float *y, int y_stride) {\n"
     "    (void)sources;\n"
     "    for (int b = 0; b < batch; b++) {\n"
     "        float *to = y + b * y_stride;\n"
     "        memset(to, 0, 2 * (size_t)targets * sizeof *to);\n"
     "        for (int p = 0; p < count; p++) {\n"
     "            int32_t s, t;\n"
     "            memcpy(&s, (const int32_t *)source + p, sizeof s);\n"
     "            memcpy(&t, (const int32_t *)target + p, sizeof t);\n"
     "            if (t < 0) continue;\n"
     "            const float a = weight[p] * sigmoid(slope[p] * (v[b * stride + s] - middle[p]));\n"
     "            to[t] += a * reversal[p];\n"
     "            to[targets + t] += a;\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"synapses_dv",
     "static void synapses_dv(int batch, int sources, int targets, int count, const float *v,\n"
     "                        int stride, const float *weight, const float *middle,\n"
     "                        const float *slope, const float *reversal, const void *source,\n"
     "                        const void *target, float *y, int y_stride, const float *d,\n"
     "                        int d_stride) {\n"
     "    for (int b = 0; b < batch; b++) {\n"
     "        memset(y + b * y_stride, 0, (size_t)sources * sizeof *y);\n"
     "        for (int p = 0; p < count; p++) {\n"
     "            int32_t s, t;\n"
     "            memcpy(&s, (const int32_t *)source + p, sizeof s);\n"
     "            memcpy(&t, (const int32_t *)target + p, sizeof t);\n"
     "            if (t < 0) continue;\n"
     "            const float a = sigmoid(slope[p] * (v[b * stride + s] - middle[p]));\n"
     "            const float k = d[b * d_stride + t] * reversal[p] + d[b * d_stride + targets + t];\n"
     "            y[b * y_stride + s] += k * weight[p] * a * (1.0f - a) * slope[p];\n"
     "        }\n"
     "    }\n"
     "}\n"},
    {"synapses_dp",
     "static void synapses_dp(int batch, int sources, int targets, int count, const float *v,\n"
     "                        int stride, const float *weight, const float *middle,\n"
     "                        const float *slope, const float *reversal, const void *source,\n"
     "                        const void *target, float *y, int y_stride, const float *d,\n"
     "                        int d_stride) {\n"
     "    (void)sources, (void)y_stride;\n"
     "    memset(y, 0, 4 * (size_t)count * sizeof *y);\n"
     "    for (int p = 0; p < count; p++) {\n"
     "        int32_t s, t;\n"
     "        memcpy(&s, (const int32_t *)source + p, sizeof s);\n"
     "        memcpy(&t, (const int32_t *)target + p, sizeof t);\n"
     "        for (int b = 0; t >= 0 && b < batch; b++) {\n"
     "            const float from = v[b * stride + s] - middle[p], c = d[b * d_stride + t];\n"
     "            const float a = sigmoid(slope[p] * from);\n"
     "            const float k = c * reversal[p] + d[b * d_stride + targets + t];\n"
     "            const float z = k * weight[p] * a * (1.0f - a);\n"
     "            y[p] += k * a;\n"
     "            y[count + p] -= z * slope[p];\n"
     "            y[2 * count + p] += z * from;\n"
     "            y[3 * count + p] += c * weight[p] * a;\n"
     "        }\n"
     "    }\n"
     "}\n"},
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
    {"scatter",
     "static void scatter(int rows, int n, int limit, const float *x, int x_stride,\n"
     "                    const void *index, float *y, int y_stride) {\n"
     "    for (int r = 0; r < limit; r++) memset(y + r * y_stride, 0, (size_t)n * sizeof *y);\n"
     "    for (int r = 0; r < rows; r++) {\n"
     "        int32_t at;\n"
     "        memcpy(&at, (const int32_t *)index + r, sizeof at);\n"
     "        if (at < 0 || at >= limit) continue;\n"
     "        for (int i = 0; i < n; i++) y[at * y_stride + i] += x[r * x_stride + i];\n"
     "    }\n"
     "}\n"},
    {"conv_at",
     "/* where in x tap k of result i is, -1 = nowhere; an axis is what conv says */\n"
     "static int conv_at(const int axis[7], int flipped, int i, int k) {\n"
     "    const int at = i * axis[3] + (flipped ? axis[2] - 1 - k : k) * axis[4] - axis[6];\n"
     "    return at < 0 || at % axis[5] || at / axis[5] >= axis[0] ? -1 : at / axis[5];\n"
     "}\n"},
    {"conv",
     "/* out = x convolved with the filters b or, by_filters, its gradient by those, b being that of the\n"
     " * result; axes are in, out, taps, stride, dilation, spread, before */\n"
     "static void conv(int by_filters, int samples, int channels, int filters, int groups, int flipped,\n"
     "                 const int down[7], const int across[7], const float *x, const float *b,\n"
     "                 float *out) {\n"
     "    const int deep = channels / groups, taps = down[2] * across[2], size = down[1] * across[1];\n"
     "    memset(out, 0, (size_t)filters * (by_filters ? deep * taps : samples * size) * sizeof *out);\n"
     "    for (int y = 0; y < samples * filters * size; y++) {\n"
     "        const int filter = y / size % filters, first = filter / (filters / groups) * deep;\n"
     "        for (int k = 0; k < deep * taps; k++) {\n"
     "            const int plane = y / size / filters * channels + first + k / taps;\n"
     "            const int row = conv_at(down, flipped, y % size / across[1], k % taps / across[2]);\n"
     "            const int column = conv_at(across, flipped, y % across[1], k % across[2]);\n"
     "            if (row < 0 || column < 0) continue;\n"
     "            const float value = x[(plane * down[0] + row) * across[0] + column];\n"
     "            if (by_filters) out[filter * deep * taps + k] += value * b[y];\n"
     "            else out[y] += value * b[filter * deep * taps + k];\n"
     "        }\n"
     "    }\n"
     "}\n"},
};
enum {
    FUNCTIONS = sizeof functions / sizeof *functions,
    HELPERS = FUNCTIONS + EG__C_SMALL_FUNCTIONS
};
_Static_assert(HELPERS <= 64, "one bit each");

static const eg__c_function *function(unsigned i) {
    return i < FUNCTIONS ? &functions[i] : &eg__c_small_functions[i - FUNCTIONS];
}

bool eg__c_is_function(const char *name) {
    for (unsigned i = 0; i < HELPERS; i++)
        if (strcmp(function(i)->name, name) == 0) return true;
    return false;
}

static bool calls(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if (at[length] == '(' && (at == text || at[-1] == ' ')) return true;
    return false;
}

/* A function and what it calls, all of which stands before it. */
static void need(eg__c_export *x, const char *name) {
    unsigned i = 0;
    while (i < HELPERS && strcmp(function(i)->name, name) != 0) i++;
    if (i == HELPERS) return;
    x->helpers |= UINT64_C(1) << i;
    for (unsigned before = 0; before < i; before++)
        if (calls(function(i)->text, function(before)->name)) need(x, function(before)->name);
}

static void need_fused(eg__c_export *x, const eg__fused_program *program) {
    for (unsigned i = 0; i < program->length; i++) {
        const char *text = eg__c_operation(program->code[i].op);
        if (!text) {
            eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for the operation '%s' of a step 'fused'",
                       eg__fused_op_name(program->code[i].op));
            return;
        }
        for (unsigned h = 0; h < HELPERS; h++)
            if (calls(text, function(h)->name)) need(x, function(h)->name);
    }
}

const char *eg__c_helper(const eg__step *step) {
    static const char *const reductions[] = {[EG__REDUCE_SUM] = "row_sum",
                                             [EG__REDUCE_MEAN] = "row_mean",
                                             [EG__REDUCE_MAX] = "row_largest",
                                             [EG__REDUCE_MIN] = "row_least"};
    const eg__step_rows *r = &step->u.rows_;
    if (step->run == eg__run_gemm) return "product";
    if (step->run == eg__run_gemm_turned) return "turned_product";
    if (step->run == eg__run_gemm_small) return eg__c_small_helper(step);
    if (step->run == eg__run_pack) return "matrix";
    if (step->run == eg__run_reduce) return reductions[r->reduction];
    if (step->run == eg__run_column_sum)
        return r->reduction == EG__REDUCE_MEAN ? "column_mean" : "column_sum";
    if (step->run == eg__run_softmax) return r->logarithm ? "log_softmax" : "softmax";
    if (step->run == eg__run_norm) return "norm";
    if (step->run == eg__run_rms_norm) return "rms_norm";
    if (step->run == eg__run_argmax) return "argmax";
    if (step->run == eg__run_gather) return "gather";
    if (step->run == eg__run_scatter) return "scatter";
    if (step->run == eg__run_place) return step->u.place.takes ? "take" : "place";
    if (step->run == eg__run_attention) return "attention";
    if (eg__step_is_attention(step)) return "attention_back";
    if (step->run == eg__run_rotary) return "rotary";
    if (eg__step_is_conv(step)) return "conv";
    if (step->run == eg__run_synapses) return "synapses";
    if (step->run == eg__run_synapses_dv) return "synapses_dv";
    if (step->run == eg__run_synapses_dp) return "synapses_dp";
    return NULL;
}

void eg__c_need_helpers(eg__c_export *x, const eg__step *step) {
    const char *name = eg__c_helper(step);
    if (name) need(x, name);
    else if (step->run != eg__run_fused && step->run != eg__run_copy && step->run != eg__run_scan)
        eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for a step '%s'", step->name);
    if (step->run == eg__run_fused) need_fused(x, &step->u.fused.program);
    if (eg__c_is_product(step) && step->u.gemm.has_epilogue) need_fused(x, &step->u.gemm.epilogue);
}

bool eg__c_needs_integers(const eg__c_export *x) {
    for (unsigned i = 0; i < HELPERS; i++) {
        const char *text = function(i)->text;
        if (x->helpers >> i & 1 &&
            (strstr(text, "int8_t") || strstr(text, "int16_t") || strstr(text, "int32_t")))
            return true;
    }
    return false;
}

void eg__c_write_helpers(eg__c_export *x) {
    for (unsigned i = 0; i < HELPERS; i++)
        if (x->helpers >> i & 1) eg__c_put(x, "\n%s", function(i)->text);
}
