/* Transformers from folders of Hugging Face give what torch gave. */
#include "test_formats.h"
#include "test_transformer.h"

#include <jansson.h>

AREA(transformer_folders, "encoders and decoders of torch, from folders of Hugging Face")

/* One of our own files: norms first, sinusoidal positions. */
TEST(transformer_folders, pre_norm) {
    check_transformer("prenorm/model.safetensors", "prenorm", "last_hidden_state", 1e-4, 1e-4);
}

TEST(transformer_folders, golden) {
    check_transformer("bert", "bert", "last_hidden_state", 1e-4, 1e-4);
    check_transformer("gpt2", "gpt2", "logits", 1e-4, 1e-4);
    check_transformer("llama", "llama", "logits", 1e-4, 1e-4);
    check_transformer("llama_tied", "llama_tied", "logits", 1e-4, 1e-4);
}

TEST(transformer_folders, choices) {
    check_choices("gpt2", "gpt2", EG_F32);
    check_choices("llama", "llama", EG_F32);
    check_choices("llama_tied", "llama_tied", EG_F32);
}

/* ---- keys of config.json that change what comes out */

/* A copy of a folder, its config.json with `more` in it. */
static void copy_folder(const char *name, const char *more, char out[512]) {
    char from[512], path[700];
    size_t size;
    transformer_path(name, from);
    snprintf(out, 512, "%s", test_folder());
    snprintf(path, sizeof path, "%s/config.json", from);
    json_t *config = json_load_file(path, 0, NULL), *changes = json_loads(more, 0, NULL);
    CHECK(config && changes, "no '%s', or not JSON: %s", path, more);
    json_object_update(config, changes);
    snprintf(path, sizeof path, "%s/config.json", out);
    CHECK(json_dump_file(config, path, 0) == 0, "cannot write '%s'", path);
    json_decref(config);
    json_decref(changes);
    snprintf(path, sizeof path, "%s/model.safetensors", from);
    unsigned char *bytes = test_file(path, &size);
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    test_file_write(path, bytes, size);
    free(bytes);
}

/* What torch gives with the flag, from the folder and from what is saved of it. */
TEST(transformer_folders, flags) {
    static const struct {
        const char *folder, *more, *key;
    } rows[] = {{"gpt2", "{}", "logits"},
                {"gpt2", "{\"scale_attn_weights\": false}", "logits_unscaled"},
                {"gpt2", "{\"scale_attn_by_inverse_layer_idx\": true}", "logits_by_layer"},
                {"gpt2",
                 "{\"scale_attn_weights\": false, \"scale_attn_by_inverse_layer_idx\": true}",
                 "logits_unscaled_by_layer"},
                {"llama", "{\"model_type\": \"mistral\", \"sliding_window\": 6}", "logits_window"},
                {"llama", "{\"sliding_window\": 64}", "logits"},
                {"llama", "{\"attn_logit_softcapping\": null, \"logits_scaling\": 1.0}", "logits"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[512], saved[700];
        eg_error error;
        eg_context *context;
        eg_model *model;
        copy_folder(rows[i].folder, rows[i].more, folder);
        check_transformer(folder, rows[i].folder, rows[i].key, 1e-4, 1e-4);
        snprintf(saved, sizeof saved, "%s/saved.safetensors", folder);
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_model_open(context, folder, &model, &error), error);
        CHECK_OK(eg_model_widen(model, &error), error);
        CHECK_OK(eg_model_save(model, saved, &error), error);
        eg_model_destroy(model);
        eg_context_destroy(context);
        check_transformer(saved, rows[i].folder, rows[i].key, 1e-4, 1e-4);
    }
}

static void keep_message(void *user, eg_log_level level, const char *message) {
    char *all = user;
    if (level == EG_LOG_WARNING) snprintf(all + strlen(all), 1000 - strlen(all), "%s\n", message);
}

#define LONG(end)                                                                                  \
    "\"a_key_of_ninety_letters_which_nobody_here_has_ever_heard_of_in_all_the_years_of_files_" end \
    "\""
/* Keys that nobody here has heard of are named once, unless they say nothing; known ones never. */
TEST(transformer_folders, unknown_keys) {
    static const struct {
        const char *folder, *more, *said;
    } rows[] = {
        {"llama", "{}", ""},
        {"bert", "{}", ""},
        {"gpt2", "{}", ""},
        {"llama", "{\"new_flag\": false, \"new_list\": [], \"new_text\": \"\", \"new\": 0}", ""},
        {"llama", "{\"new_flag\": true}", "'new_flag': not known here"},
        {"bert", "{\"auto_map\": {\"AutoModel\": \"x\"}, \"b\\u001b\": 1}", "'auto_map', 'b?'"},
        {"gpt2", "{\"use_cache\": true, \"top_k\": 50, \"n_ctx\": 64}", ""},
        {"bert",
         "{" LONG("a") ":1," LONG("b") ":1," LONG("c") ":1," LONG("d") ":1," LONG("e") ":1}",
         "d' and 1 more: not known here"}, /* more than there is room for */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[512], said[1000] = "";
        eg_error error;
        eg_context *context;
        eg_model *model;
        const eg_context_options options = {.size = sizeof options,
                                            .threads = 1,
                                            .log = keep_message,
                                            .log_user = said,
                                            .log_level = EG_LOG_WARNING};
        copy_folder(rows[i].folder, rows[i].more, folder);
        CHECK_OK(eg_context_create(&options, &context, &error), error);
        said[0] = 0;
        CHECK_OK(eg_model_open(context, folder, &model, &error), error);
        CHECK(*rows[i].said
                  ? strstr(said, rows[i].said) && strchr(said, '\n') == strrchr(said, '\n')
                  : !*said,
              "%s: '%s', expected '%s'", rows[i].more, said, rows[i].said);
        eg_model_destroy(model);
        eg_context_destroy(context);
    }
}
