/* Folders of Hugging Face: what the files that read them share. Only files built with jansson include this. */
#ifndef EG__TRANSFORMER_FOLDER_H
#define EG__TRANSFORMER_FOLDER_H

#include "formats/files/file.h"
#include "formats/files/safetensors.h"
#include "formats/models/transformer_keys.h"

#include <jansson.h>

enum { EG__FOLDER_FILES_MAX = 512 };

typedef struct eg__folder {
    eg__memory *memory;
    const char *path;
    eg_safetensors *files[EG__FOLDER_FILES_MAX];
    size_t count;
    eg_safetensors *dense[EG__ROW_STEPS_MAX]; /* one for each dense layer of rows */
    size_t dense_count;
} eg__folder;

eg_status eg__folder_join(const eg__folder *f, const char *name, char out[EG__PATH_SIZE],
                          eg_error *error);
bool eg__folder_has(const eg__folder *f, const char *name);
/* A file of JSON; decref it. EG_ERR_FORMAT: it has no object (with `list`: no list) at its root. */
eg_status eg__folder_json(const eg__folder *f, const char *name, bool list, json_t **out,
                          eg_error *error);

/* ---- a config: keys with defaults, the first mistake stays */
typedef struct eg__config {
    const json_t *object;
    eg_status status;
    eg_error *error;
} eg__config;
const json_t *eg__config_get(const eg__config *c, const char *key); /* NULL = none, or null */
uint32_t eg__config_count(eg__config *c, const char *key);
uint32_t eg__config_count_or(eg__config *c, const char *key, uint32_t otherwise);
bool eg__config_flag_or(eg__config *c, const char *key, bool otherwise);
const char *eg__config_text_or(eg__config *c, const char *key, const char *otherwise);
void eg__config_refuse(eg__config *c, const char *key, const char *value);

/* ---- transformer_config_jansson.c: config.json */
eg_status eg__folder_shape(const eg__folder *f, eg__transformer *t, eg__key_names *unknown,
                           eg_error *error);

/* ---- transformer_sentence_jansson.c: modules.json, where there is one: pooling, dense layers, normalization */
eg_status eg__folder_modules(eg_context *context, eg__folder *f, eg__transformer *t,
                             eg__key_names *unknown, eg_error *error);

#endif
