/* History: stored profiles with the environment they were measured in, some of them named, as baselines.
 * Experimental. */
#ifndef ELEGANS_HISTORY_H
#define ELEGANS_HISTORY_H

#include "elegans/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One SQLite file. Several processes may use it at once; each waits up to ten seconds for a lock.
 * A history is used by one thread at a time. Every failure names the file:
 *   EG_ERR_FILE         it cannot be read or written, the disk is full; the old contents are intact
 *   EG_ERR_FORMAT       it is damaged, or not a history
 *   EG_ERR_BUSY         it was locked for longer
 *   EG_ERR_UNSUPPORTED  a later version wrote it; or this library was built without SQLite
 * A file of an earlier version is upgraded when it is opened, in one transaction.
 * SQLite does not use the context's allocator. */
typedef struct eg_history eg_history; /* opaque */

/* `path` NULL = $XDG_DATA_HOME/elegans/history.db, else ~/.local/share/elegans/history.db, whose folder is
 * made. A file that is not there is made, too. On failure *out is NULL. Close it before the context. */
EG_API eg_status eg_history_open(eg_context *context, const char *path, eg_history **out,
                                 eg_error *error);
EG_API void eg_history_close(eg_history *history);             /* NULL is fine */
EG_API const char *eg_history_path(const eg_history *history); /* lives as long as the history */

typedef struct eg_history_entry { /* texts are UTF-8; NULL is stored as "", except for the name.
                                   * Samples are seconds, 0 or more; options, hashes, fingerprint and
                                   * version have no control characters: EG_ERR_ARGUMENT. */
    int64_t id;                   /* from 1; assigned by eg_history_add, never reused */
    const char *name;             /* of a baseline; NULL = an entry without a name */
    const char *model;            /* as given by the user: a file or a spec; not NULL */
    const char *model_hash;       /* of the file: eg_file_hash */
    const char *options; /* that must be equal to compare: "batch=1 isa=avx2 seq=16 threads=1" */
    const char *fingerprint; /* eg_environment.fingerprint */
    const char *environment; /* the whole environment, JSON */
    /* the program that was measured: shown, never executed, since the file may come from anybody */
    const char *program, *program_hash, *program_version;
    int64_t time; /* seconds since 1970; 0 = now */
    size_t sample_count;
    const double *samples; /* in order, for later comparisons */
    const char *json;      /* the whole profile */
    const char
        *configuration; /* of the model: equal for the same architecture with other weights */
    const char *note;   /* free text */
} eg_history_entry;

/* Adds an entry; `id` may be NULL. A name that is taken is EG_ERR_ARGUMENT, except with `replace`: then the
 * name goes to the new entry, and the old one stays in the history without a name. One transaction. */
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
    uint64_t limit; /* the newest entries, at most this many; 0 = all */
} eg_history_filter;
/* Return 0 to continue, anything else to stop. `entry` is valid during the call only; do not add or delete
 * anything meanwhile. */
typedef int (*eg_history_function)(void *user, const eg_history_entry *entry);
/* The newest first: with a model and a limit, a trend. `filter` may be NULL. */
EG_API eg_status eg_history_list(eg_history *history, const eg_history_filter *filter,
                                 eg_history_function function, void *user, eg_error *error);

/* A hash of a file's contents in hexadecimal digits, for the two hashes above. It is not cryptographic. */
enum { EG_FILE_HASH_SIZE = 17 };
EG_API eg_status eg_file_hash(const char *path, char out[EG_FILE_HASH_SIZE], eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
