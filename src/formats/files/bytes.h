/* Little-endian integers at any address, as the formats have them. */
#ifndef EG__BYTES_H
#define EG__BYTES_H

#include <stdint.h>

static inline uint16_t eg__get16(const unsigned char *at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline uint32_t eg__get32(const unsigned char *at) {
    return eg__get16(at) | (uint32_t)eg__get16(at + 2) << 16;
}
static inline uint64_t eg__get64(const unsigned char *at) {
    return eg__get32(at) | (uint64_t)eg__get32(at + 4) << 32;
}

/* These return the address behind what they wrote, so that a record is a chain of calls. */
static inline unsigned char *eg__put16(unsigned char *at, uint16_t value) {
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
    return at + 2;
}
static inline unsigned char *eg__put32(unsigned char *at, uint32_t value) {
    return eg__put16(eg__put16(at, (uint16_t)value), (uint16_t)(value >> 16));
}
static inline unsigned char *eg__put64(unsigned char *at, uint64_t value) {
    return eg__put32(eg__put32(at, (uint32_t)value), (uint32_t)(value >> 32));
}

#endif
