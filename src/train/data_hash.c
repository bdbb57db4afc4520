/* A number that tells data sets apart. */
#include "train/data.h"

#include <string.h>

/* FNV-1a over words of 4 bytes: it guards against mistakes, not attackers. */
static uint64_t add(uint64_t hash, const void *values, uint64_t words) {
    const unsigned char *at = values;
    for (uint64_t i = 0; at && i < words; i++, at += 4) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t eg__data_hash(const eg_data *data, uint64_t hash) {
    const eg__store *s = data->store;
    const uint64_t sizes[] = {s->rows, s->inputs, s->targets, s->classes, s->last, data->count};
    hash = add(hash, sizes, sizeof sizes / 4);
    hash = add(hash, data->windows, data->count * sizeof *data->windows / 4);
    hash = add(hash, s->x, s->rows * s->inputs);
    hash = add(hash, s->y, s->rows * s->targets);
    return add(hash, s->timespans, s->rows);
}
