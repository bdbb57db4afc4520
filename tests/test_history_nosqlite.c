/* A build without SQLite says so. */
#include "test.h"
#include "elegans/elegans.h"

AREA(history, "a build without SQLite refuses, and says why")

static int never(void *user, const eg_history_entry *entry) {
    (void)user, (void)entry;
    return 1;
}

TEST(history, refused) {
    eg_error error;
    eg_history *history;
    eg_history_entry entry = {.model = "a"}, *out;
    CHECK_FAILS(eg_history_open(NULL, NULL, &history, &error), error, EG_ERR_UNSUPPORTED,
                "sqlite3 was not there");
    CHECK(!history, "a history all the same");
    CHECK_FAILS(eg_history_add(NULL, &entry, 0, NULL, &error), error, EG_ERR_UNSUPPORTED, "sqlite");
    CHECK_FAILS(eg_history_get(NULL, "a", &out, &error), error, EG_ERR_UNSUPPORTED, "sqlite");
    CHECK_FAILS(eg_history_get_id(NULL, 1, &out, &error), error, EG_ERR_UNSUPPORTED, "sqlite");
    CHECK_FAILS(eg_history_delete(NULL, "a", &error), error, EG_ERR_UNSUPPORTED, "sqlite");
    CHECK_FAILS(eg_history_list(NULL, NULL, never, NULL, &error), error, EG_ERR_UNSUPPORTED,
                "sqlite");
    CHECK(!eg_history_path(NULL)[0], "a path");
    eg_history_release(NULL, NULL);
    eg_history_close(NULL);
}
