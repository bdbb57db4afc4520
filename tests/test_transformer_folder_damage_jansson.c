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
        {"num_key_value_heads", "3", EG_ERR_FORMAT, "share 3"},
        {"num_key_value_heads", "0", EG_ERR_FORMAT, "heads of keys 0"},
        {"num_key_value_heads", "4", EG_ERR_FORMAT, "k_proj.weight' is 16 x 64"},
        {"head_dim", "7", EG_ERR_FORMAT, "7 columns: odd"},
        {"vocab_size", NULL, EG_ERR_FORMAT, "'vocab_size'"},
        {"vocab_size", "101", EG_ERR_FORMAT, "'model.embed_tokens.weight' is 100 x 64"},
        {"vocab_size", "4194305", EG_ERR_FORMAT, "vocabulary 4194305"},
        {"max_position_embeddings", "0", EG_ERR_FORMAT, "context 0"},
        {"rms_norm_eps", "0", EG_ERR_FORMAT, "epsilon of 0"},
        {"rms_norm_eps", "\"x\"", EG_ERR_FORMAT, "'rms_norm_eps' is not a number"},
        {"attention_bias", "true", EG_ERR_UNSUPPORTED, "'attention_bias'"},
        {"mlp_bias", "true", EG_ERR_UNSUPPORTED, "'mlp_bias'"},
        {"hidden_act", "\"gelu\"", EG_ERR_UNSUPPORTED, "'hidden_act' of 'gelu'"},
        {"partial_rotary_factor", "0.5", EG_ERR_UNSUPPORTED, "'partial_rotary_factor'"},
        {"rope_scaling", "{\"type\": \"linear\", \"factor\": 2}", EG_ERR_UNSUPPORTED, "'linear'"},
        {"rope_scaling", "{\"rope_type\": \"llama3\"}", EG_ERR_UNSUPPORTED, "'llama3'"},
        {"rope_parameters", "{\"rope_theta\": 0}", EG_ERR_FORMAT, "rotary base of 0"},
        {"rope_parameters", "{\"rope_theta\": \"x\"}", EG_ERR_FORMAT, "'rope_theta'"},
    };
    CHECK_CHANGES("llama", rows);
}

/* Memory is taken for what the file has, not for what config.json says. */
TEST(folder_damage, gpt2) {
    static const change rows[] = {
        {"n_embd", NULL, EG_ERR_FORMAT, "'n_embd'"},
        {"n_embd", "49", EG_ERR_FORMAT, "3 heads of 16 columns are not a width of 49"},
        {"n_embd", "12288", EG_ERR_FORMAT, "wte.weight' is 100 x 48"},
        {"n_layer", "0", EG_ERR_FORMAT, "layers 0"},
        {"n_layer", "512", EG_ERR_FORMAT, "no tensor 'h.2."},
        {"n_head", "0", EG_ERR_FORMAT, "heads 0"},
        {"n_inner", "100000", EG_ERR_FORMAT, "mlp.c_fc.weight' is 192 x 48"},
        {"vocab_size", "4194304", EG_ERR_FORMAT, "wte.weight' is 100 x 48"},
        {"n_positions", NULL, EG_ERR_FORMAT, "'n_positions'"},
        {"n_positions", "4194304", EG_ERR_FORMAT, "wpe.weight' is 64 x 48"},
        {"layer_norm_epsilon", "-1", EG_ERR_FORMAT, "epsilon of -1"},
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
    };
    CHECK_CHANGES("bert", rows);
}

TEST(folder_damage, no_json) {
    static const struct {
        const char *text, *part;
    } rows[] = {{"", "config.json"},
                {"{", "config.json"},
                {"[]", "not an object"},
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
        {"[]", EG_ERR_FORMAT, "not an object"},
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
    expect(&c, "integers", EG_ERR_UNSUPPORTED, "of type i32");
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
