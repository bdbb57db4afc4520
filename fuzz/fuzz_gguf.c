/* Feeds arbitrary bytes to the reader of .gguf: what opens can be read to the last byte, and a vocabulary that
 * it has can encode a text. */
#include "fuzz.h"
#include "formats/files/gguf.h"
#include "text/text.h"

static void read_tensors(const eg_gguf *file) {
    volatile unsigned sum = 0;
    for (size_t i = 0; i < eg_gguf_tensor_count(file); i++) {
        eg_gguf_tensor tensor, again;
        require(eg_gguf_tensor_at(file, i, &tensor) == EG_OK);
        require(eg_gguf_tensor_find(file, tensor.name, &again, NULL) == EG_OK);
        require(again.data == tensor.data);
        for (uint64_t k = 0; k < tensor.bytes; k++) sum += ((const unsigned char *)tensor.data)[k];
        float block[32];
        const uint64_t count = tensor.elements < 32 ? tensor.elements : 32;
        eg_status status = eg_gguf_floats(&tensor, 0, count, block, NULL);
        require(!status || status == EG_ERR_UNSUPPORTED);
    }
    (void)sum;
}

static void read_entries(const eg_gguf *file) {
    volatile unsigned sum = 0;
    for (size_t i = 0; i < eg_gguf_entry_count(file); i++) {
        eg_gguf_entry entry, again;
        require(eg_gguf_entry_at(file, i, &entry) == EG_OK);
        require(eg_gguf_entry_find(file, entry.key, &again, NULL) == EG_OK);
        for (uint64_t k = 0; k < entry.count; k++) {
            const char *text;
            size_t size;
            double number;
            int flag;
            const bool is_text = !eg_gguf_text(file, entry.key, k, &text, &size, NULL);
            const bool is_number = !eg_gguf_number(file, entry.key, k, &number, NULL);
            const bool is_flag = !eg_gguf_flag(file, entry.key, k, &flag, NULL);
            require(is_text + is_number + is_flag == 1);
            for (size_t c = 0; is_text && c < size; c++) sum += (unsigned char)text[c];
        }
    }
    (void)sum;
}

static void read_vocabulary(eg__memory *memory, const eg_gguf *file) {
    static const char text[] = "ab a <end> \xff\xc3\xa9";
    const eg_encode_options options = {.ends = 1, .special = 1};
    eg_tokenizer *t = NULL;
    eg_tokens tokens;
    eg_error error = {0};
    if (!file) return;
    eg_status status = eg__tokenizer_from_gguf(memory, file, &t, &error);
    require(!status == (t != NULL) && error.status == status);
    if (t && !eg_tokenizer_encode(t, text, sizeof text - 1, &options, &tokens, NULL))
        eg_tokens_release(t, &tokens);
    eg_tokenizer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_gguf *file;
    eg_error error = {0};
    eg_status status = eg__gguf_parse(memory, bytes, length, &file, &error);
    require(!status == (file != NULL) && error.status == status);
    read_entries(file);
    read_tensors(file);
    read_vocabulary(memory, file);
    eg_gguf_close(file);
    eg_memory_figures held;
    eg__memory_figures_get(memory, EG_TAG_FILE, &held);
    require(held.current == 0);
    eg__memory_destroy(memory);
    return 0;
}
