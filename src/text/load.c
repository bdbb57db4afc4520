/* Tokenizers from files: a row for each format, found by first bytes. */
#include "engine/context.h"
#include "formats/files/file.h"
#include "formats/files/gguf.h"
#include "text/text.h"

#include <string.h>

static eg_status load_gguf(eg__memory *memory, const void *bytes, size_t size, eg_tokenizer **out,
                           eg_error *error) {
    eg_gguf *file;
    eg_status status = eg__gguf_parse(memory, bytes, size, &file, error);
    if (!status) status = eg__tokenizer_from_gguf(memory, file, out, error);
    eg_gguf_close(file);
    return status;
}

static eg_status load_json(eg__memory *memory, const void *bytes, size_t size, eg_tokenizer **out,
                           eg_error *error) {
    return eg__tokenizer_from_json(memory, bytes, size, out, error);
}

static bool is_object(const eg__head *head) {
    size_t i = 0;
    while (i < head->size && head->bytes[i] && strchr(" \t\r\n", head->bytes[i])) i++;
    return i < head->size && head->bytes[i] == '{';
}

/* tokenizer.bin of llama2.c begins with an arbitrary number, so it is the fallback when no other
 * format matches. */
static bool is_rest(const eg__head *head) {
    (void)head;
    return true;
}

static const struct {
    bool (*is)(const eg__head *head);
    eg_status (*load)(eg__memory *memory, const void *bytes, size_t size, eg_tokenizer **out,
                      eg_error *error);
} formats[] = {
    {eg__gguf_is, load_gguf}, {is_object, load_json}, {is_rest, eg__tokenizer_from_llama2c}};

eg_status eg__tokenizer_load(eg__memory *memory, const char *path, eg_tokenizer **out,
                             eg_error *error) {
    eg__mapping mapping;
    eg__head head;
    size_t at = 0;
    *out = NULL;
    eg_status status = eg__mapping_open(&mapping, memory, path, true, error);
    if (status) return status;
    eg__head_of_bytes(&head, mapping.bytes, mapping.size);
    while (!formats[at].is(&head)) at++;
    status = formats[at].load(memory, mapping.bytes, mapping.size, out, error);
    eg__mapping_close(&mapping, memory);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

eg_status eg_tokenizer_open(eg_context *context, const char *path, eg_tokenizer **out,
                            eg_error *error) {
    if (out) *out = NULL;
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, no path or no output pointer for the result");
    return eg__tokenizer_load(eg__context_memory(context), path, out, error);
}

eg_status eg_tokenizer_from_gguf(eg_context *context, const eg_gguf *file, eg_tokenizer **out,
                                 eg_error *error) {
    if (out) *out = NULL;
    if (!context || !file || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, no file or no output pointer for the result");
    return eg__tokenizer_from_gguf(eg__context_memory(context), file, out, error);
}
