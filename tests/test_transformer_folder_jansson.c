/* Transformers from folders of Hugging Face give what torch gave. */
#include "test_transformer.h"

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
