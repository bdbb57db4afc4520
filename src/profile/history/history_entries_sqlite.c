/* Entries of the history: added, found, listed, deleted; every value is a bound parameter. */
#include "formats/files/bytes.h"
#include "profile/history/history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The texts of an entry in the order of their columns; the name is the first. */
enum { TEXTS = 12, NAME_MOST = 128 };

/* Printing relies on it: times up to the year 9999 only. */
static bool has_date(int64_t second) { return second >= 0 && second <= 253402300799; }

#define COLUMNS                                                                          \
    "name, model, model_hash, options, fingerprint, environment, program, program_hash," \
    " program_version, json, configuration, note, time, samples"

static void texts_of(const eg_history_entry *e, const char *texts[TEXTS]) {
    const char *all[TEXTS] = {e->name,    e->model,         e->model_hash,
                              e->options, e->fingerprint,   e->environment,
                              e->program, e->program_hash,  e->program_version,
                              e->json,    e->configuration, e->note};
    memcpy(texts, all, sizeof all);
}

static void put_texts(eg_history_entry *e, const char *const texts[TEXTS]) {
    e->name = texts[0];
    e->model = texts[1];
    e->model_hash = texts[2];
    e->options = texts[3];
    e->fingerprint = texts[4];
    e->environment = texts[5];
    e->program = texts[6];
    e->program_hash = texts[7];
    e->program_version = texts[8];
    e->json = texts[9];
    e->configuration = texts[10];
    e->note = texts[11];
}

/* Machine-made texts have no control characters. The others are the user's, or JSON. */
static const struct {
    const char *name;
    bool made;
} texts_told[TEXTS] = {{"name", false},    {"model", false},         {"model_hash", true},
                       {"options", true},  {"fingerprint", true},    {"environment", false},
                       {"program", false}, {"program_hash", true},   {"program_version", true},
                       {"json", false},    {"configuration", false}, {"note", false}};

static bool is_plain(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127) return false;
    return true;
}

static bool is_sample(double seconds) { return isfinite(seconds) && seconds >= 0; }

/* ---- adding */
static eg_status check_entry(const eg_history_entry *e, eg_error *error) {
    if (!e->model || (e->sample_count && !e->samples))
        return eg__fail(error, EG_ERR_ARGUMENT, "a history entry without a model or its samples");
    if (!has_date(e->time))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a history entry has the time %lld s, which is no date",
                        (long long)e->time);
    const char *texts[TEXTS];
    texts_of(e, texts);
    for (int i = 0; i < TEXTS; i++)
        if (texts[i] && texts_told[i].made && !is_plain(texts[i], strlen(texts[i])))
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "a history entry has control characters in %s '%.60s'",
                            texts_told[i].name, texts[i]);
    if (!e->name) return EG_OK;
    const size_t length = strlen(e->name);
    if (!length || length > NAME_MOST)
        return eg__fail(error, EG_ERR_ARGUMENT, "a baseline's name has 1 to %d bytes, not %zu",
                        NAME_MOST, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)e->name[i] < ' ' || e->name[i] == 127)
            return eg__fail(error, EG_ERR_ARGUMENT, "a baseline's name has a control character");
    return EG_OK;
}

/* Little-endian doubles, whatever the machine. */
static eg_status samples_encode(eg_history *h, const eg_history_entry *e, unsigned char **out,
                                size_t *size, eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = NULL;
    if (!eg__size_mul(e->sample_count, sizeof(double), size) || *size > INT32_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "%zu samples in one entry are too many",
                        e->sample_count);
    for (size_t i = 0; i < e->sample_count; i++)
        if (!is_sample(e->samples[i]))
            return eg__fail(error, EG_ERR_ARGUMENT, "a history entry has a sample of %g s",
                            e->samples[i]);
    unsigned char *bytes = eg__memory_take(h->memory, EG_TAG_FILE, *size, &reason);
    if (!bytes) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < e->sample_count; i++) {
        uint64_t bits;
        memcpy(&bits, &e->samples[i], sizeof bits);
        eg__put64(bytes + 8 * i, bits);
    }
    *out = bytes;
    return EG_OK;
}

/* Steps once through a statement that gives no rows, and finalizes it. */
static eg_status finish(eg_history *h, sqlite3_stmt *statement, int bound, const char *name,
                        eg_error *error) {
    eg_status status = EG_OK;
    if (bound != SQLITE_OK || sqlite3_step(statement) != SQLITE_DONE) {
        if ((sqlite3_errcode(h->database) & 0xff) == SQLITE_CONSTRAINT && name)
            status = eg__fail(error, EG_ERR_ARGUMENT, "there is a baseline '%s' already in '%s'",
                              name, h->path);
        else status = eg__history_fail(h, "write", error);
    }
    sqlite3_finalize(statement);
    return status;
}

static eg_status release_name(eg_history *h, const char *name, eg_error *error) {
    sqlite3_stmt *statement;
    eg_status status = eg__history_prepare(h, "UPDATE entries SET name = NULL WHERE name = ?1",
                                           "write", &statement, error);
    if (status) return status;
    return finish(h, statement, sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC), NULL,
                  error);
}

static eg_status insert(eg_history *h, const eg_history_entry *e, const unsigned char *bytes,
                        size_t size, eg_error *error) {
    const char *texts[TEXTS];
    sqlite3_stmt *statement;
    eg_status status = eg__history_prepare(h,
                                           "INSERT INTO entries(" COLUMNS
                                           ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,"
                                           "?13,?14)",
                                           "write", &statement, error);
    if (status) return status;
    texts_of(e, texts);
    int bound = SQLITE_OK;
    for (int i = 0; i < TEXTS && bound == SQLITE_OK; i++)
        if (i || texts[i])
            bound =
                sqlite3_bind_text(statement, i + 1, texts[i] ? texts[i] : "", -1, SQLITE_STATIC);
    if (bound == SQLITE_OK)
        bound = sqlite3_bind_int64(statement, TEXTS + 1, e->time ? e->time : (int64_t)time(NULL));
    if (bound == SQLITE_OK)
        bound = sqlite3_bind_blob(statement, TEXTS + 2, bytes, (int)size, SQLITE_STATIC);
    return finish(h, statement, bound, e->name, error);
}

eg_status eg_history_add(eg_history *h, const eg_history_entry *e, int replace, int64_t *id,
                         eg_error *error) {
    if (!h || !e) return eg__fail(error, EG_ERR_ARGUMENT, "no history or no entry");
    unsigned char *bytes;
    size_t size;
    eg_status status = check_entry(e, error);
    if (status) return status;
    status = samples_encode(h, e, &bytes, &size, error);
    if (status) return status;
    status = eg__history_begin(h, error);
    if (!status) {
        if (replace && e->name) status = release_name(h, e->name, error);
        if (!status) status = insert(h, e, bytes, size, error);
        const int64_t given = sqlite3_last_insert_rowid(h->database);
        status = eg__history_end(h, status, error);
        if (!status && id) *id = given;
    }
    eg__memory_give(h->memory, bytes);
    return status;
}

/* ---- reading: an entry, its samples and its texts lie in one block */
static eg_status damaged(const eg_history *h, sqlite3_stmt *row, const char *what,
                         eg_error *error) {
    return eg__fail(error, EG_ERR_FORMAT, "entry %lld of history '%s' is damaged: %s",
                    (long long)sqlite3_column_int64(row, 0), h->path, what);
}

/* Checks types first: reading a value as another type would convert it. */
static eg_status row_check(const eg_history *h, sqlite3_stmt *row, eg_error *error) {
    char what[64];
    for (int i = 0; i < TEXTS; i++) {
        const int type = sqlite3_column_type(row, i + 1);
        snprintf(what, sizeof what, "no text as its %s", texts_told[i].name);
        if (type != SQLITE_TEXT && !(i == 0 && type == SQLITE_NULL))
            return damaged(h, row, what, error);
        const char *text = (const char *)sqlite3_column_text(row, i + 1);
        if (text && texts_told[i].made && !is_plain(text, (size_t)sqlite3_column_bytes(row, i + 1)))
            return damaged(h, row, what, error);
    }
    if (sqlite3_column_type(row, TEXTS + 1) != SQLITE_INTEGER ||
        !has_date(sqlite3_column_int64(row, TEXTS + 1)))
        return damaged(h, row, "its time is no date", error);
    if (sqlite3_column_type(row, TEXTS + 2) != SQLITE_BLOB ||
        sqlite3_column_bytes(row, TEXTS + 2) % 8)
        return damaged(h, row, "its samples are no numbers", error);
    return EG_OK;
}

static eg_status row_size(eg_history *h, sqlite3_stmt *row, size_t *size, eg_error *error) {
    bool fits = true;
    *size = sizeof(eg_history_entry) + (size_t)sqlite3_column_bytes(row, TEXTS + 2);
    for (int i = 0; i < TEXTS && fits; i++)
        fits = eg__size_add(*size, (size_t)sqlite3_column_bytes(row, i + 1) + 1, size);
    return fits ? EG_OK : damaged(h, row, "it is too large", error);
}

static eg_status row_read(eg_history *h, sqlite3_stmt *row, eg_history_entry **out,
                          eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    const char *texts[TEXTS];
    size_t size;
    eg_status status = row_check(h, row, error);
    if (status) return status;
    for (int i = 0; i < TEXTS; i++)
        if (!sqlite3_column_text(row, i + 1) && sqlite3_column_type(row, i + 1) != SQLITE_NULL)
            return eg__history_fail(h, "read", error);
    const unsigned char *bytes = sqlite3_column_blob(row, TEXTS + 2);
    if (!bytes && sqlite3_errcode(h->database) == SQLITE_NOMEM)
        return eg__history_fail(h, "read", error);
    status = row_size(h, row, &size, error);
    if (status) return status;
    eg_history_entry *e = eg__memory_take(h->memory, EG_TAG_FILE, size, &reason);
    if (!e) return eg__fail(error, reason.status, "%s", reason.message);
    const size_t count = (size_t)sqlite3_column_bytes(row, TEXTS + 2) / 8;
    double *samples = (double *)(e + 1);
    char *text = (char *)(samples + count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = eg__get64(bytes + 8 * i);
        memcpy(&samples[i], &bits, sizeof bits);
        if (is_sample(samples[i])) continue;
        eg__memory_give(h->memory, e);
        return damaged(h, row, "a sample is no time", error);
    }
    for (int i = 0; i < TEXTS; i++) {
        const size_t length = (size_t)sqlite3_column_bytes(row, i + 1);
        texts[i] = text;
        if (length) memcpy(text, sqlite3_column_text(row, i + 1), length);
        text[length] = 0;
        text += length + 1;
    }
    if (sqlite3_column_type(row, 1) == SQLITE_NULL) texts[0] = NULL;
    *e = (eg_history_entry){.id = sqlite3_column_int64(row, 0),
                            .time = sqlite3_column_int64(row, TEXTS + 1),
                            .sample_count = count,
                            .samples = samples};
    put_texts(e, texts);
    *out = e;
    return EG_OK;
}

void eg_history_release(eg_history *h, eg_history_entry *entry) {
    if (h) eg__memory_give(h->memory, entry);
}

/* The first row of a statement, which is finalized; *out stays NULL when there is none. */
static eg_status first_row(eg_history *h, sqlite3_stmt *statement, int bound,
                           eg_history_entry **out, eg_error *error) {
    eg_status status = EG_OK;
    const int code = bound == SQLITE_OK ? sqlite3_step(statement) : bound;
    if (code == SQLITE_ROW) status = row_read(h, statement, out, error);
    else if (code != SQLITE_DONE) status = eg__history_fail(h, "read", error);
    sqlite3_finalize(statement);
    return status;
}

eg_status eg_history_get(eg_history *h, const char *name, eg_history_entry **out, eg_error *error) {
    if (!h || !name || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no history, name or output pointer for the entry");
    sqlite3_stmt *statement;
    *out = NULL;
    eg_status status = eg__history_prepare(h, "SELECT id, " COLUMNS " FROM entries WHERE name = ?1",
                                           "read", &statement, error);
    if (status) return status;
    const int bound = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    status = first_row(h, statement, bound, out, error);
    if (status || *out) return status;
    return eg__fail(error, EG_ERR_NOT_FOUND, "no baseline '%s' in '%s'", name, h->path);
}

eg_status eg_history_get_id(eg_history *h, int64_t id, eg_history_entry **out, eg_error *error) {
    if (!h || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no history or output pointer for the entry");
    sqlite3_stmt *statement;
    *out = NULL;
    eg_status status = eg__history_prepare(h, "SELECT id, " COLUMNS " FROM entries WHERE id = ?1",
                                           "read", &statement, error);
    if (status) return status;
    status = first_row(h, statement, sqlite3_bind_int64(statement, 1, id), out, error);
    if (status || *out) return status;
    return eg__fail(error, EG_ERR_NOT_FOUND, "no entry %lld in '%s'", (long long)id, h->path);
}

eg_status eg_history_delete(eg_history *h, const char *name, eg_error *error) {
    if (!h || !name) return eg__fail(error, EG_ERR_ARGUMENT, "no history or name");
    sqlite3_stmt *statement;
    eg_status status =
        eg__history_prepare(h, "DELETE FROM entries WHERE name = ?1", "write", &statement, error);
    if (status) return status;
    const int bound = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    status = finish(h, statement, bound, NULL, error);
    if (status || sqlite3_changes(h->database)) return status;
    return eg__fail(error, EG_ERR_NOT_FOUND, "no baseline '%s' in '%s'", name, h->path);
}

/* ---- listing */
static int bind_filter(sqlite3_stmt *statement, const eg_history_filter *f) {
    const char *texts[] = {f->name, f->model, f->model_hash, f->options, f->fingerprint};
    int bound = SQLITE_OK, i = 0;
    for (; i < 5 && bound == SQLITE_OK; i++)
        if (texts[i]) bound = sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC);
    if (bound == SQLITE_OK) bound = sqlite3_bind_int(statement, 6, f->baselines != 0);
    const bool all = !f->limit || f->limit > INT64_MAX;
    if (bound == SQLITE_OK) bound = sqlite3_bind_int64(statement, 7, all ? -1 : (int64_t)f->limit);
    return bound;
}

eg_status eg_history_list(eg_history *h, const eg_history_filter *filter,
                          eg_history_function function, void *user, eg_error *error) {
    static const char sql[] =
        "SELECT id, " COLUMNS " FROM entries WHERE (?1 IS NULL OR name = ?1)"
        " AND (?2 IS NULL OR model = ?2) AND (?3 IS NULL OR model_hash = ?3)"
        " AND (?4 IS NULL OR options = ?4) AND (?5 IS NULL OR fingerprint = ?5)"
        " AND (NOT ?6 OR name IS NOT NULL) ORDER BY time DESC, id DESC LIMIT ?7";
    const eg_history_filter every = {0};
    if (!h || !function) return eg__fail(error, EG_ERR_ARGUMENT, "no history or function");
    sqlite3_stmt *statement;
    eg_status status = eg__history_prepare(h, sql, "read", &statement, error);
    if (status) return status;
    int code = bind_filter(statement, filter ? filter : &every);
    bool stop = code != SQLITE_OK;
    while (!status && !stop && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        eg_history_entry *e = NULL;
        status = row_read(h, statement, &e, error);
        if (!status) stop = function(user, e) != 0;
        eg_history_release(h, e);
    }
    if (!status && code != SQLITE_ROW && code != SQLITE_DONE)
        status = eg__history_fail(h, "read", error);
    sqlite3_finalize(statement);
    return status;
}
