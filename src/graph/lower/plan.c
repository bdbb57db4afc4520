/* Memory planning by lifetime: every buffer gets the lowest offset that is free while it is
 * live. */
#include "graph/lower/lower.h"

#include <stdlib.h>
#include <string.h>

static bool lives(const eg__buffer *b) { return b->first != EG__NEVER || b->kept; }

static bool meet(const eg__buffer *a, const eg__buffer *b, bool reuse) {
    if (!reuse) return true;
    const uint32_t a_last = a->kept ? EG__NEVER : a->last, b_last = b->kept ? EG__NEVER : b->last;
    return a->first <= b_last && b->first <= a_last;
}

/* The order of placement decides how well buffers fit; several orders are tried. */
static int by_size(const void *x, const void *y) {
    const eg__buffer *a = *(eg__buffer *const *)x, *b = *(eg__buffer *const *)y;
    if (a->size != b->size) return a->size < b->size ? 1 : -1;
    return a->first != b->first ? (a->first < b->first ? -1 : 1) : 0;
}
static int by_time(const void *x, const void *y) {
    const eg__buffer *a = *(eg__buffer *const *)x, *b = *(eg__buffer *const *)y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->size != b->size ? (a->size < b->size ? 1 : -1) : 0;
}
static int by_length(const void *x, const void *y) {
    const eg__buffer *a = *(eg__buffer *const *)x, *b = *(eg__buffer *const *)y;
    const uint32_t la = a->kept ? EG__NEVER : a->last - a->first,
                   lb = b->kept ? EG__NEVER : b->last - b->first;
    if (la != lb) return la < lb ? 1 : -1;
    return by_size(x, y);
}

/* `placed` holds the buffers that have an offset, sorted by it. */
static size_t place_all(eg__buffer **order, size_t count, eg__buffer **placed, bool reuse) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        eg__buffer *buffer = order[i];
        size_t at = 0, k = 0;
        for (; k < i; k++) {
            const eg__buffer *other = placed[k];
            if (!meet(buffer, other, reuse)) continue;
            if (other->offset >= at + buffer->size) break;
            at = eg__max(at, other->offset + other->size);
        }
        buffer->offset = at;
        size = eg__max(size, at + buffer->size);
        for (k = i; k > 0 && placed[k - 1]->offset > at; k--) placed[k] = placed[k - 1];
        placed[k] = buffer;
    }
    return size;
}

/* Lower bound: the largest sum of sizes that are live at one step. */
static size_t largest_set(eg__buffer *const *list, size_t count) {
    size_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t sum = 0;
        for (size_t k = 0; k < count; k++) {
            const uint32_t last = list[k]->kept ? EG__NEVER : list[k]->last;
            if (list[k]->first <= list[i]->first && list[i]->first <= last) sum += list[k]->bound;
        }
        largest = eg__max(largest, sum);
    }
    return largest;
}

/* Repeats a few times: the buffer that ends highest is placed first the next time. */
static void improve(eg__buffer **list, size_t count, eg__buffer **placed, eg__buffer **best,
                    bool reuse, size_t bound, size_t *least) {
    enum { TURNS = 24 };
    for (int turn = 0; turn<TURNS && * least> bound; turn++) {
        const size_t size = place_all(list, count, placed, reuse);
        if (size < *least) {
            *least = size;
            memcpy(best, list, count * sizeof *list);
        }
        size_t top = 0;
        while (top < count && list[top]->offset + list[top]->size < size) top++;
        if (!top || top == count) return;
        eg__buffer *first = list[top];
        memmove(list + 1, list, top * sizeof *list);
        list[0] = first;
    }
}

eg_status eg__plan_memory(eg__memory *memory, size_t count, eg__buffer *const *buffers, bool reuse,
                          eg__plan *out, eg_error *error) {
    static int (*const orders[])(const void *, const void *) = {by_size, by_length, by_time};
    *out = (eg__plan){0, 0};
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__buffer **list =
        eg__memory_take_array(memory, EG_TAG_GRAPH, 3 * count + 1, sizeof *list, &reason);
    if (!list) return eg__fail(error, reason.status, "%s", reason.message);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (lives(buffers[i])) list[used++] = buffers[i];
    eg__buffer **placed = list + count, **best = placed + count;
    const size_t bound = largest_set(list, used);
    size_t least = SIZE_MAX;
    for (size_t k = 0; k < 3 && least > bound; k++) {
        qsort(list, used, sizeof *list, orders[k]);
        improve(list, used, placed, best, reuse, bound, &least);
    }
    *out = (eg__plan){used ? place_all(best, used, placed, reuse) : 0, bound};
    eg__memory_give(memory, list);
    return EG_OK;
}
