/* The history as a SQLite file: opening it, its schema, transactions and what can go wrong. */
#include "profile/history/history.h"

#include <stdio.h>
#include <string.h>

/* ---- what SQLite says */
static eg_status status_of(int code) {
    switch (code & 0xff) {
    case SQLITE_NOMEM: return EG_ERR_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return EG_ERR_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT: return EG_ERR_FORMAT;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return EG_ERR_FILE;
    case SQLITE_TOOBIG: return EG_ERR_OVERFLOW;
    case SQLITE_ERROR: return EG_ERR_FORMAT; /* these are not our tables */
    default: return EG_ERR_SYSTEM;
    }
}

eg_status eg__history_fail(const eg_history *h, const char *what, eg_error *error) {
    return eg__fail(error, status_of(sqlite3_extended_errcode(h->database)),
                    "cannot %s history '%s': %s", what, h->path, sqlite3_errmsg(h->database));
}

eg_status eg__history_prepare(eg_history *h, const char *sql, const char *what, sqlite3_stmt **out,
                              eg_error *error) {
    if (sqlite3_prepare_v2(h->database, sql, -1, out, NULL) == SQLITE_OK) return EG_OK;
    return eg__history_fail(h, what, error);
}

eg_status eg__history_run(eg_history *h, const char *sql, const char *what, eg_error *error) {
    if (sqlite3_exec(h->database, sql, NULL, NULL, NULL) == SQLITE_OK) return EG_OK;
    return eg__history_fail(h, what, error);
}

/* ---- transactions */
eg_status eg__history_begin(eg_history *h, eg_error *error) {
    return eg__history_run(h, "BEGIN IMMEDIATE", "write", error);
}

eg_status eg__history_end(eg_history *h, eg_status status, eg_error *error) {
    if (!status) status = eg__history_run(h, "COMMIT", "write", error);
    /* some failures have ended it already */
    if (status && !sqlite3_get_autocommit(h->database))
        sqlite3_exec(h->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* ---- the schema: its version is the file's user_version */
static const char schema[] =
    "CREATE TABLE entries(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,"
    " model TEXT NOT NULL, model_hash TEXT NOT NULL, options TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL, environment TEXT NOT NULL, program TEXT NOT NULL,"
    " program_hash TEXT NOT NULL, program_version TEXT NOT NULL, json TEXT NOT NULL,"
    " time INTEGER NOT NULL, samples BLOB NOT NULL, configuration TEXT NOT NULL DEFAULT '',"
    " note TEXT NOT NULL DEFAULT '');"
    "CREATE INDEX entries_by_time ON entries(time);" /* lists the newest without sorting */
    "PRAGMA user_version = 2";

/* From a version to the next one: step[0] makes 2 of 1. */
static const char *const steps[] = {
    "ALTER TABLE entries ADD COLUMN configuration TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE entries ADD COLUMN note TEXT NOT NULL DEFAULT '';"
    "PRAGMA user_version = 2"};
_Static_assert(sizeof steps / sizeof *steps == EG__HISTORY_VERSION - 1, "a step per version");

static eg_status number_of(eg_history *h, const char *sql, int64_t *out, eg_error *error) {
    sqlite3_stmt *statement;
    eg_status status = eg__history_prepare(h, sql, "read", &statement, error);
    if (status) return status;
    if (sqlite3_step(statement) == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    else status = eg__history_fail(h, "read", error);
    sqlite3_finalize(statement);
    return status;
}

static eg_status make_tables(eg_history *h, int64_t *version, eg_error *error) {
    int64_t tables = 0;
    eg_status status = eg__history_begin(h, error);
    if (status) return status;
    /* another process may have created them meanwhile */
    status = number_of(h, "PRAGMA user_version", version, error);
    if (!status) status = number_of(h, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (!status && !*version && tables)
        status = eg__fail(error, EG_ERR_FORMAT, "'%s' is not a history", h->path);
    if (!status && !*version) {
        status = eg__history_run(h, schema, "write", error);
        *version = EG__HISTORY_VERSION;
    }
    return eg__history_end(h, status, error);
}

static eg_status update_tables(eg_history *h, int64_t *version, eg_error *error) {
    eg_status status = eg__history_begin(h, error);
    if (status) return status;
    status = number_of(h, "PRAGMA user_version", version, error);
    for (; !status && *version >= 1 && *version < EG__HISTORY_VERSION; ++*version)
        status = eg__history_run(h, steps[*version - 1], "bring up to date", error);
    return eg__history_end(h, status, error);
}

static eg_status check_schema(eg_history *h, eg_error *error) {
    int64_t version = 0;
    eg_status status = number_of(h, "PRAGMA user_version", &version, error);
    if (!status && !version) status = make_tables(h, &version, error);
    if (!status && version >= 1 && version < EG__HISTORY_VERSION)
        status = update_tables(h, &version, error);
    if (!status && version != EG__HISTORY_VERSION)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "history '%s' is of version %lld; this library knows %d", h->path,
                        (long long)version, EG__HISTORY_VERSION);
    return status;
}

/* ---- lifetime */

/* A rollback journal, not a write-ahead log: WAL needs shared memory between processes, which
 * network file systems do not have. */
static eg_status open_file(eg_history *h, eg_error *error) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(h->path, &h->database, flags, NULL) != SQLITE_OK) {
        if (h->database) return eg__history_fail(h, "open", error);
        return eg__fail(error, EG_ERR_MEMORY, "cannot open history '%s': out of memory", h->path);
    }
    sqlite3_busy_timeout(h->database, EG__HISTORY_PATIENCE);
    /* the file may be untrusted: its schema must not call functions */
    sqlite3_db_config(h->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(h->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return check_schema(h, error);
}

eg_status eg_history_open(eg_context *context, const char *path, eg_history **out,
                          eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer for the history");
    *out = NULL;
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_history *h = eg__memory_take_zeroed(memory, EG_TAG_FILE, sizeof *h, &reason);
    if (!h) return eg__fail(error, reason.status, "%s", reason.message);
    h->memory = memory;
    eg_status status = eg__history_path(path, h->path, error);
    if (!status) status = open_file(h, error);
    if (status) {
        eg_history_close(h);
        return status;
    }
    *out = h;
    return EG_OK;
}

void eg_history_close(eg_history *h) {
    if (!h) return;
    sqlite3_close(h->database);
    eg__memory_give(h->memory, h);
}

const char *eg_history_path(const eg_history *h) { return h->path; }
