/* Every known key of config.json and of GGUF's metadata, and how it is handled. A key that changes
 * the results is read or refused; an unknown key is named in a warning. */
#ifndef EG__TRANSFORMER_KEYS_H
#define EG__TRANSFORMER_KEYS_H

#include "nn/transformer.h"

typedef enum eg__key_rule {
    EG__KEY_USED,     /* read where the architecture is */
    EG__KEY_HARMLESS, /* does not change what a trained model gives */
    EG__KEY_ONLY      /* refused unless it says nothing, or what `only` says */
} eg__key_rule;

/* Whose keys a family has: a column of nn/families.def. */
enum { EG__KEYS_LLAMA = 1, EG__KEYS_GPT2 = 2, EG__KEYS_BERT = 4 };

typedef struct eg__key {
    const char *name; /* with a '*' at its end: all that begin so */
    unsigned whose;   /* EG__KEYS_, or several */
    eg__key_rule rule;
    const char *only; /* NULL = nothing */
} eg__key;

/* NULL = not known. Those of GGUF are without the name of the architecture before them. */
const eg__key *eg__hugging_key(eg__family family, const char *name);
const eg__key *eg__rotary_key(eg__family family, const char *name); /* within rope_parameters */
const eg__key *eg__gguf_key(eg__family family, const char *name);

/* A value as far as rules look at it. */
typedef struct eg__key_value {
    bool nothing; /* null, false, 0, "", an empty list */
    bool is_number;
    double number;
    char text[64]; /* for messages */
} eg__key_value;

/* The keys that are not known and say something. */
typedef struct eg__key_names {
    char text[400];
    size_t used, left_off;
} eg__key_names;

/* EG_ERR_UNSUPPORTED when `key` (NULL: not known) must not have this value; `name` is what messages call it. */
eg_status eg__key_check(const eg__key *key, const char *name, const eg__key_value *value,
                        eg__key_names *unknown, eg_error *error);
/* One warning, if there is anything to name. */
void eg__key_warn(const eg_context *context, const eg__key_names *unknown, const char *path);

#endif
