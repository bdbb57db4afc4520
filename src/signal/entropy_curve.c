/* Entropies and patch sizes along an input, in few columns. */
#include "base/abi.h"
#include "engine/context.h"
#include "signal/entropy.h"

struct eg_entropy_curve {
    eg__memory *memory;
    eg_entropy_curve_info info; /* but `all` */
    uint64_t patch_start;       /* where the next patch begins */
    uint64_t patch_ends[EG_ENTROPY_PATCH_ENDS];
    eg_entropy_column columns[EG_ENTROPY_COLUMNS];
};

eg_status eg_entropy_curve_create(eg_context *context, double low, double high,
                                  eg_entropy_curve **out, eg_error *error) {
    eg_error own;
    if (!error) error = &own;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the curve");
    *out = NULL;
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    eg__memory *memory = eg__context_memory(context);
    eg_entropy_curve *c = eg__memory_take_zeroed(memory, EG_TAG_OTHER, sizeof *c, error);
    if (!c) return error->status;
    c->memory = memory;
    c->info = (eg_entropy_curve_info){.low = low,
                                      .high = high,
                                      .column_bytes = 1,
                                      .columns = c->columns,
                                      .patch_ends = c->patch_ends};
    *out = c;
    return EG_OK;
}

void eg_entropy_curve_destroy(eg_entropy_curve *curve) {
    if (curve) eg__memory_give(curve->memory, curve);
}

static void merge(eg_entropy_column *to, const eg_entropy_column *from) {
    if (!from->count) return;
    if (!to->count || from->least < to->least) to->least = from->least;
    if (!to->count || from->most > to->most) to->most = from->most;
    to->sum += from->sum;
    to->patch_sizes += from->patch_sizes;
    to->count += from->count;
}

static void halve(eg_entropy_curve *c) {
    for (size_t i = 0; i < EG_ENTROPY_COLUMNS; i++) {
        const eg_entropy_column column = c->columns[i];
        c->columns[i] = (eg_entropy_column){0};
        merge(&c->columns[i / 2], &column);
    }
    c->info.column_bytes *= 2;
    c->info.column_count = EG_ENTROPY_COLUMNS / 2;
}

/* Sums of floats from 2^-8 to 1 have no bit below 2^-32: a double holds 2^20 of them exactly, in
 * whatever order they are added. */
enum { EXACT_MOST = 1 << 20 };
enum { LANES = 4 }; /* so that an addition does not wait for the one before */
static const float EXACT_LEAST = 0x1p-8f;

static eg_entropy_column column_of(const float *entropies, size_t count) {
    double sums[LANES] = {0};
    float least[LANES], most[LANES];
    for (size_t k = 0; k < LANES; k++) least[k] = most[k] = entropies[0];
    size_t i = 0;
    for (; count - i >= LANES; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const float x = entropies[i + k];
            sums[k] += (double)x;
            least[k] = x < least[k] ? x : least[k];
            most[k] = x > most[k] ? x : most[k];
        }
    eg_entropy_column column = {.least = least[0], .most = most[0], .count = count};
    for (size_t k = 0; k < LANES; k++) {
        column.least = least[k] < column.least ? least[k] : column.least;
        column.most = most[k] > column.most ? most[k] : column.most;
        column.sum += sums[k];
    }
    for (; i < count; i++) {
        column.sum += (double)entropies[i];
        if (entropies[i] < column.least) column.least = entropies[i];
        if (entropies[i] > column.most) column.most = entropies[i];
    }
    if (count <= EXACT_MOST && column.least >= EXACT_LEAST && column.most <= 1) return column;
    column.sum = 0; /* the order is part of the result */
    for (i = 0; i < count; i++) column.sum += (double)entropies[i];
    return column;
}

static void count_extremes(eg_entropy_curve_info *c, const float *entropies, size_t count) {
    enum { PIECE = 1 << 16 }; /* whose counts fit into the lanes of a vector */
    const float low = (float)c->low, high = (float)c->high;
    for (size_t start = 0; start < count; start += PIECE) {
        const size_t end = eg__min(count, start + PIECE);
        int32_t calm[LANES] = {0}, busy[LANES] = {0};
        size_t i = start;
        for (; end - i >= LANES; i += LANES)
            for (size_t k = 0; k < LANES; k++) {
                calm[k] += entropies[i + k] <= low;
                busy[k] += entropies[i + k] >= high;
            }
        for (; i < end; i++) {
            calm[0] += entropies[i] <= low;
            busy[0] += entropies[i] >= high;
        }
        for (size_t k = 0; k < LANES; k++) {
            c->low_bytes += (uint64_t)calm[k];
            c->high_bytes += (uint64_t)busy[k];
        }
    }
}

void eg_entropy_curve_add(eg_entropy_curve *curve, const float *entropies, size_t count) {
    eg_entropy_curve_info *c = &curve->info;
    count_extremes(c, entropies, count);
    while (count) {
        if (c->bytes == c->column_bytes * EG_ENTROPY_COLUMNS) halve(curve);
        const uint64_t at = c->bytes / c->column_bytes;
        const uint64_t room = (at + 1) * c->column_bytes - c->bytes;
        const size_t piece = (size_t)eg__min(count, room);
        const eg_entropy_column column = column_of(entropies, piece);
        merge(&curve->columns[at], &column);
        c->column_count = (size_t)at + 1;
        c->bytes += piece;
        entropies += piece, count -= piece;
    }
}

eg_status eg_entropy_curve_add_patch(eg_entropy_curve *curve, uint32_t size, eg_error *error) {
    eg_entropy_curve_info *c = &curve->info;
    uint64_t at = curve->patch_start;
    const uint64_t end = at + size;
    if (end > c->bytes)
        return eg__fail(error, EG_ERR_ARGUMENT, "a patch ends at '%llu', the entropies at %llu",
                        (unsigned long long)end, (unsigned long long)c->bytes);
    while (at < end) {
        const uint64_t column = at / c->column_bytes;
        const uint64_t upto = eg__min((column + 1) * c->column_bytes, end);
        curve->columns[column].patch_sizes += (double)(upto - at) * size;
        at = upto;
    }
    if (c->patches < EG_ENTROPY_PATCH_ENDS) curve->patch_ends[c->patches] = end;
    c->patches++;
    curve->patch_start = end;
    return EG_OK;
}

void eg_entropy_curve_info_get(const eg_entropy_curve *curve, eg_entropy_curve_info *out) {
    eg_entropy_curve_info info = curve->info;
    for (size_t i = 0; i < info.column_count; i++) merge(&info.all, &curve->columns[i]);
    EG__INFO(eg_entropy_curve_info, out, &info);
}

eg__memory *eg__entropy_curve_memory(const eg_entropy_curve *curve) { return curve->memory; }
