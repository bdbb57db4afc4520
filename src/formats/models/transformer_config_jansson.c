/* config.json of a folder: which architecture, its sizes, and keys that change what comes out. */
#include "formats/models/transformer_folder.h"

#include <stdio.h>
#include <string.h>

static double number_or(eg__config *r, const char *key, double otherwise) {
    const json_t *value = eg__config_get(r, key);
    if (value && !json_is_number(value) && !r->status)
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "'%s' is not a number", key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

/* ---- architectures */
static void refuse_partial(eg__config *r) {
    if (number_or(r, "partial_rotary_factor", 1) != 1)
        eg__config_refuse(r, "partial_rotary_factor", "less than all columns");
}

static bool has_objects(const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (json_is_object(value)) return true;
    }
    return false;
}

static const char *const rotary_objects[] = {"rope_scaling", "rope_parameters"};

/* Rotary scaling for longer contexts is not supported; newer files store the base in the same
 * object. */
static void read_rotary(eg__config *r, eg__transformer *t) {
    t->rope_base = number_or(r, "rope_theta", 10000);
    for (unsigned i = 0; i < 2; i++) {
        eg__config inner = {eg__config_get(r, rotary_objects[i]), r->status, r->error};
        if (!inner.object) continue;
        if (!json_is_object(inner.object))
            eg__config_refuse(&inner, rotary_objects[i], "no object");
        const char *type =
            eg__config_text_or(&inner, "rope_type", eg__config_text_or(&inner, "type", "default"));
        if (strcmp(type, "default") != 0) eg__config_refuse(&inner, rotary_objects[i], type);
        if (has_objects(inner.object))
            eg__config_refuse(&inner, rotary_objects[i], "layers that differ");
        t->rope_base = number_or(&inner, "rope_theta", t->rope_base);
        refuse_partial(&inner);
        r->status = inner.status;
    }
    refuse_partial(r);
}

static void read_gelu(eg__config *r, eg__transformer *t, const char *key, const char *act) {
    t->exact_gelu = strcmp(act, "gelu") == 0;
    if (!t->exact_gelu && strcmp(act, "gelu_new") != 0 && strcmp(act, "gelu_pytorch_tanh") != 0)
        eg__config_refuse(r, key, act);
}

static void read_activation(eg__config *r, eg__transformer *t, const char *key,
                            const char *otherwise) {
    const char *act = eg__config_text_or(r, key, otherwise);
    if (eg__transformer_traits(t)->activation != EG__FFN_SILU) read_gelu(r, t, key, act);
    else if (strcmp(act, "silu") != 0) eg__config_refuse(r, key, act);
}

static void read_score_scales(eg__config *r, eg__transformer *t) {
    t->attention_scale = eg__config_flag_or(r, "scale_attn_weights", true) ? 0 : 1;
    t->scale_by_layer = eg__config_flag_or(r, "scale_attn_by_inverse_layer_idx", false);
}

static void read_position_kind(eg__config *r, eg__transformer *t) {
    (void)t;
    const char *kind = eg__config_text_or(r, "position_embedding_type", "absolute");
    if (strcmp(kind, "absolute") != 0) eg__config_refuse(r, "position_embedding_type", kind);
}

/* Only Mistral has a sliding window: for Llama the key is ignored, as in torch, or refused. */
static void refuse_window(eg__config *r, eg__transformer *t) {
    if (t->window && t->window < t->context) {
        char value[24];
        snprintf(value, sizeof value, "%u", t->window);
        eg__config_refuse(r, "sliding_window", value);
    }
    t->window = 0;
}

/* ---- keys that are not read */
static void show_value(const json_t *value, eg__key_value *out) {
    const json_t *first = json_array_get(value, 0);
    bool same = json_is_array(value);
    for (size_t i = 0; same && i < json_array_size(value); i++)
        same = json_equal(first, json_array_get(value, i));
    if (same && json_is_string(first)) value = first;
    out->is_number = json_is_number(value);
    out->number = json_number_value(value);
    out->nothing = !value || json_is_null(value) || json_is_false(value) ||
                   (out->is_number && out->number == 0) ||
                   (json_is_string(value) && !json_string_length(value)) ||
                   (json_is_array(value) && !json_array_size(value)) ||
                   (json_is_object(value) && !json_object_size(value));
    if (json_is_string(value))
        eg__file_quote(out->text, sizeof out->text, json_string_value(value),
                       json_string_length(value));
    else if (out->is_number) eg_number_format(out->text, out->number);
    else
        snprintf(out->text, sizeof out->text, "%s",
                 json_is_true(value)    ? "true"
                 : json_is_array(value) ? "a list"
                                        : "an object");
}

typedef const eg__key *find_key(eg__family family, const char *name);

/* Keys of an object within the config are called "rope_scaling.factor". */
static void check_object(eg__config *r, const json_t *object, const char *outer, find_key *find,
                         eg__family family, eg__key_names *unknown) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        eg__key_value shown;
        char full[160];
        snprintf(full, sizeof full, "%s%s%.120s", outer, *outer ? "." : "", name);
        show_value(value, &shown);
        if (!r->status)
            r->status = eg__key_check(find(family, name), full, &shown, unknown, r->error);
    }
}

static void check_keys(eg__config *r, eg__family family, eg__key_names *unknown) {
    check_object(r, r->object, "", eg__hugging_key, family, unknown);
    const bool turns = eg__family_traits(family)->positions == EG__POSITIONS_ROTARY;
    for (unsigned i = 0; turns && i < 2; i++)
        check_object(r, eg__config_get(r, rotary_objects[i]), rotary_objects[i], eg__rotary_key,
                     family, unknown);
}

/* ---- families: the keys that say their sizes, and what those are that may be left out */
enum { TYPES_MAX = 4 };

typedef struct family_config {
    struct {
        const char *name; /* "model_type" */
        bool window;      /* it looks back so many tokens as it says */
    } types[TYPES_MAX];
    const char *width, *hidden, *layers, *heads, *context, *epsilon, *activation;
    uint32_t hidden_otherwise;  /* times the width; 0 = it must be there */
    uint32_t context_otherwise; /* 0 = it must be there */
    double epsilon_otherwise;
    const char *activation_otherwise;
    const char *tied; /* NULL = there is no output */
    bool tied_otherwise;
    void (*more)(eg__config *r, eg__transformer *t); /* what only this family has */
} family_config;

static const family_config families[EG__FAMILIES] = {
#define CONFIG(...) \
    { __VA_ARGS__ }
#define FAMILY(kind, keys, traits, gguf, hugging, config) [EG__FAMILY_##kind] = config,
#include "nn/families.def"
};

static void read_sizes(eg__config *r, const family_config *f, eg__transformer *t) {
    t->width = eg__config_count(r, f->width);
    t->hidden = f->hidden_otherwise
                    ? eg__config_count_or(r, f->hidden, f->hidden_otherwise * t->width)
                    : eg__config_count(r, f->hidden);
    t->layers = eg__config_count(r, f->layers);
    t->heads = t->kv_heads = eg__config_count(r, f->heads);
    t->head = t->heads ? t->width / t->heads : 0;
    t->vocabulary = eg__config_count(r, "vocab_size");
    t->context = f->context_otherwise ? eg__config_count_or(r, f->context, f->context_otherwise)
                                      : eg__config_count(r, f->context);
    t->epsilon = number_or(r, f->epsilon, f->epsilon_otherwise);
    if (f->tied) t->tied = eg__config_flag_or(r, f->tied, f->tied_otherwise);
}

static void read_family(eg__config *r, const family_config *f, bool window, eg__transformer *t) {
    const eg__traits *traits = eg__transformer_traits(t);
    read_sizes(r, f, t);
    if (traits->grouped) {
        t->kv_heads = eg__config_count_or(r, "num_key_value_heads", t->heads);
        t->head = eg__config_count_or(r, "head_dim", t->head);
    }
    if (traits->types) t->types = eg__config_count_or(r, "type_vocab_size", 2);
    if (traits->window) t->window = eg__config_count_or(r, "sliding_window", 0);
    if (traits->positions == EG__POSITIONS_ROTARY) read_rotary(r, t);
    if (f->more) f->more(r, t);
    read_activation(r, t, f->activation, f->activation_otherwise);
    if (traits->window && !window) refuse_window(r, t);
}

static bool find_type(const char *type, eg__family *family, bool *window) {
    for (unsigned i = 0; i < EG__FAMILIES; i++)
        for (unsigned k = 0; k < TYPES_MAX && families[i].types[k].name; k++)
            if (strcmp(families[i].types[k].name, type) == 0) {
                *family = (eg__family)i;
                *window = families[i].types[k].window;
                return true;
            }
    return false;
}

eg_status eg__folder_shape(const eg__folder *f, eg__transformer *t, eg__key_names *unknown,
                           eg_error *error) {
    json_t *config;
    eg_status status = eg__folder_json(f, "config.json", false, &config, error);
    if (status) return status;
    eg__config r = {.object = config, .error = error};
    const json_t *named = eg__config_get(&r, "model_type");
    const char *type = json_is_string(named) ? json_string_value(named) : "";
    eg__family family;
    bool window;
    *t = (eg__transformer){0};
    if (!find_type(type, &family, &window)) eg__config_refuse(&r, "model_type", type);
    else {
        *t = eg__transformer_begin(family);
        read_family(&r, &families[family], window, t);
        check_keys(&r, family, unknown);
    }
    json_decref(config);
    return r.status;
}
