/* .gguf files: metadata by key and tensors by name, read where they lie in the mapped file.
 * Experimental. */
#ifndef ELEGANS_GGUF_H
#define ELEGANS_GGUF_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: an open file, mapped into memory and never written to. Nothing changes after it was opened,
 * so any thread may ask. Close it before the context. */
typedef struct eg_gguf eg_gguf;

/* Opens a file of version 2 or 3, little-endian, and checks all that stands before the data: no key
 * and no name twice, texts and arrays within the file, no arrays of arrays, flags of 0 or 1,
 * "general.alignment" a power of two, at most 4 extents, whole blocks, and tensors one behind the
 * other, each padded to the alignment, within the file. What breaks one of these is EG_ERR_FORMAT;
 * sizes beyond 63 bits are EG_ERR_OVERFLOW; other versions and unknown element types are
 * EG_ERR_UNSUPPORTED. On failure *out is NULL. As with every mapped file, this process is killed (SIGBUS) if
 * another one truncates the file while it is open. */
EG_API eg_status eg_gguf_open(eg_context *context, const char *path, eg_gguf **out,
                              eg_error *error);
EG_API void eg_gguf_close(eg_gguf *file); /* NULL is fine */

/* ---- metadata: a value, or an array of values of one type, for each key */

/* name, value in the format, bytes, text */
#define EG_GGUF_TYPE_MAP(X)       \
    X(EG_GGUF_U8, 0, 1, "u8")     \
    X(EG_GGUF_I8, 1, 1, "i8")     \
    X(EG_GGUF_U16, 2, 2, "u16")   \
    X(EG_GGUF_I16, 3, 2, "i16")   \
    X(EG_GGUF_U32, 4, 4, "u32")   \
    X(EG_GGUF_I32, 5, 4, "i32")   \
    X(EG_GGUF_F32, 6, 4, "f32")   \
    X(EG_GGUF_FLAG, 7, 1, "bool") \
    X(EG_GGUF_TEXT, 8, 0, "text") \
    X(EG_GGUF_U64, 10, 8, "u64")  \
    X(EG_GGUF_I64, 11, 8, "i64")  \
    X(EG_GGUF_F64, 12, 8, "f64")

typedef enum eg_gguf_type {
#define EG_GGUF_TYPE_ENUM(name, value, bytes, text) name = value,
    EG_GGUF_TYPE_MAP(EG_GGUF_TYPE_ENUM)
#undef EG_GGUF_TYPE_ENUM
} eg_gguf_type;
EG_API const char *eg_gguf_type_name(eg_gguf_type type); /* "u32"; static */

typedef struct eg_gguf_entry {
    const char *key;   /* UTF-8, valid until close */
    eg_gguf_type type; /* of the value, or of each value of an array */
    int is_array;
    uint64_t count; /* of values: 1 when it is not an array */
} eg_gguf_entry;

EG_API size_t eg_gguf_entry_count(const eg_gguf *file);
/* In the order of the file; past the end is EG_ERR_NOT_FOUND, and *out all zero. */
EG_API eg_status eg_gguf_entry_at(const eg_gguf *file, size_t index, eg_gguf_entry *out);
/* EG_ERR_NOT_FOUND names the key. */
EG_API eg_status eg_gguf_entry_find(const eg_gguf *file, const char *key, eg_gguf_entry *out,
                                    eg_error *error);

/* Value `index` of `key`; index 0 when it is not an array. No such key or index is
 * EG_ERR_NOT_FOUND, a value of another kind is EG_ERR_FORMAT and named. Integers come from all
 * integer types, EG_ERR_OVERFLOW above 63 bits; numbers from these and from floats. A text is where it
 * lies in the file: `*length` bytes, not terminated, of any value, valid until close. */
EG_API eg_status eg_gguf_text(const eg_gguf *file, const char *key, uint64_t index,
                              const char **text, size_t *length, eg_error *error);
EG_API eg_status eg_gguf_integer(const eg_gguf *file, const char *key, uint64_t index, int64_t *out,
                                 eg_error *error);
EG_API eg_status eg_gguf_number(const eg_gguf *file, const char *key, uint64_t index, double *out,
                                eg_error *error);
EG_API eg_status eg_gguf_flag(const eg_gguf *file, const char *key, uint64_t index, int *out,
                              eg_error *error);

/* ---- tensors */

enum { EG_GGUF_RANK_MAX = 4 };

typedef struct eg_gguf_tensor {
    const char *name; /* UTF-8, valid until close */
    const char *type; /* as ggml calls it: "F32", "Q4_0"; static */
    unsigned rank;
    uint64_t
        shape[EG_GGUF_RANK_MAX]; /* slowest first, as everywhere here; the file has it reversed */
    uint64_t elements, bytes;
    const void *data; /* in the file, aligned as the file aligns it: 32 unless it says otherwise */
} eg_gguf_tensor;

EG_API size_t eg_gguf_tensor_count(const eg_gguf *file);
EG_API eg_status eg_gguf_tensor_at(const eg_gguf *file, size_t index, eg_gguf_tensor *out);
EG_API eg_status eg_gguf_tensor_find(const eg_gguf *file, const char *name, eg_gguf_tensor *out,
                                     eg_error *error);

/* `count` elements from `first` on, as floats: F32, F16, BF16, Q8_0 and Q4_0, converted
 * exactly. Both must be whole blocks (32 elements of Q8_0 and Q4_0), which rows always are;
 * otherwise, and beyond the end, EG_ERR_ARGUMENT. Other types are EG_ERR_UNSUPPORTED and named. */
EG_API eg_status eg_gguf_floats(const eg_gguf_tensor *tensor, uint64_t first, uint64_t count,
                                float *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
