/* Bytes that may be no text: read, gathered, shown. */
#include "cli/commands/bytes.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bytes_reserve(bytes *b, size_t more) {
    if (b->count + more <= b->room) return;
    b->room = 2 * (b->count + more);
    b->at = take_more(b->at, b->room);
}

void bytes_append(bytes *b, const char *from, size_t count) {
    bytes_reserve(b, count + 1);
    if (count) memcpy(b->at + b->count, from, count);
    b->count += count;
}

static int read_all(FILE *file, const char *name, bytes *out) {
    enum { PART = 65536 };
    for (size_t got = 1; got;) {
        bytes_reserve(out, PART);
        got = fread(out->at + out->count, 1, PART, file);
        out->count += got;
    }
    return ferror(file) ? fail(EXIT_FAILED, "cannot read %s", name) : CLI_OK;
}

int bytes_read_stdin(bytes *out) { return read_all(stdin, "the input", out); }

int bytes_read_file(const char *path, bytes *out) {
    FILE *file = fopen(path, "rb");
    if (!file) return fail(EXIT_FAILED, "cannot open '%s': %s", path, strerror(errno));
    const int code = read_all(file, path, out);
    fclose(file);
    return code;
}

/* Bytes of the UTF-8 character at `text`; 0 = it is none. */
static size_t character_size(const unsigned char *text, size_t length) {
    const unsigned char c = text[0];
    const size_t size = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || size > length) return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    /* overlong forms, surrogates, beyond the last code */
    if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
        (c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
        return 0;
    return size;
}

char *bytes_printable(const char *from, size_t length, bool for_people) {
    const unsigned char *at = (const unsigned char *)from;
    char *out = take_memory(4 * length + 1, 1), *to = out;
    for (size_t i = 0; i < length;) {
        const size_t size = character_size(at + i, length - i);
        const bool plain = size > 1 || (size && (!for_people || (at[i] >= 32 && at[i] != 127)));
        if (plain && at[i]) memcpy(to, at + i, size), to += size;
        else if (!for_people) memcpy(to, "\xef\xbf\xbd", 3), to += 3;
        else if (at[i] == '\n') *to++ = '\\', *to++ = 'n';
        else if (at[i] == '\t') *to++ = '\\', *to++ = 't';
        else to += snprintf(to, 5, "\\x%02x", at[i]);
        i += size ? size : 1;
    }
    *to = 0;
    return out;
}
