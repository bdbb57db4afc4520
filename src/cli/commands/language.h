/* A language model with its vocabulary, as the commands on texts share it. */
#ifndef EG__LANGUAGE_H
#define EG__LANGUAGE_H

#include "cli/cli.h"

typedef struct language {
    eg_context *context;
    eg_model *model;
    eg_tokenizer *tokenizer; /* NULL = a token is a byte */
    eg_transformer_info info;
} language;
/* `vocabulary` is a file, or NULL: the one in the model's file or folder, or beside it. */
int language_open(language *l, eg_context *context, const char *model, const char *vocabulary);
void language_close(language *l); /* all zero is fine */
/* With what the vocabulary wants before and after a text; special tokens in it are text. The caller frees
 * *ids. */
int language_encode(const language *l, const char *text, size_t length, uint32_t **ids,
                    size_t *count);
/* Remembers in a model from where its vocabulary comes, for those who read it from another file. */
int language_note(eg_model *model, const char *path);
/* Fails unless the model is a liquid network. */
int language_refuse(const eg_model *model, const char *who);
int64_t language_begin(const language *l); /* the token that begins a text; -1 = there is none */
bool language_ends(const language *l, uint32_t token); /* the text ends here */

#endif
