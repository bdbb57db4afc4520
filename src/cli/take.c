/* Memory of the commands. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static void *given(void *memory, size_t size) {
    if (!memory) exit(fail(EXIT_FAILED, "no memory for %zu bytes", size));
    return memory;
}

void *take_memory(size_t count, size_t size) {
    return given(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *take_more(void *old, size_t size) { return given(realloc(old, size ? size : 1), size); }

/* Whether a list would take it for something else. */
static bool needs_quotes(const char *text) {
    const size_t length = strlen(text);
    return strpbrk(text, ",\"") || !length || strchr(" \t", text[0]) ||
           strchr(" \t", text[length - 1]);
}

char *list_item(const char *text) {
    const bool quoted = needs_quotes(text);
    char *out = take_memory(2 * strlen(text) + 3, 1), *to = out;
    if (quoted) *to++ = '"';
    for (; *text; text++) {
        if (*text == '"') *to++ = '"';
        *to++ = *text;
    }
    if (quoted) *to = '"';
    return out;
}

char *take_text(const char *text) { return given(strdup(text), strlen(text) + 1); }
