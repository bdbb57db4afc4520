/* The table of families, and the names in it. */
#include "nn/families.h"

#include <string.h>

static const eg__traits families[EG__FAMILIES] = {
#define TRAITS(...) \
    { __VA_ARGS__ }
#define FAMILY(kind, keys, traits, ...) [EG__FAMILY_##kind] = traits,
#include "nn/families.def"
};

const eg__traits *eg__family_traits(unsigned family) {
    return family < EG__FAMILIES ? &families[family] : NULL;
}

const char *eg__family_name(unsigned family) {
    return family < EG__FAMILIES ? families[family].name : NULL;
}

bool eg__family_find(const char *name, eg__family *out) {
    for (unsigned i = 0; i < EG__FAMILIES; i++)
        if (strcmp(families[i].name, name) == 0) {
            *out = (eg__family)i;
            return true;
        }
    return false;
}

const char *eg__positions_name(unsigned positions) {
    static const char *const names[] = {"own", "learned", "rotary", "sinusoidal"};
    return positions < sizeof names / sizeof *names ? names[positions] : NULL;
}

const char *eg__matrix_name(eg__matrix matrix) {
    static const char *const names[EG__MATRICES] = {
        [EG__MATRIX_Q] = "attn_q",      [EG__MATRIX_K] = "attn_k",
        [EG__MATRIX_V] = "attn_v",      [EG__MATRIX_QKV] = "attn_qkv",
        [EG__MATRIX_O] = "attn_output", [EG__MATRIX_GATE] = "ffn_gate",
        [EG__MATRIX_UP] = "ffn_up",     [EG__MATRIX_DOWN] = "ffn_down"};
    return names[matrix];
}
