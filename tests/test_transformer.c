/* Transformers from every kind of file give what torch gave. */
#include "test_transformer.h"

AREA(transformers, "encoders and decoders of torch, from every file that holds them")

TEST(transformers, gguf) {
    check_transformer("bert.gguf", "bert", "last_hidden_state", 1e-4, 1e-4);
    check_transformer("gpt2.gguf", "gpt2", "logits", 1e-4, 1e-4);
    check_transformer("llama.gguf", "llama", "logits", 1e-4, 1e-4);
    check_transformer("llama_tied.gguf", "llama_tied", "logits", 1e-4, 1e-4);
    check_transformer("llama_f16.gguf", "llama", "logits_f16", 1e-4, 1e-4);
}

/* In place, what is multiplied with blocks becomes int8; rounding the weights to Q8_0 moves logits as far. */
TEST(transformers, blocks) {
    check_transformer("llama_q8_0.gguf", "llama", "logits_q8_0", 1e-4, 0.4);
    check_transformer("llama_q4_0.gguf", "llama", "logits_q4_0", 1e-4, 0.4);
}

TEST(transformers, llama2c) { check_transformer("llama.bin", "llama", "logits", 1e-4, 1e-4); }
