/* Pages of a cache: random operations beside a simple model, forks, windows, what is refused. */
#include "elegans/elegans.h"
#include "test.h"

AREA(pages, "pages of a cache, shared by sequences, beside a simple model")

enum { PAGES = 12, PAGE = 4, SEQUENCES = 6, LONGEST = 200 };

/* Every slot has the name of the token it holds; a sequence is a list of tokens. */
typedef struct model {
    eg_pages *pages;
    eg_sequence *sequence[SEQUENCES];
    int token[SEQUENCES][LONGEST], length[SEQUENCES];
    int slot[PAGES * PAGE];
    int next;
    uint64_t window;
} model;

static int below(uint64_t *state, int limit) {
    return (int)((double)(test_random(state) + 1) / 2 * limit);
}

static uint64_t used(const model *m) {
    eg_pages_figures figures;
    eg_pages_figures_get(m->pages, &figures);
    return figures.used;
}

/* Whatever the next token sees is where the table says; and no page is used that nobody has. */
static void check(const model *m, const char *after) {
    bool held[PAGES] = {false};
    uint64_t count = 0, sequences = 0;
    eg_error error;
    for (int i = 0; i < SEQUENCES; i++) {
        int32_t table[LONGEST / PAGE];
        if (!m->sequence[i]) continue;
        sequences++;
        CHECK(eg_sequence_length(m->sequence[i]) == (uint64_t)m->length[i], "another length");
        CHECK_OK(eg_sequence_pages(m->sequence[i], LONGEST / PAGE, table, &error), error);
        const int from =
            m->window && m->length[i] >= (int)m->window ? m->length[i] - (int)m->window + 1 : 0;
        for (int t = from; t < m->length[i]; t++) {
            const int32_t page = table[t / PAGE];
            CHECK(page >= 0 && page < PAGES && m->slot[page * PAGE + t % PAGE] == m->token[i][t],
                  "after %s: sequence %d lost token %d (page %d)", after, i, t, page);
        }
        for (int p = 0; p < LONGEST / PAGE; p++)
            if (table[p] >= 0) held[table[p]] = true;
    }
    for (int p = 0; p < PAGES; p++) count += held[p];
    eg_pages_figures figures;
    eg_pages_figures_get(m->pages, &figures);
    CHECK(figures.used == count && figures.sequences == sequences && figures.count == PAGES &&
              figures.page == PAGE,
          "after %s: %d pages in use, %d held; %d sequences", after, (int)figures.used, (int)count,
          (int)figures.sequences);
}

static void extend(model *m, int i, int tokens) {
    int32_t slots[LONGEST];
    eg_error error = {0};
    const uint64_t before = used(m);
    const eg_status status = eg_sequence_extend(m->sequence[i], (uint64_t)tokens, slots, &error);
    if (status) {
        CHECK(status == EG_ERR_BUDGET && strstr(error.message, "the cache is full") &&
                  used(m) == before,
              "'%s'", error.message);
        return;
    }
    for (int t = 0; t < tokens; t++) {
        m->token[i][m->length[i]++] = ++m->next;
        CHECK(slots[t] >= 0 && slots[t] < PAGES * PAGE, "slot %d", slots[t]);
        m->slot[slots[t]] = m->next;
    }
}

static void fork_one(model *m, int from, int to) {
    eg_slots_copy copy;
    eg_error error = {0};
    const uint64_t before = used(m);
    const eg_status status = eg_sequence_fork(m->sequence[from], &m->sequence[to], &copy, &error);
    if (status) {
        CHECK(status == EG_ERR_BUDGET && !m->sequence[to] && before == PAGES && used(m) == before,
              "'%s'", error.message);
        return;
    }
    CHECK(copy.count == (uint64_t)m->length[from] % PAGE && used(m) == before + (copy.count > 0),
          "%d to copy", (int)copy.count);
    for (uint64_t i = 0; i < copy.count; i++)
        m->slot[copy.to + (int)i] = m->slot[copy.from + (int)i];
    m->length[to] = m->length[from];
    memcpy(m->token[to], m->token[from], sizeof m->token[to]);
}

static void run_model(uint64_t window, uint64_t seed) {
    eg_context *context;
    eg_error error;
    model m = {.window = window};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const eg_pages_options options = {.count = PAGES, .page = PAGE, .window = window};
    CHECK_OK(eg_pages_create(context, &options, &m.pages, &error), error);
    for (int turn = 0; turn < 3000; turn++) {
        const int i = below(&seed, SEQUENCES), other = below(&seed, SEQUENCES);
        const int what = below(&seed, 10);
        if (!m.sequence[i]) {
            m.length[i] = 0;
            if (what < 5 || !m.sequence[other])
                CHECK_OK(eg_sequence_begin(m.pages, &m.sequence[i], &error), error);
            else fork_one(&m, other, i);
            check(&m, "a beginning");
        } else if (what == 0 || m.length[i] + 20 > LONGEST) {
            eg_sequence_end(m.sequence[i]);
            m.sequence[i] = NULL;
            check(&m, "an end");
        } else {
            extend(&m, i, what < 7 ? 1 : below(&seed, 14));
            check(&m, "tokens");
        }
    }
    CHECK(m.next > 500, "only %d tokens", m.next);
    for (int i = 0; i < 3; i++) { /* the others end with the pages */
        eg_sequence_end(m.sequence[i]);
        m.sequence[i] = NULL;
    }
    check(&m, "all");
    eg_pages_destroy(m.pages);
    eg_memory_figures figures;
    CHECK_OK(eg_memory_query(context, EG_TAG_CACHE, &figures, &error), error);
    CHECK(figures.current == 0, "%d bytes stay", (int)figures.current);
    eg_context_destroy(context);
}

TEST(pages, beside_a_model) {
    static const uint64_t windows[] = {0, 1, 4, 5, 11};
    for (int i = 0; i < 5; i++) run_model(windows[i], (uint64_t)i + 1);
}

/* A window needs so many pages, however long the sequence. */
TEST(pages, a_window_never_fills_the_cache) {
    eg_context *context;
    eg_error error;
    eg_pages *pages;
    eg_sequence *s;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const eg_pages_options options = {.count = 3, .page = 8, .window = 16};
    CHECK_OK(eg_pages_create(context, &options, &pages, &error), error);
    CHECK_OK(eg_sequence_begin(pages, &s, &error), error);
    for (int i = 0; i < 1000; i++) CHECK_OK(eg_sequence_extend(s, 1, NULL, &error), error);
    eg_pages_destroy(pages);
    eg_context_destroy(context);
}

TEST(pages, refused) {
    static const eg_pages_options wrong[] = {
        {.page = 4}, {.count = 4}, {.count = 1u << 20, .page = 1u << 20}};
    eg_context *context;
    eg_error error;
    eg_pages *pages;
    eg_sequence *a, *b;
    eg_slots_copy copy;
    int32_t row[3], slots[8];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (int i = 0; i < 3; i++)
        CHECK_FAILS(eg_pages_create(context, &wrong[i], &pages, &error), error, EG_ERR_ARGUMENT,
                    "slots");
    const eg_pages_options options = {.count = 2, .page = 4, .window = 0};
    CHECK_OK(eg_pages_create(context, &options, &pages, &error), error);
    CHECK_OK(eg_sequence_begin(pages, &a, &error), error);
    CHECK_FAILS(eg_sequence_extend(a, 9, slots, &error), error, EG_ERR_BUDGET,
                "the cache is full: 0 pages of 2 in use, 3 more wanted");
    CHECK_OK(eg_sequence_extend(a, 5, slots, &error), error);
    CHECK_FAILS(eg_sequence_extend(a, UINT64_MAX, slots, &error), error, EG_ERR_ARGUMENT,
                "a sequence of 5 tokens cannot grow by 18446744073709551615 more");
    CHECK_FAILS(eg_sequence_fork(a, &b, &copy, &error), error, EG_ERR_BUDGET, "2 pages of 2");
    CHECK(!b, "a fork");
    CHECK_FAILS(eg_sequence_pages(a, 1, row, &error), error, EG_ERR_ARGUMENT,
                "2 pages do not fit into a row of 1");
    CHECK_OK(eg_sequence_pages(a, 3, row, &error), error);
    CHECK(row[0] == 0 && row[1] == 1 && row[2] == -1, "pages %d, %d, %d", row[0], row[1], row[2]);
    CHECK(slots[4] == 4, "slot %d", slots[4]);
    CHECK_OK(eg_sequence_extend(a, 3, NULL, &error), error);
    CHECK_OK(eg_sequence_fork(a, &b, &copy, &error), error); /* only full pages */
    CHECK(copy.count == 0, "%d to copy", (int)copy.count);
    CHECK_FAILS(eg_sequence_extend(b, 1, slots, &error), error, EG_ERR_BUDGET, "2 pages of 2");
    eg_sequence_end(a);
    CHECK_FAILS(eg_sequence_extend(b, 1, slots, &error), error, EG_ERR_BUDGET, "2 pages of 2");
    eg_sequence_end(NULL);
    eg_pages_destroy(NULL);
    eg_pages_destroy(pages);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    const eg_pages_options options = {.count = 8, .page = 2, .window = 0};
    eg_pages *pages;
    eg_sequence *a = NULL, *b = NULL;
    eg_slots_copy copy;
    eg_status status = eg_pages_create(context, &options, &pages, error);
    if (!status) status = eg_sequence_begin(pages, &a, error);
    if (!status) status = eg_sequence_extend(a, 5, NULL, error);
    if (!status) status = eg_sequence_fork(a, &b, &copy, error);
    if (!status) status = eg_sequence_extend(b, 4, NULL, error);
    eg_pages_destroy(pages);
    return status;
}
TEST(pages, every_allocation_may_fail) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed >= 6, "only %d allocations", failed);
}
