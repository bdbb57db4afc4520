/* modules.json of sentence-transformers: how the rows of a text's tokens become one row. */
#include "formats/models/transformer_folder.h"

#include <stdio.h>
#include <string.h>

typedef struct modules {
    eg_context *context;
    eg__folder *folder;
    eg__transformer *t;
    eg__key_names *unknown;
    eg_error *error;
    uint32_t width; /* of the row so far */
    unsigned pooled;
} modules;

typedef struct module {
    const char *path;
    json_t *config; /* NULL = it has no config.json */
    eg__config c;
} module;

/* Names that may stand in a config; one that is not listed and says something is named in a warning. */
static void check_keys(modules *m, const module *one, const char *const *known) {
    const char *key;
    json_t *value;
    json_object_foreach(one->config, key, value) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0) i++;
        const eg__key_value shown = {.nothing = json_is_null(value) || json_is_false(value)};
        char full[160];
        snprintf(full, sizeof full, "%.60s/%.80s", one->path, key);
        if (!known[i]) eg__key_check(NULL, full, &shown, m->unknown, NULL);
    }
}

/* ---- pooling */
static const struct {
    const char *key, *mode;
    eg_pooling pooling;
} poolings[] = {{"pooling_mode_mean_tokens", "mean", EG_POOLING_MEAN},
                {"pooling_mode_cls_token", "cls", EG_POOLING_FIRST},
                {"pooling_mode_lasttoken", "lasttoken", EG_POOLING_LAST},
                {"pooling_mode_max_tokens", "max", EG_POOLING_MAX},
                {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", EG_POOLING_MEAN_SQRT},
                {"pooling_mode_weightedmean_tokens", "weightedmean", EG_POOLING_WEIGHTED}};
enum { POOLINGS = sizeof poolings / sizeof *poolings };

/* One text, or a list with one text in it. */
static void read_mode(module *one, const json_t *value, eg__transformer *t) {
    if (json_is_array(value) && json_array_size(value) == 1) value = json_array_get(value, 0);
    const char *mode = json_is_array(value) ? "several" : json_string_value(value);
    for (unsigned i = 0; mode && i < POOLINGS; i++)
        if (strcmp(poolings[i].mode, mode) == 0) {
            t->pooling = poolings[i].pooling;
            return;
        }
    eg__config_refuse(&one->c, "pooling_mode", mode ? mode : "no text");
}

/* As versions before 5.2 wrote it: a flag for each. */
static void read_flags(module *one, eg__transformer *t) {
    unsigned found = 0;
    for (unsigned i = 0; i < POOLINGS; i++)
        if (eg__config_flag_or(&one->c, poolings[i].key, false)) {
            t->pooling = poolings[i].pooling;
            found++;
        }
    if (found > 1) eg__config_refuse(&one->c, "pooling_mode", "several");
}

static void read_pooling(modules *m, module *one) {
    static const char *const known[] = {"word_embedding_dimension",
                                        "embedding_dimension",
                                        "include_prompt",
                                        "pooling_mode",
                                        "pooling_mode_mean_tokens",
                                        "pooling_mode_cls_token",
                                        "pooling_mode_lasttoken",
                                        "pooling_mode_max_tokens",
                                        "pooling_mode_mean_sqrt_len_tokens",
                                        "pooling_mode_weightedmean_tokens",
                                        NULL};
    const json_t *mode = eg__config_get(&one->c, "pooling_mode");
    const uint32_t width =
        eg__config_count_or(&one->c, "word_embedding_dimension",
                            eg__config_count_or(&one->c, "embedding_dimension", m->t->width));
    if (m->pooled++) eg__config_refuse(&one->c, "type", "a second Pooling");
    if (!one->c.status && width != m->t->width)
        one->c.status =
            eg__fail(m->error, EG_ERR_FORMAT, "pooling has %u columns, but the model has %u", width,
                     m->t->width);
    if (mode) read_mode(one, mode, m->t);
    else read_flags(one, m->t);
    check_keys(m, one, known);
}

/* ---- after it */
static void add_step(modules *m, module *one, eg__row_step step) {
    if (!m->pooled) eg__config_refuse(&one->c, "type", "a module before Pooling");
    if (m->t->row_steps == EG__ROW_STEPS_MAX)
        eg__config_refuse(&one->c, "type", "too many modules");
    if (!one->c.status) m->t->row_step[m->t->row_steps++] = step;
}

static void check_names(module *one) {
    static const char *const keys[] = {"module_input_name", "module_output_name"};
    for (unsigned i = 0; i < 2; i++) {
        const char *name = eg__config_text_or(&one->c, keys[i], "sentence_embedding");
        if (strcmp(name, "sentence_embedding") != 0) eg__config_refuse(&one->c, keys[i], name);
    }
}

static void read_normalize(modules *m, module *one) {
    check_names(one);
    add_step(m, one, (eg__row_step){0});
}

static void read_activation(module *one, eg__row_step *step) {
    static const struct {
        const char *name;
        eg__row_activation activation;
    } rows[] = {{"torch.nn.modules.activation.Tanh", EG__ROW_TANH},
                {"torch.nn.modules.linear.Identity", EG__ROW_NONE},
                {"torch.nn.modules.activation.ReLU", EG__ROW_RELU},
                {"torch.nn.modules.activation.GELU", EG__ROW_GELU},
                {"torch.nn.modules.activation.Sigmoid", EG__ROW_SIGMOID},
                {"torch.nn.modules.activation.SiLU", EG__ROW_SILU}};
    const char *name = eg__config_text_or(&one->c, "activation_function", rows[0].name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) {
            step->activation = rows[i].activation;
            return;
        }
    eg__config_refuse(&one->c, "activation_function", name);
}

static void read_dense(modules *m, module *one) {
    static const char *const known[] = {
        "in_features",       "out_features",       "bias", "activation_function",
        "module_input_name", "module_output_name", NULL};
    eg__folder *f = m->folder;
    char name[200], path[EG__PATH_SIZE];
    eg__row_step step = {.bias = eg__config_flag_or(&one->c, "bias", true)};
    const uint32_t inputs = eg__config_count(&one->c, "in_features");
    step.outputs = eg__config_count(&one->c, "out_features");
    read_activation(one, &step);
    check_names(one);
    check_keys(m, one, known);
    if (!one->c.status && (inputs != m->width || !step.outputs))
        one->c.status =
            eg__fail(m->error, EG_ERR_FORMAT, "a dense layer of %u x %u does not fit %u columns",
                     step.outputs, inputs, m->width);
    snprintf(name, sizeof name, "%.150s/model.safetensors", one->path);
    add_step(m, one, step);
    if (!one->c.status) one->c.status = eg__folder_join(f, name, path, m->error);
    if (!one->c.status)
        one->c.status = eg_safetensors_open(m->context, path, &f->dense[f->dense_count], m->error);
    if (one->c.status) return;
    f->dense_count++;
    m->width = step.outputs;
}

/* The encoder itself is the folder; dropout is for training. */
static void read_transformer(modules *m, module *one) {
    if (*one->path) eg__config_refuse(&one->c, "path", one->path);
    if (m->pooled) eg__config_refuse(&one->c, "type", "a second Transformer");
}
static void read_nothing(modules *m, module *one) { (void)m, (void)one; }

/* ---- the list */
static const struct {
    const char *type;
    void (*read)(modules *m, module *one);
} types[] = {{"Transformer", read_transformer},
             {"Pooling", read_pooling},
             {"Dense", read_dense},
             {"Normalize", read_normalize},
             {"Dropout", read_nothing}};

/* A plain name: modules lie in the folder. */
static bool is_plain(const char *path) { return !strchr(path, '/') && *path != '.'; }

static eg_status read_module(modules *m, const json_t *object) {
    static const char own[] = "sentence_transformers.";
    module one = {.c = {.object = object, .error = m->error}};
    const char *type = eg__config_text_or(&one.c, "type", "");
    const char *dot = strrchr(type, '.');
    one.path = eg__config_text_or(&one.c, "path", "");
    const size_t count = sizeof types / sizeof *types;
    char name[200];
    size_t at = 0;
    while (at < count && strcmp(types[at].type, dot ? dot + 1 : type) != 0) at++;
    if (at == count || strncmp(type, own, sizeof own - 1) != 0)
        eg__config_refuse(&one.c, "type", type);
    if (!is_plain(one.path)) eg__config_refuse(&one.c, "path", one.path);
    snprintf(name, sizeof name, "%.150s/config.json", one.path);
    if (!one.c.status && *one.path && eg__folder_has(m->folder, name))
        one.c.status = eg__folder_json(m->folder, name, false, &one.config, m->error);
    one.c.object = one.config;
    if (!one.c.status) types[at].read(m, &one);
    json_decref(one.config);
    return one.c.status;
}

/* Text preprocessing is not done, but named in a warning. */
static void check_texts(const modules *m) {
    static const struct {
        const char *file, *key;
    } rows[] = {{"config_sentence_transformers.json", "default_prompt_name"},
                {"sentence_bert_config.json", "do_lower_case"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *config;
        char name[100];
        if (!eg__folder_has(m->folder, rows[i].file) ||
            eg__folder_json(m->folder, rows[i].file, false, &config, NULL))
            continue;
        const json_t *value = json_object_get(config, rows[i].key);
        const eg__key_value shown = {.nothing =
                                         !value || json_is_null(value) || json_is_false(value)};
        snprintf(name, sizeof name, "%s of %s", rows[i].key, rows[i].file);
        eg__key_check(NULL, name, &shown, m->unknown, NULL);
        json_decref(config);
    }
}

eg_status eg__folder_modules(eg_context *context, eg__folder *f, eg__transformer *t,
                             eg__key_names *unknown, eg_error *error) {
    json_t *list;
    if (!eg__folder_has(f, "modules.json")) return EG_OK;
    eg_status status = eg__folder_json(f, "modules.json", true, &list, error);
    if (status) return status;
    modules m = {context, f, t, unknown, error, t->width, 0};
    for (size_t i = 0; !status && i < json_array_size(list); i++)
        status = read_module(&m, json_array_get(list, i));
    json_decref(list);
    if (!status && !m.pooled) status = eg__fail(error, EG_ERR_UNSUPPORTED, "no module 'Pooling'");
    t->rows_told = true;
    check_texts(&m);
    return status ? eg__file_blame(error, status, "", "modules.json") : EG_OK;
}
