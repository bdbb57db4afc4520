/* The random bits of dropout: a function of where and when, so that nothing has to be kept. */
#ifndef EG__DROPOUT_H
#define EG__DROPOUT_H

#include <stdint.h>

/* An element is dropped when the upper 53 bits, as a fraction, are below the rate. */
static inline uint64_t eg__dropout_bits(uint64_t seed, uint64_t key, uint64_t time,
                                        uint64_t element) {
    uint64_t x = seed + 0x9e3779b97f4a7c15u * (element + 1);
    x ^= (key << 32 | (time & 0xffffffffu)) * 0xd1342543de82ef95u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u; /* splitmix64's finish */
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
