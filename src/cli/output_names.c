/* What the columns of outputs are called, the same in every command that writes them: targets and labels of the
 * training. */
#include "cli/commands/train.h"

#include <stdlib.h>
#include <string.h>

char *output_name(const eg_model *model, eg_link link, bool raw, uint64_t index) {
    const bool classes = link == EG_LINK_SOFTMAX;
    const char *before = raw && link ? "logit_" : classes ? "p_" : "";
    const char *name = eg_model_note(model, classes ? "labels" : "targets", (size_t)index);
    if (!name) return NULL;
    const size_t length = strlen(before) + strlen(name);
    char *out = take_memory(length + 1, 1);
    snprintf(out, length + 1, "%s%s", before, name);
    return out;
}

/* A header of numbers alone would be read as the first row. */
static bool is_header(const eg_model *model, eg_link link, bool raw, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        char *name = output_name(model, link, raw, i);
        double value;
        const bool text = name && *name && eg_number_parse(name, strlen(name), &value, NULL);
        free(name);
        if (text) return true;
    }
    return false;
}

char **output_names(const eg_model *model, eg_link link, bool raw, uint64_t count) {
    const bool told = is_header(model, link, raw, count);
    char **names = take_memory((size_t)count + 1, sizeof *names);
    for (uint64_t i = 0; i < count; i++) {
        char scratch[24];
        names[i] = told ? output_name(model, link, raw, i) : NULL;
        snprintf(scratch, sizeof scratch, "y%llu", (unsigned long long)i);
        if (!names[i]) names[i] = take_text(scratch);
    }
    return names;
}

void output_names_free(char **names) {
    for (size_t i = 0; names && names[i]; i++) free(names[i]);
    free(names);
}

void output_text(FILE *file, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}
