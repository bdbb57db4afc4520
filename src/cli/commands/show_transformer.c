/* A transformer for those who look: its sizes, and what one token costs. */
#include "cli/commands/show.h"

#include <stdarg.h>

typedef struct costs {
    eg_metric flops, bytes, cache;
} costs;

/* One token alone: what it computes, and the bytes that go through the cores. */
static int count(eg_context *context, const eg_model *model, const eg_transformer_info *t,
                 costs *out) {
    const eg_model_options options = {.in_place = 1};
    eg_model_nodes nodes;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_error error;
    eg_status status = eg_graph_create(context, &g, &error);
    if (!status) status = eg_model_build(model, g, &options, &nodes, &error);
    const eg_output output = {"y", status ? (eg_node){0} : nodes.y};
    if (!status) status = eg_compile(context, g, 1, &output, NULL, &program, &error);
    eg_program_info info = {.size = sizeof info};
    if (!status) eg_program_info_get(program, &info);
    eg_program_release(program);
    eg_graph_destroy(g);
    if (status) return fail_with(&error);
    out->flops = (eg_metric){info.flops, EG_COUNTED, "FLOP", "of one compiled token"};
    out->bytes = (eg_metric){info.bytes, EG_COUNTED, "bytes", "of one compiled token"};
    out->cache = (eg_metric){(double)(2 * t->layers * t->kv_heads * t->head * sizeof(float)),
                             EG_COUNTED, "bytes", "keys and values of one token in f32"};
    return CLI_OK;
}

static void row(const char *name, const char *note, const char *format, ...) EG_PRINTF(3, 4);
static void row(const char *name, const char *note, const char *format, ...) {
    char value[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    print_row(name, value, note);
}

static int print_text(const eg_model *model, const eg_transformer_info *t, const costs *c,
                      const char *title, bool tensors) {
    char a[32], b[32], count[48];
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const bool encodes = info.kind == EG_MODEL_ENCODER;
    print_title(title, encodes ? "encoder" : "decoder");
    row("family", "", "%s%s", t->family,
        t->tied && !encodes ? ", output tied to the embedding" : "");
    row("layers", "", "%llu of width %llu, feed-forward %llu", (unsigned long long)t->layers,
        (unsigned long long)t->width, (unsigned long long)t->hidden);
    row("heads", "", "%llu of %llu columns, %llu of keys", (unsigned long long)t->heads,
        (unsigned long long)t->head, (unsigned long long)t->kv_heads);
    row("vocabulary", "", "%s", format_count(count, t->vocabulary, "token"));
    if (t->rope_base > 0)
        row("context", "", "%llu tokens, rotary with base %g", (unsigned long long)t->context,
            t->rope_base);
    else
        row("context", "", "%llu tokens, positions %s", (unsigned long long)t->context,
            t->positions);
    if (encodes || t->row_dense)
        row("rows", "", "%llu values: %s of the tokens%s%s", (unsigned long long)t->row_width,
            eg_pooling_name(t->pooling), t->row_dense ? ", dense layers" : "",
            t->row_scaled ? ", length 1" : "");
    row("parameters", "counted", "%llu, %s, most as %s", (unsigned long long)info.parameters,
        format_bytes(a, t->bytes), t->numbers);
    row("one token", "counted", "%s MFLOP, %s moved", format_short(a, c->flops.value / 1e6),
        format_bytes(b, (uint64_t)c->bytes.value));
    if (!encodes)
        row("cache", "counted", "%s for each token, in f32",
            format_bytes(a, (uint64_t)c->cache.value));
    if (tensors) show_tensors(model, "as in GGUF");
    return CLI_OK;
}

static int print_json(const eg_model *model, const eg_transformer_info *t, const costs *c,
                      const char *title, bool tensors) {
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object();
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    const eg_metric parameters = {(double)info.parameters, EG_COUNTED, NULL, "trainable values"};
    const eg_metric bytes = {(double)t->bytes, EG_COUNTED, "bytes", "all tensors"};
    json_put_text(document, "model", title);
    json_put_text(document, "kind", info.kind == EG_MODEL_ENCODER ? "encoder" : "decoder");
    json_put_text(document, "family", t->family);
    json_put_count(document, "layers", t->layers);
    json_put_count(document, "width", t->width);
    json_put_count(document, "heads", t->heads);
    json_put_count(document, "kv_heads", t->kv_heads);
    json_put_count(document, "head", t->head);
    json_put_count(document, "hidden", t->hidden);
    json_put_count(document, "vocabulary", t->vocabulary);
    json_put_count(document, "context", t->context);
    json_put_number(document, "epsilon", t->epsilon);
    json_put_text(document, "positions", t->positions);
    json_put_number(document, "rope_base", t->rope_base);
    json_put_flag(document, "tied", t->tied);
    json_put_text(document, "pooling", eg_pooling_name(t->pooling));
    json_put_count(document, "row_width", t->row_width);
    json_put_count(document, "row_dense_layers", t->row_dense);
    json_put_flag(document, "row_scaled", t->row_scaled);
    json_put_text(document, "numbers", t->numbers);
    json_put_metric(document, "parameters", &parameters);
    json_put_metric(document, "tensor_bytes", &bytes);
    json_put_metric(document, "token_flops", &c->flops);
    json_put_metric(document, "token_bytes", &c->bytes);
    if (info.kind == EG_MODEL_DECODER) json_put_metric(document, "cache_bytes", &c->cache);
    if (tensors) json_put(document, "tensors", show_tensors_json(model));
    return json_print(document);
}

int show_transformer(eg_context *context, const eg_model *model, const char *title, bool tensors,
                     bool as_json) {
    eg_transformer_info t = {.size = sizeof t};
    costs c;
    eg_error error;
    if (eg_model_transformer(model, &t, &error)) return fail_with(&error);
    const int code = count(context, model, &t, &c);
    if (code) return code;
    return (as_json ? print_json : print_text)(model, &t, &c, title, tensors);
}
