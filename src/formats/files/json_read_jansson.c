/* JSON that is read: parsed here, kept in jansson's values. jansson's own parser (2.14) goes on
 * when memory for a token is short: it then reads a different text, or aborts. Its value
 * constructors do report failures. */
#include "formats/files/json_read.h"
#include "formats/files/file.h"
#include "formats/files/utf8.h"

#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 1024 };

typedef struct parser {
    eg__memory *memory;
    const char *text;
    size_t at, length;
    char *word; /* of the last string, decoded, with a terminator */
    size_t word_length, word_room;
    unsigned depth;
    eg_status status;
    eg_error *error;
} parser;

static json_t *read_value(parser *p);

/* ---- failures: the first one stays */
static json_t *refuse(parser *p, eg_status status, const char *what) {
    if (p->status) return NULL;
    unsigned line = 1;
    char shown[32];
    for (size_t i = 0; i < p->at; i++) line += p->text[i] == '\n';
    eg__file_quote(shown, sizeof shown, p->text + p->at, eg__min(p->length - p->at, 20));
    p->status = eg__fail(p->error, status, "bad JSON at byte %zu, line %u: %s near '%s'", p->at,
                         line, what, p->at < p->length ? shown : "the end");
    return NULL;
}

static json_t *bad(parser *p, const char *what) { return refuse(p, EG_ERR_FORMAT, what); }

static json_t *no_memory(parser *p) {
    if (!p->status)
        p->status = eg__fail(p->error, EG_ERR_MEMORY, "no memory for JSON of %zu bytes", p->length);
    return NULL;
}

static json_t *checked(parser *p, json_t *value) { return value ? value : no_memory(p); }

/* ---- letters */
static char here(const parser *p) { return p->at < p->length ? p->text[p->at] : 0; }

static void skip_blanks(parser *p) {
    while (p->at < p->length && strchr(" \t\r\n", p->text[p->at]) && p->text[p->at]) p->at++;
}

static bool accept(parser *p, char letter) {
    skip_blanks(p);
    if (here(p) != letter || p->at >= p->length) return false;
    p->at++;
    return true;
}

static void add_bytes(parser *p, const void *bytes, size_t size) {
    void *word = p->word;
    if (p->status) return;
    if (!eg__memory_grow(p->memory, EG_TAG_FILE, &word, p->word_length, &p->word_room, size + 1,
                         1)) {
        no_memory(p);
        return;
    }
    p->word = word;
    memcpy(p->word + p->word_length, bytes, size);
    p->word_length += size;
    p->word[p->word_length] = 0;
}

static void add_code(parser *p, uint32_t code) {
    char bytes[4];
    add_bytes(p, bytes, eg__utf8_write(code, bytes));
}

static bool read_hex(parser *p, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        const char c = here(p);
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return bad(p, "an escape without four hexadecimal digits"), false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* Behind "\u". */
static void read_code(parser *p) {
    uint32_t code, low;
    if (!read_hex(p, &code)) return;
    if (code >= 0xd800 && code < 0xdc00) {
        if (here(p) != '\\' || p->length - p->at < 2 || p->text[p->at + 1] != 'u') {
            bad(p, "half of a surrogate pair");
            return;
        }
        p->at += 2;
        if (!read_hex(p, &low)) return;
        if (low < 0xdc00 || low > 0xdfff) bad(p, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
    } else if (code >= 0xdc00 && code < 0xe000) bad(p, "half of a surrogate pair");
    if (!code) bad(p, "a zero byte in a text");
    add_code(p, code);
}

/* Behind the first quote; the text is in p->word. */
static bool read_string(parser *p) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    p->word_length = 0;
    add_bytes(p, "", 0);
    while (!p->status) {
        const size_t from = p->at;
        while (p->at < p->length && (unsigned char)p->text[p->at] >= ' ' && p->text[p->at] != '"' &&
               p->text[p->at] != '\\')
            p->at++;
        add_bytes(p, p->text + from, p->at - from);
        if (p->at >= p->length) return bad(p, "a text that does not end"), false;
        const char c = p->text[p->at];
        if ((unsigned char)c < ' ') return bad(p, "a control character in a text"), false;
        p->at++;
        if (c == '"') break;
        const char *found = here(p) ? strchr(letters, here(p)) : NULL;
        if (found) p->at++, add_bytes(p, &meant[found - letters], 1);
        else if (here(p) == 'u') p->at++, read_code(p);
        else return bad(p, "an unknown escape"), false;
    }
    if (!p->status && !eg__utf8_valid(p->word)) bad(p, "a text that is not UTF-8");
    return !p->status;
}

/* ---- values */
static size_t digits_from(const parser *p, size_t at) {
    size_t end = at;
    while (end < p->length && p->text[end] >= '0' && p->text[end] <= '9') end++;
    return end - at;
}

static json_t *read_number(parser *p) {
    const size_t from = p->at;
    size_t end = from + (here(p) == '-');
    const size_t whole = digits_from(p, end);
    bool real = false, sound = whole && (whole == 1 || p->text[end] != '0');
    end += whole;
    if (end < p->length && p->text[end] == '.') {
        const size_t digits = digits_from(p, end + 1);
        sound = sound && digits;
        real = true;
        end += 1 + digits;
    }
    if (sound && end < p->length && (p->text[end] == 'e' || p->text[end] == 'E')) {
        const bool sign =
            end + 1 < p->length && (p->text[end + 1] == '-' || p->text[end + 1] == '+');
        const size_t digits = digits_from(p, end + 1 + sign);
        sound = digits > 0;
        real = true;
        end += 1 + sign + digits;
    }
    if (!sound) return bad(p, "no value");
    double number = 0;
    int64_t integer = 0;
    const char *text = p->text + from;
    const bool fits =
        real ? eg_number_parse(text, end - from, &number, NULL) == EG_OK && isfinite(number)
             : eg_integer_parse(text, end - from, INT64_MIN, INT64_MAX, &integer, NULL) == EG_OK;
    if (!fits) return refuse(p, EG_ERR_OVERFLOW, "a number that does not fit");
    p->at = end;
    return checked(p, real ? json_real(number) : json_integer(integer));
}

static json_t *read_word(parser *p) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        const size_t size = strlen(words[i]);
        if (p->length - p->at < size || memcmp(p->text + p->at, words[i], size) != 0) continue;
        p->at += size;
        return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
    }
    return read_number(p);
}

static json_t *read_list(parser *p) {
    json_t *list = checked(p, json_array());
    if (accept(p, ']')) return list;
    do {
        json_t *item = read_value(p);
        if (item && json_array_append_new(list, item) != 0) no_memory(p);
    } while (!p->status && accept(p, ','));
    if (!accept(p, ']')) bad(p, "']' expected");
    return list;
}

static void read_member(parser *p, json_t *object) {
    skip_blanks(p);
    const size_t from = p->at;
    if (!accept(p, '"')) {
        bad(p, "a text expected as key");
        return;
    }
    if (!read_string(p)) return;
    if (json_object_get(object, p->word)) {
        p->at = from;
        bad(p, "duplicate object key");
        return;
    }
    char *key = eg__memory_take_text(p->memory, EG_TAG_FILE, p->word, p->word_length, NULL);
    if (!key) no_memory(p);
    else if (!accept(p, ':')) bad(p, "':' expected");
    json_t *value = p->status ? NULL : read_value(p);
    if (value && json_object_set_new_nocheck(object, key, value) != 0) no_memory(p);
    eg__memory_give(p->memory, key);
}

static json_t *read_object(parser *p) {
    json_t *object = checked(p, json_object());
    if (accept(p, '}')) return object;
    do {
        read_member(p, object);
    } while (!p->status && accept(p, ','));
    if (!accept(p, '}')) bad(p, "'}' expected");
    return object;
}

static json_t *read_value(parser *p) {
    json_t *value = NULL;
    if (p->status) return NULL;
    if (++p->depth > DEPTH_MAX) return bad(p, "values nested too deeply");
    if (accept(p, '{')) value = read_object(p);
    else if (accept(p, '[')) value = read_list(p);
    else if (accept(p, '"'))
        value = read_string(p) ? checked(p, json_string_nocheck(p->word)) : NULL;
    else value = read_word(p);
    p->depth--;
    if (!p->status) return value;
    json_decref(value);
    return NULL;
}

eg_status eg__json_read(eg__memory *memory, const char *text, size_t length, json_t **out,
                        eg_error *error) {
    parser p = {.memory = memory, .text = text, .length = length, .error = error};
    skip_blanks(&p);
    *out = here(&p) == '{' || here(&p) == '[' ? read_value(&p) : bad(&p, "'{' or '[' expected");
    skip_blanks(&p);
    if (!p.status && p.at < length) bad(&p, "something behind the document");
    eg__memory_give(memory, p.word);
    if (p.status) {
        json_decref(*out);
        *out = NULL;
    }
    return p.status;
}
