/* Names of a transformer's tensors in folders of Hugging Face: ours are GGUF's. */
#include "formats/models/transformer_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 16 };

typedef struct family_names {
    const char *prefix; /* may stand before all names */
    const char *layers; /* stands before the number of a layer */
    const char *head;   /* without it the output is the embedding; NULL = config.json tells */
    struct {
        const char *ours, *theirs; /* what stands before ".weight" and ".bias" */
        bool transposed;           /* inputs by outputs */
    } names[NAMES_MAX];            /* a NULL at the end */
} family_names;

static const family_names families[EG__FAMILIES] = {
#define HUGGING(...) \
    { __VA_ARGS__ }
#define FAMILY(kind, keys, traits, gguf, hugging, ...) [EG__FAMILY_##kind] = hugging,
#include "nn/families.def"
};

const char *eg__hugging_prefix(eg__family family) { return families[family].prefix; }
const char *eg__hugging_head(eg__family family) { return families[family].head; }

bool eg__hugging_transposes(eg__family family) {
    for (unsigned i = 0; families[family].names[i].ours; i++)
        if (families[family].names[i].transposed) return true;
    return false;
}

bool eg__hugging_name_get(eg__family family, const char *name, unsigned way,
                          eg__hugging_name *out) {
    /* norms of BERT were once called by the letters of the paper */
    static const char *const parts[2][2] = {{".weight", ".bias"}, {".gamma", ".beta"}};
    const char *part = strrchr(name, '.');
    if (way > 1 || !part || (way && !strstr(name, "norm"))) return false;
    const bool in_layer = strncmp(name, "blk.", 4) == 0;
    char *end = NULL;
    const unsigned long layer = in_layer ? strtoul(name + 4, &end, 10) : 0;
    const char *inner = in_layer ? end + 1 : name;
    const size_t length = (size_t)(part - inner);
    const family_names *f = &families[family];
    for (unsigned i = 0; f->names[i].ours; i++) {
        const char *ours = f->names[i].ours, *theirs = f->names[i].theirs;
        if (strlen(ours) != length || memcmp(ours, inner, length) != 0) continue;
        const bool is_bias = strcmp(part, ".bias") == 0;
        out->turned = f->names[i].transposed && !is_bias;
        if (in_layer)
            snprintf(out->name, sizeof out->name, "%s.%lu.%s%s", f->layers, layer, theirs,
                     parts[way][is_bias]);
        else snprintf(out->name, sizeof out->name, "%s%s", theirs, parts[way][is_bias]);
        return true;
    }
    return false;
}
