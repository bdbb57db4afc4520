/* Transformers in GGUF files that are wrong: tables, each row a way to be wrong, and what is said. */
#include "test_gguf.h"
#include "test_transformer.h"

AREA(transformer_damage, "GGUF files that are wrong in one place, by name")

enum { ENTRIES = 24, TENSORS = 24, F32 = EG_GGUF_F32, LIST = 9, FLAGS = 100, DROP = -1 };

typedef struct entry {
    const char *key;
    int type;
    double number;
    const char *text;
} entry;

typedef struct tensor {
    const char *name;
    unsigned rank;
    uint64_t shape[2]; /* slowest first */
    uint32_t type;
} tensor;

typedef struct model_file {
    entry entries[ENTRIES];
    tensor tensors[TENSORS];
    size_t entry_count, tensor_count;
} model_file;

static void add_entry(model_file *m, entry e) { m->entries[m->entry_count++] = e; }
static void add_tensor(model_file *m, const char *name, uint64_t rows, uint64_t columns) {
    m->tensors[m->tensor_count++] = (tensor){name, columns ? 2 : 1, {rows, columns}, 0};
}

static void make_llama(model_file *m) {
    static const entry entries[] = {{"general.architecture", EG_GGUF_TEXT, 0, "llama"},
                                    {"llama.block_count", EG_GGUF_U32, 1, NULL},
                                    {"llama.embedding_length", EG_GGUF_U32, 8, NULL},
                                    {"llama.feed_forward_length", EG_GGUF_U32, 12, NULL},
                                    {"llama.context_length", EG_GGUF_U32, 16, NULL},
                                    {"llama.attention.head_count", EG_GGUF_U32, 2, NULL},
                                    {"llama.attention.layer_norm_rms_epsilon", F32, 1e-5, NULL}};
    *m = (model_file){0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) add_entry(m, entries[i]);
    add_tensor(m, "token_embd.weight", 5, 8);
    add_tensor(m, "blk.0.attn_norm.weight", 8, 0);
    add_tensor(m, "blk.0.attn_q.weight", 8, 8);
    add_tensor(m, "blk.0.attn_k.weight", 8, 8);
    add_tensor(m, "blk.0.attn_v.weight", 8, 8);
    add_tensor(m, "blk.0.attn_output.weight", 8, 8);
    add_tensor(m, "blk.0.ffn_norm.weight", 8, 0);
    add_tensor(m, "blk.0.ffn_gate.weight", 12, 8);
    add_tensor(m, "blk.0.ffn_up.weight", 12, 8);
    add_tensor(m, "blk.0.ffn_down.weight", 8, 12);
    add_tensor(m, "output_norm.weight", 8, 0);
}

static void write_value(gguf_bytes *g, int type, double number, const char *text) {
    const float f = (float)number;
    if (type == EG_GGUF_TEXT) gguf_text(g, text);
    else if (type == F32) gguf_add(g, &f, sizeof f);
    else if (type == EG_GGUF_FLAG) gguf_add(g, number > 0 ? "\1" : "\0", 1);
    else if (type == EG_GGUF_I64) gguf_u64(g, (uint64_t)(int64_t)number);
    else if (type == EG_GGUF_U64) gguf_u64(g, (uint64_t)number);
    else gguf_u32(g, (uint32_t)number);
}

static void write_entry(gguf_bytes *g, const entry *e) {
    if (e->type == FLAGS) { /* two, the second of them as asked */
        gguf_array(g, e->key, EG_GGUF_FLAG, 2);
        write_value(g, EG_GGUF_FLAG, 0, NULL);
        write_value(g, EG_GGUF_FLAG, e->number, NULL);
        return;
    }
    if (e->type != LIST) {
        gguf_key(g, e->key, (uint32_t)e->type);
        write_value(g, e->type, e->number, e->text);
        return;
    }
    const uint64_t count = (uint64_t)e->number; /* of texts, or of small integers */
    gguf_array(g, e->key, e->text ? EG_GGUF_TEXT : EG_GGUF_U32, count);
    for (uint64_t i = 0; i < count; i++)
        write_value(g, e->text ? EG_GGUF_TEXT : EG_GGUF_U32, 2, e->text);
}

static uint64_t bytes_of(const tensor *t) {
    const uint64_t count = t->rank ? t->shape[0] * (t->rank > 1 ? t->shape[1] : 1) : 1;
    const uint64_t sizes[] = {[0] = 4, [1] = 2, [24] = 1, [26] = 4, [28] = 8};
    return count * sizes[t->type];
}

static void write_model(const model_file *m, const char *path, uint64_t alignment) {
    gguf_bytes g = {0};
    uint64_t at = 0;
    gguf_head(&g, 3, m->tensor_count, m->entry_count);
    for (size_t i = 0; i < m->entry_count; i++) write_entry(&g, &m->entries[i]);
    for (size_t i = 0; i < m->tensor_count; i++) {
        const tensor *t = &m->tensors[i];
        const uint64_t turned[] = {t->shape[t->rank > 1 ? 1 : 0], t->shape[0]};
        gguf_tensor(&g, t->name, t->rank, turned, t->type, at);
        at = (at + bytes_of(t) + alignment - 1) / alignment * alignment;
    }
    gguf_pad(&g, (size_t)alignment);
    gguf_zeros(&g, (size_t)at);
    test_file_write(path, g.bytes, g.size);
    free(g.bytes);
}

static void change_entry(model_file *m, const entry *e) {
    size_t at = 0;
    while (at < m->entry_count && strcmp(m->entries[at].key, e->key) != 0) at++;
    if (e->type != DROP) {
        m->entries[at] = *e;
        if (at == m->entry_count) m->entry_count++;
        return;
    }
    m->entry_count--;
    memmove(&m->entries[at], &m->entries[at + 1], (m->entry_count - at) * sizeof *m->entries);
}

TEST(transformer_damage, gguf_entries) {
    static const struct {
        entry change;
        eg_status status;
        const char *part;
    } rows[] = {
        {{"fine", EG_GGUF_U32, 1, NULL}, EG_OK, ""},
        {{"general.architecture", DROP, 0, NULL}, EG_ERR_NOT_FOUND, "'general.architecture'"},
        {{"general.architecture", EG_GGUF_U32, 1, NULL}, EG_ERR_FORMAT, "'general.architecture'"},
        {{"general.architecture", EG_GGUF_TEXT, 0, ""}, EG_ERR_UNSUPPORTED, "architecture ''"},
        {{"general.architecture", EG_GGUF_TEXT, 0, "llama4"}, EG_ERR_UNSUPPORTED, "'llama4'"},
        {{"general.architecture", EG_GGUF_TEXT, 0, "gpt2"}, EG_ERR_NOT_FOUND, "'gpt2.block_count'"},
        {{"llama.block_count", DROP, 0, NULL}, EG_ERR_NOT_FOUND, "'llama.block_count'"},
        {{"llama.block_count", EG_GGUF_U32, 0, NULL}, EG_ERR_FORMAT, "layers 0"},
        {{"llama.block_count", EG_GGUF_U32, 2, NULL}, EG_ERR_FORMAT, "'blk.1.attn_norm.weight'"},
        {{"llama.block_count", EG_GGUF_U32, 512, NULL}, EG_ERR_FORMAT, "'blk.1.attn_norm.weight'"},
        {{"llama.block_count", EG_GGUF_U32, 600, NULL}, EG_ERR_FORMAT, "layers 600"},
        {{"llama.block_count", EG_GGUF_U32, 2147483648.0, NULL}, EG_ERR_FORMAT, "2147483648"},
        {{"llama.block_count", EG_GGUF_U64, 4294967297.0, NULL}, EG_ERR_FORMAT, "4294967297"},
        {{"llama.block_count", EG_GGUF_U64, 9223372036854775808.0, NULL}, EG_ERR_OVERFLOW, "63"},
        {{"llama.block_count", EG_GGUF_I64, -1, NULL}, EG_ERR_FORMAT, "'llama.block_count' is -1"},
        {{"llama.block_count", F32, 1, NULL}, EG_ERR_FORMAT, "'llama.block_count'"},
        {{"llama.block_count", EG_GGUF_TEXT, 0, "1"}, EG_ERR_FORMAT, "'llama.block_count'"},
        {{"llama.block_count", LIST, 2, NULL}, EG_ERR_UNSUPPORTED, "'llama.block_count' is a list"},
        {{"llama.block_count", LIST, 0, NULL}, EG_ERR_UNSUPPORTED, "'llama.block_count' is a list"},
        {{"llama.embedding_length", DROP, 0, NULL}, EG_ERR_NOT_FOUND, "'llama.embedding_length'"},
        {{"llama.embedding_length", EG_GGUF_U32, 0, NULL}, EG_ERR_FORMAT, "width 0"},
        {{"llama.embedding_length", EG_GGUF_U32, 9, NULL},
         EG_ERR_FORMAT,
         "the width 9 is not a multiple of 2 heads"},
        {{"llama.embedding_length", EG_GGUF_U32, 16, NULL},
         EG_ERR_FORMAT,
         "'token_embd.weight' is 5 x 8"},
        {{"llama.embedding_length", EG_GGUF_U32, 4294967294.0, NULL}, EG_ERR_FORMAT, "4294967294"},
        {{"llama.feed_forward_length", EG_GGUF_U32, 0, NULL},
         EG_ERR_FORMAT,
         "feed-forward width 0"},
        {{"llama.feed_forward_length", EG_GGUF_U32, 16, NULL},
         EG_ERR_FORMAT,
         "'blk.0.ffn_gate.weight'"},
        {{"llama.context_length", EG_GGUF_U32, 0, NULL}, EG_ERR_FORMAT, "context 0"},
        {{"llama.context_length", EG_GGUF_U32, 4194305, NULL}, EG_ERR_FORMAT, "context 4194305"},
        {{"llama.context_length", EG_GGUF_U32, 4194304, NULL}, EG_OK, ""},
        {{"llama.attention.head_count", EG_GGUF_U32, 0, NULL}, EG_ERR_FORMAT, "heads 0"},
        {{"llama.attention.head_count", EG_GGUF_U32, 8, NULL},
         EG_ERR_FORMAT,
         "rotary positions need an even number of columns per head, not 1"},
        {{"llama.attention.head_count", EG_GGUF_U32, 16, NULL}, EG_ERR_FORMAT, "multiple of 16"},
        {{"llama.attention.head_count", LIST, 1, NULL}, EG_ERR_UNSUPPORTED, "is a list"},
        {{"llama.attention.head_count_kv", EG_GGUF_U32, 0, NULL}, EG_ERR_FORMAT, "heads of keys 0"},
        {{"llama.attention.head_count_kv", EG_GGUF_U32, 3, NULL},
         EG_ERR_FORMAT,
         "2 heads are not a multiple of 3 key heads"},
        {{"llama.attention.head_count_kv", EG_GGUF_U32, 1, NULL},
         EG_ERR_FORMAT,
         "'blk.0.attn_k.weight' is 8 x 8"},
        {{"llama.attention.head_count_kv", LIST, 1, NULL},
         EG_ERR_UNSUPPORTED,
         "head_count_kv' is a list"},
        {{"llama.attention.key_length", EG_GGUF_U32, 6, NULL},
         EG_ERR_FORMAT,
         "'blk.0.attn_q.weight'"},
        {{"llama.attention.key_length", EG_GGUF_U32, 0, NULL},
         EG_ERR_FORMAT,
         "columns of a head 0"},
        {{"llama.attention.layer_norm_rms_epsilon", DROP, 0, NULL},
         EG_ERR_NOT_FOUND,
         "layer_norm_rms_epsilon'"},
        {{"llama.attention.layer_norm_rms_epsilon", F32, 0, NULL},
         EG_ERR_FORMAT,
         "epsilon 0 is not within"},
        {{"llama.attention.layer_norm_rms_epsilon", F32, -1e-5, NULL},
         EG_ERR_FORMAT,
         "epsilon -1e-05 is not within 0..1"},
        {{"llama.attention.layer_norm_rms_epsilon", F32, 1, NULL},
         EG_ERR_FORMAT,
         "epsilon 1 is not within 0..1"},
        {{"llama.attention.layer_norm_rms_epsilon", F32, (double)__builtin_nanf(""), NULL},
         EG_ERR_FORMAT,
         "nan"},
        {{"llama.attention.layer_norm_rms_epsilon", EG_GGUF_TEXT, 0, "1e-5"},
         EG_ERR_FORMAT,
         "epsilon'"},
        {{"llama.rope.freq_base", F32, 0, NULL}, EG_ERR_FORMAT, "rotary base 0 is not"},
        {{"llama.rope.freq_base", F32, (double)__builtin_inff(), NULL},
         EG_ERR_FORMAT,
         "the rotary base inf is not a finite number > 0"},
        {{"llama.rope.freq_base", EG_GGUF_TEXT, 0, "x"}, EG_ERR_FORMAT, "'llama.rope.freq_base'"},
        {{"llama.rope.dimension_count", EG_GGUF_U32, 2, NULL},
         EG_ERR_UNSUPPORTED,
         "2 of 4 columns"},
        {{"llama.rope.scaling.type", EG_GGUF_TEXT, 0, "none"}, EG_OK, ""},
        {{"llama.rope.scaling.type", EG_GGUF_TEXT, 0, "yarn"}, EG_ERR_UNSUPPORTED, "'yarn'"},
        {{"llama.rope.scaling.type", EG_GGUF_U32, 0, NULL},
         EG_ERR_FORMAT,
         "'llama.rope.scaling.type'"},
        {{"llama.rope.scaling.factor", F32, 1, NULL}, EG_OK, ""},
        {{"llama.rope.scaling.factor", F32, 4, NULL}, EG_ERR_UNSUPPORTED, "factor' is 4"},
        {{"llama.rope.scale_linear", F32, 2, NULL}, EG_ERR_UNSUPPORTED, "scale_linear' is 2"},
        {{"llama.expert_count", EG_GGUF_U32, 0, NULL}, EG_OK, ""},
        {{"llama.expert_count", EG_GGUF_U32, 8, NULL},
         EG_ERR_UNSUPPORTED,
         "mixtures of experts are not supported"},
        {{"llama.expert_count", EG_GGUF_TEXT, 0, "8"}, EG_ERR_FORMAT, "'llama.expert_count'"},
        {{"llama.attention.value_length", EG_GGUF_U32, 4, NULL}, EG_OK, ""},
        {{"llama.attention.value_length", EG_GGUF_U32, 8, NULL},
         EG_ERR_UNSUPPORTED,
         "values of 8 columns and keys of 4 columns per head differ, which is not supported"},
        {{"llama.attention.scale", F32, 0.5, NULL}, EG_OK, ""},
        {{"llama.attention.scale", F32, -1, NULL},
         EG_ERR_FORMAT,
         "the scale -1 of the attention scores"},
        {{"llama.logit_scale", F32, 1, NULL}, EG_OK, ""},
        {{"llama.logit_scale", F32, 0.25, NULL},
         EG_ERR_UNSUPPORTED,
         "'llama.logit_scale' of '0.25' is not known here: only '1' is"},
        {{"llama.attn_logit_softcapping", F32, 0, NULL}, EG_OK, ""},
        {{"llama.attn_logit_softcapping", F32, 50, NULL},
         EG_ERR_UNSUPPORTED,
         "'llama.attn_logit_softcapping' of '50'"},
        {{"llama.final_logit_softcapping", F32, 30, NULL},
         EG_ERR_UNSUPPORTED,
         "softcapping' of '30'"},
        {{"llama.attention.clamp_kqv", F32, 8, NULL}, EG_ERR_UNSUPPORTED, "clamp_kqv' of '8'"},
        {{"llama.embedding_scale", F32, 12, NULL}, EG_ERR_UNSUPPORTED, "embedding_scale' of '12'"},
        {{"llama.residual_scale", F32, 1, NULL}, EG_OK, ""},
        {{"llama.attention.sliding_window_pattern", LIST, 2, NULL},
         EG_ERR_UNSUPPORTED,
         "sliding_window_pattern' of '2'"},
        {{"llama.attention.sliding_window_pattern", FLAGS, 1, NULL},
         EG_ERR_UNSUPPORTED,
         "sliding_window_pattern' of 'true'"},
        {{"llama.attention.sliding_window_pattern", FLAGS, 0, NULL},
         EG_OK,
         ""}, /* no layer has one */
        {{"llama.attention.causal", EG_GGUF_FLAG, 1, NULL}, EG_OK, ""},
        {{"llama.attention.causal", EG_GGUF_FLAG, 0, NULL},
         EG_ERR_UNSUPPORTED,
         "'llama.attention.causal' is false: a decoder is causal"},
        {{"llama.use_parallel_residual", EG_GGUF_FLAG, 0, NULL}, EG_OK, ""},
        {{"llama.use_parallel_residual", EG_GGUF_FLAG, 1, NULL},
         EG_ERR_UNSUPPORTED,
         "use_parallel_residual' of 'true'"},
        {{"llama.dense_2_feat_out", EG_GGUF_U32, 4, NULL}, EG_ERR_UNSUPPORTED, "dense_2_feat_out'"},
        {{"split.count", EG_GGUF_U32, 1, NULL}, EG_OK, ""},
        {{"split.count", EG_GGUF_U32, 2, NULL}, EG_ERR_UNSUPPORTED, "'split.count' of '2'"},
        {{"tokenizer.ggml.tokens", LIST, 5, "x"}, EG_OK, ""},
        {{"tokenizer.ggml.tokens", LIST, 4, "x"}, EG_ERR_FORMAT, "4 tokens, but 5 rows"},
        {{"tokenizer.ggml.tokens", LIST, 6, "x"}, EG_ERR_FORMAT, "6 tokens, but 5 rows"},
    };
    eg_context *context = small_context();
    char path[600];
    snprintf(path, sizeof path, "%s/model.gguf", test_folder());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model_file m;
        char name[128];
        make_llama(&m);
        change_entry(&m, &rows[i].change);
        write_model(&m, path, 32);
        snprintf(name, sizeof name, "row %zu, %s", i, rows[i].change.key);
        check_opening(context, path, name, rows[i].status, rows[i].part);
    }
    eg_context_destroy(context);
}

/* The tensor of that name becomes this one; rank 9: it is away. New names are added. */
TEST(transformer_damage, gguf_tensors) {
    static const struct {
        tensor change;
        eg_status status;
        const char *part;
    } rows[] = {
        {{"token_embd.weight", 2, {5, 8}, 1}, EG_OK, ""},
        {{"token_embd.weight", 9, {0, 0}, 0}, EG_ERR_NOT_FOUND, "'token_embd.weight'"},
        {{"token_embd.weight", 1, {40, 0}, 0},
         EG_ERR_FORMAT,
         "tensor 'token_embd.weight' is not a matrix"},
        {{"token_embd.weight", 2, {5, 16}, 0}, EG_ERR_FORMAT, "'token_embd.weight' is 5 x 16"},
        {{"token_embd.weight", 2, {0, 8}, 0}, EG_ERR_FORMAT, "vocabulary 0"},
        {{"token_embd.weight", 2, {5, 8}, 24}, EG_ERR_UNSUPPORTED, "'I8' of 'token_embd.weight'"},
        {{"token_embd.weight", 2, {5, 8}, 26}, EG_ERR_UNSUPPORTED, "'I32'"},
        {{"token_embd.weight", 2, {5, 8}, 28}, EG_ERR_UNSUPPORTED, "'F64'"},
        {{"output_norm.weight", 9, {0, 0}, 0}, EG_ERR_FORMAT, "'output_norm.weight'"},
        {{"output_norm.weight", 1, {9, 0}, 0}, EG_ERR_FORMAT, "'output_norm.weight' is 9 x 1"},
        {{"output_norm.weight", 2, {1, 8}, 0}, EG_ERR_FORMAT, "'output_norm.weight'"},
        {{"output_norm.weight", 0, {0, 0}, 0}, EG_ERR_FORMAT, "'output_norm.weight' is 1 x 1"},
        {{"blk.0.attn_q.weight", 9, {0, 0}, 0}, EG_ERR_FORMAT, "'blk.0.attn_q.weight'"},
        {{"blk.0.ffn_up.weight", 2, {8, 12}, 0}, EG_ERR_FORMAT, "'blk.0.ffn_up.weight' is 8 x 12"},
        {{"output.weight", 2, {5, 8}, 0}, EG_OK, ""},
        {{"output.weight", 2, {6, 8}, 0}, EG_ERR_FORMAT, "'output.weight' is 6 x 8"},
        {{"rope_freqs.weight", 1, {2, 0}, 0}, EG_ERR_UNSUPPORTED, "'rope_freqs.weight'"},
        {{"blk.0.attn_q.bias", 1, {8, 0}, 0},
         EG_ERR_UNSUPPORTED,
         "'blk.0.attn_q.bias' is not part of"},
        {{"blk.1.attn_q.weight", 2, {8, 8}, 0}, EG_ERR_UNSUPPORTED, "a llama of 1 layers"},
        {{"blk.0.attn_rot_embd", 1, {8, 0}, 0}, EG_OK, ""},
        {{"other", 1, {8, 0}, 0}, EG_OK, ""},
    };
    eg_context *context = small_context();
    char path[600];
    snprintf(path, sizeof path, "%s/model.gguf", test_folder());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model_file m;
        char name[128];
        size_t at = 0;
        make_llama(&m);
        while (at < m.tensor_count && strcmp(m.tensors[at].name, rows[i].change.name) != 0) at++;
        if (rows[i].change.rank == 9) {
            m.tensor_count--;
            memmove(&m.tensors[at], &m.tensors[at + 1], (m.tensor_count - at) * sizeof *m.tensors);
        } else {
            m.tensors[at] = rows[i].change;
            if (at == m.tensor_count) m.tensor_count++;
        }
        write_model(&m, path, 32);
        snprintf(name, sizeof name, "row %zu, %s", i, rows[i].change.name);
        check_opening(context, path, name, rows[i].status, rows[i].part);
    }
    eg_context_destroy(context);
}

/* Tensors that follow the head at once may begin anywhere. */
TEST(transformer_damage, gguf_odd_addresses) {
    eg_context *context = small_context();
    char path[600];
    int refused = 0;
    snprintf(path, sizeof path, "%s/model.gguf", test_folder());
    for (int more = 0; more < 4; more++) {
        model_file m;
        eg_error error = {0};
        eg_model *model = NULL;
        make_llama(&m);
        add_entry(&m, (entry){"general.alignment", EG_GGUF_U32, 1, NULL});
        add_entry(&m, (entry){"fill", EG_GGUF_TEXT, 0, &"xxx"[more]});
        write_model(&m, path, 1);
        const eg_status status = eg_model_open(context, path, &model, &error);
        refused += status == EG_ERR_UNSUPPORTED && strstr(error.message, "odd address") != NULL;
        CHECK(!status || refused, "%s", error.message);
        eg_model_destroy(model);
    }
    CHECK(refused == 3, "%d of 4 places are odd", refused);
    eg_context_destroy(context);
}

/* A value of the fixture, whose key is there once, becomes another one. */
TEST(transformer_damage, gguf_bert) {
    static const struct {
        const char *key;
        unsigned char value;
        eg_status status;
        const char *part;
    } rows[] = {{"bert.pooling_type", 0, EG_OK, ""},
                {"bert.pooling_type", 3, EG_OK, ""},
                {"bert.pooling_type", 4, EG_ERR_UNSUPPORTED, "'bert.pooling_type' is 4"},
                {"bert.attention.causal", 0, EG_OK, ""},
                {"bert.attention.causal", 1, EG_ERR_UNSUPPORTED, "'bert.attention.causal' is true"},
                {"bert.attention.head_count", 3, EG_ERR_FORMAT, "3 heads of 21 columns"},
                {"bert.context_length", 63, EG_ERR_FORMAT, "'position_embd.weight' is 64 x 64"},
                {"bert.attention.layer_norm_epsilon", 0, EG_OK, ""}};
    eg_context *context = small_context();
    char from[512], path[600];
    size_t size;
    unsigned char *bytes = test_file(transformer_path("bert.gguf", from), &size);
    snprintf(path, sizeof path, "%s/model.gguf", test_folder());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t length = strlen(rows[i].key);
        size_t at = 0;
        while (at + length + 8 < size && memcmp(bytes + at, rows[i].key, length) != 0) at++;
        unsigned char *value = bytes + at + length + 4; /* behind its type */
        const unsigned char kept = *value;
        *value = rows[i].value;
        test_file_write(path, bytes, size);
        *value = kept;
        check_opening(context, path, rows[i].key, rows[i].status, rows[i].part);
    }
    free(bytes);
    eg_context_destroy(context);
}

static void keep_message(void *user, eg_log_level level, const char *message) {
    if (level == EG_LOG_WARNING) snprintf(user, 600, "%s", message);
}

/* Keys that are not known are named, unless they say nothing; those of others are left alone. */
TEST(transformer_damage, gguf_unknown_keys) {
    static const struct {
        entry more;
        const char *said;
    } rows[] = {{{"llama.new_thing", EG_GGUF_U32, 0, NULL}, ""},
                {{"llama.new_thing", EG_GGUF_TEXT, 0, ""}, ""},
                {{"llama.new_thing", EG_GGUF_U32, 3, NULL}, "'llama.new_thing': not known here"},
                {{"llama.new_thing", LIST, 2, "x"}, "'llama.new_thing': not known here"},
                {{"gpt2.n", EG_GGUF_U32, 3, NULL}, "'gpt2.n': not known here"},
                {{"llama.vocab_size", EG_GGUF_U32, 5, NULL}, ""},
                {{"general.anything", EG_GGUF_TEXT, 0, "x"}, ""}};
    char path[600], said[600];
    snprintf(path, sizeof path, "%s/model.gguf", test_folder());
    const eg_context_options options = {.size = sizeof options,
                                        .threads = 1,
                                        .log = keep_message,
                                        .log_user = said,
                                        .log_level = EG_LOG_WARNING};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model_file m;
        eg_context *context;
        eg_model *model;
        eg_error error;
        make_llama(&m);
        add_entry(&m, rows[i].more);
        write_model(&m, path, 32);
        CHECK_OK(eg_context_create(&options, &context, &error), error);
        said[0] = 0;
        CHECK_OK(eg_model_open(context, path, &model, &error), error);
        CHECK(*rows[i].said ? strstr(said, rows[i].said) != NULL : !*said, "row %zu: '%s'", i,
              said);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}

/* Scores times 0.2, as torch has them: two entries of 64 bytes together keep the data where it is aligned. */
TEST(transformer_damage, gguf_attention_scale) {
    char from[512], path[600];
    size_t size;
    unsigned char *bytes = test_file(transformer_path("llama.gguf", from), &size);
    gguf_bytes g = {0};
    const float scale = 0.2f;
    gguf_head(&g, 3, eg__get64(bytes + 8), eg__get64(bytes + 16) + 2);
    gguf_key(&g, "llama.attention.scale", F32);
    gguf_add(&g, &scale, sizeof scale);
    gguf_key(&g, "general.one", EG_GGUF_U32);
    gguf_u32(&g, 1);
    CHECK(g.size == 24 + 64, "%zu bytes", g.size);
    gguf_add(&g, bytes + 24, size - 24);
    snprintf(path, sizeof path, "%s/model.gguf", test_folder());
    test_file_write(path, g.bytes, g.size);
    check_transformer(path, "llama", "logits_scaled", 1e-4, 1e-4);
    free(g.bytes);
    free(bytes);
}
