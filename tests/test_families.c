/* The table of families: what a row says is what a model of the family has, made new or read from a file. */
#include "test_transformer.h"
#include "elegans/gguf.h"
#include "elegans/safetensors.h"
#include "formats/models/transformer_names.h"

AREA(families, "every family of transformers is what its row of families.def says")

static eg_model *open_new(eg_context *context, const eg__traits *traits, const char *more) {
    char spec[128];
    eg_model *model = NULL;
    eg_error error;
    snprintf(spec, sizeof spec, "%s:2:64,heads=2,vocab=32,context=16%s", traits->name, more);
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    return model;
}

static bool has(const eg_model *model, const char *name) {
    return eg__model_parameter(model, name) != NULL;
}

static void check_parameter(const eg_model *model, const char *name, bool wanted) {
    CHECK(has(model, name) == wanted, "a %s has %s'%s'",
          eg__family_name(model->transformer->family), wanted ? "no " : "", name);
}

/* Which matrices, norms and tables there are, and which of them have a bias. */
static void check_parameters(const eg_model *model, const eg__traits *traits) {
    for (unsigned m = 0; m < EG__MATRICES; m++) {
        char name[64];
        const bool apart = m == EG__MATRIX_Q || m == EG__MATRIX_K || m == EG__MATRIX_V;
        const bool there = apart                  ? !traits->fused
                           : m == EG__MATRIX_QKV  ? traits->fused
                           : m == EG__MATRIX_GATE ? traits->gated
                                                  : true;
        snprintf(name, sizeof name, "blk.1.%s.weight", eg__matrix_name((eg__matrix)m));
        check_parameter(model, name, there);
        snprintf(name, sizeof name, "blk.1.%s.bias", eg__matrix_name((eg__matrix)m));
        check_parameter(model, name, there && eg__traits_bias(traits, (eg__matrix)m));
    }
    const bool pre = eg__transformer_pre(model->transformer);
    check_parameter(model, "blk.1.attn_norm.weight", pre);
    check_parameter(model, "blk.1.attn_norm.bias", pre && traits->norm_bias);
    check_parameter(model, "output_norm.weight", pre);
    check_parameter(model, "blk.1.attn_output_norm.weight", !pre);
    check_parameter(model, "blk.1.layer_output_norm.bias", !pre && traits->norm_bias);
    check_parameter(model, "token_embd_norm.weight", traits->norm_embedding);
    check_parameter(model, "token_types.weight", traits->types);
    check_parameter(model, "position_embd.weight", traits->positions == EG__POSITIONS_LEARNED);
    check_parameter(model, "output.weight", traits->logits && !model->transformer->tied);
}

TEST(families, rows) {
    const eg__traits *traits;
    for (unsigned i = 0; (traits = eg__family_traits(i)); i++) {
        eg__family found = EG__FAMILIES;
        CHECK(eg__family_find(traits->name, &found) && found == i, "'%s' is family %u, not %u",
              traits->name, (unsigned)found, i);
        CHECK(traits->epsilon > 0, "%s: no epsilon", traits->name);
        CHECK(traits->positions && eg__positions_name(traits->positions), "%s: no positions",
              traits->name);
        CHECK(!(traits->fused && traits->grouped), "%s: one matrix for heads that differ",
              traits->name);
        CHECK(traits->causal || !traits->logits, "%s: it would see the token it guesses",
              traits->name);
    }
    eg__family none;
    CHECK(!eg__family_find("", &none) && !eg__family_find("llam", &none), "families without a row");
    CHECK(!eg__family_name(EG__FAMILIES), "a name past the last");
}

TEST(families, from_specs) {
    eg_context *context = small_context();
    const eg__traits *traits;
    for (unsigned i = 0; (traits = eg__family_traits(i)); i++) {
        eg_model *model = open_new(context, traits, "");
        if (!model) continue;
        const eg__transformer *t = model->transformer;
        eg_model_info info = {.size = sizeof info};
        eg_transformer_info about = {.size = sizeof about};
        eg_error error;
        check_parameters(model, traits);
        eg_model_info_get(model, &info);
        CHECK_OK(eg_model_transformer(model, &about, &error), error);
        CHECK(strcmp(about.family, traits->name) == 0, "a %s is a %s", traits->name, about.family);
        CHECK((info.kind == EG_MODEL_DECODER) == traits->logits, "%s: kind %d", traits->name,
              (int)info.kind);
        CHECK(t->tied == traits->tied && t->epsilon == traits->epsilon &&
                  t->pooling == traits->pooling &&
                  t->exact_gelu == (traits->activation == EG__FFN_GELU),
              "%s: a new one is not as its row says", traits->name);
        const uint32_t ids[] = {1, 2, 3, 4, 5};
        float *rows = transformer_rows(context, model, ids, 5, 0, 0);
        float *fewer = transformer_rows(context, model, ids, 4, 0, 0);
        const uint64_t columns = traits->logits ? t->vocabulary : t->width;
        const bool same = memcmp(rows, fewer, columns * sizeof(float)) == 0;
        double largest = 0, other = 0;
        for (uint64_t k = 0; k < columns; k++) {
            const double d = rows[k] > fewer[k] ? rows[k] - fewer[k] : fewer[k] - rows[k];
            largest = d > largest ? d : largest;
            other = rows[k] > other ? rows[k] : other;
        }
        CHECK(traits->causal ? same || largest <= 1e-5 * other : largest > 1e-5 * other,
              "%s: the first token %s the last, by %g of %g", traits->name,
              traits->causal ? "sees" : "does not see", largest, other);
        free(rows);
        free(fewer);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* Fewer heads of keys: of its own where q, k and v are apart, a message where they are one matrix. */
TEST(families, grouped) {
    eg_context *context = small_context();
    const eg__traits *traits;
    for (unsigned i = 0; (traits = eg__family_traits(i)); i++) {
        char spec[128];
        eg_model *model = NULL;
        eg_error error;
        snprintf(spec, sizeof spec, "%s:1:64,heads=4,kv=2", traits->name);
        if (traits->fused)
            CHECK_FAILS(eg_model_open(context, spec, &model, &error), error, EG_ERR_FORMAT,
                        "2 heads of keys");
        else CHECK_OK(eg_model_open(context, spec, &model, &error), error);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* Tensors of a layer in a file of GGUF that a family has, which is called as it is: no fewer and no more. */
TEST(families, from_gguf) {
    eg_context *context = small_context();
    const eg__traits *traits;
    for (unsigned i = 0; (traits = eg__family_traits(i)); i++) {
        char name[64], path[512];
        eg_gguf *file = NULL;
        eg_gguf_tensor tensor;
        eg_model *model = NULL;
        eg_error error;
        snprintf(name, sizeof name, "%s.gguf", traits->name);
        transformer_path(name, path);
        CHECK_OK(eg_model_open(context, path, &model, &error), error);
        CHECK_OK(eg_gguf_open(context, path, &file, &error), error);
        if (model && file) {
            CHECK(model->transformer->family == i, "%s is a %s", name,
                  eg__family_name(model->transformer->family));
            check_parameters(model, traits);
            for (size_t k = 0; eg_gguf_tensor_at(file, k, &tensor) == EG_OK; k++)
                check_parameter(model, tensor.name, true);
        }
        eg_gguf_close(file);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}

/* Every parameter has a name in folders of Hugging Face, and the folder of the fixtures has a tensor of it. */
TEST(families, hugging_names) {
    eg_context *context = small_context();
    const eg__traits *traits;
    for (unsigned i = 0; (traits = eg__family_traits(i)); i++) {
        char name[64], path[512];
        eg_safetensors *file = NULL;
        eg_error error;
        eg_model *model = open_new(context, traits, "");
        snprintf(name, sizeof name, "%s/model.safetensors", traits->name);
        if (eg_safetensors_open(context, transformer_path(name, path), &file, &error)) file = NULL;
        for (size_t k = 0; model && k < model->parameter_count; k++) {
            const char *ours = model->parameters[k].name;
            char full[200];
            eg__hugging_name how;
            eg_tensor tensor;
            const bool there = eg__hugging_name_get((eg__family)i, ours, 0, &how);
            CHECK(there, "%s: no name for '%s'", traits->name, ours);
            if (!there || !file) continue;
            snprintf(full, sizeof full, "%s%s", eg__hugging_prefix((eg__family)i), how.name);
            if (eg_safetensors_tensor(file, full, &tensor, &error) == EG_OK) continue;
            CHECK_OK(eg_safetensors_tensor(file, how.name, &tensor, &error), error);
        }
        eg_safetensors_close(file);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
}
