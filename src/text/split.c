/* Cuts text into words as the patterns of GPT-2, Llama 3 and Qwen 2 do, without a regex engine. */
#include "text/text.h"

#include <string.h>
#include <strings.h>

/* ---- patterns by name */
#define TAIL "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define HEAD "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
static const struct {
    eg__split split;
    bool whole_words;
    const char *names[6]; /* in GGUF */
    const char *pattern;
} splits[] = {
    {EG__SPLIT_GPT2,
     false,
     {"gpt-2", "phi-2", "roberta-bpe", "mpt", "olmo", NULL},
     "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {EG__SPLIT_LLAMA3,
     true,
     {"llama-bpe", "llama3", "llama-v3", NULL},
     HEAD "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL},
    {EG__SPLIT_QWEN2,
     false,
     {"qwen2", "deepseek-r1-qwen", NULL},
     HEAD "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL}};

bool eg__split_find(const char *name, eg__split *out, bool *whole_words) {
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        for (size_t k = 0; splits[i].names[k]; k++)
            if (strcmp(splits[i].names[k], name) == 0) {
                *out = splits[i].split;
                *whole_words = splits[i].whole_words;
                return true;
            }
    return false;
}

bool eg__split_find_pattern(const char *pattern, eg__split *out) {
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (strcmp(splits[i].pattern, pattern) == 0) {
            *out = splits[i].split;
            return true;
        }
    return false;
}

/* ---- a place in text */
typedef struct place {
    const char *text;
    size_t length;
} place;

/* Class of the character at `at`, and where it ends; at the end of the text, no class and 0. */
static unsigned class_at(const place *p, size_t at, size_t *end) {
    uint32_t code;
    bool valid;
    *end = at;
    if (at >= p->length) return 0;
    *end = at + eg__character(p->text + at, p->length - at, &code, &valid);
    return eg__unicode_class(code) & (EG__LETTER | EG__NUMBER | EG__SPACE);
}

/* The end of a run of at most `most` characters of the class; class 0 is everything else. */
static size_t run(const place *p, size_t at, unsigned class, size_t most) {
    size_t end;
    for (; most && at < p->length && class_at(p, at, &end) == class; most--) at = end;
    return at;
}

static bool is_break(char c) { return c == '\r' || c == '\n'; }

static size_t run_of_breaks(const place *p, size_t at) {
    while (at < p->length && is_break(p->text[at])) at++;
    return at;
}

/* 's, 't, 're, ...; 0 = none. */
static size_t contraction(const place *p, bool any_case) {
    static const char *const tails[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (p->text[0] != '\'') return 0;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const size_t size = strlen(tails[i]);
        if (size >= p->length) continue;
        if (any_case ? strncasecmp(p->text + 1, tails[i], size) == 0
                     : strncmp(p->text + 1, tails[i], size) == 0)
            return 1 + size;
    }
    return 0;
}

/* White space: all of it at the end of a text, otherwise all but the last character, which belongs
 * to the next word. */
static size_t spaces(const place *p) {
    size_t end = 0, last = 0, next;
    while (class_at(p, end, &next) & EG__SPACE) {
        last = end;
        end = next;
    }
    return end < p->length && last ? last : end;
}

static size_t next_gpt2(const place *p) {
    size_t end = contraction(p, false), behind;
    if (end) return end;
    const size_t start = p->text[0] == ' ' && p->length > 1 ? 1 : 0;
    const unsigned class = class_at(p, start, &behind);
    if (class & EG__SPACE) return spaces(p);
    return run(p, start, class, SIZE_MAX);
}

/* White space with line breaks goes up to the last of them. */
static size_t spaces_to_break(const place *p) {
    size_t found = 0, next;
    for (size_t at = 0; class_at(p, at, &next) & EG__SPACE; at = next)
        if (is_break(p->text[at])) found = next;
    return found ? found : spaces(p);
}

static size_t next_llama3(const place *p, size_t digits) {
    size_t end = contraction(p, true), behind, after;
    if (end) return end;
    const unsigned class = class_at(p, 0, &behind);
    if (class == EG__LETTER) return run(p, 0, EG__LETTER, SIZE_MAX);
    if (class != EG__NUMBER && !is_break(p->text[0]) && class_at(p, behind, &after) == EG__LETTER)
        return run(p, behind, EG__LETTER, SIZE_MAX);
    if (class == EG__NUMBER) return run(p, 0, EG__NUMBER, digits);
    const size_t start = p->text[0] == ' ' ? 1 : 0;
    if (start < p->length && class_at(p, start, &after) == 0)
        return run_of_breaks(p, run(p, start, 0, SIZE_MAX));
    return spaces_to_break(p);
}

size_t eg__split_next(eg__split split, const char *text, size_t length) {
    const place p = {text, length};
    if (split == EG__SPLIT_GPT2) return next_gpt2(&p);
    return next_llama3(&p, split == EG__SPLIT_LLAMA3 ? 3 : 1);
}
