/* Transformers from checkpoints of llama2.c: a header of seven integers, then floats (versions 0 and 1). */
#include "formats/files/bytes.h"
#include "formats/models/transformer.h"

#include <stdio.h>
#include <string.h>

enum { MAGIC = 0x616b3432, WORDS = 7, HEAD_SIZE = 4 * WORDS, HEAD_SIZE_1 = 256 };

/* Recognised by its magic or, with its file name, by numbers below 2^24 (but for the vocabulary,
 * whose sign is a flag). It is tested before other formats, because a width of 640 looks like the
 * beginning of a pickle. */
bool eg__llama2c_is(const eg__head *h) {
    static const unsigned char tops[] = {3, 7, 11, 15, 19, 27};
    if (eg__head_has(h, 0, "24ka", 4)) return true;
    if (!eg__head_named(h, ".bin")) return false;
    for (size_t i = 0; i < sizeof tops; i++)
        if (tops[i] >= h->size || h->bytes[tops[i]]) return false;
    return true;
}

typedef struct checkpoint {
    eg__memory *memory;
    eg__mapping mapping;
    uint32_t version;
    size_t at; /* of the next tensor */
} checkpoint;

static void close_checkpoint(void *file) {
    checkpoint *c = file;
    eg__mapping_close(&c->mapping, c->memory);
    eg__memory_give(c->memory, c);
}

/* ---- the header */
static eg_status read_head(checkpoint *c, eg__transformer *t, eg_error *error) {
    const unsigned char *at = c->mapping.bytes;
    const size_t size = c->mapping.size;
    if (size < HEAD_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "%zu bytes are not a checkpoint of llama2.c", size);
    if (eg__get32(at) == MAGIC) {
        c->version = eg__get32(at + 4);
        if (c->version != 1)
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "a header of version %u is not supported, only version 1 "
                            "(version 0 has no such header)",
                            c->version);
        if (size < HEAD_SIZE_1) return eg__fail(error, EG_ERR_FORMAT, "the header is cut off");
        at += 8;
    }
    int32_t words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        words[i] = (int32_t)eg__get32(at + 4 * i);
        if (words[i] <= 0 && !(i == 5 && words[i] < 0 && words[i] > INT32_MIN && !c->version))
            return eg__fail(error, EG_ERR_FORMAT,
                            "not a checkpoint of llama2.c: number %d of its header is %d", i,
                            words[i]);
    }
    const bool tied = c->version ? at[HEAD_SIZE] != 0 : words[5] > 0;
    *t = (eg__transformer){.family = EG__FAMILY_LLAMA,
                           .width = (uint32_t)words[0],
                           .hidden = (uint32_t)words[1],
                           .layers = (uint32_t)words[2],
                           .heads = (uint32_t)words[3],
                           .kv_heads = (uint32_t)words[4],
                           .vocabulary = (uint32_t)(words[5] < 0 ? -words[5] : words[5]),
                           .context = (uint32_t)words[6],
                           .epsilon = 1e-5,
                           .rope_base = 10000,
                           .interleaved = true,
                           .tied = tied};
    if (t->width % t->heads)
        return eg__fail(error, EG_ERR_FORMAT, "the width %u is not a multiple of %u heads",
                        t->width, t->heads);
    t->head = t->width / t->heads;
    c->at = c->version ? HEAD_SIZE_1 : HEAD_SIZE;
    return EG_OK;
}

/* ---- tensors, one behind the other; those of all layers lie together */
static eg_status skip(checkpoint *c, uint64_t floats, eg_error *error) {
    if (floats > (c->mapping.size - c->at) / sizeof(float))
        return eg__fail(error, EG_ERR_FORMAT, "the file ends within its tensors: %zu bytes",
                        c->mapping.size);
    c->at += (size_t)floats * sizeof(float);
    return EG_OK;
}

static eg_status place(eg_model *model, checkpoint *c, const char *name, eg_error *error) {
    const eg__parameter *p = eg__model_parameter(model, name);
    if (!p) return eg__fail(error, EG_ERR_ARGUMENT, "no parameter '%s'", name);
    const eg__file_tensor tensor = {.name = name,
                                    .format = EG__INFILE_F32,
                                    .rank = p->rank,
                                    .shape = p->shape,
                                    .data = c->mapping.bytes + c->at};
    eg_status status = skip(c, eg__parameter_size(p), error);
    return status ? status
                  : eg__transformer_place(model, (size_t)(p - model->parameters), &tensor, error);
}

static eg_status place_layers(eg_model *model, checkpoint *c, const char *name, eg_error *error) {
    eg_status status = EG_OK;
    for (unsigned i = 0; !status && i < model->transformer->layers; i++) {
        char full[EG__NAME_MAX];
        snprintf(full, sizeof full, "blk.%u.%s.weight", i, name);
        status = place(model, c, full, error);
    }
    return status;
}

static eg_status place_all(eg_model *model, checkpoint *c, eg_error *error) {
    /* "=": one of the whole model; "~": the tables of rotary positions, which are not needed */
    static const char *const orders[2][13] = {
        {"=token_embd", "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm",
         "ffn_gate", "ffn_down", "ffn_up", "=output_norm", "~", NULL},
        {"attn_norm", "ffn_norm", "=output_norm", "=token_embd", "attn_q", "attn_k", "attn_v",
         "attn_output", "ffn_gate", "ffn_down", "ffn_up", NULL}};
    const eg__transformer *t = model->transformer;
    eg_status status = EG_OK;
    char name[EG__NAME_MAX];
    for (const char *const *part = orders[c->version]; !status && *part; part++) {
        snprintf(name, sizeof name, "%s.weight", *part + 1);
        if (**part == '=') status = place(model, c, name, error);
        else if (**part == '~') status = skip(c, (uint64_t)t->context * t->head, error);
        else status = place_layers(model, c, *part, error);
    }
    if (!status && !t->tied) status = place(model, c, "output.weight", error);
    if (!status && c->at != c->mapping.size)
        status = eg__fail(error, EG_ERR_FORMAT, "%zu unexpected bytes after the last tensor",
                          c->mapping.size - c->at);
    return status;
}

eg_status eg__transformer_from_llama2c(eg_context *context, const char *path, eg_model **out,
                                       eg_error *error) {
    *out = NULL;
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    checkpoint *c = eg__memory_take_zeroed(memory, EG_TAG_FILE, sizeof *c, &reason);
    if (!c) return eg__fail(error, reason.status, "%s", reason.message);
    c->memory = memory;
    eg__transformer t;
    eg_model *model = NULL;
    eg_status status =
        eg__mapping_open(&c->mapping, memory, path, eg__context_maps_weights(context), error);
    if (status) {
        eg__memory_give(memory, c);
        return status;
    }
    status = read_head(c, &t, error);
    if (!status) status = eg__transformer_new(context, &t, &model, error);
    if (!status) {
        model->file = c;
        model->close = close_checkpoint;
        status = place_all(model, c, error);
    }
    if (!status) {
        *out = model;
        return EG_OK;
    }
    if (model) eg_model_destroy(model);
    else close_checkpoint(c);
    return eg__file_blame(error, status, "", path);
}
