/* The internals of a tokenizer: vocabulary, merges, rules, loading and splitting. */
#ifndef EG__TEXT_H
#define EG__TEXT_H

#include "elegans/tokenizer.h"
#include "memory/memory.h"

enum { EG__NO_TOKEN = -1, EG__ENDS_MAX = 4, EG__TOKENS_MAX = 1 << 28 };

/* As in GGUF and SentencePiece. */
typedef enum eg__token_kind {
    EG__TOKEN_NORMAL = 1,
    EG__TOKEN_UNKNOWN = 2,
    EG__TOKEN_CONTROL = 3,
    EG__TOKEN_USER = 4, /* matched in the text before anything else */
    EG__TOKEN_UNUSED = 5,
    EG__TOKEN_BYTE = 6
} eg__token_kind;

/* ---- vocabulary.c: tokens by id and by text */
typedef struct eg__token {
    size_t start; /* in `letters` */
    uint32_t length;
    float score;
    uint8_t kind;
    bool eats_left, eats_right; /* strip white space beside it when it is matched */
    bool falls_back; /* byte fallback: stands for one byte of a character without a token */
} eg__token;

typedef struct eg__vocabulary {
    eg__token *tokens;
    size_t count, room;
    char *letters;
    size_t used, letters_room;
    uint32_t *slots; /* id + 1, or 0: open addressing; tokens that text can become */
    size_t slot_count, longest;
} eg__vocabulary;

eg_status eg__vocabulary_open(eg__vocabulary *v, eg__memory *memory, size_t tokens, size_t letters,
                              eg_error *error);
void eg__vocabulary_close(eg__vocabulary *v, eg__memory *memory);
/* The next id gets `text`; there must be room for it. */
eg__token *eg__vocabulary_add(eg__vocabulary *v, const char *text, size_t length,
                              eg__token_kind kind);
/* After the last token. Of equal texts the last one is found. */
eg_status eg__vocabulary_index(eg__vocabulary *v, eg__memory *memory, eg_error *error);
int64_t eg__vocabulary_find(const eg__vocabulary *v, const char *text, size_t length);
static inline const char *eg__token_text(const eg__vocabulary *v, uint32_t id) {
    return v->letters + v->tokens[id].start;
}

/* ---- merges.c: two tokens side by side that become one, by rank */
typedef struct eg__merge {
    uint32_t left, right, id, rank; /* rank from 1; 0 = a free slot */
} eg__merge;
typedef struct eg__merges {
    eg__merge *slots;
    size_t slot_count, count;
} eg__merges;
eg_status eg__merges_open(eg__merges *m, eg__memory *memory, size_t count, eg_error *error);
const eg__merge *eg__merges_find(const eg__merges *m, uint32_t left, uint32_t right);
/* The next in rank; the two tokens, and the one they make, must be known. */
eg_status eg__merges_add(eg_tokenizer *t, const char *left, size_t left_length, const char *right,
                         size_t right_length, eg_error *error);

/* ---- split.c: where a word ends, for byte-level BPE */
typedef enum eg__split { EG__SPLIT_GPT2, EG__SPLIT_LLAMA3, EG__SPLIT_QWEN2 } eg__split;
/* Bytes of the word at the beginning of `text`, at least one. */
size_t eg__split_next(eg__split split, const char *text, size_t length);
bool eg__split_find(const char *name, eg__split *out, bool *whole_words); /* as GGUF calls it */
bool eg__split_find_pattern(const char *pattern, eg__split *out); /* as tokenizer.json does */

/* ---- unicode_utf8proc.c */
enum {
    EG__LETTER = 1,
    EG__NUMBER = 2,
    EG__SPACE = 4,
    EG__PUNCTUATION = 8,
    EG__MARK = 16, /* zero-width marks: accents */
    EG__CONTROL = 32
};
eg_status eg__unicode_check(const char *who, eg_error *error); /* EG_ERR_UNSUPPORTED without it */
unsigned eg__unicode_class(uint32_t code);
/* One character becomes two: U+0130 is an i and the dot above it. Returns how many. */
size_t eg__unicode_lower(uint32_t code, uint32_t out[2]);
/* The canonical parts of a character; returns how many. */
enum { EG__PARTS_MAX = 18 };
size_t eg__unicode_parts(uint32_t code, uint32_t out[EG__PARTS_MAX]);
/* The composed form (NFC) into memory that the caller gives back; *out is NULL where text is not UTF-8. */
eg_status eg__unicode_compose(eg__memory *memory, const char *text, size_t length, char **out,
                              size_t *out_length, eg_error *error);

/* ---- the tokenizer */
typedef enum eg__prefix { EG__PREFIX_NEVER, EG__PREFIX_FIRST, EG__PREFIX_ALWAYS } eg__prefix;

struct eg_tokenizer {
    eg__memory *memory;
    eg_tokenizer_kind kind;
    eg__vocabulary vocabulary;
    int64_t special[EG_SPECIAL_COUNT];
    uint32_t before[EG__ENDS_MAX], after[EG__ENDS_MAX]; /* a text, when `ends` are asked for */
    unsigned before_count, after_count;
    int64_t bytes[256]; /* the token of a byte, or EG__NO_TOKEN */
    bool named_bytes;   /* every token "<0x0A>" is read back as its byte, added ones too */
    /* tokens matched before splitting: by first byte, the longest first */
    uint32_t *marked;
    size_t marked_count, marked_from[257];
    /* BPE, and SentencePiece whose merges have ranks */
    eg__merges merges;
    eg__split split;
    bool whole_words; /* a word that is a token needs no merges */
    bool compose;     /* text becomes NFC first */
    /* adds a space before a text that has none (BPE), or before every text (SentencePiece) */
    eg__prefix prefix;
    bool prefix_once; /* not where there is one already */
    /* SentencePiece */
    bool plain_space;  /* tokens have " ", not U+2581 */
    bool cut_words;    /* no token crosses the beginning of a word */
    bool fuse_unknown; /* unknown characters in a row are one token */
    /* WordPiece */
    bool clean, lower, strip, chinese;
    size_t word_max; /* characters; a longer one is unknown */
};

/* "<0x0A>": its byte; -1 = something else. */
int eg__named_byte(const char *text, size_t length);

/* An empty tokenizer with room for a vocabulary. */
eg_status eg__tokenizer_new(eg__memory *memory, eg_tokenizer_kind kind, size_t tokens,
                            size_t letters, eg_tokenizer **out, eg_error *error);
/* After the last token: builds the index, the byte tokens, the tokens matched before splitting. */
eg_status eg__tokenizer_index(eg_tokenizer *t, eg_error *error);
/* After the special ids: they must be within the vocabulary. */
eg_status eg__tokenizer_check(const eg_tokenizer *t, eg_error *error);

/* ---- load_gguf.c, load_llama2c.c, load_json_jansson.c; load.c picks one by the first bytes */
eg_status eg__tokenizer_from_gguf(eg__memory *memory, const eg_gguf *file, eg_tokenizer **out,
                                  eg_error *error);
eg_status eg__tokenizer_from_llama2c(eg__memory *memory, const void *bytes, size_t length,
                                     eg_tokenizer **out, eg_error *error);
eg_status eg__tokenizer_from_json(eg__memory *memory, const char *text, size_t length,
                                  eg_tokenizer **out, eg_error *error);
eg_status eg__tokenizer_load(eg__memory *memory, const char *path, eg_tokenizer **out,
                             eg_error *error);

/* ---- encoding: a growing list of ids, and scratch memory of the tokenizers */
typedef struct eg__symbol {
    uint32_t start, length; /* bytes of the text; 0 = merged into the previous symbol */
    uint32_t previous, next;
    int64_t id; /* EG__NO_TOKEN = there is none */
} eg__symbol;
typedef struct eg__pair {
    double cost; /* the lowest is joined first, then the leftmost */
    uint32_t left, right, length;
    int64_t id;
} eg__pair;

typedef struct eg__encoding {
    const eg_tokenizer *tokenizer;
    eg__memory *memory;
    uint32_t *ids;
    size_t count, room;
    char *text; /* escaped */
    size_t text_length, text_room;
    eg__symbol *symbols;
    eg__pair *pairs;
    size_t symbol_count, symbol_room, pair_count, pair_room;
    eg_error *error;
} eg__encoding;

eg_status eg__encoding_add(eg__encoding *e, uint32_t id);
eg_status eg__encoding_add_text(eg__encoding *e, const char *text, size_t length);
/* The bytes of a character without a token: their tokens, or the unknown one. */
eg_status eg__encoding_add_bytes(eg__encoding *e, const char *text, size_t length);

/* merge.c: joins symbols (made by eg__merge_begin and eg__merge_symbol) until nothing can be
 * joined; their offsets refer to `text`. */
eg_status eg__merge_begin(eg__encoding *e, size_t room);
void eg__merge_symbol(eg__encoding *e, size_t start, size_t length, int64_t id);
void eg__merge_run(eg__encoding *e, const char *text);

/* Each tokenizes one piece of text without special tokens; `first` = the piece is the beginning of
 * the text. */
eg_status eg__encode_bpe(eg__encoding *e, const char *text, size_t length, bool first);
eg_status eg__encode_sentencepiece(eg__encoding *e, const char *text, size_t length, bool first);
eg_status eg__encode_wordpiece(eg__encoding *e, const char *text, size_t length);

/* ---- characters */
#define EG__SPACE_MARK "\xe2\x96\x81" /* U+2581 */
enum { EG__SPACE_MARK_SIZE = 3, EG__REPLACEMENT = 0xfffd };
/* Bytes of the character at `text` (1 for what is no UTF-8, whose code is then EG__REPLACEMENT). */
size_t eg__character(const char *text, size_t length, uint32_t *code, bool *valid);
/* Text whose letters stand for bytes, as GPT-2 writes them, as bytes: at most `length` of them. False
 * where a letter stands for none. */
bool eg__byte_letters(const char *text, size_t length, char *out, size_t *out_length);

#endif
