/* Element types, tensors, conversions between types, and .npy/.npz files.
 * Stable. */
#ifndef ELEGANS_TENSOR_H
#define ELEGANS_TENSOR_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, bits per element, text, the .npy type ("" where numpy has none) */
#define EG_TYPE_MAP(X)                                                          \
    X(EG_F32, 32, "f32", "<f4")                                                 \
    X(EG_F16, 16, "f16", "<f2")                                                 \
    X(EG_BF16, 16, "bf16", "")                                                  \
    X(EG_I8, 8, "i8", "|i1")                                                    \
    X(EG_I4, 4, "i4", "") /* two to a byte, the even element in the low half */ \
    X(EG_U8, 8, "u8", "|u1")                                                    \
    X(EG_I32, 32, "i32", "<i4")                                                 \
    X(EG_I64, 64, "i64", "<i8")                                                 \
    X(EG_BOOL, 8, "bool", "|b1")

typedef enum eg_type {
#define EG_TYPE_ENUM(name, bits, text, npy) name,
    EG_TYPE_MAP(EG_TYPE_ENUM)
#undef EG_TYPE_ENUM
        EG_TYPE_COUNT
} eg_type;

EG_API const char *eg_type_name(eg_type type); /* "f32"; static */
EG_API unsigned eg_type_bits(eg_type type);
/* The type called `name`; EG_ERR_UNSUPPORTED names it and lists the known ones. */
EG_API eg_status eg_type_find(const char *name, eg_type *out, eg_error *error);

enum { EG_RANK_MAX = 6 };

/* A view of contiguous row-major memory that somebody else owns. Rank 0 is one element. */
typedef struct eg_tensor {
    eg_type type;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    void *data; /* aligned to 64 bytes where the library made it */
} eg_tensor;

/* Elements and bytes of a shape; EG_ERR_OVERFLOW when they do not fit, EG_ERR_ARGUMENT for a rank
 * above EG_RANK_MAX. An extent of 0 is legal, but the other extents must fit without it, so that
 * strides do too. `elements` and `bytes` may be NULL. */
EG_API eg_status eg_tensor_measure(const eg_tensor *tensor, uint64_t *elements, uint64_t *bytes,
                                   eg_error *error);

/* A new tensor of zeros, in memory of the context (EG_TAG_TENSOR). Give it back with
 * eg_tensor_release, which leaves *tensor all zero and accepts an all-zero one. */
EG_API eg_status eg_tensor_create(eg_context *context, eg_type type, unsigned rank,
                                  const uint64_t *shape, eg_tensor *out, eg_error *error);
EG_API void eg_tensor_release(eg_context *context, eg_tensor *tensor);

/* Converts between f32, f16 and bf16, element by element, rounding to the nearest, ties to even,
 * with the context's kernels; infinities stay, NaN stays NaN. The shapes must be equal. */
EG_API eg_status eg_tensor_convert(const eg_context *context, const eg_tensor *from, eg_tensor *to,
                                   eg_error *error);

/* ---- .npy and .npz (numpy's formats, versions 1 to 3; .npz members stored or deflated) */

/* Reads a whole .npy file into a new tensor; a Fortran-ordered one is transposed. Big-endian, structured and
 * object arrays are EG_ERR_UNSUPPORTED; so are f64 and other integer widths, which the message names (eg_table_read
 * takes every numeric type). A file shorter or longer than its header promises is EG_ERR_FORMAT; nothing is allocated
 * before sizes are checked against the file's. On failure *out is all zero, here and in eg_npz_read. */
EG_API eg_status eg_npy_read(eg_context *context, const char *path, eg_tensor *out,
                             eg_error *error);
/* Writes beside and renames: an existing file is replaced whole or not at all. */
EG_API eg_status eg_npy_write(const char *path, const eg_tensor *tensor, eg_error *error);

/* Opaque: the directory of an .npz file, which stays open; an array is read when it is asked for,
 * from any thread. Members that are not called .npy are left out; two of one name are
 * EG_ERR_FORMAT. Close it before the context. */
typedef struct eg_npz eg_npz;
EG_API eg_status eg_npz_open(eg_context *context, const char *path, eg_npz **out, eg_error *error);
EG_API void eg_npz_close(eg_npz *archive); /* NULL is fine */
EG_API size_t eg_npz_count(const eg_npz *archive);
/* The name of a member without ".npy"; lives as long as the archive; NULL past the end. */
EG_API const char *eg_npz_name(const eg_npz *archive, size_t index);
/* A new tensor, as from eg_npy_read; its checksum is verified. EG_ERR_NOT_FOUND names an unknown
 * name. */
EG_API eg_status eg_npz_read(eg_npz *archive, const char *name, eg_tensor *out, eg_error *error);
/* Writes `count` tensors, stored without compression, beside and renamed: the same bytes as
 * numpy.savez. Names are UTF-8, not empty and all different. */
EG_API eg_status eg_npz_write(eg_context *context, const char *path, size_t count,
                              const char *const *names, const eg_tensor *tensors, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
