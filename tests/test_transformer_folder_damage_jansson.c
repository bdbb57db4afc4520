/* Folders of Hugging Face that are wrong: config.json, the index of the weights, and the weights. */
#include "test_formats.h"
#include "test_transformer.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

AREA(folder_damage, "folders of Hugging Face that are wrong in one place, by name")

typedef struct copy {
    eg_context *context;
    char folder[512], config[600], weights[600], index[600];
    json_t *object;       /* of config.json */
    unsigned char *bytes; /* of model.safetensors */
    size_t size;
} copy;

static void open_copy(copy *c, const char *name) {
    char from[512], path[600];
    c->context = small_context();
    snprintf(c->folder, sizeof c->folder, "%s", test_folder());
    snprintf(c->config, sizeof c->config, "%s/config.json", c->folder);
    snprintf(c->weights, sizeof c->weights, "%s/model.safetensors", c->folder);
    snprintf(c->index, sizeof c->index, "%s/model.safetensors.index.json", c->folder);
    transformer_path(name, from);
    snprintf(path, sizeof path, "%s/config.json", from);
    c->object = json_load_file(path, 0, NULL);
    CHECK(c->object != NULL, "no '%s'", path);
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    c->bytes = test_file(path, &c->size);
    test_file_write(c->weights, c->bytes, c->size);
    CHECK(json_dump_file(c->object, c->config, 0) == 0, "cannot write '%s'", c->config);
}

static void close_copy(copy *c) {
    json_decref(c->object);
    free(c->bytes);
    eg_context_destroy(c->context);
}

static void expect(copy *c, const char *what, eg_status expected, const char *part) {
    check_opening(c->context, c->folder, what, expected, part);
}

/* ---- config.json */
typedef struct change {
    const char *key, *value; /* JSON; NULL = away with it */
    eg_status status;
    const char *part;
} change;

static void check_changes(const char *name, const change *rows, size_t count) {
    copy c;
    open_copy(&c, name);
    expect(&c, name, EG_OK, "");
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_deep_copy(c.object);
        char what[128];
        if (rows[i].value)
            json_object_set_new(object, rows[i].key,
                                json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        else json_object_del(object, rows[i].key);
        CHECK(json_dump_file(object, c.config, 0) == 0, "cannot write '%s'", c.config);
        json_decref(object);
        snprintf(what, sizeof what, "%s: %s = %s", name, rows[i].key,
                 rows[i].value ? rows[i].value : "nothing");
        expect(&c, what, rows[i].status, rows[i].part);
    }
    close_copy(&c);
}
#define CHECK_CHANGES(name, rows) check_changes(name, rows, sizeof rows / sizeof *rows)

TEST(folder_damage, llama) {
    static const change rows[] = {
        {"model_type", NULL, EG_ERR_UNSUPPORTED, "'model_type' of ''"},
        {"model_type", "7", EG_ERR_UNSUPPORTED, "'model_type'"},
        {"model_type", "\"mamba\"", EG_ERR_UNSUPPORTED, "'model_type' of 'mamba'"},
        {"model_type", "\"gpt2\"", EG_ERR_FORMAT, "no 'n_embd'"},
        {"hidden_size", NULL, EG_ERR_FORMAT, "config.json has no 'hidden_size'"},
        {"hidden_size", "null", EG_ERR_FORMAT, "config.json has no 'hidden_size'"},
        {"hidden_size", "0", EG_ERR_FORMAT, "width 0"},
        {"hidden_size", "-64", EG_ERR_FORMAT, "'hidden_size' is not a count"},
        {"hidden_size", "64.0", EG_ERR_FORMAT, "'hidden_size' is not a count"},
        {"hidden_size", "\"64\"", EG_ERR_FORMAT, "'hidden_size' is not a count"},
        {"hidden_size", "[64]", EG_ERR_FORMAT, "'hidden_size' is not a count"},
        {"hidden_size", "4294967360", EG_ERR_FORMAT, "'hidden_size' is not a count"},
        {"hidden_size", "128", EG_ERR_FORMAT, "embed_tokens.weight' is 100 x 64"},
        {"intermediate_size", NULL, EG_ERR_FORMAT, "'intermediate_size'"},
        {"intermediate_size", "97", EG_ERR_FORMAT, "mlp.gate_proj.weight' is 96 x 64"},
        {"num_hidden_layers", NULL, EG_ERR_FORMAT, "'num_hidden_layers'"},
        {"num_hidden_layers", "0", EG_ERR_FORMAT, "layers 0"},
        {"num_hidden_layers", "3", EG_ERR_FORMAT, "no tensor 'layers.2.input_layernorm.weight'"},
        {"num_hidden_layers", "513", EG_ERR_FORMAT, "layers 513"},
        {"num_attention_heads", NULL, EG_ERR_FORMAT, "'num_attention_heads'"},
        {"num_attention_heads", "0", EG_ERR_FORMAT, "heads 0"},
        {"num_key_value_heads", "3", EG_ERR_FORMAT, "8 heads are not a multiple of 3 key heads"},
        {"num_key_value_heads", "0", EG_ERR_FORMAT, "heads of keys 0"},
        {"num_key_value_heads", "4", EG_ERR_FORMAT, "k_proj.weight' is 16 x 64"},
        {"head_dim", "7", EG_ERR_FORMAT,
         "rotary positions need an even number of columns per head, not 7"},
        {"vocab_size", NULL, EG_ERR_FORMAT, "'vocab_size'"},
        {"vocab_size", "101", EG_ERR_FORMAT, "'model.embed_tokens.weight' is 100 x 64"},
        {"vocab_size", "4194305", EG_ERR_FORMAT, "vocabulary 4194305"},
        {"max_position_embeddings", "0", EG_ERR_FORMAT, "context 0"},
        {"rms_norm_eps", "0", EG_ERR_FORMAT, "epsilon 0 is not within"},
        {"rms_norm_eps", "\"x\"", EG_ERR_FORMAT, "'rms_norm_eps' is not a number"},
        {"attention_bias", "true", EG_ERR_UNSUPPORTED, "'attention_bias'"},
        {"mlp_bias", "true", EG_ERR_UNSUPPORTED, "'mlp_bias'"},
        {"hidden_act", "\"gelu\"", EG_ERR_UNSUPPORTED, "'hidden_act' of 'gelu'"},
        {"partial_rotary_factor", "0.5", EG_ERR_UNSUPPORTED, "'partial_rotary_factor'"},
        {"sliding_window", "null", EG_OK, ""},
        {"sliding_window", "64", EG_OK, ""},
        {"sliding_window", "63", EG_ERR_UNSUPPORTED, "'sliding_window' of '63'"},
        {"attn_logit_softcapping", "30.5", EG_ERR_UNSUPPORTED,
         "'attn_logit_softcapping' of '30.5' is not known here"},
        {"final_logit_softcapping", "30", EG_ERR_UNSUPPORTED, "'final_logit_softcapping'"},
        {"clip_qkv", "8", EG_ERR_UNSUPPORTED, "'clip_qkv' of '8'"},
        {"clip_qkv", "null", EG_OK, ""},
        {"logits_scaling", "8", EG_ERR_UNSUPPORTED, "'logits_scaling' of '8'"},
        {"logits_scaling", "1.0", EG_OK, ""},
        {"num_local_experts", "8", EG_ERR_UNSUPPORTED, "'num_local_experts'"},
        {"quantization_config", "{\"bits\": 4}", EG_ERR_UNSUPPORTED, "'quantization_config'"},
        {"pruned_heads", "{}", EG_OK, ""},
        {"pruned_heads", "{\"0\": [1]}", EG_ERR_UNSUPPORTED, "'pruned_heads' of 'an object'"},
        {"layer_types", "[\"full_attention\", \"full_attention\"]", EG_OK, ""},
        {"layer_types", "[\"full_attention\", \"sliding_attention\"]", EG_ERR_UNSUPPORTED,
         "'layer_types' of 'a list'"},
        {"rope_parameters", "{\"partial_rotary_factor\": 0.5}", EG_ERR_UNSUPPORTED,
         "'partial_rotary_factor'"},
        {"rope_parameters", "{\"full_attention\": {\"rope_theta\": 5}}", EG_ERR_UNSUPPORTED,
         "'rope_parameters' of 'layers that differ'"},
        {"rope_scaling", "{\"type\": \"linear\", \"factor\": 2}", EG_ERR_UNSUPPORTED, "'linear'"},
        {"rope_scaling", "{\"rope_type\": \"llama3\"}", EG_ERR_UNSUPPORTED, "'llama3'"},
        {"rope_scaling", "\"dynamic\"", EG_ERR_UNSUPPORTED, "'rope_scaling' of 'no object'"},
        {"tie_word_embeddings", "1", EG_ERR_FORMAT, "'tie_word_embeddings' is not true or false"},
        {"rope_parameters", "{\"rope_theta\": 0}", EG_ERR_FORMAT, "rotary base 0 is not"},
        {"rope_parameters", "{\"rope_theta\": \"x\"}", EG_ERR_FORMAT, "'rope_theta'"},
        {"rope_parameters", "{\"factor\": 1, \"beta_fast\": 32}", EG_OK, ""},
        {"rope_parameters", "{\"factor\": 4}", EG_ERR_UNSUPPORTED,
         "'rope_parameters.factor' of '4' is not known here"},
        {"rope_scaling", "{\"rope_type\": \"default\", \"attention_factor\": 2}",
         EG_ERR_UNSUPPORTED, "'rope_scaling.attention_factor' of '2'"},
    };
    CHECK_CHANGES("llama", rows);
}

static void keep_warning(void *user, eg_log_level level, const char *message) {
    (void)level;
    snprintf(user, 512, "%s", message);
}

/* What nobody here has heard of is named, also within an object that is read. */
TEST(folder_damage, unknown_keys) {
    static const char *const rows[][3] = {
        {"twist", "3", "'twist': not known here"},
        {"rope_scaling", "{\"type\": \"default\", \"twist\": 3}",
         "'rope_scaling.twist': not known"},
        {"rope_parameters", "{\"twist\": 3, \"turn\": 1}",
         "'rope_parameters.twist', 'rope_parameters.turn': not known"},
        {"rope_parameters", "{\"twist\": 0}", NULL},
    };
    copy c;
    open_copy(&c, "llama");
    char said[512];
    eg_error error;
    eg_context *context = NULL;
    const eg_context_options options = {
        .threads = 1, .log = keep_warning, .log_user = said, .log_level = EG_LOG_WARNING};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *object = json_deep_copy(c.object);
        json_object_set_new(object, rows[i][0], json_loads(rows[i][1], JSON_DECODE_ANY, NULL));
        CHECK(json_dump_file(object, c.config, 0) == 0, "cannot write '%s'", c.config);
        json_decref(object);
        said[0] = 0;
        check_opening(context, c.folder, rows[i][1], EG_OK, "");
        CHECK(rows[i][2] ? strstr(said, rows[i][2]) != NULL : !said[0], "%s: '%s'", rows[i][1],
              said);
    }
    eg_context_destroy(context);
    close_copy(&c);
}

/* Memory is taken for what the file has, not for what config.json says. */
TEST(folder_damage, gpt2) {
    static const change rows[] = {
        {"n_embd", NULL, EG_ERR_FORMAT, "'n_embd'"},
        {"n_embd", "49", EG_ERR_FORMAT, "3 heads of 16 columns do not make a width of 49"},
        {"n_embd", "12288", EG_ERR_FORMAT, "wte.weight' is 100 x 48"},
        {"n_layer", "0", EG_ERR_FORMAT, "layers 0"},
        {"n_layer", "512", EG_ERR_FORMAT, "no tensor 'h.2."},
        {"n_head", "0", EG_ERR_FORMAT, "heads 0"},
        {"n_inner", "100000", EG_ERR_FORMAT, "mlp.c_fc.weight' is 192 x 48"},
        {"vocab_size", "4194304", EG_ERR_FORMAT, "wte.weight' is 100 x 48"},
        {"n_positions", NULL, EG_ERR_FORMAT, "'n_positions'"},
        {"n_positions", "4194304", EG_ERR_FORMAT, "wpe.weight' is 64 x 48"},
        {"layer_norm_epsilon", "-1", EG_ERR_FORMAT, "epsilon -1 is not within 0..1"},
        {"scale_attn_weights", "0", EG_ERR_FORMAT, "'scale_attn_weights' is not true or false"},
        {"scale_attn_by_inverse_layer_idx", "\"no\"", EG_ERR_FORMAT, "layer_idx' is not true or"},
        {"activation_function", "5", EG_ERR_FORMAT, "'activation_function' is not a text"},
        {"activation_function", "\"relu\"", EG_ERR_UNSUPPORTED, "'activation_function' of 'relu'"},
        {"tie_word_embeddings", "false", EG_ERR_FORMAT, "no tensor 'lm_head.weight'"},
    };
    CHECK_CHANGES("gpt2", rows);
}

TEST(folder_damage, bert) {
    static const change rows[] = {
        {"type_vocab_size", "0", EG_ERR_FORMAT, "token types 0"},
        {"type_vocab_size", "3", EG_ERR_FORMAT, "token_type_embeddings.weight' is 2 x 64"},
        {"max_position_embeddings", NULL, EG_ERR_FORMAT, "'max_position_embeddings'"},
        {"max_position_embeddings", "65", EG_ERR_FORMAT, "position_embeddings.weight' is 64 x 64"},
        {"num_attention_heads", "5", EG_ERR_FORMAT, "5 heads of 12 columns"},
        {"hidden_act", "\"relu\"", EG_ERR_UNSUPPORTED, "'hidden_act' of 'relu'"},
        {"position_embedding_type", "\"relative_key\"", EG_ERR_UNSUPPORTED, "'relative_key'"},
        {"layer_norm_eps", "null", EG_OK, ""},
        {"is_decoder", "true", EG_ERR_UNSUPPORTED, "'is_decoder' of 'true'"},
        {"is_decoder", "false", EG_OK, ""},
        {"add_cross_attention", "true", EG_ERR_UNSUPPORTED, "'add_cross_attention'"},
    };
    CHECK_CHANGES("bert", rows);
}

TEST(folder_damage, no_json) {
    static const struct {
        const char *text, *part;
    } rows[] = {{"", "config.json"},
                {"{", "config.json"},
                {"[]", "the file is not JSON with an object at its root"},
                {"3", "config.json"},
                {"{\"model_type\": \"llama\", \"model_type\": \"bert\"}", "duplicate"},
                {"{\"model_type\": \"\xff\"}", "config.json"},
                {"\xef\xbb\xbf{}", "config.json"}};
    copy c;
    open_copy(&c, "llama");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_file_write(c.config, rows[i].text, strlen(rows[i].text));
        expect(&c, rows[i].text, EG_ERR_FORMAT, rows[i].part);
    }
    char *deep = test_alloc(100001);
    memset(deep, '[', 100000);
    test_file_write(c.config, deep, 100000);
    expect(&c, "deep", EG_ERR_FORMAT, "config.json");
    free(deep);
    unlink(c.config);
    expect(&c, "no config", EG_ERR_FILE, "config.json");
    close_copy(&c);
}

/* ---- the weights */
TEST(folder_damage, index) {
    static const struct {
        const char *text;
        eg_status status;
        const char *part;
    } rows[] = {
        {"{\"weight_map\": {\"a\": \"model.safetensors\", \"b\": \"model.safetensors\"}}", EG_OK,
         ""},
        {"{\"weight_map\": {\"a\": \"../x\"}}", EG_ERR_FORMAT, "'../x', outside of the folder"},
        {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", EG_ERR_FORMAT, "outside of the folder"},
        {"{\"weight_map\": {\"a\": \"sub/model.safetensors\"}}", EG_ERR_FORMAT, "outside of the"},
        {"{\"weight_map\": {\"a\": \"..\"}}", EG_ERR_FILE, "it is a folder"},
        {"{\"weight_map\": {\"a\": \"\"}}", EG_ERR_FILE, "it is a folder"},
        {"{\"weight_map\": {\"a\": \"missing.safetensors\"}}", EG_ERR_FILE, "missing.safetensors"},
        {"{\"weight_map\": {\"a\": \"config.json\"}}", EG_ERR_FORMAT, "config.json"},
        {"{\"weight_map\": {\"a\": 3}}", EG_ERR_FORMAT, "the file of 'a' is no text"},
        {"{\"weight_map\": {}}", EG_ERR_FORMAT, "no 'weight_map'"},
        {"{\"weight_map\": []}", EG_ERR_FORMAT, "no 'weight_map'"},
        {"{}", EG_ERR_FORMAT, "no 'weight_map'"},
        {"[]", EG_ERR_FORMAT, "the file is not JSON with an object at its root"},
        {"", EG_ERR_FORMAT, "index.json"},
    };
    copy c;
    open_copy(&c, "llama");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_file_write(c.index, rows[i].text, strlen(rows[i].text));
        expect(&c, rows[i].text, rows[i].status, rows[i].part);
    }
    /* more shards than there may be open files */
    json_t *index = json_object(), *map = json_object();
    json_object_set_new(index, "weight_map", map);
    for (int i = 0; i < 600; i++) {
        char key[32], name[64], path[700];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(name, sizeof name, "part-%d.safetensors", i);
        snprintf(path, sizeof path, "%s/%s", c.folder, name);
        const unsigned char empty[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
        test_file_write(path, empty, sizeof empty);
        json_object_set_new(map, key, json_string(name));
    }
    CHECK(json_dump_file(index, c.index, 0) == 0, "cannot write '%s'", c.index);
    json_decref(index);
    expect(&c, "600 files", EG_ERR_UNSUPPORTED, "more than 512 files");
    close_copy(&c);
}

/* The first "from" of the header becomes "to", which is as long. */
static void change_header(copy *c, const char *from, const char *to) {
    unsigned char *bytes = test_alloc(c->size);
    const size_t length = strlen(from);
    memcpy(bytes, c->bytes, c->size);
    size_t at = 0;
    while (at + length < c->size && memcmp(bytes + at, from, length) != 0) at++;
    CHECK(at + length < c->size && strlen(to) == length, "no '%s'", from);
    memcpy(bytes + at, to, length);
    test_file_write(c->weights, bytes, c->size);
    free(bytes);
}

TEST(folder_damage, weights) {
    copy c;
    open_copy(&c, "llama");
    change_header(&c, "\"F32\"", "\"I32\"");
    expect(&c, "integers", EG_ERR_UNSUPPORTED,
           "tensor 'lm_head.weight' has type i32, which is not supported");
    change_header(&c, "\"F32\"", "\"U32\"");
    expect(&c, "unsigned integers", EG_ERR_UNSUPPORTED, "U32");
    change_header(&c, "model.norm.weight", "model.nope.weight");
    expect(&c, "a missing tensor", EG_ERR_FORMAT, "no tensor 'norm.weight'");
    change_header(&c, "lm_head", "xx_head");
    expect(&c, "tied then", EG_OK, "");
    for (size_t size = 0; size < c.size; size += size < 16 ? 1 : 9973) {
        test_file_write(c.weights, c.bytes, size);
        expect(&c, "cut off", EG_ERR_FORMAT, "model.safetensors");
    }
    unlink(c.weights);
    expect(&c, "no weights", EG_ERR_FILE, "model.safetensors");
    CHECK(mkdir(c.weights, 0700) == 0, "cannot make '%s'", c.weights);
    expect(&c, "a folder", EG_ERR_FILE, "model.safetensors");
    rmdir(c.weights);
    close_copy(&c);
}

/* Weights that other programs wrote: the message names them and says how they become ours. */
TEST(folder_damage, foreign_weights) {
    static const char *const names[][2] = {
        {"pytorch_model.bin", "only 'pytorch_model.bin' (PyTorch, pickled, not opened)"},
        {"pytorch_model.bin.index.json", "from_pretrained('IN').save_pretrained('OUT')"},
        {"tf_model.h5", "'IN', from_tf=True"},
        {"flax_model.msgpack", "'IN', from_flax=True"}};
    copy c;
    open_copy(&c, "llama");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", c.folder, names[i][0]);
        test_file_write(path, "x", 1);
        test_file_write(c.weights, c.bytes, c.size);
        expect(&c, "beside ours", EG_OK, "");
        unlink(c.weights);
        expect(&c, names[i][0], EG_ERR_UNSUPPORTED, names[i][1]);
        unlink(path);
    }
    close_copy(&c);
}

static eg_status open_folder(void *user, eg_context *context, eg_error *error) {
    eg_model *model = NULL;
    const eg_status status = eg_model_open(context, user, &model, error);
    eg_model_destroy(model);
    return status;
}

TEST(folder_damage, every_allocation) {
    static const char *const names[] = {"llama", "gpt2", "bert", "gpt2.gguf"};
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(test_every_allocation_within(open_folder,
                                           (void *)(uintptr_t)transformer_path(names[i], path)) > 3,
              "%s: few allocations", names[i]);
}
