/* History: profiles that are kept with what they were measured on, some of them by name as baselines.
 * Experimental. */
#ifndef ELEGANS_HISTORY_H
#define ELEGANS_HISTORY_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One SQLite file. Several processes may use it at once: what one writes, the others wait for up to ten
 * seconds. A history is of one thread at a time. Every failure names the file:
 *   EG_ERR_FILE         it cannot be read or written, the disk is full; what was there is whole
 *   EG_ERR_FORMAT       it is damaged, or something else than a history
 *   EG_ERR_BUSY         somebody has locked it for longer
 *   EG_ERR_UNSUPPORTED  a later version wrote it; or this library was built without SQLite
 * A file of an earlier version is brought up to date when it is opened, all of it or nothing.
 * SQLite takes its memory around the context's allocator. */
typedef struct eg_history eg_history; /* opaque */

/* `path` NULL = $XDG_DATA_HOME/elegans/history.db, else ~/.local/share/elegans/history.db, whose folder is
 * made. A file that is not there is made, too. On failure *out is NULL. Close it before the context. */
EG_API eg_status eg_history_open(eg_context *context, const char *path, eg_history **out,
                                 eg_error *error);
EG_API void eg_history_close(eg_history *history);             /* NULL is fine */
EG_API const char *eg_history_path(const eg_history *history); /* lives as long as the history */

typedef struct eg_history_entry { /* texts are UTF-8; what is NULL is kept as "", the name aside.
                                   * Samples are seconds, 0 or more; options, hashes, fingerprint and
                                   * version have no control characters: EG_ERR_ARGUMENT. */
    int64_t id;                   /* from 1; eg_history_add gives it and never gives it again */
    const char *name;             /* of a baseline; NULL = an entry without a name */
    const char *model;            /* as it was asked for: a file or a spec; not NULL */
    const char *model_hash;       /* of what it stood for: eg_file_hash */
    const char *options;          /* what else must be equal: "batch=1 isa=avx2 seq=16 threads=1" */
    const char *fingerprint;      /* eg_environment.fingerprint */
    const char *environment;      /* the whole environment, JSON */
    /* that was measured: told, never run. The file may come from somebody else. */
    const char *program, *program_hash, *program_version;
    int64_t time; /* seconds since 1970; 0 = now */
    size_t sample_count;
    const double *samples;     /* as they came, so that a later comparison can draw from them */
    const char *json;          /* the whole profile */
    const char *configuration; /* of the model: equal for the same one with other weights */
    const char *note;          /* what somebody wants to remember of it */
} eg_history_entry;

/* Adds an entry; `id` may be NULL. A name that is taken is EG_ERR_ARGUMENT, except with `replace`: then the
 * name goes to the new entry, and the old one stays in the history without it. All of it or nothing. */
EG_API eg_status eg_history_add(eg_history *history, const eg_history_entry *entry, int replace,
                                int64_t *id, eg_error *error);
/* The baseline of that name, or the entry of that id. EG_ERR_NOT_FOUND: there is none. You own *out. */
EG_API eg_status eg_history_get(eg_history *history, const char *name, eg_history_entry **out,
                                eg_error *error);
EG_API eg_status eg_history_get_id(eg_history *history, int64_t id, eg_history_entry **out,
                                   eg_error *error);
EG_API void eg_history_release(eg_history *history, eg_history_entry *entry); /* NULL is fine */
/* Deletes the baseline of that name, and the entry with it. EG_ERR_NOT_FOUND: there is none. */
EG_API eg_status eg_history_delete(eg_history *history, const char *name, eg_error *error);

typedef struct eg_history_filter {                                 /* all zero = every entry */
    const char *name, *model, *model_hash, *options, *fingerprint; /* equal to it; NULL = any */
    int baselines;                                                 /* 1: only those with a name */
    uint64_t limit; /* the newest so many; 0 = all of them */
} eg_history_filter;
/* Return 0 to go on, anything else to stop. `entry` is valid during the call only; do not add or delete
 * anything meanwhile. */
typedef int (*eg_history_function)(void *user, const eg_history_entry *entry);
/* The newest first: with a model and a limit, a trend. `filter` may be NULL. */
EG_API eg_status eg_history_list(eg_history *history, const eg_history_filter *filter,
                                 eg_history_function function, void *user, eg_error *error);

/* A number in hexadecimal digits that tells contents of files apart, for the two hashes above: it guards
 * against a mistake, not against an enemy. */
enum { EG_FILE_HASH_SIZE = 17 };
EG_API eg_status eg_file_hash(const char *path, char out[EG_FILE_HASH_SIZE], eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
