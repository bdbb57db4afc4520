/* Merges: a table from two tokens to the one they make, and its rank. */
#include "formats/files/file.h"
#include "text/text.h"

eg_status eg__merges_open(eg__merges *m, eg__memory *memory, size_t count, eg_error *error) {
    eg_error mine = {0};
    if (count > EG__TOKENS_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "'%zu' merges are more than %d", count,
                        EG__TOKENS_MAX);
    for (m->slot_count = 16; m->slot_count < 2 * count;) m->slot_count *= 2;
    m->slots = eg__memory_take_array(memory, EG_TAG_FILE, m->slot_count, sizeof *m->slots, &mine);
    return m->slots ? EG_OK : eg__fail(error, mine.status, "%s", mine.message);
}

static eg__merge *find_slot(const eg__merges *m, uint32_t left, uint32_t right) {
    const uint32_t pair[] = {left, right};
    size_t at = (size_t)eg__hash(EG__HASH_SEED, pair, sizeof pair) & (m->slot_count - 1);
    while (m->slots[at].rank && (m->slots[at].left != left || m->slots[at].right != right))
        at = (at + 1) & (m->slot_count - 1);
    return &m->slots[at];
}

const eg__merge *eg__merges_find(const eg__merges *m, uint32_t left, uint32_t right) {
    const eg__merge *merge = find_slot(m, left, right);
    return merge->rank ? merge : NULL;
}

/* Bytes of a part, which BPE writes as letters; at most as many as letters. */
static size_t read_part(const eg_tokenizer *t, const char *text, size_t length, char *out) {
    size_t size;
    if (t->kind == EG_TOKENIZER_BPE && eg__byte_letters(text, length, out, &size)) return size;
    for (size_t i = 0; i < length; i++) out[i] = text[i];
    return length;
}

eg_status eg__merges_add(eg_tokenizer *t, const char *left, size_t left_length, const char *right,
                         size_t right_length, eg_error *error) {
    char joined[1024], shown[2][48];
    if (left_length > sizeof joined / 2 || right_length > sizeof joined / 2)
        return eg__fail(error, EG_ERR_FORMAT, "merge '%zu' is too long", t->merges.count);
    const size_t first = read_part(t, left, left_length, joined);
    const size_t second = read_part(t, right, right_length, joined + first);
    const int64_t a = eg__vocabulary_find(&t->vocabulary, joined, first);
    const int64_t b = eg__vocabulary_find(&t->vocabulary, joined + first, second);
    const int64_t id = eg__vocabulary_find(&t->vocabulary, joined, first + second);
    if (a < 0 || b < 0 || id < 0)
        return eg__fail(error, EG_ERR_FORMAT, "merge '%zu' of '%s' and '%s' has no token",
                        t->merges.count, eg__file_quote(shown[0], 48, left, left_length),
                        eg__file_quote(shown[1], 48, right, right_length));
    eg__merge *slot = find_slot(&t->merges, (uint32_t)a, (uint32_t)b);
    const uint32_t rank = (uint32_t)++t->merges.count;
    if (!slot->rank) *slot = (eg__merge){(uint32_t)a, (uint32_t)b, (uint32_t)id, rank};
    return EG_OK;
}
