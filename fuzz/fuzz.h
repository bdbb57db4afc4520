/* What the fuzz targets share: a broken promise is a crash, bytes become a file, in memory or on the disk. */
#ifndef EG__FUZZ_H
#define EG__FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static inline void require(int condition) {
    if (!condition) abort();
}

/* A file in memory with these bytes; its path goes to `path`, the caller closes what is returned. */
static inline int fuzz_file(const uint8_t *bytes, size_t length, char path[64]) {
    const int file = memfd_create("fuzz", 0);
    require(file >= 0 && write(file, bytes, length) == (ssize_t)length);
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

/* The same on the disk, where the name matters. */
static inline void fuzz_write(const char *path, const uint8_t *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

#endif
