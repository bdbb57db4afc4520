/* Models by a line of text: "cfc:autoncp:64:16,in=16,seed=1", layers one after the other with a slash
 * between them: "cfc:64,in=16/cfc:32,backbone=0". */
#include "nn/model.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct text {
    char wiring[256]; /* keys left for the wiring */
    uint64_t seed;
    uint32_t given; /* a bit for each key of the layer */
} text;

static eg_status count_of(const char *value, const char *key, uint32_t *out, eg_error *error) {
    int64_t number;
    if (eg_integer_parse(value, strlen(value), 1, 1 << 20, &number, NULL))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is not a whole number within 1..1048576",
                        key, value);
    *out = (uint32_t)number;
    return EG_OK;
}

/* "64", "64x2" (twice), "128+64" */
static eg_status read_backbone(eg__layer *layer, const char *value, eg_error *error) {
    layer->backbone_count = 0;
    char copy[128];
    snprintf(copy, sizeof copy, "%s", value);
    if (strcmp(copy, "0") == 0) return EG_OK;
    for (char *rest = copy, *part; (part = strsep(&rest, "+"));) {
        char *cross = strchr(part, 'x');
        uint32_t width, times = 1;
        if (cross) *cross++ = 0;
        eg_status status = count_of(part, "backbone", &width, error);
        if (!status && cross) status = count_of(cross, "backbone", &times, error);
        if (status) return status;
        for (uint32_t i = 0; i < times; i++) {
            if (layer->backbone_count == EG__BACKBONE_MAX)
                return eg__fail(error, EG_ERR_ARGUMENT,
                                "backbone=%.60s has more than %d layers: 64x2 is 64+64, two of 64",
                                value, EG__BACKBONE_MAX);
            layer->backbone[layer->backbone_count++] = width;
        }
    }
    return EG_OK;
}

/* The index of a name; `names` returns NULL past the last. */
static eg_status find_name(const char *key, const char *value, const char *(*name_of)(unsigned),
                           unsigned *out, eg_error *error) {
    const char *name;
    for (*out = 0; (name = name_of(*out)); (*out)++)
        if (strcmp(name, value) == 0) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is not known", key, value);
}

static eg_status read_number(const char *key, const char *value, double *out, eg_error *error) {
    if (eg_number_parse(value, strlen(value), out, NULL) == EG_OK) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s is not a number", key, value);
}

/* ---- keys: which cells have them, and where their values go */
enum { CFC = 1 << EG__CFC, LTC = 1 << EG__LTC, BOTH = CFC | LTC };
typedef enum value_kind { SEED, COUNT, BACKBONE, NUMBER, FLAG, NAME } value_kind;
static const struct {
    const char *key;
    unsigned cells;
    value_kind kind;
    size_t offset;                    /* of the field of the layer */
    const char *(*name_of)(unsigned); /* NAME: the names there are */
} keys[] = {
    {"in", BOTH, COUNT, offsetof(eg__layer, inputs), NULL},
    {"seed", BOTH, SEED, 0, NULL},
    {"mixed", BOTH, FLAG, offsetof(eg__layer, mixed), NULL},
    {"bidirectional", BOTH, NAME, offsetof(eg__layer, merge), eg__merge_name},
    {"mode", CFC, NAME, offsetof(eg__layer, mode), eg__mode_name},
    {"keras", CFC, FLAG, offsetof(eg__layer, keras), NULL},
    {"proj", CFC, COUNT, offsetof(eg__layer, projection), NULL},
    {"backbone", CFC, BACKBONE, 0, NULL},
    {"activation", CFC, NAME, offsetof(eg__layer, activation), eg__activation_name},
    {"dropout", CFC, NUMBER, offsetof(eg__layer, dropout), NULL},
    {"unfolds", LTC, COUNT, offsetof(eg__layer, unfolds), NULL},
    {"epsilon", LTC, NUMBER, offsetof(eg__layer, epsilon), NULL},
    {"explicit", LTC, FLAG, offsetof(eg__layer, explicit_constraints), NULL},
    {"input_map", LTC, NAME, offsetof(eg__layer, input_map), eg__map_name},
    {"output_map", LTC, NAME, offsetof(eg__layer, output_map), eg__map_name},
};
enum { KEYS = sizeof keys / sizeof *keys };
_Static_assert(sizeof(eg__merge) == sizeof(unsigned) && sizeof(eg__map) == sizeof(unsigned) &&
                   sizeof(eg__cfc_mode) == sizeof(unsigned) &&
                   sizeof(eg__activation) == sizeof(unsigned),
               "names are set as numbers");

static eg_status read_seed(const char *value, uint64_t *out, eg_error *error) {
    int64_t seed;
    if (eg_integer_parse(value, strlen(value), 0, UINT32_MAX, &seed, NULL))
        return eg__fail(error, EG_ERR_ARGUMENT, "seed=%.60s is not within 0..4294967295", value);
    *out = (uint64_t)seed;
    return EG_OK;
}

static eg_status set_key(eg__layer *layer, text *t, size_t key, const char *value,
                         eg_error *error) {
    void *to = (char *)layer + keys[key].offset;
    const char *name = keys[key].key;
    double number = 0;
    switch (keys[key].kind) {
    case SEED: return read_seed(value, &t->seed, error);
    case COUNT: return count_of(value, name, to, error);
    case BACKBONE: return read_backbone(layer, value, error);
    case NUMBER: return read_number(name, value, to, error);
    case NAME: return find_name(name, value, keys[key].name_of, to, error);
    case FLAG: break;
    }
    eg_status status = read_number(name, value, &number, error);
    *(bool *)to = number != 0;
    return status;
}

/* One key=value of the layer; what it does not know is the wiring's. */
static eg_status option(eg__layer *layer, text *t, const char *key, const char *value,
                        eg_error *error) {
    size_t i = 0;
    while (i < KEYS && strcmp(keys[i].key, key) != 0) i++;
    if (i < KEYS && !(keys[i].cells >> layer->cell & 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s=%.60s has no meaning for %s", key, value,
                        layer->cell == EG__CFC ? "a CfC" : "an LTC");
    if (i < KEYS && t->given >> i & 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "repeated key '%s'", key);
    if (i < KEYS) {
        t->given |= 1u << i;
        return set_key(layer, t, i, value, error);
    }
    const size_t used = strlen(t->wiring);
    const int n = snprintf(t->wiring + used, sizeof t->wiring - used, ",%s=%s", key, value);
    return (size_t)n < sizeof t->wiring - used
               ? EG_OK
               : eg__fail(error, EG_ERR_ARGUMENT, "the spec is too long");
}

static const char *key_at(void *user, size_t index) {
    (void)user;
    return index < KEYS && keys[index].cells & CFC ? keys[index].key : NULL; /* LTC's come last */
}

/* "inn=3,..." of a fully connected CfC. */
static eg_status unknown_key(const char *text_left, eg_error *error) {
    char key[64], meant[EG_DID_YOU_MEAN_SIZE];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text_left, "=,"), text_left);
    return eg__fail(error, EG_ERR_ARGUMENT, "unknown key '%s' of a cell without wiring%s", key,
                    eg_did_you_mean(meant, key, key_at, NULL));
}

static bool is_given(const text *t, const char *key) {
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(keys[i].key, key) == 0) return t->given >> i & 1;
    return false;
}

/* As ncps has it, a wired cell has no backbone unless it is asked for. */
static eg_status without_backbone(eg__layer *layer, const text *t, eg_error *error) {
    static const char *const needs[] = {"activation", "dropout"};
    if (is_given(t, "backbone")) return EG_OK;
    layer->backbone_count = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (is_given(t, needs[i]))
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "'%s' has no meaning for a wired CfC without a backbone: give "
                            "backbone=WIDTHS",
                            needs[i]);
    return EG_OK;
}

static eg_status parse_layer(eg_model *model, char *spec, text *t, eg_error *error) {
    eg__layer *layer = &model->layers[model->layer_count++];
    t->wiring[0] = 0;
    t->given = 0;
    *layer = (eg__layer){.unfolds = 6,
                         .epsilon = 1e-8,
                         .input_map = EG__MAP_AFFINE,
                         .output_map = EG__MAP_AFFINE,
                         .backbone_count = 1,
                         .backbone = {128}};
    char *rest = spec, *head = strsep(&rest, ",");
    if (strncmp(head, "ltc:", 4) == 0) layer->cell = EG__LTC;
    else if (strncmp(head, "cfc:", 4) != 0)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "'%.60s' is neither a file nor a spec: specs begin with 'cfc:', "
                        "'ltc:', 'llama:', 'gpt2:' or 'bert:'",
                        head);
    head += 4;
    const bool plain = head[0] >= '0' && head[0] <= '9';
    if (plain) {
        eg_status status = count_of(head, "units", &layer->units, error);
        if (status) return status;
        snprintf(t->wiring, sizeof t->wiring, "full:%s", head);
    } else snprintf(t->wiring, sizeof t->wiring, "%s", head);
    for (char *part; (part = strsep(&rest, ","));) {
        char *value = strchr(part, '=');
        if (!value) return eg__fail(error, EG_ERR_ARGUMENT, "'%.60s' is not key=value", part);
        *value++ = 0;
        eg_status status = option(layer, t, part, value, error);
        if (status) return status;
    }
    if (!layer->inputs && layer > model->layers) { /* width of the previous layer */
        eg_status status = eg__layer_complete(model, layer - 1, error);
        if (status) return status;
        layer->inputs = eg__layer_width(layer - 1);
    }
    const bool wired = !(plain && layer->cell == EG__CFC); /* else fully connected */
    eg__wiring_options wiring;
    uint32_t inputs;
    eg_status status = EG_OK;
    if (!wired && strchr(t->wiring, ',')) status = unknown_key(strchr(t->wiring, ',') + 1, error);
    if (wired) status = without_backbone(layer, t, error);
    if (wired && !status) status = eg__wiring_parse(t->wiring, &wiring, &inputs, error);
    if (status) return status;
    if (!layer->inputs) return eg__fail(error, EG_ERR_ARGUMENT, "the spec needs in=N, the inputs");
    if (!wired) return EG_OK;
    return eg__wiring_plan(model->memory, &wiring, layer->inputs, &layer->wiring, error);
}

eg_status eg__model_from_spec(eg_context *context, const char *spec, bool outline, eg_model **out,
                              eg_error *error) {
    *out = NULL;
    eg_model *model;
    text t = {.seed = 0};
    char copy[512];
    if (strlen(spec) >= sizeof copy)
        return eg__fail(error, EG_ERR_ARGUMENT, "the spec is too long");
    snprintf(copy, sizeof copy, "%s", spec);
    eg_status status = eg__model_new(context, &model, error);
    if (status) return status;
    model->outline = outline;
    for (char *rest = copy, *part; !status && (part = strsep(&rest, "/"));)
        status = model->layer_count < EG__LAYERS_MAX
                     ? parse_layer(model, part, &t, error)
                     : eg__fail(error, EG_ERR_ARGUMENT, "more than %d layers", EG__LAYERS_MAX);
    if (!status) status = eg__model_complete(model, UINT64_MAX, true, error);
    if (!status && !outline) status = eg__model_fill(model, error);
    if (!status && !outline) status = eg__model_initialise(model, t.seed, error);
    if (!status) status = eg__model_keep_spec(model, spec, error);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}
