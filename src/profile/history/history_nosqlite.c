/* A build without SQLite has no history. */
#include "base/base.h"
#include "elegans/history.h"

static eg_status refuse(eg_error *error) {
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no history (built without sqlite3)");
}

eg_status eg_history_open(eg_context *context, const char *path, eg_history **out,
                          eg_error *error) {
    (void)context, (void)path;
    if (out) *out = NULL;
    return refuse(error);
}

void eg_history_close(eg_history *history) { (void)history; }

const char *eg_history_path(const eg_history *history) {
    (void)history;
    return "";
}

eg_status eg_history_add(eg_history *history, const eg_history_entry *entry, int replace,
                         int64_t *id, eg_error *error) {
    (void)history, (void)entry, (void)replace, (void)id;
    return refuse(error);
}

eg_status eg_history_get(eg_history *history, const char *name, eg_history_entry **out,
                         eg_error *error) {
    (void)history, (void)name;
    if (out) *out = NULL;
    return refuse(error);
}

eg_status eg_history_get_id(eg_history *history, int64_t id, eg_history_entry **out,
                            eg_error *error) {
    (void)history, (void)id;
    if (out) *out = NULL;
    return refuse(error);
}

void eg_history_release(eg_history *history, eg_history_entry *entry) {
    (void)history, (void)entry;
}

eg_status eg_history_delete(eg_history *history, const char *name, eg_error *error) {
    (void)history, (void)name;
    return refuse(error);
}

eg_status eg_history_list(eg_history *history, const eg_history_filter *filter,
                          eg_history_function function, void *user, eg_error *error) {
    (void)history, (void)filter, (void)function, (void)user;
    return refuse(error);
}
