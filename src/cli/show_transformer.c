/* A transformer, for people and for machines: how large it is, and what each token adds to its cache. */
#include "show.h"

static const char *pooling_name(eg_pooling pooling) {
    return pooling == EG_POOLING_FIRST  ? "first token"
           : pooling == EG_POOLING_LAST ? "last token"
                                        : "mean";
}

/* Keys and values of all layers, as floats. */
static uint64_t cache_bytes(const eg_transformer_info *t) {
    return 2 * t->layers * t->kv_heads * t->head * sizeof(float);
}

void show_transformer(const eg_model_info *info, const eg_transformer_info *t, const char *title) {
    char value[160], size[32];
    const bool decodes = info->kind == EG_MODEL_DECODER;
    snprintf(value, sizeof value, "%s, %s", t->family, decodes ? "a decoder" : "an encoder");
    print_title(title, value);
    snprintf(value, sizeof value, "%llu, %s, most of it %s", (unsigned long long)info->parameters,
             format_bytes(size, t->bytes), t->numbers);
    print_row("parameters", value, "counted");
    snprintf(value, sizeof value, "%llu of width %llu, feed-forward %llu",
             (unsigned long long)t->layers, (unsigned long long)t->width,
             (unsigned long long)t->hidden);
    print_row("layers", value, "");
    snprintf(value, sizeof value, "%llu of %llu columns, %llu of keys and values",
             (unsigned long long)t->heads, (unsigned long long)t->head,
             (unsigned long long)t->kv_heads);
    print_row("heads", value, "");
    snprintf(value, sizeof value, "%llu%s", (unsigned long long)t->vocabulary,
             decodes && t->tied ? ", the output is the embedding" : "");
    print_row("tokens", value, "");
    if (t->rope_base > 0)
        snprintf(value, sizeof value, "%llu, rotary, base %g", (unsigned long long)t->context,
                 t->rope_base);
    else snprintf(value, sizeof value, "%llu, learned", (unsigned long long)t->context);
    print_row("positions", value, "");
    snprintf(value, sizeof value, "%s a token as f32", format_bytes(size, cache_bytes(t)));
    if (decodes) print_row("cache", value, "counted");
    else print_row("pooling", pooling_name(t->pooling), "");
}

void show_put_transformer(json *document, const eg_model_info *info, const eg_transformer_info *t) {
    const eg_metric parameters = {(double)info->parameters, EG_COUNTED, NULL, "trainable numbers"};
    const eg_metric bytes = {(double)t->bytes, EG_COUNTED, "bytes", "all tensors, as they are"};
    const eg_metric cache = {(double)cache_bytes(t), EG_COUNTED, "bytes",
                             "keys and values of one token as f32"};
    json_put_text(document, "family", t->family);
    json_put_metric(document, "parameters", &parameters);
    json_put_metric(document, "tensor_bytes", &bytes);
    json_put_text(document, "numbers", t->numbers);
    json_put_count(document, "layers", t->layers);
    json_put_count(document, "width", t->width);
    json_put_count(document, "hidden", t->hidden);
    json_put_count(document, "heads", t->heads);
    json_put_count(document, "kv_heads", t->kv_heads);
    json_put_count(document, "head", t->head);
    json_put_count(document, "vocabulary", t->vocabulary);
    json_put_count(document, "context", t->context);
    json_put_number(document, "rope_base", t->rope_base);
    json_put_number(document, "epsilon", t->epsilon);
    json_put_flag(document, "tied", t->tied);
    json_put_text(document, "pooling", pooling_name(t->pooling));
    if (info->kind == EG_MODEL_DECODER) json_put_metric(document, "cache_per_token", &cache);
}
