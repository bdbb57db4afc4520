/* Text of a page, in memory that grows; numbers have a point, whatever the locale of the program is. */
#include "report/report.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(eg__page *page, const char *bytes, size_t size) {
    if (page->fault.status) return;
    void *text = page->text;
    /* one more for the terminator, which the grown part already is */
    if (!eg__memory_grow(page->memory, EG_TAG_FILE, &text, page->length, &page->room, size + 1,
                         1)) {
        eg__fail(&page->fault, EG_ERR_MEMORY, "no memory for a report of more than %zu bytes",
                 page->length);
        return;
    }
    page->text = text;
    memcpy(page->text + page->length, bytes, size);
    page->length += size;
    page->text[page->length] = 0;
}

void eg__page_add(eg__page *page, const char *text) { add(page, text, strlen(text)); }

void eg__page_escape(eg__page *page, const char *text) {
    static const struct {
        char mark;
        const char *name;
    } names[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    while (*text) {
        const size_t plain = strcspn(text, "&<>\"");
        add(page, text, plain);
        text += plain;
        for (size_t i = 0; *text && i < sizeof names / sizeof *names; i++)
            if (names[i].mark == *text) eg__page_add(page, names[i].name);
        text += *text != 0;
    }
}

/* ---- formats. vsnprintf would write the decimal point of the locale, which cannot be told from a
 * comma in the text, so each conversion is formatted separately. */
typedef struct output {
    eg__page *page; /* or */
    char *out;
    size_t room, length;
} output;

static void emit(output *o, const char *bytes, size_t size) {
    if (o->page) {
        add(o->page, bytes, size);
        return;
    }
    size = eg__min(size, o->room - 1 - o->length);
    memcpy(o->out + o->length, bytes, size);
    o->length += size;
    o->out[o->length] = 0;
}

typedef struct arguments {
    va_list list; /* in a struct, so that functions can share it */
} arguments;

static void emit_text(output *o, const char *conversion, const char *text) {
    size_t most = SIZE_MAX;
    if (conversion[1] == '.') {
        most = 0;
        for (const char *c = conversion + 2; *c >= '0' && *c <= '9'; c++)
            most = most * 10 + (size_t)(*c - '0');
    }
    emit(o, text, strnlen(text, most));
}

static void emit_number(output *o, const char *conversion, char letter, arguments *a) {
    char number[400] = ""; /* the largest double has 309 digits before its point */
    int length = 0;
    if (letter == 'f' || letter == 'g') {
        length = snprintf(number, sizeof number, conversion, va_arg(a->list, double));
        eg__number_dot(number);
    } else if (strchr(conversion, 'z'))
        length = snprintf(number, sizeof number, conversion, va_arg(a->list, size_t));
    else if (strstr(conversion, "ll"))
        length = snprintf(number, sizeof number, conversion, va_arg(a->list, unsigned long long));
    else length = snprintf(number, sizeof number, conversion, va_arg(a->list, unsigned));
    assert(length >= 0 && (size_t)length < sizeof number);
    (void)length;
    emit(o, number, strlen(number));
}

static void format_all(output *o, const char *format, arguments *a) {
    while (*format) {
        const size_t plain = strcspn(format, "%");
        emit(o, format, plain);
        format += plain;
        if (!*format) return;
        char conversion[16] = "";
        const size_t size = strcspn(format + 1, "%scduxfg") + 2;
        assert(size < sizeof conversion && format[size - 1]);
        memcpy(conversion, format, size);
        const char letter = conversion[size - 1];
        if (letter == '%') emit(o, "%", 1);
        else if (letter == 's') emit_text(o, conversion, va_arg(a->list, const char *));
        else emit_number(o, conversion, letter, a);
        format += size;
    }
}

void eg__page_put(eg__page *page, const char *format, ...) {
    output o = {.page = page};
    arguments a;
    va_start(a.list, format);
    format_all(&o, format, &a);
    va_end(a.list);
}

size_t eg__report_print(char *out, size_t size, const char *format, ...) {
    output o = {.out = out, .room = size};
    arguments a;
    out[0] = 0;
    va_start(a.list, format);
    format_all(&o, format, &a);
    va_end(a.list);
    return o.length;
}
