/* The lists of keys: what is not here is not known. */
#include "formats/models/transformer_keys.h"
#include "formats/files/file.h"

#include <stdio.h>
#include <string.h>

enum { L = EG__KEYS_LLAMA, G = EG__KEYS_GPT2, B = EG__KEYS_BERT, ALL = L | G | B };

#define USED(whose, name) \
    { name, whose, EG__KEY_USED, NULL }
#define HARMLESS(whose, name) \
    { name, whose, EG__KEY_HARMLESS, NULL }
#define NOTHING(whose, name) \
    { name, whose, EG__KEY_ONLY, NULL }
#define ONLY(whose, name, text) \
    { name, whose, EG__KEY_ONLY, text }

/* ---- config.json */
static const eg__key hugging[] = {
    /* what the model is */
    USED(ALL, "model_type"), USED(ALL, "vocab_size"), USED(L | B, "hidden_size"),
    USED(L | B, "intermediate_size"), USED(L | B, "num_hidden_layers"),
    USED(L | B, "num_attention_heads"), USED(L, "num_key_value_heads"), USED(L, "head_dim"),
    USED(L | B, "max_position_embeddings"), USED(L, "rms_norm_eps"), USED(B, "layer_norm_eps"),
    USED(L | B, "hidden_act"), USED(L, "sliding_window"), USED(L, "rope_theta"),
    USED(L, "rope_scaling"), USED(L, "rope_parameters"), USED(L, "partial_rotary_factor"),
    USED(L | G, "tie_word_embeddings"), USED(B, "type_vocab_size"),
    USED(B, "position_embedding_type"), USED(G, "n_embd"), USED(G, "n_inner"), USED(G, "n_layer"),
    USED(G, "n_head"), USED(G, "n_positions"), USED(G, "layer_norm_epsilon"),
    USED(G, "activation_function"), USED(G, "scale_attn_weights"),
    USED(G, "scale_attn_by_inverse_layer_idx"),
    /* changes what comes out, and is not built here */
    NOTHING(ALL, "attention_bias"), NOTHING(ALL, "mlp_bias"), NOTHING(ALL, "add_cross_attention"),
    NOTHING(ALL, "is_encoder_decoder"), NOTHING(B, "is_decoder"), NOTHING(ALL, "pruned_heads"),
    NOTHING(ALL, "quantization_config"), NOTHING(ALL, "compression_config"),
    NOTHING(ALL, "attn_logit_softcapping"), NOTHING(ALL, "final_logit_softcapping"),
    NOTHING(ALL, "logits_soft_cap"), NOTHING(ALL, "logit_softcapping"), NOTHING(ALL, "clip_qkv"),
    NOTHING(ALL, "clamp_kqv"), NOTHING(ALL, "alibi"), NOTHING(ALL, "qk_layernorm"),
    NOTHING(ALL, "qk_norm"), NOTHING(ALL, "use_qk_norm"), NOTHING(ALL, "use_sliding_window"),
    NOTHING(ALL, "num_local_experts"), NOTHING(ALL, "num_experts"), NOTHING(ALL, "parallel_attn"),
    NOTHING(ALL, "use_parallel_residual"), NOTHING(ALL, "query_pre_attn_scalar"),
    NOTHING(ALL, "no_rope_layers"), NOTHING(ALL, "attention_sink"),
    NOTHING(ALL, "attention_chunk_size"), ONLY(ALL, "logit_scale", "1"),
    ONLY(ALL, "logits_scaling", "1"), ONLY(ALL, "attention_multiplier", "1"),
    ONLY(ALL, "residual_multiplier", "1"), ONLY(ALL, "embedding_multiplier", "1"),
    ONLY(ALL, "layer_types", "full_attention"), NOTHING(G | B, "rope_scaling"),
    NOTHING(G | B, "rope_parameters"), NOTHING(G | B, "rope_theta"),
    NOTHING(G | B, "sliding_window"), ONLY(G, "position_embedding_type", "absolute"),
    ONLY(L, "position_embedding_type", "rotary"),
    /* training, heads of tasks, texts and how they are generated */
    HARMLESS(B, "tie_word_embeddings"), HARMLESS(L | G, "is_decoder"),
    HARMLESS(ALL, "architectures"), HARMLESS(ALL, "attention_dropout"),
    HARMLESS(ALL, "attention_probs_dropout_prob"), HARMLESS(ALL, "hidden_dropout_prob"),
    HARMLESS(ALL, "classifier_dropout"), HARMLESS(ALL, "attn_pdrop"), HARMLESS(ALL, "embd_pdrop"),
    HARMLESS(ALL, "resid_pdrop"), HARMLESS(ALL, "summary_*"), HARMLESS(ALL, "pooler_*"),
    HARMLESS(ALL, "directionality"), HARMLESS(ALL, "initializer_range"),
    HARMLESS(ALL, "initializer_factor"), HARMLESS(ALL, "gradient_checkpointing"),
    HARMLESS(ALL, "pretraining_tp"), HARMLESS(ALL, "reorder_and_upcast_attn"),
    HARMLESS(ALL, "chunk_size_feed_forward"), HARMLESS(ALL, "use_cache"), HARMLESS(ALL, "dtype"),
    HARMLESS(ALL, "torch_dtype"), HARMLESS(ALL, "torchscript"), HARMLESS(ALL, "use_bfloat16"),
    HARMLESS(ALL, "tf_legacy_loss"), HARMLESS(ALL, "transformers_version"), HARMLESS(ALL, "_*"),
    HARMLESS(ALL, "name_or_path"), HARMLESS(ALL, "attn_implementation"), HARMLESS(ALL, "id2label"),
    HARMLESS(ALL, "label2id"), HARMLESS(ALL, "num_labels"), HARMLESS(ALL, "problem_type"),
    HARMLESS(ALL, "finetuning_task"), HARMLESS(ALL, "task_specific_params"),
    HARMLESS(ALL, "tokenizer_class"), HARMLESS(ALL, "prefix"), HARMLESS(ALL, "bos_token_id"),
    HARMLESS(ALL, "eos_token_id"), HARMLESS(ALL, "pad_token_id"), HARMLESS(ALL, "sep_token_id"),
    HARMLESS(ALL, "unk_token_id"), HARMLESS(ALL, "decoder_start_token_id"),
    HARMLESS(ALL, "forced_bos_token_id"), HARMLESS(ALL, "forced_eos_token_id"),
    HARMLESS(ALL, "n_ctx"), HARMLESS(ALL, "output_*"), HARMLESS(ALL, "return_dict*"),
    HARMLESS(ALL, "use_return_dict"), HARMLESS(ALL, "max_length"), HARMLESS(ALL, "min_length"),
    HARMLESS(ALL, "do_sample"), HARMLESS(ALL, "early_stopping"), HARMLESS(ALL, "num_beams"),
    HARMLESS(ALL, "num_beam_groups"), HARMLESS(ALL, "diversity_penalty"),
    HARMLESS(ALL, "temperature"), HARMLESS(ALL, "top_k"), HARMLESS(ALL, "top_p"),
    HARMLESS(ALL, "typical_p"), HARMLESS(ALL, "repetition_penalty"),
    HARMLESS(ALL, "length_penalty"), HARMLESS(ALL, "no_repeat_ngram_size"),
    HARMLESS(ALL, "encoder_no_repeat_ngram_size"), HARMLESS(ALL, "bad_words_ids"),
    HARMLESS(ALL, "num_return_sequences"), HARMLESS(ALL, "remove_invalid_values"),
    HARMLESS(ALL, "exponential_decay_length_penalty"), HARMLESS(ALL, "suppress_tokens"),
    HARMLESS(ALL, "begin_suppress_tokens"), HARMLESS(ALL, "cross_attention_hidden_size"),
    HARMLESS(ALL, "language"), HARMLESS(ALL, "name"), HARMLESS(ALL, "unsloth_version"),
    HARMLESS(ALL, "unsloth_fixed"), HARMLESS(ALL, "model_max_length")};

/* ---- rope_scaling and rope_parameters of config.json, whose type is "default" there: numbers of other types say
 * nothing then */
static const eg__key rotary[] = {USED(L, "rope_type"),
                                 USED(L, "type"),
                                 USED(L, "rope_theta"),
                                 USED(L, "partial_rotary_factor"),
                                 ONLY(L, "factor", "1"),
                                 ONLY(L, "attention_factor", "1"),
                                 HARMLESS(L, "original_max_position_embeddings"),
                                 HARMLESS(L, "low_freq_factor"),
                                 HARMLESS(L, "high_freq_factor"),
                                 HARMLESS(L, "beta_fast"),
                                 HARMLESS(L, "beta_slow"),
                                 HARMLESS(L, "short_factor"),
                                 HARMLESS(L, "long_factor")};

/* ---- GGUF */
static const eg__key gguf[] = {
    USED(ALL, "block_count"), USED(ALL, "embedding_length"), USED(ALL, "feed_forward_length"),
    USED(ALL, "context_length"), USED(ALL, "attention.head_count"),
    USED(L, "attention.head_count_kv"), USED(L, "attention.key_length"),
    USED(L, "attention.value_length"), USED(L, "attention.layer_norm_rms_epsilon"),
    USED(G | B, "attention.layer_norm_epsilon"), USED(ALL, "attention.scale"),
    USED(L, "attention.sliding_window"), USED(L, "rope.freq_base"), USED(L, "rope.dimension_count"),
    USED(L, "rope.scaling.type"), USED(L, "rope.scaling.factor"), USED(L, "rope.scale_linear"),
    USED(B, "pooling_type"), USED(ALL, "attention.causal"), USED(ALL, "expert_count"),
    /* changes what comes out, and is not built here; some architectures divide by logit_scale */
    ONLY(ALL, "logit_scale", "1"), ONLY(ALL, "residual_scale", "1"),
    ONLY(ALL, "embedding_scale", "1"), ONLY(ALL, "attention.output_scale", "1"),
    NOTHING(ALL, "attention.temperature_scale"), NOTHING(ALL, "attention.temperature_length"),
    NOTHING(ALL, "attention.clamp_kqv"), NOTHING(ALL, "attention.max_alibi_bias"),
    NOTHING(ALL, "attn_logit_softcapping"), NOTHING(ALL, "final_logit_softcapping"),
    NOTHING(ALL, "router_logit_softcapping"), NOTHING(ALL, "attention.sliding_window_pattern"),
    NOTHING(ALL, "attention.shared_kv_layers"), NOTHING(ALL, "attention.relative_buckets_count"),
    NOTHING(ALL, "attention.q_lora_rank"), NOTHING(ALL, "attention.kv_lora_rank"),
    NOTHING(ALL, "attention.key_length_mla"), NOTHING(ALL, "attention.value_length_mla"),
    NOTHING(ALL, "attention.key_length_swa"), NOTHING(ALL, "attention.value_length_swa"),
    NOTHING(ALL, "attention.group_norm_epsilon"), NOTHING(ALL, "attention.group_norm_groups"),
    NOTHING(G | B, "attention.sliding_window"), NOTHING(G | B, "rope.scaling.factor"),
    ONLY(ALL, "rope.scaling.attn_factor", "1"), NOTHING(ALL, "rope.dimension_sections"),
    NOTHING(ALL, "rope.freq_base_swa"), NOTHING(ALL, "rope.dimension_count_swa"),
    NOTHING(ALL, "use_parallel_residual"), NOTHING(ALL, "leading_dense_block_count"),
    NOTHING(ALL, "nextn_predict_layers"), NOTHING(ALL, "n_deepstack_layers"),
    NOTHING(ALL, "swin_norm"), NOTHING(ALL, "rescale_every_n_layers"),
    NOTHING(ALL, "expert_shared_count"), NOTHING(ALL, "expert_shared_feed_forward_length"),
    NOTHING(ALL, "embedding_length_out"), NOTHING(ALL, "embedding_length_per_layer_input"),
    NOTHING(ALL, "full_attention_interval"), NOTHING(ALL, "dense_*"), NOTHING(ALL, "ssm.*"),
    NOTHING(ALL, "wkv.*"), NOTHING(ALL, "altup.*"),
    /* follows from the tensors, or belongs to what is switched off */
    HARMLESS(ALL, "vocab_size"), HARMLESS(ALL, "tensor_data_layout"),
    HARMLESS(ALL, "rope.scaling.original_context_length"), HARMLESS(ALL, "rope.scaling.finetuned"),
    HARMLESS(ALL, "rope.scaling.yarn_*"), HARMLESS(G | B, "rope.freq_base"),
    HARMLESS(G | B, "rope.dimension_count"), HARMLESS(ALL, "expert_used_count"),
    HARMLESS(ALL, "expert_feed_forward_length"), HARMLESS(ALL, "expert_weights_scale"),
    HARMLESS(ALL, "expert_weights_norm"), HARMLESS(ALL, "expert_gating_func"),
    HARMLESS(L, "attention.layer_norm_epsilon"), HARMLESS(G | B, "attention.head_count_kv"),
    HARMLESS(G | B, "attention.key_length"), HARMLESS(G | B, "attention.value_length"),
    HARMLESS(L | G, "pooling_type"), HARMLESS(ALL, "classifier.output_labels")};

static const unsigned families[EG__FAMILIES] = {
#define FAMILY(kind, keys, ...) [EG__FAMILY_##kind] = EG__KEYS_##keys,
#include "nn/families.def"
};

static const eg__key *find(const eg__key *keys, size_t count, eg__family family, const char *name) {
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(keys[i].name);
        const bool open = keys[i].name[length - 1] == '*';
        const bool same =
            open ? strncmp(keys[i].name, name, length - 1) == 0 : strcmp(keys[i].name, name) == 0;
        if (same && keys[i].whose & families[family]) return &keys[i];
    }
    return NULL;
}

const eg__key *eg__hugging_key(eg__family family, const char *name) {
    return find(hugging, sizeof hugging / sizeof *hugging, family, name);
}
const eg__key *eg__rotary_key(eg__family family, const char *name) {
    return find(rotary, sizeof rotary / sizeof *rotary, family, name);
}
const eg__key *eg__gguf_key(eg__family family, const char *name) {
    return find(gguf, sizeof gguf / sizeof *gguf, family, name);
}

static bool is_value(const eg__key_value *value, const char *only) {
    double number;
    if (!value->is_number) return strcmp(value->text, only) == 0;
    return eg_number_parse(only, strlen(only), &number, NULL) == EG_OK && number == value->number;
}

static void add_name(eg__key_names *names, const char *name) {
    const size_t room = sizeof names->text - names->used;
    char shown[100];
    eg__file_quote(shown, sizeof shown, name, strlen(name));
    if (strlen(shown) + 5 > room) names->left_off++;
    else
        names->used += (size_t)snprintf(names->text + names->used, room, "%s'%s'",
                                        names->used ? ", " : "", shown);
}

eg_status eg__key_check(const eg__key *key, const char *name, const eg__key_value *value,
                        eg__key_names *unknown, eg_error *error) {
    if (!key && !value->nothing) add_name(unknown, name);
    if (!key || key->rule != EG__KEY_ONLY || value->nothing) return EG_OK;
    if (key->only && is_value(value, key->only)) return EG_OK;
    return eg__fail(error, EG_ERR_UNSUPPORTED,
                    "'%s' of '%s' is not known here: only '%s' is, or none", name, value->text,
                    key->only ? key->only : "0");
}

void eg__key_warn(const eg_context *context, const eg__key_names *unknown, const char *path) {
    if (!unknown->used) return;
    char more[40] = "";
    if (unknown->left_off) snprintf(more, sizeof more, " and %zu more", unknown->left_off);
    eg__log_write(&context->log, EG_LOG_WARNING,
                  "'%.200s': %s%s: not known here, and left out; results may differ", path,
                  unknown->text, more);
}
