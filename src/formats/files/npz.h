/* Archives of arrays on tracked memory; the public functions are these with a context. */
#ifndef EG__NPZ_H
#define EG__NPZ_H

#include "elegans/tensor.h"
#include "formats/files/npy.h"

bool eg__npz_is(const eg__head *head); /* by the name of its first member */
eg_status eg__npz_open(eg__memory *memory, const char *path, eg_npz **out, eg_error *error);
/* The same on bytes that outlive the archive. */
eg_status eg__npz_open_bytes(eg__memory *memory, const void *bytes, size_t length, eg_npz **out,
                             eg_error *error);
/* eg_npz_read for tables, which take numbers of any width: see eg__npy_layout. */
eg_status eg__npz_read(eg_npz *npz, const char *name, eg__npy_layout *layout, eg_tensor *out,
                       eg_error *error);
/* Bytes of all arrays, unpacked. */
uint64_t eg__npz_bytes(const eg_npz *npz);
eg_status eg__npz_save(eg__memory *memory, const char *path, size_t count, const char *const *names,
                       const eg_tensor *tensors, eg_error *error);

#endif
