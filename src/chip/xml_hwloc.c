/* Checks hwloc's XML before hwloc sees it: hwloc 2.9 crashes on files that lack what it always
 * writes itself, and a recorded machine may be cut off or damaged. */
#include "chip/detect.h"

#include <string.h>

enum { TAG_SIZE = 16384, DEPTH_MAX = 64, NAME_SIZE = 32 };

typedef struct checker {
    eg__text *file;
    char tag[TAG_SIZE];
    char open[DEPTH_MAX][NAME_SIZE];
    unsigned depth;
    bool done, processor, memory; /* seen: the end, a PU, a NUMANode */
} checker;

static bool is_one_of(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcmp(word, *list) == 0) return true;
    return false;
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "0x0000ffff", "0x1,,0xff": groups of 32 bits, the first one not empty. The form for endless sets
 * is refused. */
static bool is_set(const char *text) {
    if (*text != '0') return false;
    for (;;) {
        if (*text != ',') {
            size_t digits =
                text[0] == '0' && text[1] == 'x' ? strspn(text + 2, "0123456789abcdef") : 0;
            if (digits < 1 || digits > 8) return false;
            text += 2 + digits;
        }
        if (!*text) return true;
        if (*text++ != ',') return false;
    }
}

static bool is_number(const char *text) {
    size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 20 && !text[digits];
}

/* Cuts `name="value"` out of *at; false when there is something else. */
static bool attribute_next(char **at, char **name, char **value) {
    char *c = *at;
    while (*c == ' ') c++;
    *name = c;
    while (is_name(*c)) c++;
    if (c == *name || c[0] != '=' || c[1] != '"') return false;
    *c = 0;
    *value = c += 2;
    while (*c && *c != '"') c++;
    if (*c != '"') return false;
    *c = 0;
    *at = c + 1;
    return true;
}

/* What hwloc takes for granted of a thing that has processors or memory. */
typedef struct object_facts {
    bool typed, plain; /* plain: Bridge, PCIDev, OSDev, Misc; these have no sets */
    unsigned sets;
} object_facts;

static const char *object_attribute(checker *c, const char *name, const char *value,
                                    object_facts *facts) {
    static const char *const types[] = {"Machine",  "Package",  "Die",      "Core",     "PU",
                                        "Group",    "NUMANode", "MemCache", "L1Cache",  "L2Cache",
                                        "L3Cache",  "L4Cache",  "L5Cache",  "L1iCache", "L2iCache",
                                        "L3iCache", NULL};
    static const char *const plain[] = {"Bridge", "PCIDev", "OSDev", "Misc", NULL};
    static const char *const sets[] = {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset",
                                       NULL};
    static const char *const others[] = {"allowed_cpuset", "allowed_nodeset", NULL};
    static const char *const numbers[] = {
        "os_index", "gp_index", "cache_size",   "depth",      "cache_linesize",
        "kind",     "subkind",  "local_memory", "dont_merge", NULL};
    if (strcmp(name, "type") == 0) {
        facts->typed = true;
        facts->plain = is_one_of(value, plain);
        c->processor = c->processor || strcmp(value, "PU") == 0;
        c->memory = c->memory || strcmp(value, "NUMANode") == 0;
        if (!facts->plain && !is_one_of(value, types)) return "an object of an unknown type";
    }
    if (is_one_of(name, sets)) facts->sets++;
    if ((is_one_of(name, sets) || is_one_of(name, others)) && !is_set(value))
        return "a set that is none";
    if (is_one_of(name, numbers) && !is_number(value)) return "a number that is none";
    return NULL;
}

static const char *element_check(checker *c, const char *name, char *attributes) {
    static const char *const known[] = {"topology",   "object",           "info",    "page_type",
                                        "distances2", "distances2hetero", "indexes", "support",
                                        "cpukind",    "memattr_value",    "memattr", "u64values",
                                        NULL};
    if (!is_one_of(name, known)) return "an unknown element";
    if ((c->depth == 0) != (strcmp(name, "topology") == 0)) return "an element in the wrong place";
    if (strcmp(name, "object") == 0 && strcmp(c->open[c->depth - 1], "object") != 0 &&
        strcmp(c->open[c->depth - 1], "topology") != 0)
        return "an object in the wrong place";
    object_facts facts = {0};
    char *key, *value;
    while (attributes[strspn(attributes, " ")]) {
        if (!attribute_next(&attributes, &key, &value)) return "a broken attribute";
        const char *fault = NULL;
        if (strcmp(name, "object") == 0) fault = object_attribute(c, key, value, &facts);
        else if (strcmp(key, "cpuset") == 0 && !is_set(value)) fault = "a set that is none";
        else if (strcmp(name, "topology") == 0 && strcmp(key, "version") == 0 &&
                 strncmp(value, "2.", 2) != 0)
            fault = "a version other than 2";
        if (fault) return fault;
    }
    if (strcmp(name, "object") == 0 && (!facts.typed || (!facts.plain && facts.sets != 4)))
        return "an object without type or sets";
    return NULL;
}

/* Reads up to the end of a tag, past what stands before it: blanks, or numbers where a matrix of
 * distances belongs. "" is the proper end of the file. */
static const char *tag_read(checker *c) {
    static const char *const matrices[] = {"indexes", "u64values", NULL};
    bool matrix = c->depth && is_one_of(c->open[c->depth - 1], matrices);
    int byte;
    while ((byte = eg__text_byte(c->file)) >= 0 && byte != '<')
        if (byte != '\n' && byte != ' ' && (!matrix || byte < ' ' || byte > 126))
            return "text between tags";
    if (byte < 0) return c->depth || !c->done ? "no end" : "";
    if (c->done) return "something after the end";
    size_t length = 0;
    while ((byte = eg__text_byte(c->file)) >= 0 && byte != '>') {
        if (byte < ' ' || byte > 126 || byte == '<') return "a strange character";
        if (length + 1 >= sizeof c->tag) return "an endless tag";
        c->tag[length++] = (char)byte;
    }
    c->tag[length] = 0;
    return byte < 0 ? "no end" : NULL;
}

static const char *close_check(checker *c, const char *name) {
    if (!c->depth || strcmp(c->open[c->depth - 1], name) != 0) return "an end without a beginning";
    c->done = --c->depth == 0;
    return NULL;
}

static const char *tag_check(checker *c) {
    char *tag = c->tag, name[NAME_SIZE];
    size_t length = strlen(tag);
    if (tag[0] == '?' || tag[0] == '!') {
        bool head = strcmp(tag, "?xml version=\"1.0\" encoding=\"UTF-8\"?") == 0 ||
                    strcmp(tag, "!DOCTYPE topology SYSTEM \"hwloc2.dtd\"") == 0;
        return head && !c->depth ? NULL : "a strange heading";
    }
    if (tag[0] == '/') return close_check(c, tag + 1);
    bool closed = length && tag[length - 1] == '/';
    if (closed) tag[length - 1] = 0;
    size_t end = 0;
    while (is_name(tag[end])) end++;
    if (!end || end >= sizeof name || (tag[end] && tag[end] != ' ')) return "a broken tag";
    memcpy(name, tag, end);
    name[end] = 0;
    const char *fault = element_check(c, name, tag + end);
    if (fault) return fault;
    if (c->depth == DEPTH_MAX) return "too many levels";
    memcpy(c->open[c->depth++], name, end + 1);
    return closed ? close_check(c, name) : NULL;
}

const char *eg__hwloc_xml_fault(eg__text *file) {
    checker c = {.file = file};
    for (;;) {
        const char *fault = tag_read(&c);
        if (fault && !fault[0]) return c.processor && c.memory ? NULL : "no processor or no memory";
        if (fault) return fault;
        fault = tag_check(&c);
        if (fault) return fault;
    }
}
