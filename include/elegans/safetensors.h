/* .safetensors files: named tensors and pairs of text, read where they lie in the mapped file.
 * Stable. */
#ifndef ELEGANS_SAFETENSORS_H
#define ELEGANS_SAFETENSORS_H

#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: an open file, mapped into memory and never written to. Nothing changes after it was
 * opened, so any thread may ask. Close it before the context. */
typedef struct eg_safetensors eg_safetensors;

/* Opens a file and checks all of its header before anything is handed out: a header of at most
 * 100,000,000 bytes that is one JSON object in UTF-8, no key twice anywhere, entries of exactly
 * "dtype", "shape" and "data_offsets", sizes that agree with them, data without holes, overlaps or
 * bytes left over, "__metadata__" of texts only. What breaks one of these is EG_ERR_FORMAT; numbers
 * and shapes beyond 63 bits are EG_ERR_OVERFLOW; more than 64 extents, and builds without a JSON
 * parser, are EG_ERR_UNSUPPORTED. The elements themselves are not checked: a NaN, or a bool that
 * is neither 0 nor 1, is handed out as it is. On failure *out is NULL.
 * As with every mapped file, this process is killed (SIGBUS) if another one truncates the file while it is
 * open; eg_safetensors_write replaces files and never truncates them. */
EG_API eg_status eg_safetensors_open(eg_context *context, const char *path, eg_safetensors **out,
                                     eg_error *error);
EG_API void eg_safetensors_close(eg_safetensors *file); /* NULL is fine */

EG_API size_t eg_safetensors_count(const eg_safetensors *file);
/* In the order of the header; UTF-8; valid until close; NULL past the end. */
EG_API const char *eg_safetensors_name(const eg_safetensors *file, size_t index);
/* A view that is valid until close and must not be written to. It is aligned to its element, not
 * to 64 bytes; where the file did not align it, it is a copy that was made when the file was
 * opened. The dtypes F32 F16 BF16 I8 U8 I32 I64 BOOL become the types of these names; another one,
 * and a rank above EG_RANK_MAX, are EG_ERR_UNSUPPORTED here and not when the file is opened.
 * EG_ERR_NOT_FOUND names the tensor. On failure *out is all zero. */
EG_API eg_status eg_safetensors_tensor(const eg_safetensors *file, const char *name, eg_tensor *out,
                                       eg_error *error);

/* The pairs of "__metadata__" in the order of the header, UTF-8, valid until close. Past the end is
 * EG_ERR_NOT_FOUND, and both are NULL then. `key` and `value` may be NULL. */
EG_API size_t eg_safetensors_metadata_count(const eg_safetensors *file);
EG_API eg_status eg_safetensors_metadata_at(const eg_safetensors *file, size_t index,
                                            const char **key, const char **value);
/* The value of `key`; NULL = none. */
EG_API const char *eg_safetensors_metadata(const eg_safetensors *file, const char *key);

typedef struct eg_pair {
    const char *key, *value;
} eg_pair;

/* Writes beside and renames: an existing file is replaced whole or not at all. Tensors and pairs
 * stand in the file in the order given, the header is padded with spaces to a multiple of 8: the
 * bytes that the safetensors package writes when it is given this order (its own is by falling size
 * of the elements, which also keeps every tensor aligned). Names and keys are UTF-8 and all
 * different; a name is not empty and not "__metadata__". EG_I4 is EG_ERR_UNSUPPORTED: the format
 * has no such type. */
EG_API eg_status eg_safetensors_write(eg_context *context, const char *path, size_t count,
                                      const char *const *names, const eg_tensor *tensors,
                                      size_t metadata_count, const eg_pair *metadata,
                                      eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
