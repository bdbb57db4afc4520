/* Entropies and patch sizes along an input, in few columns. */
#include "cli/commands/entropy.h"

void curve_start(entropy_curve *curve, double low, double high) {
    *curve = (entropy_curve){.per = 1, .low = low, .high = high};
}

static void merge(curve_column *to, const curve_column *from) {
    if (!from->count) return;
    if (!to->count || from->least < to->least) to->least = from->least;
    if (!to->count || from->most > to->most) to->most = from->most;
    to->sum += from->sum;
    to->sizes += from->sizes;
    to->count += from->count;
}

static void halve(entropy_curve *c) {
    for (size_t i = 0; i < CURVE_MOST; i++) {
        const curve_column column = c->columns[i];
        c->columns[i] = (curve_column){0};
        merge(&c->columns[i / 2], &column);
    }
    c->per *= 2;
    c->count = CURVE_MOST / 2;
}

static curve_column column_of(const float *entropies, size_t count) {
    curve_column column = {.least = entropies[0], .most = entropies[0], .count = count};
    for (size_t i = 0; i < count; i++) {
        column.sum += (double)entropies[i];
        if (entropies[i] < column.least) column.least = entropies[i];
        if (entropies[i] > column.most) column.most = entropies[i];
    }
    return column;
}

static void count_extremes(entropy_curve *c, const float *entropies, size_t count) {
    const float low = (float)c->low, high = (float)c->high;
    for (size_t i = 0; i < count; i++) {
        c->calm += entropies[i] <= low;
        c->busy += entropies[i] >= high;
    }
}

void curve_add(entropy_curve *curve, const float *entropies, size_t count) {
    count_extremes(curve, entropies, count);
    while (count) {
        if (curve->bytes == curve->per * CURVE_MOST) halve(curve);
        const uint64_t at = curve->bytes / curve->per;
        const uint64_t room = (at + 1) * curve->per - curve->bytes;
        const size_t piece = count < room ? count : (size_t)room;
        const curve_column column = column_of(entropies, piece);
        merge(&curve->columns[at], &column);
        curve->count = (size_t)at + 1;
        curve->bytes += piece;
        entropies += piece, count -= piece;
    }
}

void curve_add_patch(entropy_curve *curve, uint32_t size) {
    const uint64_t end = curve->place + size;
    while (curve->place < end) {
        const uint64_t at = curve->place / curve->per, next = (at + 1) * curve->per;
        const uint64_t upto = next < end ? next : end;
        curve->columns[at].sizes += (double)(upto - curve->place) * size;
        curve->place = upto;
    }
    if (curve->patches < CURVE_CUTS) curve->cuts[curve->patches] = end;
    curve->patches++;
}

curve_column curve_all(const entropy_curve *curve) {
    curve_column all = {0};
    for (size_t i = 0; i < curve->count; i++) merge(&all, &curve->columns[i]);
    return all;
}
