/* Folders of sentence-transformers: the rows that its modules give, from the folder and from what is saved of it. */
#include "test_formats.h"
#include "test_transformer.h"

#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

AREA(sentence, "rows of texts as the modules of sentence-transformers make them")

enum { NARROW = 24, WIDTH = 64 };

#define OLD(name) "sentence_transformers.models." name
#define MODULES(more)                                                                           \
    "[{\"path\":\"\",\"type\":\"" OLD("Transformer") "\"},"                                     \
                                                     "{\"path\":\"1_Pooling\",\"type\":\"" OLD( \
                                                         "Pooling") "\"}" more "]"
#define DENSE     ",{\"path\":\"2_Dense\",\"type\":\"sentence_transformers.base.modules.dense.Dense\"}"
#define NORMALIZE ",{\"path\":\"3_Normalize\",\"type\":\"" OLD("Normalize") "\"}"
#define EIGHT     NORMALIZE NORMALIZE NORMALIZE NORMALIZE NORMALIZE NORMALIZE NORMALIZE NORMALIZE
#define LEGACY(mode) \
    "{\"word_embedding_dimension\":64,\"pooling_mode_mean_tokens\":false,\"" mode "\":true}"
#define MODE(mode) \
    "{\"embedding_dimension\":64,\"pooling_mode\":\"" mode "\",\"include_prompt\":true}"
#define LAYER(activation)                                                                         \
    "{\"in_features\":64,\"out_features\":24,\"bias\":true,\"activation_function\":\"" activation \
    "\"}"

typedef struct settings {
    const char *modules, *pooling, *dense;
} settings;

static void write_text(const char *folder, const char *name, const char *text) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_file_write(path, text, strlen(text));
}

static void copy_file(const char *from, const char *folder, const char *name) {
    char path[700];
    size_t size;
    unsigned char *bytes = test_file(from, &size);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    test_file_write(path, bytes, size);
    free(bytes);
}

static void make_folder(const settings *w, char folder[512]) {
    static const char *const names[] = {"1_Pooling", "2_Dense"};
    char from[512], path[700];
    snprintf(folder, 512, "%s", test_folder());
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        mkdir(path, 0700);
    }
    copy_file(transformer_path("bert/config.json", from), folder, "config.json");
    copy_file(transformer_path("bert/model.safetensors", from), folder, "model.safetensors");
    copy_file(transformer_path("sentence/dense.safetensors", from), folder,
              "2_Dense/model.safetensors");
    write_text(folder, "modules.json", w->modules);
    write_text(folder, "1_Pooling/config.json", w->pooling);
    write_text(folder, "2_Dense/config.json", w->dense ? w->dense : "{}");
}

static void check_rows(eg_context *context, const char *path, const char *key,
                       const eg_embedder_options *options) {
    eg_error error;
    eg_model *model;
    eg_embedder *e;
    eg_tensor ids, lengths, want;
    transformer_expected(context, "bert", "ids", &ids);
    transformer_expected(context, "bert", "lengths", &lengths);
    transformer_expected(context, "sentence", key, &want);
    CHECK_OK(eg_model_open(context, path, &model, &error), error);
    CHECK_OK(eg_embedder_create(model, options, &e, &error), error);
    CHECK(eg_embedder_width(e) == want.shape[1], "%s: rows of %llu", key,
          (unsigned long long)eg_embedder_width(e));
    for (size_t b = 0; b < 2; b++) {
        uint32_t tokens[17];
        float row[WIDTH + 1];
        double worst = 0;
        for (size_t k = 0; k <= WIDTH; k++) row[k] = 77;
        for (size_t i = 0; i < 17; i++)
            tokens[i] = (uint32_t)((const int32_t *)ids.data)[b * 17 + i];
        CHECK_OK(
            eg_embedder_run(e, tokens, (size_t)((const int32_t *)lengths.data)[b], row, &error),
            error);
        for (size_t k = 0; k < want.shape[1]; k++)
            worst = fmax(worst, fabs((double)row[k] -
                                     (double)((const float *)want.data)[b * want.shape[1] + k]));
        CHECK(row[want.shape[1]] == 77, "%s: more numbers than its row has", key);
        CHECK(worst <= 2e-5, "%s, %s, sample %zu: off by %g", path, key, b, worst);
    }
    eg_embedder_destroy(e);
    eg_model_destroy(model);
    eg_tensor_release(context, &ids);
    eg_tensor_release(context, &lengths);
    eg_tensor_release(context, &want);
}

static void save_again(eg_context *context, const char *folder, const char *path) {
    eg_error error;
    eg_model *model;
    CHECK_OK(eg_model_open(context, folder, &model, &error), error);
    CHECK_OK(eg_model_widen(model, &error), error);
    CHECK_OK(eg_model_save(model, path, &error), error);
    eg_model_destroy(model);
}

TEST(sentence, golden) {
    static const struct {
        settings w;
        const char *key;
    } rows[] = {
        {{MODULES(""), LEGACY("pooling_mode_mean_tokens_not"), NULL}, "mean"},
        {{MODULES(""), LEGACY("pooling_mode_cls_token"), NULL}, "cls"},
        {{MODULES(""), LEGACY("pooling_mode_lasttoken"), NULL}, "lasttoken"},
        {{MODULES(""), LEGACY("pooling_mode_max_tokens"), NULL}, "max"},
        {{MODULES(""), LEGACY("pooling_mode_mean_sqrt_len_tokens"), NULL}, "mean_sqrt_len_tokens"},
        {{MODULES(""), MODE("weightedmean"), NULL}, "weightedmean"},
        {{MODULES(""), MODE("max"), NULL}, "max"},
        {{MODULES(NORMALIZE), MODE("max"), NULL}, "normalized"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.Tanh")}, "dense_Tanh"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.linear.Identity")},
         "dense_Identity"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.ReLU")}, "dense_ReLU"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.GELU")}, "dense_GELU"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.Sigmoid")},
         "dense_Sigmoid"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.SiLU")}, "dense_SiLU"},
        {{MODULES(NORMALIZE DENSE NORMALIZE), MODE("mean"),
          "{\"in_features\":64,\"out_features\":24,\"bias\":false}"},
         "dense_normalized"},
    };
    eg_error error;
    eg_context *context;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[512], saved[700];
        make_folder(&rows[i].w, folder);
        check_rows(context, folder, rows[i].key, NULL);
        snprintf(saved, sizeof saved, "%s/saved.safetensors", folder);
        save_again(context, folder, saved);
        check_rows(context, saved, rows[i].key, NULL);
    }
    eg_context_destroy(context);
}

/* What is asked for goes before what the folder says. */
TEST(sentence, overridden) {
    static const settings plain = {MODULES(NORMALIZE), MODE("mean"), NULL},
                          bare = {MODULES(""), MODE("mean"), NULL};
    eg_error error;
    eg_context *context;
    char folder[512];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    make_folder(&plain, folder);
    check_rows(context, folder, "cls",
               &(eg_embedder_options){.pooled = 1, .pooling = EG_POOLING_FIRST, .unscaled = 1});
    make_folder(&bare, folder);
    check_rows(context, folder, "normalized",
               &(eg_embedder_options){.pooled = 1, .pooling = EG_POOLING_MAX, .scaled = 1});
    static const settings dense = {MODULES(NORMALIZE DENSE), MODE("mean"),
                                   LAYER("torch.nn.modules.activation.Tanh")};
    static const struct {
        const settings *w;
        uint64_t width, dense;
        int scaled;
    } facts[] = {{&bare, WIDTH, 0, 0}, {&plain, WIDTH, 0, 1}, {&dense, NARROW, 1, 0}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        eg_model *model;
        eg_transformer_info info = {.size = sizeof info};
        make_folder(facts[i].w, folder);
        CHECK_OK(eg_model_open(context, folder, &model, &error), error);
        CHECK_OK(eg_model_transformer(model, &info, &error), error);
        CHECK(info.row_width == facts[i].width && info.row_dense == facts[i].dense &&
                  info.row_scaled == facts[i].scaled,
              "%zu: %llu, %llu, %d", i, (unsigned long long)info.row_width,
              (unsigned long long)info.row_dense, info.row_scaled);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

TEST(sentence, damage) {
    static const struct {
        settings w;
        eg_status status;
        const char *part;
    } rows[] = {
        {{MODULES(""), MODE("mean"), NULL}, EG_OK, ""},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.Tanh")}, EG_OK, ""},
        {{MODULES(",{\"path\":\"d\",\"type\":\"" OLD("Dropout") "\"}"), MODE("mean"), NULL},
         EG_OK,
         ""},
        {{"{}", MODE("mean"), NULL}, EG_ERR_FORMAT, "the file is not JSON with a list at its root"},
        {{"[", MODE("mean"), NULL}, EG_ERR_FORMAT, "'modules.json'"},
        {{"[]", MODE("mean"), NULL}, EG_ERR_UNSUPPORTED, "no module 'Pooling'"},
        {{MODULES(",{\"path\":\"2\",\"type\":\"" OLD("LSTM") "\"}"), MODE("mean"), NULL},
         EG_ERR_UNSUPPORTED,
         "'type' of 'sentence_transformers.models.LSTM' is not known here"},
        {{MODULES(",{\"path\":\"2\",\"type\":\"custom.Normalize\"}"), MODE("mean"), NULL},
         EG_ERR_UNSUPPORTED,
         "'type' of 'custom.Normalize'"},
        {{MODULES(",1"), MODE("mean"), NULL}, EG_ERR_UNSUPPORTED, "'type' of ''"},
        {{MODULES(",{\"path\":\"../x\",\"type\":\"" OLD("Dense") "\"}"), MODE("mean"), NULL},
         EG_ERR_UNSUPPORTED,
         "'path' of '../x'"},
        {{"[{\"path\":\"0_BERT\",\"type\":\"" OLD("Transformer") "\"}]", MODE("mean"), NULL},
         EG_ERR_UNSUPPORTED,
         "'path' of '0_BERT'"},
        {{"[{\"path\":\"2_Dense\",\"type\":\"" OLD("Dense") "\"}]", MODE("mean"),
          LAYER("torch.nn.modules.activation.Tanh")},
         EG_ERR_UNSUPPORTED,
         "a module before Pooling"},
        {{MODULES(",{\"path\":\"1_Pooling\",\"type\":\"" OLD("Pooling") "\"}"), MODE("mean"), NULL},
         EG_ERR_UNSUPPORTED,
         "'type' of 'a second Pooling'"},
        {{MODULES(EIGHT), MODE("mean"), NULL}, EG_OK, ""},
        {{MODULES(EIGHT NORMALIZE), MODE("mean"), NULL},
         EG_ERR_UNSUPPORTED,
         "'type' of 'too many modules'"},
        {{MODULES(",{\"path\":2,\"type\":\"" OLD("Normalize") "\"}"), MODE("mean"), NULL},
         EG_ERR_FORMAT,
         "'path' is not a text"},
        {{MODULES(""), LEGACY("pooling_mode_cls_token\":false,\"pooling_mode_max_tokens\":1,\"x"),
          NULL},
         EG_ERR_FORMAT,
         "'pooling_mode_max_tokens' is not true or false"},
        {{MODULES(""), MODE("median"), NULL}, EG_ERR_UNSUPPORTED, "'pooling_mode' of 'median'"},
        {{MODULES(""), "{\"pooling_mode\":[\"mean\",\"max\"]}", NULL},
         EG_ERR_UNSUPPORTED,
         "'pooling_mode' of 'several'"},
        {{MODULES(""), "{\"pooling_mode_mean_tokens\":true,\"pooling_mode_max_tokens\":true}",
          NULL},
         EG_ERR_UNSUPPORTED,
         "'pooling_mode' of 'several'"},
        {{MODULES(""), "{\"embedding_dimension\":32}", NULL},
         EG_ERR_FORMAT,
         "pooling has 32 columns, but the model has 64 in 'modules.json'"},
        {{MODULES(DENSE), MODE("mean"), "{\"in_features\":32,\"out_features\":24}"},
         EG_ERR_FORMAT,
         "a dense layer of 24 x 32 does not fit 64 columns in 'modules.json'"},
        {{MODULES(DENSE), MODE("mean"), "{\"in_features\":64,\"out_features\":23}"},
         EG_ERR_FORMAT,
         "'linear.weight' is 24 x 64"},
        {{MODULES(DENSE), MODE("mean"), "{\"in_features\":64,\"out_features\":131073}"},
         EG_ERR_FORMAT,
         "outputs of a dense layer 131073 of a transformer is not within 1..131072"},
        {{MODULES(DENSE), MODE("mean"), "{\"in_features\":64,\"out_features\":24,\"bias\":0}"},
         EG_ERR_FORMAT,
         "'bias' is not true or false"},
        {{MODULES(DENSE), MODE("mean"), "{\"out_features\":23}"},
         EG_ERR_FORMAT,
         "no 'in_features'"},
        {{MODULES(DENSE), MODE("mean"), LAYER("torch.nn.modules.activation.PReLU")},
         EG_ERR_UNSUPPORTED,
         "'activation_function' of 'torch.nn.modules.activation.PReLU'"},
        {{MODULES(DENSE), MODE("mean"),
          "{\"in_features\":64,\"out_features\":24,\"module_input_name\":\"token_embeddings\"}"},
         EG_ERR_UNSUPPORTED,
         "'module_input_name' of 'token_embeddings'"},
    };
    eg_context *context = small_context();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[512], what[32];
        snprintf(what, sizeof what, "row %zu", i);
        make_folder(&rows[i].w, folder);
        check_opening(context, folder, what, rows[i].status, rows[i].part);
    }
    eg_context_destroy(context);
}

static eg_status open_folder(void *user, eg_context *context, eg_error *error) {
    eg_model *model = NULL;
    eg_embedder *e = NULL;
    eg_status status = eg_model_open(context, user, &model, error);
    if (!status) status = eg_embedder_create(model, NULL, &e, error);
    eg_embedder_destroy(e);
    eg_model_destroy(model);
    return status;
}

TEST(sentence, every_allocation) {
    static const settings w = {MODULES(DENSE NORMALIZE), MODE("mean"),
                               LAYER("torch.nn.modules.activation.Tanh")};
    char folder[512];
    make_folder(&w, folder);
    CHECK(test_every_allocation_within(open_folder, folder) > 3, "few allocations");
}
