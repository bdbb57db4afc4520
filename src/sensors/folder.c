/* Small files of the system below a root, and folders listed in an order that people expect. */
#include "sensors/sensing.h"

#include <dirent.h>
#include <string.h>

static bool path_of(char *out, size_t size, const char *format, va_list list) {
    const int length = vsnprintf(out, size, format, list);
    return length > 0 && (size_t)length < size;
}

bool eg__sensing_text(const eg_sensors *s, char *out, size_t size, const char *path, ...) {
    char full[512];
    va_list list;
    va_start(list, path);
    const bool fits = path_of(full, sizeof full, path, list);
    va_end(list);
    out[0] = 0;
    return fits && eg__root_text(s->root, full, out, size);
}

bool eg__sensing_number(const eg_sensors *s, double *out, const char *path, ...) {
    char full[512], text[64];
    va_list list;
    va_start(list, path);
    const bool fits = path_of(full, sizeof full, path, list);
    va_end(list);
    return fits && eg__root_text(s->root, full, text, sizeof text) &&
           eg_number_parse(text, strlen(text), out, NULL) == EG_OK;
}

/* Digits count as numbers: cpu2 before cpu10. */
static int natural(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
        if (n && m) {
            if (n != m) return n < m ? -1 : 1;
            const int order = memcmp(a, b, n);
            if (order) return order;
            a += n - 1;
            b += n - 1;
        } else if (*a != *b) return *a < *b ? -1 : 1;
    }
    return (*a != 0) - (*b != 0);
}

enum { NAME = 64, MOST = 4096 };

size_t eg__folder_each(eg_sensors *s, const char *folder, const char *prefix,
                       eg__folder_function *function, void *user) {
    char full[1024];
    char(*names)[NAME] = NULL;
    size_t count = 0, room = 0;
    const int length = snprintf(full, sizeof full, "%s/%s", s->root ? s->root : "", folder);
    DIR *list = length > 0 && (size_t)length < sizeof full ? opendir(full) : NULL;
    for (struct dirent *entry; list && count < MOST && (entry = readdir(list));) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= NAME ||
            strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        if (!eg__memory_grow(s->memory, EG_TAG_MEASURE, (void **)&names, count, &room, 1, NAME)) {
            s->short_of_memory = true;
            break;
        }
        size_t at = count++;
        for (; at > 0 && natural(entry->d_name, names[at - 1]) < 0; at--)
            memcpy(names[at], names[at - 1], NAME);
        snprintf(names[at], NAME, "%s", entry->d_name);
    }
    if (list) closedir(list);
    for (size_t i = 0; i < count; i++) function(s, names[i], user);
    eg__memory_give(s->memory, names);
    return count;
}
