/* The table of readers, and the search in it. */
#include "formats/models/readers.h"

static const eg__reader readers[] = {
#define READER(name, test, opens, others, ...) \
    {.what = name, .is = test, .open = opens, .rest = EG__REST_##others, .ends = {__VA_ARGS__}},
#define TENSORS(name, test, loads, others, ...) \
    {.what = name, .is = test, .load = loads, .rest = EG__REST_##others, .ends = {__VA_ARGS__}},
#define FOREIGN(name, test, how, ...) {.what = name, .is = test, .way = how, .ends = {__VA_ARGS__}},
#define NAMED(name, how, ...)         {.what = name, .way = how, .ends = {__VA_ARGS__}},
#include "formats/models/readers.def"
};
enum { COUNT = sizeof readers / sizeof *readers, ENDS = sizeof readers->ends / sizeof(char *) };

const eg__reader *eg__reader_at(size_t index) { return index < COUNT ? &readers[index] : NULL; }

static bool is_named(const eg__reader *reader, const eg__head *head) {
    for (size_t i = 0; i < ENDS && reader->ends[i]; i++)
        if (eg__head_named(head, reader->ends[i])) return true;
    return false;
}

const eg__reader *eg__reader_find(const eg__head *head) {
    const eg__reader *rest = readers;
    for (size_t i = 0; i < COUNT; i++)
        if (readers[i].is && readers[i].is(head)) return &readers[i];
    for (size_t i = 0; i < COUNT; i++) {
        if (readers[i].rest == (head->is_folder ? EG__REST_FOLDER : EG__REST_FILE))
            rest = &readers[i];
        if (head->is_folder || (head->unreadable && readers[i].way)) continue;
        if (is_named(&readers[i], head)) return &readers[i];
    }
    return rest;
}

eg_status eg__reader_check(const eg__reader *reader, const char *path, eg_error *error) {
    if (!reader->way) return EG_OK;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "'%.40s' is %s; %s", path, reader->what,
                    reader->way);
}
