/* Arbitrary bytes as a database of profiles: a list of whole entries, or a message. */
#include "fuzz.h"
#include "elegans/elegans.h"

#include <string.h>

static int look(void *user, const eg_history_entry *e) {
    size_t *texts = user;
    *texts += strlen(e->model) + strlen(e->options) + (e->name ? strlen(e->name) : 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    static eg_context *context; /* making one takes longer than all else */
    if (!context) require(eg_context_create(&options, &context, NULL) == EG_OK);
    char path[64]; /* SQLite wants a name that stays */
    snprintf(path, sizeof path, "/tmp/elegans-fuzz-%d.db", (int)getpid());
    fuzz_write(path, bytes, length);
    eg_history *history = NULL;
    eg_history_entry *entry = NULL;
    eg_error error = {0};
    size_t texts = 0;
    const eg_status status = eg_history_open(context, path, &history, &error);
    require(status ? error.message[0] && !history : history != NULL);
    if (history) {
        eg_history_list(history, NULL, look, &texts, &error);
        if (eg_history_get(history, "a", &entry, &error) == EG_OK) look(&texts, entry);
        eg_history_release(history, entry);
    }
    eg_history_close(history);
    unlink(path);
    return 0;
}
