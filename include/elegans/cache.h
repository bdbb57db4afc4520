/* Who has which pages of a cache: a pool of pages that any number of sequences share.
 *
 * A cache of a graph (eg_cache) is `count` pages of `page` slots; eg_append wants the slots of new rows, and
 * eg_attention_cached the pages of every sequence. Here a sequence takes pages as it grows, shares those of
 * what it has in common with another one, and gives them back. Nothing here touches a cache: all caches
 * of a model (keys and values of every layer) have the same pages.
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
    uint64_t count;  /* pages there are; count*page are the slots of the caches */
    uint64_t page;   /* slots of each */
    uint64_t window; /* of attention: what is wholly before it is given back; 0 = all is kept */
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
/* Gives its pages back, unless others have them too. NULL is fine. */
EG_API void eg_sequence_end(eg_sequence *sequence);
EG_API uint64_t eg_sequence_length(const eg_sequence *sequence); /* tokens */

/* `tokens` more, whose slots it writes to `slots` (NULL = nobody asks). Before, pages that no new token sees
 * any more are given back. EG_ERR_BUDGET when there are too few pages: then nothing has changed. */
EG_API eg_status eg_sequence_extend(eg_sequence *sequence, uint64_t tokens, int32_t *slots,
                                    eg_error *error);

/* Rows of every cache that are to be copied before the new sequence is used: `count` from slot `from` on, to
 * those from `to` on. */
typedef struct eg_slots_copy {
    int32_t from, to;
    uint64_t count;
} eg_slots_copy;
/* Another sequence of the same tokens. It has the same full pages; a page that is partly filled is its own, as
 * both will go on writing there. EG_ERR_BUDGET when there is none left: then nothing has changed. */
EG_API eg_status eg_sequence_fork(eg_sequence *sequence, eg_sequence **out, eg_slots_copy *copy,
                                  eg_error *error);

/* Only its first `length` tokens stay. Where they end in a page that others have too, it gets one of its own,
 * as it will go on writing there: copy as for a fork. EG_ERR_BUDGET when there is none left, EG_ERR_ARGUMENT
 * when tokens that it would see again were given back: then nothing has changed. */
EG_API eg_status eg_sequence_shrink(eg_sequence *sequence, uint64_t length, eg_slots_copy *copy,
                                    eg_error *error);

/* Its row of a table of pages, for eg_attention_cached: `count` numbers, -1 where it has no page (any more).
 * EG_ERR_ARGUMENT when it has more pages than that. */
EG_API eg_status eg_sequence_pages(const eg_sequence *sequence, uint64_t count, int32_t *out,
                                   eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
