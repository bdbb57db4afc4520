/* A batch size that doubles while it works and halves when it does not. */
#include "elegans/batch.h"

enum { FIRST = 32, MOST = 1 << 20 };

void eg_batch_begin(eg_batch *b, uint64_t first, uint64_t least, uint64_t most) {
    *b = (eg_batch){
        .size = first ? first : FIRST, .least = least ? least : 1, .most = most ? most : MOST};
    if (b->most < b->least) b->most = b->least;
    if (b->size < b->least) b->size = b->least;
    if (b->size > b->most) b->size = b->most;
}

static uint64_t larger(const eg_batch *b, uint64_t size) {
    const uint64_t twice = size <= b->most / 2 ? size * 2 : b->most;
    return b->fails && twice >= b->fails ? size : twice;
}

uint64_t eg_batch_adjust(eg_batch *b, int success) {
    if (!b->size) return 0;
    if (success) {
        if (b->size > b->works) b->works = b->size;
        if (++b->streak >= EG_BATCH_PATIENCE && b->fails) b->fails = b->streak = 0;
        b->size = larger(b, b->size);
        return b->size;
    }
    b->fails = b->size;
    b->streak = 0;
    if (b->works >= b->fails) b->works = 0; /* a size that worked before fails now */
    if (b->size == b->least) b->size = 0;
    else b->size = b->size / 2 > b->least ? b->size / 2 : b->least;
    return b->size;
}

int eg_batch_settled(const eg_batch *b) {
    return !b->size || (b->works && larger(b, b->works) == b->works);
}
