/* JSON as text, written in order. */
#include "formats/files/json.h"
#include "formats/files/file.h"
#include "formats/files/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void eg__json_fail(eg__json *json, eg_status status, const char *format, ...) {
    if (json->fault.status) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(json->fault.message, sizeof json->fault.message, format, arguments);
    va_end(arguments);
    json->fault.status = status;
}

static void put(eg__json *json, const char *bytes, size_t size) {
    if (json->fault.status) return;
    void *text = json->text;
    /* one more for the terminator, which the grown part already is */
    if (!eg__memory_grow(json->memory, EG_TAG_FILE, &text, json->length, &json->room, size + 1, 1))
        eg__json_fail(json, EG_ERR_MEMORY, "no memory for JSON of more than %zu bytes",
                      json->length);
    json->text = text;
    if (json->fault.status) return;
    memcpy(json->text + json->length, bytes, size);
    json->length += size;
    json->text[json->length] = 0;
}

static void put_word(eg__json *json, const char *word) { put(json, word, strlen(word)); }

static void refuse(eg__json *json, const char *what, const char *text) {
    char shown[64];
    eg__json_fail(json, EG_ERR_ARGUMENT, "%s in '%.60s': '%s'", what, json->key ? json->key : "",
                  eg__file_quote(shown, sizeof shown, text, strlen(text)));
}

/* Escaped as little as JSON allows, as serde_json does it for safetensors. */
static void put_escaped(eg__json *json, const char *text) {
    static const char special[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= ' ' && text[plain] != '"' && text[plain] != '\\')
            plain++;
        put(json, text, plain);
        text += plain;
        if (!*text) break;
        const char *found = strchr(special, *text);
        char escape[8];
        if (found) snprintf(escape, sizeof escape, "\\%c", letters[found - special]);
        else snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*text);
        put_word(json, escape);
        text++;
    }
}

static void put_quoted(eg__json *json, const char *text) {
    if (!text) {
        eg__json_fail(json, EG_ERR_ARGUMENT, "no text in '%.60s'", json->key ? json->key : "");
        return;
    }
    if (!eg__utf8_valid(text)) {
        refuse(json, "text that is not UTF-8", text);
        return;
    }
    put_word(json, "\"");
    put_escaped(json, text);
    put_word(json, "\"");
}

static void put_line(eg__json *json) {
    if (!json->indented) return;
    put_word(json, "\n");
    for (unsigned i = 0; i < json->depth; i++) put_word(json, "  ");
}

/* What stands before every value. */
static void put_key(eg__json *json, const char *key) {
    const bool member = json->depth && json->closers[json->depth - 1] == '}';
    assert(!member == !key);
    if (json->follows) put_word(json, ",");
    json->follows = true;
    if (json->depth) put_line(json);
    if (!member) return;
    json->key = key;
    put_quoted(json, key);
    put_word(json, json->indented ? ": " : ":");
}

static void open_with(eg__json *json, const char *key, const char *opener, char closer) {
    put_key(json, key);
    put_word(json, opener);
    assert(json->depth < EG__JSON_DEPTH);
    json->closers[json->depth++] = closer;
    json->follows = false;
}

void eg__json_open_object(eg__json *json, const char *key) { open_with(json, key, "{", '}'); }
void eg__json_open_list(eg__json *json, const char *key) { open_with(json, key, "[", ']'); }

void eg__json_close(eg__json *json) {
    assert(json->depth);
    const char closer = json->closers[--json->depth];
    if (json->follows) put_line(json);
    put(json, &closer, 1);
    json->follows = true;
}

void eg__json_put_text(eg__json *json, const char *key, const char *text) {
    put_key(json, key);
    put_quoted(json, text);
}

void eg__json_put_integer(eg__json *json, const char *key, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    put_key(json, key);
    put_word(json, digits);
}

void eg__json_put_count(eg__json *json, const char *key, uint64_t value) {
    if (value > INT64_MAX) /* readers hold integers in 63 bits and a sign */
        eg__json_fail(json, EG_ERR_OVERFLOW, "'%.60s' is '%llu', more than 63 bits hold",
                      key ? key : "", (unsigned long long)value);
    eg__json_put_integer(json, key, (int64_t)value);
}

/* The exponent as short as it can be: "1e20", "1e-5". */
static void format_digits(char out[EG_NUMBER_SIZE], double value, unsigned digits) {
    snprintf(out, EG_NUMBER_SIZE, "%.*g", (int)eg__min(digits, 17), value);
    eg__number_dot(out);
    char *from = strchr(out, 'e');
    if (!from) return;
    char *to = ++from;
    if (*from == '-') to++;
    from++;
    from += strspn(from, "0");
    memmove(to, from, strlen(from) + 1);
}

void eg__json_put_number(eg__json *json, const char *key, double value) {
    char digits[EG_NUMBER_SIZE + 2];
    if (json->digits && isfinite(value)) format_digits(digits, value, json->digits);
    else eg_number_format(digits, value);
    put_key(json, key);
    if (!isfinite(value)) refuse(json, "a number that is not finite", digits);
    /* without these it would read back as an integer */
    if (!strpbrk(digits, ".e")) strcat(digits, ".0");
    put_word(json, digits);
}

void eg__json_put_flag(eg__json *json, const char *key, bool value) {
    put_key(json, key);
    put_word(json, value ? "true" : "false");
}

void eg__json_put_null(eg__json *json, const char *key) {
    put_key(json, key);
    put_word(json, "null");
}

void eg__json_put_shown(eg__json *json, const char *key, const char *text) {
    if (!text || eg__utf8_valid(text)) {
        eg__json_put_text(json, key, text);
        return;
    }
    put_key(json, key);
    put_word(json, "\"");
    while (*text) {
        char one[8] = "";
        const size_t size = eg_utf8_length(text);
        if (size) memcpy(one, text, size);
        else snprintf(one, sizeof one, "\\x%02x", (unsigned)(unsigned char)*text);
        put_escaped(json, one);
        text += size ? size : 1;
    }
    put_word(json, "\"");
}

void eg__json_begin(eg__json *json, eg__memory *memory) { *json = (eg__json){.memory = memory}; }

eg_status eg__json_end(eg__json *json, char **text, size_t *length, eg_error *error) {
    assert(!json->depth);
    const eg_error *fault = &json->fault;
    if (fault->status) eg__memory_give(json->memory, json->text);
    *text = fault->status ? NULL : json->text;
    if (length) *length = fault->status ? 0 : json->length;
    json->text = NULL;
    return fault->status ? eg__fail(error, fault->status, "%s", fault->message) : EG_OK;
}
