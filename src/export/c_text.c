/* Lines, numbers and names of C source. */
#include "export/c.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void eg__c_fail(eg__c_export *x, eg_status status, const char *format, ...) {
    if (x->status) return;
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    x->status = eg__fail(x->error, status, "%s", message);
}

/* ---- lines */
static void append(eg__c_export *x, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) x->lines += text[i] == '\n';
    if (!x->status) x->status = eg__writer_append(x->writer, text, size, x->error);
}

static void append_formatted(eg__c_export *x, const char *format, va_list arguments) {
    char text[4096]; /* a whole helper */
    const int length = vsnprintf(text, sizeof text, format, arguments);
    if (length < 0 || (size_t)length >= sizeof text)
        eg__c_fail(x, EG_ERR_OVERFLOW, "a line of %d bytes", length);
    else append(x, text, (size_t)length);
}

void eg__c_put(eg__c_export *x, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append_formatted(x, format, arguments);
    va_end(arguments);
}

static void indent(eg__c_export *x) {
    for (unsigned i = 0; i < x->indent; i++) append(x, "    ", 4);
}

void eg__c_line(eg__c_export *x, const char *format, ...) {
    va_list arguments;
    indent(x);
    va_start(arguments, format);
    append_formatted(x, format, arguments);
    va_end(arguments);
    append(x, "\n", 1);
}

void eg__c_open(eg__c_export *x, const char *format, ...) {
    va_list arguments;
    indent(x);
    va_start(arguments, format);
    append_formatted(x, format, arguments);
    va_end(arguments);
    append(x, " {\n", 3);
    x->indent++;
}

void eg__c_close(eg__c_export *x) {
    x->indent--;
    eg__c_line(x, "}");
}

void eg__c_add(char out[EG__C_TEXT], const char *format, ...) {
    const size_t at = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + at, EG__C_TEXT - at, format, arguments);
    va_end(arguments);
}

/* ---- numbers */
const char *eg__c_number(float value, char out[32]) {
    if (isnan(value)) return strcpy(out, "NAN");
    if (isinf(value)) return strcpy(out, value < 0 ? "(-INFINITY)" : "INFINITY");
    char text[32];
    for (int digits = 6; digits <= 9; digits++) { /* 9 always identify a float */
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    /* whatever the locale has for a point becomes one */
    size_t length = 0;
    bool real = false;
    for (const char *p = text; *p; p++) {
        if (strchr("0123456789+-e", *p)) out[length++] = *p;
        else if (!real) out[length++] = '.';
        real = real || *p == 'e' || !strchr("0123456789+-", *p);
    }
    strcpy(out + length, real ? "f" : ".0f");
    return out;
}

/* ---- names */

/* Words of C and C++, and of the library as far as the source uses it. */
static const char *const reserved[] = {
    "auto",      "break",    "case",     "char",     "const",      "continue", "default",
    "do",        "double",   "else",     "enum",     "extern",     "float",    "for",
    "goto",      "if",       "inline",   "int",      "long",       "register", "restrict",
    "return",    "short",    "signed",   "sizeof",   "static",     "struct",   "switch",
    "typedef",   "union",    "unsigned", "void",     "volatile",   "while",    "asm",
    "bool",      "true",     "false",    "class",    "delete",     "new",      "operator",
    "private",   "public",   "this",     "template", "try",        "using",    "virtual",
    "namespace", "friend",   "export",   "explicit", "catch",      "throw",    "protected",
    "typename",  "mutable",  "main",     "memcpy",   "memset",     "size_t",   "int8_t",
    "uint8_t",   "uint16_t", "int32_t",  "uint32_t", "NAN",        "INFINITY", "NULL",
    "expf",      "logf",     "log1pf",   "tanhf",    "sqrtf",      "erff",     "erfcf",
    "fabsf",     "powf",     "sinf",     "cosf",     "nearbyintf", "frexpf",   "ldexpf",
    "rintf",     "copysignf"};
/* Words of the source itself. */
static const char *const locals[] = {"self", "arena", "unused", "i", "j", "k", "l",
                                     "m",    "n",     "p",      "r", "s", "t"};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "v0", "v1", ... are the values of a fused step. */
static bool is_value(const char *name) {
    if (*name++ != 'v' || !*name) return false;
    while (is_digit(*name)) name++;
    return !*name;
}

static bool is_among(const char *const *words, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

const char *eg__c_name_fault(const char *name) {
    if (!is_letter(name[0])) return "it does not begin with a letter of ASCII or _";
    _Static_assert(EG__C_NAME - 16 == 48, "as the message says");
    if (strlen(name) >= EG__C_NAME - 16) return "it has more than 47 letters";
    for (const char *p = name; *p; p++)
        if (!is_letter(*p) && !is_digit(*p))
            return "it has other characters than letters of ASCII, digits and _";
    if (is_among(reserved, sizeof reserved / sizeof *reserved, name))
        return "reserved by C, C++ or their library";
    if (is_value(name) || is_among(locals, sizeof locals / sizeof *locals, name) ||
        eg__c_is_function(name))
        return "used by the exported source itself";
    return NULL;
}

static bool is_taken(const eg__c_export *x, const char *name) {
    for (size_t i = 0; i < x->name_count; i++)
        if (strcmp(x->names[i], name) == 0) return true;
    return strcmp(x->name, name) == 0 || eg__c_name_fault(name);
}

const char *eg__c_name(eg__c_export *x, const char *wanted) {
    char *name = x->names[x->name_count];
    size_t length = 0;
    if (!is_letter(wanted[0]) && !is_digit(wanted[0])) name[length++] = 'x';
    if (is_digit(wanted[0])) name[length++] = '_';
    for (const char *p = wanted; *p && length < EG__C_NAME - 32; p++)
        name[length++] = is_letter(*p) || is_digit(*p) ? *p : '_';
    name[length] = 0;
    for (unsigned number = 1; is_taken(x, name); number++)
        snprintf(name + length, EG__C_NAME - length, "_%u", number);
    x->name_count++;
    return name;
}
