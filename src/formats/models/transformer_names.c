/* Names of a transformer's tensors in folders of Hugging Face: ours are GGUF's. */
#include "formats/models/transformer_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    const char *ours, *theirs; /* what stands before ".weight" and ".bias" */
    bool turned;
} pair;

static const pair llama[] = {{"token_embd", "embed_tokens", false},
                             {"output_norm", "norm", false},
                             {"output", "lm_head", false},
                             {"attn_norm", "input_layernorm", false},
                             {"attn_q", "self_attn.q_proj", false},
                             {"attn_k", "self_attn.k_proj", false},
                             {"attn_v", "self_attn.v_proj", false},
                             {"attn_output", "self_attn.o_proj", false},
                             {"ffn_norm", "post_attention_layernorm", false},
                             {"ffn_gate", "mlp.gate_proj", false},
                             {"ffn_up", "mlp.up_proj", false},
                             {"ffn_down", "mlp.down_proj", false},
                             {NULL, NULL, false}};
static const pair gpt2[] = {{"token_embd", "wte", false},
                            {"position_embd", "wpe", false},
                            {"output_norm", "ln_f", false},
                            {"output", "lm_head", false},
                            {"attn_norm", "ln_1", false},
                            {"attn_qkv", "attn.c_attn", true},
                            {"attn_output", "attn.c_proj", true},
                            {"ffn_norm", "ln_2", false},
                            {"ffn_up", "mlp.c_fc", true},
                            {"ffn_down", "mlp.c_proj", true},
                            {NULL, NULL, false}};
static const pair bert[] = {{"token_embd", "embeddings.word_embeddings", false},
                            {"position_embd", "embeddings.position_embeddings", false},
                            {"token_types", "embeddings.token_type_embeddings", false},
                            {"token_embd_norm", "embeddings.LayerNorm", false},
                            {"attn_q", "attention.self.query", false},
                            {"attn_k", "attention.self.key", false},
                            {"attn_v", "attention.self.value", false},
                            {"attn_output", "attention.output.dense", false},
                            {"attn_output_norm", "attention.output.LayerNorm", false},
                            {"ffn_up", "intermediate.dense", false},
                            {"ffn_down", "output.dense", false},
                            {"layer_output_norm", "output.LayerNorm", false},
                            {NULL, NULL, false}};

static const struct {
    const pair *pairs;
    const char *prefix, *layers;
} families[EG__FAMILIES] = {[EG__LLAMA] = {llama, "model.", "layers"},
                            [EG__GPT2] = {gpt2, "transformer.", "h"},
                            [EG__BERT] = {bert, "bert.", "encoder.layer"}};

const char *eg__hugging_prefix(eg__family family) { return families[family].prefix; }

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
    for (const pair *p = families[family].pairs; p->ours; p++) {
        if (strlen(p->ours) != length || memcmp(p->ours, inner, length) != 0) continue;
        const bool is_bias = strcmp(part, ".bias") == 0;
        out->turned = p->turned && !is_bias;
        if (in_layer)
            snprintf(out->name, sizeof out->name, "%s.%lu.%s%s", families[family].layers, layer,
                     p->theirs, parts[way][is_bias]);
        else snprintf(out->name, sizeof out->name, "%s%s", p->theirs, parts[way][is_bias]);
        return true;
    }
    return false;
}
