/* The page table of a paged KV cache: a pool of pages that any number of sequences share.
 *
 * A cache of a graph (eg_cache) is `count` pages of `page` slots; eg_append wants the slots of new rows, and
 * eg_attention_cached the pages of every sequence. A sequence takes pages as it grows, shares those of a common
 * prefix with other sequences, and gives them back. Cache contents are not touched here: all caches of a model
 * (keys and values of every layer) use the same pages.
 * Experimental. */
#ifndef ELEGANS_CACHE_H
#define ELEGANS_CACHE_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_pages eg_pages; /* opaque, with all its sequences used by one thread at a time */
typedef struct eg_sequence eg_sequence; /* opaque */

typedef struct eg_pages_options {
    size_t size;     /* sizeof(eg_pages_options); 0 = the fields of version 0.1 */
    uint64_t count;  /* number of pages; the caches have count*page slots */
    uint64_t page;   /* slots per page */
    uint64_t window; /* attention window: pages wholly before it are given back; 0 = none */
} eg_pages_options;

/* You own *out; its memory is the context's (EG_TAG_CACHE). */
EG_API eg_status eg_pages_create(eg_context *context, const eg_pages_options *options,
                                 eg_pages **out, eg_error *error);
EG_API void eg_pages_destroy(eg_pages *pages); /* and its sequences; NULL is fine */

typedef struct eg_pages_figures {
    uint64_t count, page, used; /* used: by one sequence or more */
    uint64_t sequences;
} eg_pages_figures;
EG_API void eg_pages_figures_get(const eg_pages *pages, eg_pages_figures *out);

/* A sequence of no tokens. */
EG_API eg_status eg_sequence_begin(eg_pages *pages, eg_sequence **out, eg_error *error);
/* Gives its pages back, except those that other sequences share. NULL is fine. */
EG_API void eg_sequence_end(eg_sequence *sequence);
EG_API uint64_t eg_sequence_length(const eg_sequence *sequence); /* tokens */

/* Appends `tokens` tokens and writes their slots to `slots` (may be NULL). First gives back the pages that the
 * attention window has left behind. EG_ERR_BUDGET when there are too few pages: then nothing has changed. */
EG_API eg_status eg_sequence_extend(eg_sequence *sequence, uint64_t tokens, int32_t *slots,
                                    eg_error *error);

/* Rows that the caller must copy in every cache before the new sequence is used: `count` rows, from slot `from` to slot
 * `to`. */
typedef struct eg_slots_copy {
    int32_t from, to;
    uint64_t count;
} eg_slots_copy;
/* A copy of the sequence. Full pages are shared; a partly filled page is duplicated (see `copy`), because both
 * sequences will write to it. EG_ERR_BUDGET when there is none left: then nothing has changed. */
EG_API eg_status eg_sequence_fork(eg_sequence *sequence, eg_sequence **out, eg_slots_copy *copy,
                                  eg_error *error);

/* Truncates to the first `length` tokens. Where they end in a shared page, the sequence gets a page of its own, because
 * it will write to it: copy as for a fork. EG_ERR_BUDGET when no page is left, EG_ERR_ARGUMENT when pages that would
 * come into the window again were given back: then nothing has changed. */
EG_API eg_status eg_sequence_shrink(eg_sequence *sequence, uint64_t length, eg_slots_copy *copy,
                                    eg_error *error);

/* Its row of the page table, for eg_attention_cached: `count` page numbers, -1 where it has no page (any more).
 * EG_ERR_ARGUMENT when it has more pages than that. */
EG_API eg_status eg_sequence_pages(const eg_sequence *sequence, uint64_t count, int32_t *out,
                                   eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
