/* Information content of bytes: windowed Shannon entropy along an input, and patches cut by it.
 * Experimental. */
#ifndef ELEGANS_ENTROPY_H
#define ELEGANS_ENTROPY_H

#include "elegans/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EG_ENTROPY_WINDOW = 256,        /* the default */
    EG_ENTROPY_WINDOW_MAX = 1 << 30 /* larger ones are EG_ERR_ARGUMENT */
};

/* ---- entropy. The entropy at position i is that of the byte frequencies within [i - w/2, i + w/2), cut
 * where the input begins and ends: the sum of -p log2 p over the bytes that occur there, in bits,
 * divided by 8. It is 0 where all bytes are the same and at most 1. The window of an odd w has the
 * same number of bytes on both sides of i: w bytes in any case. Values differ from the definition by
 * less than 1e-6, however long the input is, and do not depend on how it was cut into pieces. */

/* Of bytes in memory: `out` has room for `count` values. `window` 0 = EG_ENTROPY_WINDOW. */
EG_API eg_status eg_entropy_of(eg_context *context, const void *bytes, size_t count,
                               uint64_t window, float *out, eg_error *error);

/* The same piece by piece, for inputs that do not fit into memory: holds some 64 KiB and at most 20 bytes
 * per byte of the window, but no more than for the length of the input. One thread. `window` 0 = EG_ENTROPY_WINDOW. On
 * failure *out is NULL. You own *out. */
typedef struct eg_entropy eg_entropy;
EG_API eg_status eg_entropy_create(eg_context *context, uint64_t window, eg_entropy **out,
                                   eg_error *error);
EG_API void eg_entropy_destroy(eg_entropy *entropy); /* NULL is fine */
/* Takes the next `count` bytes and writes the entropies of the positions whose window is now complete: *given of
 * them, at most `count`. After a failure it can only be destroyed. */
EG_API eg_status eg_entropy_push(eg_entropy *entropy, const void *bytes, size_t count, float *out,
                                 size_t *given, eg_error *error);
/* The input is complete: gives up to `room` of the values that are left. Call it until it returns 0.
 * All calls together give as many values as there were bytes. No more bytes can be pushed. */
EG_API size_t eg_entropy_end(eg_entropy *entropy, float *out, size_t room);

/* ---- patches: an input cut into pieces, short where the entropy is high and long where it is low, so
 * that a model that works on patches spends its steps where the information is. Patches are contiguous:
 * their sizes add up to the input. */
typedef enum eg_patch_mode {
    EG_PATCH_ENTROPY, /* sizes follow the entropy */
    EG_PATCH_TARGET,  /* the same, scaled so that there are `target` patches */
    EG_PATCH_FIXED    /* all of `fixed` bytes */
} eg_patch_mode;

/* A byte whose entropy is `low` or less wants a patch of `maximum` bytes, one with `high` or more a
 * patch of `minimum`, and between them the size falls in a straight line. A byte fills 1 / (the size it
 * wants) of its patch, which ends when it is full: `minimum` to `maximum` bytes, whatever the entropies
 * are. The last one is what is left and may be shorter. */
typedef struct eg_patch_options { /* all zero = defaults */
    size_t size;                  /* sizeof(eg_patch_options); 0 = the fields of version 0.1 */
    eg_patch_mode mode;
    uint32_t minimum, maximum; /* bytes; 0 = 4 and 32. At most EG_PATCH_SIZE_MAX */
    double low, high;          /* within 0..1, low < high; both 0 = 0.3 and 0.7 */
    uint64_t target;           /* of EG_PATCH_TARGET: from bytes / maximum to bytes / minimum */
    uint32_t fixed;            /* bytes of each, EG_PATCH_FIXED; 0 = 18, the middle of 4 and 32 */
} eg_patch_options;
enum { EG_PATCH_SIZE_MAX = 1 << 20 };

typedef struct eg_patch_statistics { /* NaN where there is no patch */
    uint64_t count, bytes;
    uint32_t size_least, size_most;
    double size_mean, size_deviation;
    double entropy_mean;                /* of all bytes */
    double entropy_least, entropy_most; /* of the patches' mean entropies */
    double compression_ratio;           /* bytes per patch */
    double
        coded_ratio; /* 1 / entropy_mean: how much shorter a code that knows the frequencies in each
                           window could make the input; infinite when every window is constant */
} eg_patch_statistics;

/* One pass over the entropies, in pieces of any size; two passes for EG_PATCH_TARGET, which needs the
 * histogram of all entropies first. `options` may be NULL. On failure *out is NULL. You own *out. One
 * thread. */
typedef struct eg_patcher eg_patcher;
EG_API eg_status eg_patcher_create(eg_context *context, const eg_patch_options *options,
                                   eg_patcher **out, eg_error *error);
EG_API void eg_patcher_destroy(eg_patcher *patcher); /* NULL is fine */
/* The first pass of EG_PATCH_TARGET; no effect on other modes. */
EG_API void eg_patcher_measure(eg_patcher *patcher, const float *entropies, size_t count);
/* Ends the first pass (and is not needed without one). EG_ERR_ARGUMENT when `target` patches of these
 * sizes cannot cover the input: the message gives the possible range. */
EG_API eg_status eg_patcher_begin(eg_patcher *patcher, eg_error *error);
/* Writes the sizes of the patches that end within these entropies and returns how many they are, at
 * most `count`. */
EG_API size_t eg_patcher_push(eg_patcher *patcher, const float *entropies, size_t count,
                              uint32_t *sizes);
/* The input is complete: the last patch, if one is open. Returns 0 or 1. */
EG_API size_t eg_patcher_end(eg_patcher *patcher, uint32_t *size);
EG_API void eg_patcher_statistics_get(const eg_patcher *patcher, eg_patch_statistics *out);

/* All at once. `sizes` has room for `count` of them (or fewer: count / minimum + 1 suffice), *patches is
 * how many there are; `options` and `statistics` may be NULL. */
EG_API eg_status eg_patch_sizes(eg_context *context, const eg_patch_options *options,
                                const float *entropies, size_t count, uint32_t *sizes,
                                size_t *patches, eg_patch_statistics *statistics, eg_error *error);

/* ---- curves: entropies and patches along an input of any length, summed up in at most EG_ENTROPY_COLUMNS columns, to
 * be drawn (eg_report_of_entropy) or printed. When all columns are full, two become one: the length of the input need
 * not be known before. */
enum {
    EG_ENTROPY_COLUMNS = 1024,
    EG_ENTROPY_PATCH_ENDS = 256 /* of the first patches; further ones are in the columns alone */
};
typedef struct eg_entropy_column { /* a count of 0: all else is 0, too */
    double sum;                    /* of the entropies */
    double patch_sizes;            /* sum over the bytes: size of the patch that each lies in */
    float least, most;             /* entropy */
    uint64_t count;                /* bytes */
} eg_entropy_column;
typedef struct eg_entropy_curve_info {
    size_t size; /* sizeof(eg_entropy_curve_info); 0 = the fields of version 0.1 */
    uint64_t bytes, patches;
    uint64_t low_bytes, high_bytes; /* with an entropy of at most `low`, of at least `high` */
    double low, high;               /* thresholds, as given */
    uint64_t column_bytes;          /* of each column; the last one may have fewer */
    size_t column_count;
    const eg_entropy_column *columns; /* of the curve: until it changes */
    const uint64_t *patch_ends;       /* positions, of the first EG_ENTROPY_PATCH_ENDS patches */
    eg_entropy_column all;            /* all columns together */
} eg_entropy_curve_info;
/* On failure *out is NULL. You own *out. One thread. */
typedef struct eg_entropy_curve eg_entropy_curve;
EG_API eg_status eg_entropy_curve_create(eg_context *context, double low, double high,
                                         eg_entropy_curve **out, eg_error *error);
EG_API void eg_entropy_curve_destroy(eg_entropy_curve *curve); /* NULL is fine */
EG_API void eg_entropy_curve_add(eg_entropy_curve *curve, const float *entropies, size_t count);
/* The next patch. EG_ERR_ARGUMENT: the entropies of its bytes have not all been added yet. */
EG_API eg_status eg_entropy_curve_add_patch(eg_entropy_curve *curve, uint32_t size,
                                            eg_error *error);
EG_API void eg_entropy_curve_info_get(const eg_entropy_curve *curve, eg_entropy_curve_info *out);

#ifdef __cplusplus
}
#endif
#endif
