/* What the files of the history share, where there is SQLite. */
#ifndef EG__HISTORY_H
#define EG__HISTORY_H

#include "elegans/history.h"
#include "engine/context.h"
#include "formats/files/file.h"

#include <sqlite3.h>

struct eg_history {
    eg__memory *memory;
    sqlite3 *database;
    char path[EG__PATH_SIZE];
};

enum { EG__HISTORY_VERSION = 2, EG__HISTORY_PATIENCE = 10000 /* ms */ };

/* SQLite's last error as a status and a message: "cannot <what> history '<path>': ...". */
eg_status eg__history_fail(const eg_history *history, const char *what, eg_error *error);
/* One statement that gives no rows. */
eg_status eg__history_run(eg_history *history, const char *sql, const char *what, eg_error *error);
eg_status eg__history_prepare(eg_history *history, const char *sql, const char *what,
                              sqlite3_stmt **out, eg_error *error);
/* Begins a write transaction, so that no other writer comes between its reads and writes. */
eg_status eg__history_begin(eg_history *history, eg_error *error);
/* Commits if `status` is EG_OK, else rolls back; returns the resulting status. */
eg_status eg__history_end(eg_history *history, eg_status status, eg_error *error);

/* ---- history_path_sqlite.c: the path to open, and the folder of the default one */
eg_status eg__history_path(const char *given, char out[EG__PATH_SIZE], eg_error *error);

#endif
