/* CRC-32 by zlib. */
#include "formats/files/zip.h"

#include <zlib.h>

uint32_t eg__crc32(uint32_t crc, const void *bytes, size_t size) {
    /* zlib takes NULL as "the value to start with", and nothing may well lie at NULL. */
    return size ? (uint32_t)crc32_z(crc, bytes, size) : crc;
}
