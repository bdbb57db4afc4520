/* Joins neighbours, the best pair first, until no pair is known: a heap of pairs over a list. */
#include "text/text.h"

enum { NOBODY = -1 };

static bool grow(eg__encoding *e, void **array, size_t used, size_t *room, size_t need,
                 size_t size) {
    return eg__memory_grow(e->memory, EG_TAG_OTHER, array, used, room, need, size);
}

eg_status eg__merge_begin(eg__encoding *e, size_t room) {
    size_t pairs;
    /* a pair for each neighbour, and two new ones for each join */
    if (room > INT32_MAX || !eg__size_mul(room, 3, &pairs))
        return eg__fail(e->error, EG_ERR_OVERFLOW, "text of '%zu' characters is too long", room);
    void *symbols = e->symbols, *list = e->pairs;
    bool fits = grow(e, &symbols, 0, &e->symbol_room, room, sizeof *e->symbols);
    e->symbols = symbols;
    fits = fits && grow(e, &list, 0, &e->pair_room, pairs, sizeof *e->pairs);
    e->pairs = list;
    e->symbol_count = e->pair_count = 0;
    return fits ? EG_OK : eg__fail(e->error, EG_ERR_MEMORY, "no memory for '%zu' characters", room);
}

void eg__merge_symbol(eg__encoding *e, size_t start, size_t length, int64_t id) {
    const uint32_t at = (uint32_t)e->symbol_count++;
    e->symbols[at] = (eg__symbol){(uint32_t)start, (uint32_t)length, at - 1, at + 1, id};
}

/* ---- the heap: the best pair at 0 */
static bool before(const eg__pair *a, const eg__pair *b) {
    return a->cost != b->cost ? a->cost < b->cost : a->left < b->left;
}

static void swap(eg__pair *a, eg__pair *b) {
    const eg__pair c = *a;
    *a = *b;
    *b = c;
}

static void push(eg__encoding *e, eg__pair pair) {
    size_t at = e->pair_count++;
    e->pairs[at] = pair;
    for (; at && before(&e->pairs[at], &e->pairs[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&e->pairs[at], &e->pairs[(at - 1) / 2]);
}

static eg__pair pop(eg__encoding *e) {
    const eg__pair best = e->pairs[0];
    e->pairs[0] = e->pairs[--e->pair_count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < e->pair_count; child++)
            if (before(&e->pairs[child], &e->pairs[least])) least = child;
        if (least == at) return best;
        swap(&e->pairs[at], &e->pairs[least]);
        at = least;
    }
}

/* ---- pairs */
static void consider(eg__encoding *e, const char *text, uint32_t left, uint32_t right) {
    const eg_tokenizer *t = e->tokenizer;
    const eg__symbol *a = &e->symbols[left], *b = &e->symbols[right];
    eg__pair pair = {0, left, right, a->length + b->length, EG__NO_TOKEN};
    if (t->merges.slots) {
        if (a->id < 0 || b->id < 0) return;
        const eg__merge *merge = eg__merges_find(&t->merges, (uint32_t)a->id, (uint32_t)b->id);
        if (!merge) return;
        pair.cost = merge->rank;
        pair.id = merge->id;
    } else {
        pair.id = eg__vocabulary_find(&t->vocabulary, text + a->start, pair.length);
        if (pair.id < 0) return;
        pair.cost = -(double)t->vocabulary.tokens[pair.id].score;
    }
    push(e, pair);
}

void eg__merge_run(eg__encoding *e, const char *text) {
    const uint32_t count = (uint32_t)e->symbol_count, none = (uint32_t)NOBODY;
    if (!count) return;
    e->symbols[count - 1].next = none;
    for (uint32_t i = 1; i < count; i++) consider(e, text, i - 1, i);
    while (e->pair_count) {
        const eg__pair pair = pop(e);
        eg__symbol *left = &e->symbols[pair.left], *right = &e->symbols[pair.right];
        /* outdated: one of them was merged meanwhile, so it is longer or gone */
        if (!left->length || !right->length || left->length + right->length != pair.length)
            continue;
        left->length = pair.length;
        left->id = pair.id;
        left->next = right->next;
        right->length = 0;
        if (left->next != none) e->symbols[left->next].previous = pair.left;
        if (left->previous != none) consider(e, text, left->previous, pair.left);
        if (left->next != none) consider(e, text, pair.left, left->next);
    }
}
