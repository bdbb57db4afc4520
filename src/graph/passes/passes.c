/* The passes of a compilation. */
#include "graph/passes/passes.h"

#include <string.h>

static const struct {
    const char *name, *text;
} rows[EG__PASS_COUNT] = {
#define PASS(name, text)     {#name, text},
#define LOWERING(name, text) {#name, text},
#include "graph/passes/passes.def"
};

const char *eg__pass_name(unsigned pass) { return rows[pass].name; }
const char *eg__pass_text(unsigned pass) { return rows[pass].text; }

static eg_status parse_one(const char *word, size_t length, uint32_t *passes, eg_error *error) {
    const bool off = length && word[0] == '-';
    word += off;
    length -= off;
    uint32_t bits = 0;
    if (length == 3 && memcmp(word, "all", 3) == 0) bits = EG__PASSES_ALL;
    else if (!(length == 4 && memcmp(word, "none", 4) == 0)) {
        for (unsigned i = 0; i < EG__PASS_COUNT; i++)
            if (strlen(rows[i].name) == length && memcmp(rows[i].name, word, length) == 0)
                bits = 1u << i;
        if (!bits)
            return eg__fail(error, EG_ERR_ARGUMENT, "unknown pass '%.*s'",
                            (int)eg__min(length, 100), word);
    }
    *passes = off ? *passes & ~bits : *passes | bits;
    return EG_OK;
}

eg_status eg__passes_parse(const char *text, uint32_t *out, eg_error *error) {
    if (!text || !text[0]) {
        *out = EG__PASSES_ALL;
        return EG_OK;
    }
    uint32_t passes = text[0] == '-' ? EG__PASSES_ALL : 0;
    while (*text) {
        const size_t length = strcspn(text, ",");
        eg_status status = parse_one(text, length, &passes, error);
        if (status) return status;
        text += length + (text[length] == ',');
    }
    *out = passes;
    return EG_OK;
}

typedef eg_status pass_function(const eg_graph *graph, size_t count, eg_node *outputs,
                                bool training, eg_graph **to, eg_error *error);
static pass_function *const functions[EG__PASS_COUNT] = {
#define PASS(name, text) [EG__PASS_##name] = eg__pass_##name,
#include "graph/passes/passes.def"
};

eg_status eg__passes_run(eg_graph **graph, size_t count, eg_node *outputs,
                         const eg__compile_options *options, eg_error *error) {
    for (unsigned i = 0; i < EG__PASS_COUNT; i++) {
        if (!functions[i] || !(options->passes >> i & 1)) continue;
        eg_graph *next;
        eg_status status = functions[i](*graph, count, outputs, options->training, &next, error);
        if (status) return status;
        eg_graph_destroy(*graph);
        *graph = next;
    }
    return EG_OK;
}
