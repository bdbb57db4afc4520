/* Tensors of a golden .safetensors file by name, and a checksum for those that are not there. */
#ifndef EG__GOLDEN_TENSORS_H
#define EG__GOLDEN_TENSORS_H

#include "test.h"

typedef struct golden_file {
    unsigned char *bytes;
    size_t size, data; /* where the tensors begin */
} golden_file;

/* False when there is no such file. The reader trusts the file: it is for tests. */
bool golden_open(golden_file *file, const char *path);
/* The bytes of a tensor; NULL when there is none of that name. */
const void *golden_tensor(const golden_file *file, const char *name, size_t *size);
void golden_close(golden_file *file);

uint64_t golden_checksum(const void *bytes, size_t size); /* FNV-1a, 64 bits */

#endif
