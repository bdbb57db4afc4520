/* Transformers from GGUF: every family that has an architecture there. Everything is checked before a number is used. */
#include "formats/files/gguf.h"
#include "formats/models/transformer.h"
#include "formats/models/transformer_keys.h"

#include <stdio.h>
#include <string.h>

static const struct family_gguf {
    const char *architecture; /* as the file says it, and before its keys; NULL = there is none */
    bool interleaved;         /* rotary pairs are neighbours */
} families[EG__FAMILIES] = {
#define GGUF(...) \
    { __VA_ARGS__ }
#define FAMILY(kind, keys, traits, gguf, ...) [EG__FAMILY_##kind] = gguf,
#include "nn/families.def"
};

typedef struct reader {
    const eg_gguf *file;
    const char *architecture;
    const eg__traits *traits;
    eg_status status;
    eg_error *error;
} reader;

static const char *key_of(const reader *r, const char *key, char out[96]) {
    snprintf(out, 96, "%s.%s", r->architecture, key);
    return out;
}

static bool has(const reader *r, const char *key) {
    char full[96];
    eg_gguf_entry entry;
    return eg_gguf_entry_find(r->file, key_of(r, key, full), &entry, NULL) == EG_OK;
}

static uint32_t count(reader *r, const char *key) {
    char full[96];
    int64_t value = 0;
    eg_gguf_entry entry;
    if (r->status) return 0;
    if (eg_gguf_entry_find(r->file, key_of(r, key, full), &entry, NULL) == EG_OK && entry.is_array)
        r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED,
                             "'%s' is a list: layers of different sizes are not supported", full);
    else r->status = eg_gguf_integer(r->file, full, 0, &value, r->error);
    if (!r->status && (value < 0 || value > UINT32_MAX))
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "'%s' is %lld, which is out of range", full,
                             (long long)value);
    return r->status ? 0 : (uint32_t)value;
}
static uint32_t count_or(reader *r, const char *key, uint32_t otherwise) {
    return has(r, key) ? count(r, key) : otherwise;
}

static double number(reader *r, const char *key) {
    char full[96];
    double value = 0;
    if (!r->status) r->status = eg_gguf_number(r->file, key_of(r, key, full), 0, &value, r->error);
    return value;
}

/* Features that this reader does not support; leaving them out silently would give wrong text. */
static void refuse_scaling(reader *r) {
    static const char *const factors[] = {"rope.scaling.factor", "rope.scale_linear"};
    char full[96];
    const char *text = "";
    size_t length = 0;
    eg_gguf_tensor tensor;
    if (!r->status && eg_gguf_tensor_find(r->file, "rope_freqs.weight", &tensor, NULL) == EG_OK)
        r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED,
                             "its own rotary frequencies ('rope_freqs.weight') are not "
                             "supported");
    if (r->status) return;
    if (has(r, "rope.scaling.type")) {
        r->status = eg_gguf_text(r->file, key_of(r, "rope.scaling.type", full), 0, &text, &length,
                                 r->error);
        if (!r->status && !(length == 4 && memcmp(text, "none", 4) == 0))
            r->status =
                eg__fail(r->error, EG_ERR_UNSUPPORTED, "'%s' is '%.*s': only none is supported",
                         full, (int)(length < 60 ? length : 60), text);
        return;
    }
    /* a factor without a type is a linear one */
    for (unsigned i = 0; i < 2 && !r->status; i++) {
        const double factor = has(r, factors[i]) ? number(r, factors[i]) : 1;
        if (!r->status && factor != 0 && factor != 1)
            r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED, "'%s' is %g: only 1 is supported",
                                 key_of(r, factors[i], full), factor);
    }
}

static void refuse_extras(reader *r) {
    if (!r->status && has(r, "expert_count") && count(r, "expert_count"))
        r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED, "mixtures of experts are not supported");
    if (r->traits->positions == EG__POSITIONS_ROTARY) refuse_scaling(r);
}

/* ---- keys that are not read */
static void show_value(const eg_gguf *file, const eg_gguf_entry *entry, eg__key_value *out) {
    const char *text = "";
    size_t length = 0;
    *out = (eg__key_value){.nothing = !entry->count};
    if (entry->type == EG_GGUF_TEXT) {
        eg_gguf_text(file, entry->key, 0, &text, &length, NULL);
        out->nothing = out->nothing || (!entry->is_array && !length);
        eg__file_quote(out->text, sizeof out->text, text, length);
        return;
    }
    const bool flags = entry->type == EG_GGUF_FLAG;
    out->nothing = true;
    for (uint64_t i = 0; out->nothing && i < entry->count;
         i++) { /* the first that says something */
        int flag = 0;
        if (flags) out->number = !eg_gguf_flag(file, entry->key, i, &flag, NULL) && flag;
        else if (eg_gguf_number(file, entry->key, i, &out->number, NULL))
            continue; /* above 63 bits: a seed */
        out->nothing = out->number == 0;
    }
    out->is_number = !flags;
    if (flags) snprintf(out->text, sizeof out->text, "%s", out->nothing ? "false" : "true");
    else eg_number_format(out->text, out->number);
}

/* Texts about the file, its tokenizer, and how it was made. */
static bool is_other(const char *key) {
    static const char *const groups[] = {"general.", "tokenizer.", "quantize.", "imatrix.",
                                         "mradermacher."};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strncmp(key, groups[i], strlen(groups[i])) == 0) return true;
    return false;
}

static eg_status check_keys(const eg_gguf *file, eg__family family, eg__key_names *unknown,
                            eg_error *error) {
    const char *name = families[family].architecture;
    const size_t length = strlen(name);
    static const eg__key parts = {"split.count", ~0u, EG__KEY_ONLY, "1"};
    eg_gguf_entry entry;
    eg_status status = EG_OK;
    for (size_t i = 0; !status && eg_gguf_entry_at(file, i, &entry) == EG_OK; i++) {
        const bool own = strncmp(entry.key, name, length) == 0 && entry.key[length] == '.';
        eg__key_value value;
        if (is_other(entry.key)) continue;
        show_value(file, &entry, &value);
        const eg__key *key = own ? eg__gguf_key(family, entry.key + length + 1) : NULL;
        if (strcmp(entry.key, parts.name) == 0) key = &parts;
        else if (strncmp(entry.key, "split.", 6) == 0) continue;
        status = eg__key_check(key, entry.key, &value, unknown, error);
    }
    return status;
}

/* Optional biases and norms. Tables of rotary positions are ignored: they can be computed. */
static eg_status refuse_unused(const eg_model *model, const eg_gguf *file, eg_error *error) {
    eg_gguf_tensor tensor;
    for (size_t i = 0; eg_gguf_tensor_at(file, i, &tensor) == EG_OK; i++) {
        if (strncmp(tensor.name, "blk.", 4) != 0 || strstr(tensor.name, "rot_embd")) continue;
        if (!eg__model_parameter(model, tensor.name))
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "tensor '%s' is not part of a %s of %u layers", tensor.name,
                            eg__family_name(model->transformer->family),
                            model->transformer->layers);
    }
    return EG_OK;
}

/* 0 = unspecified; above 3 are heads that score pairs of texts. */
static eg_pooling pooling(reader *r) {
    const uint32_t type = count_or(r, "pooling_type", 1);
    if (!r->status && type > 3)
        r->status =
            eg__fail(r->error, EG_ERR_UNSUPPORTED,
                     "'%s.pooling_type' is %u: only 0 to 3 are supported", r->architecture, type);
    return type == 2 ? EG_POOLING_FIRST : type == 3 ? EG_POOLING_LAST : EG_POOLING_MEAN;
}

/* Rows of a matrix that must be there. */
static uint32_t rows_of(reader *r, const char *name) {
    eg_gguf_tensor tensor;
    if (r->status) return 0;
    r->status = eg_gguf_tensor_find(r->file, name, &tensor, r->error);
    if (!r->status && (tensor.rank != 2 || tensor.shape[0] > UINT32_MAX))
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "tensor '%s' is not a matrix", name);
    return r->status ? 0 : (uint32_t)tensor.shape[0];
}

static void read_heads(reader *r, eg__transformer *t) {
    t->kv_heads = count_or(r, "attention.head_count_kv", t->heads);
    if (!r->status && t->heads && t->width % t->heads && !has(r, "attention.key_length"))
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "the width %u is not a multiple of %u heads",
                             t->width, t->heads);
    t->head = count_or(r, "attention.key_length", t->heads ? t->width / t->heads : 0);
    const uint32_t values = count_or(r, "attention.value_length", t->head);
    if (!r->status && values != t->head)
        r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED,
                             "values of %u columns and keys of %u columns per head differ, "
                             "which is not supported",
                             values, t->head);
}

static void read_rotary(reader *r, eg__transformer *t) {
    t->rope_base = has(r, "rope.freq_base") ? number(r, "rope.freq_base") : 10000;
    t->interleaved = families[t->family].interleaved;
    const uint32_t turned = count_or(r, "rope.dimension_count", t->head);
    if (!r->status && turned != t->head)
        r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED,
                             "rotary positions of only %u of %u columns per head are not "
                             "supported",
                             turned, t->head);
}

/* What some families have and others do not. */
static void read_traits(reader *r, eg__transformer *t) {
    const eg__traits *traits = r->traits;
    if (traits->grouped) read_heads(r, t);
    t->epsilon = number(r, traits->norm == EG__NORM_RMS ? "attention.layer_norm_rms_epsilon"
                                                        : "attention.layer_norm_epsilon");
    if (traits->positions == EG__POSITIONS_ROTARY) read_rotary(r, t);
    if (traits->window) t->window = count_or(r, "attention.sliding_window", 0);
}

/* Encoders look both ways, decoders back. */
static void read_causal(reader *r) {
    char full[96];
    int causal = 0;
    if (r->status || !has(r, "attention.causal")) return;
    r->status = eg_gguf_flag(r->file, key_of(r, "attention.causal", full), 0, &causal, r->error);
    if (!r->status && causal != r->traits->causal)
        r->status = eg__fail(r->error, EG_ERR_UNSUPPORTED, "'%s' is %s: %s", full,
                             causal ? "true" : "false",
                             causal ? "an encoder is not causal" : "a decoder is causal");
}

static void read_vocabulary(reader *r, eg__transformer *t) {
    eg_gguf_entry tokens;
    t->vocabulary = rows_of(r, "token_embd.weight");
    if (r->status || eg_gguf_entry_find(r->file, "tokenizer.ggml.tokens", &tokens, NULL)) return;
    if (tokens.count != t->vocabulary)
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "%llu tokens, but %u rows of 'token_embd'",
                             (unsigned long long)tokens.count, t->vocabulary);
}

static eg_status find_family(const char *text, size_t length, eg__family *out, eg_error *error) {
    char known[128] = "";
    size_t used = 0;
    for (unsigned i = 0; i < EG__FAMILIES; i++) {
        const char *name = families[i].architecture;
        if (!name) continue;
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *out = (eg__family)i;
            return EG_OK;
        }
        if (used < sizeof known)
            used +=
                (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", name);
    }
    return eg__fail(error, EG_ERR_UNSUPPORTED, "architecture '%.*s' is not known; known: %s",
                    (int)(length < 60 ? length : 60), text, known);
}

static eg_status read_shape(const eg_gguf *file, eg__transformer *t, eg__key_names *unknown,
                            eg_error *error) {
    reader r = {.file = file, .error = error};
    const char *text;
    size_t length;
    eg_gguf_tensor tensor;
    eg__family family = EG__FAMILIES;
    eg_status status = eg_gguf_text(file, "general.architecture", 0, &text, &length, error);
    if (!status) status = find_family(text, length, &family, error);
    if (status) return status;
    r.architecture = families[family].architecture;
    r.traits = eg__family_traits(family);
    *t = eg__transformer_begin(family);
    t->layers = count(&r, "block_count");
    t->width = count(&r, "embedding_length");
    t->hidden = count(&r, "feed_forward_length");
    t->heads = t->kv_heads = count(&r, "attention.head_count");
    t->context = count(&r, "context_length");
    t->head = t->heads ? t->width / t->heads : 0;
    read_traits(&r, t);
    read_vocabulary(&r, t);
    if (r.traits->types) t->types = rows_of(&r, "token_types.weight");
    if (!r.traits->logits) t->pooling = pooling(&r);
    if (has(&r, "attention.scale")) t->attention_scale = number(&r, "attention.scale");
    t->tied = eg_gguf_tensor_find(file, "output.weight", &tensor, NULL) != EG_OK;
    read_causal(&r);
    refuse_extras(&r);
    return r.status ? r.status : check_keys(file, t->family, unknown, error);
}

static eg_status place_all(eg_model *model, const eg_gguf *file, eg_error *error) {
    for (size_t i = 0; i < model->parameter_count; i++) {
        eg_gguf_tensor from;
        eg__file_tensor tensor;
        eg_status status = eg_gguf_tensor_find(file, model->parameters[i].name, &from, error);
        if (status) return status == EG_ERR_NOT_FOUND ? EG_ERR_FORMAT : status;
        tensor = (eg__file_tensor){
            .name = from.name, .rank = from.rank, .shape = from.shape, .data = from.data};
        if (!eg__infile_format_named(from.type, &tensor.format))
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "type '%s' of '%s': only F32, F16, BF16, Q8_0 and Q4_0 are supported",
                            from.type, from.name);
        status = eg__transformer_place(model, i, &tensor, error);
        if (status) return status;
    }
    return EG_OK;
}

static void close_file(void *file) { eg_gguf_close(file); }

eg_status eg__transformer_from_gguf(eg_context *context, const char *path, eg_model **out,
                                    eg_error *error) {
    *out = NULL;
    eg_gguf *file;
    eg__transformer t;
    eg_model *model = NULL;
    eg_status status = eg_gguf_open(context, path, &file, error);
    if (status) return status;
    eg__key_names unknown = {0};
    status = read_shape(file, &t, &unknown, error);
    if (!status) status = eg__transformer_new(context, &t, &model, error);
    if (!status) {
        model->file = file;
        model->close = close_file;
        status = place_all(model, file, error);
        if (!status) status = refuse_unused(model, file, error);
    }
    if (!status) {
        eg__key_warn(context, &unknown, path);
        *out = model;
        return EG_OK;
    }
    if (model) eg_model_destroy(model);
    else eg_gguf_close(file);
    return eg__file_blame(error, status, "", path);
}
