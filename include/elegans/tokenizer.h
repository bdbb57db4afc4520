/* Tokenizers: text to token ids, and back.
 * Experimental. */
#ifndef ELEGANS_TOKENIZER_H
#define ELEGANS_TOKENIZER_H

#include "elegans/base.h"
#include "elegans/gguf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: a vocabulary and the rules that split text into tokens. Nothing changes after it was made, so any
 * number of threads may encode and decode at once. Destroy it before the context. */
typedef struct eg_tokenizer eg_tokenizer;

typedef enum eg_tokenizer_kind {
    EG_TOKENIZER_BPE,           /* bytes, joined by ranked merges: GPT-2, Llama 3, Qwen 2 */
    EG_TOKENIZER_SENTENCEPIECE, /* characters, joined by score, bytes where there is none: Llama 2 */
    EG_TOKENIZER_WORDPIECE      /* words, cut into the longest known pieces: BERT */
} eg_tokenizer_kind;
EG_API const char *eg_tokenizer_kind_name(eg_tokenizer_kind kind); /* "bpe"; static */

/* Opens the vocabulary of a file: GGUF, a tokenizer.json of Hugging Face, or a tokenizer.bin of
 * llama2.c; the first bytes say which. All of it is checked: lists of equal length, ids within the
 * vocabulary, merges of known tokens. An unknown kind, pre-tokenizer or normalization
 * is EG_ERR_UNSUPPORTED, with its name, as are BPE and WordPiece in builds without utf8proc and
 * tokenizer.json in builds without jansson. On failure *out is NULL. */
EG_API eg_status eg_tokenizer_open(eg_context *context, const char *path, eg_tokenizer **out,
                                   eg_error *error);
/* The vocabulary in the metadata of an open file, which may be closed after that. */
EG_API eg_status eg_tokenizer_from_gguf(eg_context *context, const eg_gguf *file,
                                        eg_tokenizer **out, eg_error *error);
EG_API void eg_tokenizer_destroy(eg_tokenizer *tokenizer); /* NULL is fine */

/* ---- queries */
EG_API eg_tokenizer_kind eg_tokenizer_kind_get(const eg_tokenizer *tokenizer);
EG_API size_t eg_tokenizer_size(const eg_tokenizer *tokenizer); /* ids are below it */
/* The text of a token as the vocabulary has it, `*length` bytes that need not be UTF-8, valid until
 * destroy: bytes for BPE, with U+2581 for a space otherwise (WordPiece: U+2581 begins a word). An id
 * beyond the vocabulary gives NULL. */
EG_API const char *eg_tokenizer_piece(const eg_tokenizer *tokenizer, uint32_t id, size_t *length);
/* Whether it is a special token, which has no text: begin, end, padding ... */
EG_API int eg_tokenizer_is_special(const eg_tokenizer *tokenizer, uint32_t id);

#define EG_SPECIAL_MAP(X)                \
    X(EG_SPECIAL_BEGIN, "begin")         \
    X(EG_SPECIAL_END, "end")             \
    X(EG_SPECIAL_UNKNOWN, "unknown")     \
    X(EG_SPECIAL_SEPARATOR, "separator") \
    X(EG_SPECIAL_PADDING, "padding")     \
    X(EG_SPECIAL_CLASS, "class")         \
    X(EG_SPECIAL_MASK, "mask")

typedef enum eg_special {
#define EG_SPECIAL_ENUM(name, text) name,
    EG_SPECIAL_MAP(EG_SPECIAL_ENUM)
#undef EG_SPECIAL_ENUM
        EG_SPECIAL_COUNT
} eg_special;
EG_API const char *eg_special_name(eg_special special); /* "begin"; static */
/* Its id; -1 = the vocabulary has none. */
EG_API int64_t eg_tokenizer_special(const eg_tokenizer *tokenizer, eg_special special);

/* ---- text to ids */
typedef struct eg_encode_options { /* all zero = defaults */
    size_t size;                   /* sizeof(eg_encode_options); 0 = the fields of version 0.1 */
    int ends; /* add the tokenizer's special tokens before and after a text: begin, class ... */
    int special; /* special tokens spelled out in the text become their ids; otherwise they are plain text.
                  * Leave it off for untrusted text. */
} eg_encode_options;

typedef struct eg_tokens {
    uint32_t *ids;
    size_t count;
} eg_tokens;

/* `text` may hold any bytes: what is not UTF-8 becomes bytes (BPE, SentencePiece) or is dropped
 * (WordPiece). `options` may be NULL. You own *out: release it, before the tokenizer is destroyed. A
 * character for which the vocabulary has neither token, nor bytes, nor an unknown token is
 * EG_ERR_NOT_FOUND. On failure *out is all zero. */
EG_API eg_status eg_tokenizer_encode(const eg_tokenizer *tokenizer, const char *text, size_t length,
                                     const eg_encode_options *options, eg_tokens *out,
                                     eg_error *error);
EG_API void eg_tokens_release(const eg_tokenizer *tokenizer, eg_tokens *tokens);

/* ---- ids to text, one after the other */
typedef struct eg_decoder { /* all zero = at the start of a text */
    int special;            /* set by you: 1 = special tokens are written out, otherwise left out */
    int begun;              /* set by the library, from here on */
    unsigned held_count;
    char held[4];
} eg_decoder;

/* The text that `id` adds: whole UTF-8 characters, so that it can be shown at once; the beginning of a
 * character is held back until it is complete. Bytes that cannot be UTF-8 are given as they are. *length is the length
 * of the text; more than `capacity` is EG_ERR_OVERFLOW, and nothing changes then. An id beyond the vocabulary is
 * EG_ERR_ARGUMENT. EG_DECODE_EXTRA bytes more than the piece always suffice. */
enum { EG_DECODE_EXTRA = 8 };
EG_API eg_status eg_tokenizer_decode(const eg_tokenizer *tokenizer, eg_decoder *decoder,
                                     uint32_t id, char *out, size_t capacity, size_t *length,
                                     eg_error *error);
/* Writes what is still held back, at most 4 bytes, resets the decoder, and returns the number of bytes. */
EG_API size_t eg_decoder_finish(eg_decoder *decoder, char out[4]);

#ifdef __cplusplus
}
#endif
#endif
