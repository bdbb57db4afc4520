/* Recognises files of other programs by their first bytes, so that the message says what the file
 * is and how to get a model from it (rows of readers.def), instead of complaining about a wrong
 * header. */
#include "formats/models/readers.h"

#include <string.h>

/* torch.save makes a zip archive whose first member is NAME/data.pkl or NAME/.format_version */
bool eg__torch_is(const eg__head *h) {
    if (!eg__head_has(h, 0, "PK\3\4", 4)) return false;
    for (size_t i = 4; i + 8 <= h->size; i++)
        if (eg__head_has(h, i, "data.pkl", 8) || eg__head_has(h, i, "/.format", 8)) return true;
    return false;
}

/* protocols 2 to 5; older ones are text and have a name that says so */
bool eg__pickle_is(const eg__head *h) {
    return h->size > 2 && h->bytes[0] == 0x80 && h->bytes[1] >= 2 && h->bytes[1] <= 5;
}

bool eg__keras_is(const eg__head *h) { return eg__head_has(h, 0, "\x89HDF\r\n\x1a\n", 8); }
bool eg__tflite_is(const eg__head *h) { return eg__head_has(h, 4, "TFL3", 4); }
bool eg__sqlite_is(const eg__head *h) { return eg__head_has(h, 0, "SQLite format 3", 16); }

/* packages are folders */
bool eg__coreml_is(const eg__head *h) {
    return h->is_folder && (eg__head_named(h, ".mlpackage") || eg__head_named(h, ".mlmodelc"));
}

bool eg__json_is(const eg__head *h) {
    size_t i = 0;
    while (i < h->size && strchr(" \t\r\n", h->bytes[i]) && h->bytes[i]) i++;
    return i < h->size && (h->bytes[i] == '{' || h->bytes[i] == '[');
}

/* Lines of printable text: a table, or nothing that we know. */
bool eg__table_is(const eg__head *h) {
    bool separated = false;
    for (size_t i = 0; i < h->size; i++) {
        if (h->bytes[i] < 32 && !strchr("\t\r\n", h->bytes[i])) return false;
        if (h->bytes[i] == 0) return false;
        separated = separated || strchr(",;\t", h->bytes[i]);
    }
    return separated && !eg__json_is(h);
}
