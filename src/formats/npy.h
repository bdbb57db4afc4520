/* One .npy array: its header, and decoding from memory, from a file, from an archive. */
#ifndef EG__NPY_H
#define EG__NPY_H

#include "elegans/tensor.h"
#include "formats/file.h"

/* Bytes in order, `size` of them. `read` fills exactly what is asked for or fails. */
typedef struct eg__stream {
    eg_status (*read)(void *user, void *out, size_t size, eg_error *error);
    void *user;
    uint64_t size;
} eg__stream;

/* The dictionary of a header (the text after its length) into type, rank and shape; `data` stays
 * NULL. Keys may come in any order and spacing. No tensor is f64, but tables are: who passes `f64`
 * also gets those, with EG_I64 as the type of equal size and *f64 true. NULL refuses them. */
eg_status eg__npy_header_parse(const char *text, size_t length, bool *f64, eg_tensor *out,
                               eg_error *error);

/* What numpy.save writes before the data, from the magic on. It pads to a multiple of 64; up to
 * rank 6 that is always this. */
enum { EG__NPY_HEADER_SIZE = 128 };
eg_status eg__npy_header_format(char out[EG__NPY_HEADER_SIZE], const eg_tensor *tensor,
                                eg_error *error);
/* The same, and the size of the data that follow, for a tensor whose data are there. */
eg_status eg__npy_prepare(char out[EG__NPY_HEADER_SIZE], const eg_tensor *tensor, size_t *size,
                          eg_error *error);

/* A whole .npy, no byte more or less. The caller gives out->data back to `memory`; on failure *out
 * is all zero. */
eg_status eg__npy_decode_stream(eg__memory *memory, const eg__stream *stream, bool *f64,
                                eg_tensor *out, eg_error *error);
eg_status eg__npy_decode(eg__memory *memory, const void *bytes, size_t length, eg_tensor *out,
                         eg_error *error);
eg_status eg__npy_load(eg__memory *memory, const char *path, bool *f64, eg_tensor *out,
                       eg_error *error);

#endif
