/* Caches: rows appended in place, attention over their pages, programs that share them. */
#include "elegans/elegans.h"
#include "graph/graph.h"
#include "test.h"

#include <math.h>
#include <unistd.h>

AREA(cached, "caches of keys and values: against the definition, shared by programs, word by word")

typedef struct sizes {
    eg_type k_type, v_type;
    uint64_t samples, queries, table, page, slots;
    uint32_t d, dv;
    eg_attention_options options;
} sizes;

/* All nodes of a program that appends what it gets and looks at it. */
typedef struct nodes {
    eg_node q, k, v, at, pages, lengths; /* inputs */
    eg_node keys, values;                /* the caches */
    eg_node new_keys, new_values, y;
} nodes;

static uint32_t kv_heads(const sizes *s) {
    return s->options.kv_heads ? s->options.kv_heads : s->options.heads;
}

static nodes build(eg_graph *g, const sizes *s) {
    nodes n;
    const uint64_t B = s->samples, T = s->queries, kv = kv_heads(s);
    n.q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){B, T, s->options.heads * s->d});
    n.k = eg_input(g, "k", EG_F32, 3, (uint64_t[]){B, T, kv * s->d});
    n.v = eg_input(g, "v", EG_F32, 3, (uint64_t[]){B, T, kv * s->dv});
    n.at = eg_input(g, "at", EG_I32, 2, (uint64_t[]){B, T});
    n.pages = eg_input(g, "pages", EG_I32, 2, (uint64_t[]){B, s->table});
    n.lengths = eg_input(g, "lengths", EG_I32, 1, &B);
    n.keys = eg_cache(g, "keys", s->k_type, s->slots, kv_heads(s), s->d);
    n.values = eg_cache(g, "values", s->v_type, s->slots, kv_heads(s), s->dv);
    n.new_keys = eg_append(g, n.keys, n.k, n.at);
    n.new_values = eg_append(g, n.values, n.v, n.at);
    eg_node k = eg_update(g, n.keys, n.new_keys), v = eg_update(g, n.values, n.new_values);
    n.y = eg_attention_cached(g, &s->options, n.q, k, v, n.pages, n.lengths, s->page);
    return n;
}

static eg_context *context_of(const char *isa, unsigned threads) {
    eg_context *context;
    eg_error error;
    const eg_context_options options = {.isa = isa, .threads = threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* A compiled one, with memory for its inputs. */
typedef struct user {
    sizes s;
    eg_graph *g;
    nodes n;
    eg_program *program;
    eg_instance *instance;
    eg_tensor q, k, v, at, pages, lengths, y;
} user;

static void give(eg_context *context, user *u, const char *name, eg_type type, unsigned rank,
                 const uint64_t *shape, eg_tensor *out) {
    eg_error error;
    CHECK_OK(eg_tensor_create(context, type, rank, shape, out, &error), error);
    CHECK_OK(eg_instance_bind(u->instance, name, out, &error), error);
}

static void open_user(eg_context *context, const sizes *s, const eg_instance *with, user *u) {
    eg_error error;
    *u = (user){.s = *s};
    CHECK_OK(eg_graph_create(context, &u->g, &error), error);
    u->n = build(u->g, s);
    CHECK_OK(eg_graph_check(u->g, &error), error);
    const eg_output output = {"y", u->n.y};
    CHECK_OK(eg_compile(context, u->g, 1, &output, NULL, &u->program, &error), error);
    CHECK_OK(eg_instance_create_with(u->program, NULL, with, &u->instance, &error), error);
    const uint64_t B = s->samples, T = s->queries, kv = kv_heads(s), heads = s->options.heads;
    give(context, u, "q", EG_F32, 3, (uint64_t[]){B, T, heads * s->d}, &u->q);
    give(context, u, "k", EG_F32, 3, (uint64_t[]){B, T, kv * s->d}, &u->k);
    give(context, u, "v", EG_F32, 3, (uint64_t[]){B, T, kv * s->dv}, &u->v);
    give(context, u, "at", EG_I32, 2, (uint64_t[]){B, T}, &u->at);
    give(context, u, "pages", EG_I32, 2, (uint64_t[]){B, s->table}, &u->pages);
    give(context, u, "lengths", EG_I32, 1, &B, &u->lengths);
    give(context, u, "y", EG_F32, 3, (uint64_t[]){B, T, heads * s->dv}, &u->y);
}

static void close_user(eg_context *context, user *u) {
    eg_tensor *const all[] = {&u->q, &u->k, &u->v, &u->at, &u->pages, &u->lengths, &u->y};
    eg_instance_destroy(u->instance);
    eg_program_release(u->program);
    eg_graph_destroy(u->g);
    for (int i = 0; i < 7; i++) eg_tensor_release(context, all[i]);
}

static uint64_t elements(const eg_tensor *x) {
    uint64_t n = 0;
    eg_tensor_measure(x, &n, NULL, NULL);
    return n;
}
static void fill(eg_tensor *x, uint64_t *state) {
    for (uint64_t i = 0; i < elements(x); i++) ((float *)x->data)[i] = test_random(state);
}
static int32_t below(uint64_t *state, uint64_t limit) {
    return (int32_t)((double)(test_random(state) + 1) / 2 * (double)limit);
}
static double *doubles(const eg_tensor *x) {
    double *out = test_alloc((size_t)elements(x) * sizeof *out + 1);
    for (uint64_t i = 0; i < elements(x); i++)
        out[i] =
            x->type == EG_I32 ? ((const int32_t *)x->data)[i] : (double)((const float *)x->data)[i];
    return out;
}

/* ---- the definition: three runs one after the other, with slots, pages and lengths of any kind */
static void fill_any(user *u, uint64_t *state) {
    int32_t *at = u->at.data, *pages = u->pages.data, *lengths = u->lengths.data;
    fill(&u->q, state);
    fill(&u->k, state);
    fill(&u->v, state);
    for (uint64_t i = 0; i < elements(&u->at); i++) at[i] = below(state, u->s.slots + 4) - 2;
    for (uint64_t i = 0; i < elements(&u->pages); i++)
        pages[i] = below(state, u->s.slots / u->s.page + 3) - 1;
    for (uint64_t i = 0; i < elements(&u->lengths); i++)
        lengths[i] = below(state, u->s.table * u->s.page + 6) - 3;
    if (elements(&u->at) > 1) at[1] = at[0]; /* the last one stays */
}

static void compare(const user *u, const double *want, const char *isa, int run) {
    double worst = 0;
    for (uint64_t i = 0; i < elements(&u->y); i++) {
        const double off = fabs((double)((const float *)u->y.data)[i] - want[i]);
        if (!(off <= worst)) worst = off;
    }
    CHECK(worst < 2e-6,
          "%s, %s keys, %s values, %llu x %llu, %u/%u heads of %u, %u, run %d: off by %g",
          isa ? isa : "best", eg_type_name(u->s.k_type), eg_type_name(u->s.v_type),
          (unsigned long long)u->s.samples, (unsigned long long)u->s.queries, u->s.options.heads,
          kv_heads(&u->s), u->s.d, u->s.dv, run, worst);
}

static void check_definition(const sizes *s, const char *isa, uint64_t seed) {
    eg_context *context = context_of(isa, 2);
    user u;
    open_user(context, s, NULL, &u);
    const size_t k_size = (size_t)s->slots * kv_heads(s) * s->d,
                 v_size = (size_t)s->slots * kv_heads(s) * s->dv;
    double *keys = test_alloc(2 * k_size * sizeof *keys),
           *values = test_alloc(2 * v_size * sizeof *values),
           *y = test_alloc((size_t)elements(&u.y) * sizeof *y);
    for (size_t i = 0; i < k_size; i++) keys[i] = 0;
    for (size_t i = 0; i < v_size; i++) values[i] = 0;
    for (int run = 0; run < 3; run++) {
        eg_error error;
        fill_any(&u, &seed);
        CHECK_OK(eg_run(u.instance, NULL, &error), error);
        double *const in[] = {doubles(&u.q),  doubles(&u.k),     doubles(&u.v),
                              doubles(&u.at), doubles(&u.pages), doubles(&u.lengths)};
        const eg__binding bound[] = {{u.n.q, in[0]},   {u.n.k, in[1]},      {u.n.v, in[2]},
                                     {u.n.at, in[3]},  {u.n.pages, in[4]},  {u.n.lengths, in[5]},
                                     {u.n.keys, keys}, {u.n.values, values}};
        const eg_node outputs[] = {u.n.y, u.n.new_keys, u.n.new_values};
        double *const out[] = {y, keys + k_size, values + v_size};
        CHECK_OK(eg__graph_evaluate(u.g, 8, bound, 3, outputs, out, false, 0, &error), error);
        compare(&u, y, isa, run);
        memcpy(keys, keys + k_size, k_size * sizeof *keys);
        memcpy(values, values + v_size, v_size * sizeof *values);
        for (int i = 0; i < 6; i++) free(in[i]);
    }
    free(keys);
    free(values);
    free(y);
    close_user(context, &u);
    eg_context_destroy(context);
}

static const sizes cases[] = {
    {EG_F32, EG_F32, 1, 1, 1, 1, 1, 1, 1, {.heads = 1}},
    {EG_F32, EG_F32, 2, 1, 5, 8, 64, 16, 16, {.heads = 4, .kv_heads = 2, .causal = 1}},
    {EG_F16, EG_F16, 3, 1, 9, 16, 160, 64, 64, {.heads = 8, .kv_heads = 1, .causal = 1}},
    {EG_I8, EG_I8, 2, 1, 6, 32, 256, 64, 32, {.heads = 4, .kv_heads = 4, .causal = 1}},
    {EG_I8, EG_F16, 2, 5, 4, 7, 70, 5, 19, {.heads = 3, .causal = 1}},
    {EG_F16, EG_I8, 1, 40, 3, 20, 63, 33, 1, {.heads = 6, .kv_heads = 2, .window = 9}},
    {EG_I8, EG_I8, 2, 70, 9, 16, 320, 16, 24, {.heads = 4, .kv_heads = 2, .causal = 1}},
    {EG_F32, EG_I8, 2, 3, 7, 16, 112, 48, 8, {.heads = 2, .scale = 0.3}},
    {EG_F16,
     EG_F16,
     2,
     2,
     7,
     16,
     112,
     80,
     96,
     {.heads = 4, .kv_heads = 2, .window = 33, .causal = 1}},
};
enum { CASES = sizeof cases / sizeof *cases };

TEST(cached, against_the_definition) {
    static const char *const isas[] = {"ref", NULL};
    for (size_t i = 0; i < CASES; i++)
        for (int isa = 0; isa < 2; isa++) check_definition(&cases[i], isas[isa], i + 1);
}

/* ---- plain attention, on the rows that the pages say, as the cache has them */
static float read_number(const eg_tensor *rows, eg_context *context, uint64_t slot, uint32_t heads,
                         uint32_t d, uint64_t column) {
    const uint64_t row = rows->shape[1];
    if (rows->type == EG_F32) return ((const float *)rows->data)[slot * row + column];
    if (rows->type == EG_I8) {
        const int8_t *numbers = (const int8_t *)rows->data + slot * row;
        float scale;
        const uint64_t scales = ((uint64_t)heads * d + 3) / 4 * 4;
        memcpy(&scale, numbers + scales + column / d * sizeof scale, sizeof scale);
        return (float)numbers[column] * scale;
    }
    float wide;
    eg_tensor from = {EG_F16, 0, {0}, (uint16_t *)rows->data + slot * row + column},
              to = {EG_F32, 0, {0}, &wide};
    eg_tensor_convert(context, &from, &to, NULL);
    return wide;
}

static void gather(eg_context *context, const user *u, const char *name, uint32_t d,
                   eg_tensor *out) {
    const sizes *s = &u->s;
    const uint64_t columns = (uint64_t)kv_heads(s) * d, keys = s->table * s->page;
    const uint64_t shape[] = {s->samples, keys, columns};
    eg_error error;
    eg_tensor rows;
    CHECK_OK(eg_instance_state(u->instance, name, &rows, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F32, 3, shape, out, &error), error);
    for (uint64_t i = 0; i < s->samples * keys; i++) {
        const uint64_t b = i / keys, position = i % keys;
        const int32_t page = ((const int32_t *)u->pages.data)[b * s->table + position / s->page];
        for (uint64_t c = 0; c < columns; c++)
            ((float *)out->data)[i * columns + c] = read_number(
                &rows, context, (uint64_t)page * s->page + position % s->page, kv_heads(s), d, c);
    }
}

static void run_plain(eg_context *context, const user *u, const eg_tensor *k, const eg_tensor *v,
                      eg_tensor *y) {
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
    eg_error error;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node q = eg_input(g, "q", EG_F32, 3, u->q.shape),
            lengths = eg_input(g, "lengths", EG_I32, 1, u->lengths.shape);
    eg_node keys = eg_input(g, "k", EG_F32, 3, k->shape),
            values = eg_input(g, "v", EG_F32, 3, v->shape);
    const eg_output output = {
        "y", eg_attention(g, &u->s.options, q, keys, values, (eg_node){0}, lengths)};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F32, 3, u->y.shape, y, &error), error);
    CHECK_OK(eg_instance_bind(instance, "q", &u->q, &error), error);
    CHECK_OK(eg_instance_bind(instance, "k", k, &error), error);
    CHECK_OK(eg_instance_bind(instance, "v", v, &error), error);
    CHECK_OK(eg_instance_bind(instance, "lengths", &u->lengths, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", y, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
}

TEST(cached, like_plain_attention) {
    eg_context *context = context_of(NULL, 2);
    for (size_t i = 0; i < CASES; i++) {
        const sizes *s = &cases[i];
        uint64_t state = i + 9;
        user u;
        eg_error error;
        eg_tensor k, v, y;
        open_user(context, s, NULL, &u);
        for (int run = 0; run < 2; run++) {
            fill_any(&u, &state);
            for (uint64_t p = 0; p < elements(&u.pages); p++)
                ((int32_t *)u.pages.data)[p] = below(&state, s->slots / s->page);
            CHECK_OK(eg_run(u.instance, NULL, &error), error);
        }
        gather(context, &u, "keys", s->d, &k);
        gather(context, &u, "values", s->dv, &v);
        run_plain(context, &u, &k, &v, &y);
        double *want = doubles(&y);
        compare(&u, want, NULL, (int)i);
        free(want);
        eg_tensor_release(context, &k);
        eg_tensor_release(context, &v);
        eg_tensor_release(context, &y);
        close_user(context, &u);
    }
    eg_context_destroy(context);
}

/* ---- a prompt at once, and word by word: two programs, one cache, samples of different lengths */
enum { WORDS = 21 };
static const int counts[] = {WORDS, 13, 1}; /* of each sample */

/* Words `from` .. of all samples, each ending at its own end; `words` has what they all are made of. */
static void fill_words(user *u, int from, const float *words) {
    const sizes *s = &u->s;
    eg_tensor *const all[] = {&u->q, &u->k, &u->v};
    for (uint64_t b = 0; b < s->samples; b++) {
        const int end = from + (int)s->queries < counts[b] ? from + (int)s->queries : counts[b];
        for (uint64_t t = 0; t < s->queries; t++) {
            const int word = end - (int)s->queries + (int)t;
            const bool there = word >= from;
            for (int i = 0; i < 3; i++) {
                const uint64_t columns = all[i]->shape[2];
                for (uint64_t c = 0; c < columns; c++)
                    ((float *)all[i]->data)[(b * s->queries + t) * columns + c] =
                        there ? words[(b * 40 + (uint64_t)word) * 97 % 1000 +
                                      (c * 7 + (uint64_t)i * 31) % 500]
                              : NAN;
            }
            const int32_t page =
                ((int32_t *)u->pages.data)[b * s->table + (there ? (uint64_t)word / s->page : 0)];
            ((int32_t *)u->at.data)[b * s->queries + t] =
                there ? page * (int32_t)s->page + word % (int32_t)s->page : -1;
        }
        ((int32_t *)u->lengths.data)[b] = end > from ? end : 0;
    }
}

static void set_pages(user *u) {
    for (uint64_t i = 0; i < elements(&u->pages); i++)
        ((int32_t *)u->pages.data)[i] = (int32_t)((i * 5 + 3) % elements(&u->pages));
}

static void check_words(eg_type type, uint64_t window, const float *words) {
    const sizes prompt = {
        type, type, 3,  WORDS, 6,
        4,    72,   24, 16,    {.heads = 4, .kv_heads = 2, .causal = 1, .window = window}};
    sizes word = prompt, chunk = prompt;
    word.queries = 1;
    chunk.queries = 8;
    eg_context *context = context_of(NULL, 2);
    user whole, first, then;
    eg_error error;
    open_user(context, &prompt, NULL, &whole);
    open_user(context, &chunk, NULL, &first);
    open_user(context, &word, first.instance, &then);
    set_pages(&whole);
    set_pages(&first);
    set_pages(&then);
    fill_words(&whole, 0, words);
    CHECK_OK(eg_run(whole.instance, NULL, &error), error);
    fill_words(&first, 0, words);
    CHECK_OK(eg_run(first.instance, NULL, &error), error);
    const uint64_t columns = whole.y.shape[2];
    double worst = 0;
    for (int t = 0; t < WORDS; t++) {
        if (t >= 8) {
            fill_words(&then, t, words);
            CHECK_OK(eg_run(then.instance, NULL, &error), error);
        }
        for (int b = 0; b < 3; b++) {
            if (t >= counts[b]) continue;
            const int in_chunk = counts[b] < 8 ? 8 - counts[b] + t : t;
            const float *want =
                (float *)whole.y.data + (uint64_t)(b * WORDS + WORDS - counts[b] + t) * columns;
            const float *got = t < 8
                                   ? (float *)first.y.data + (uint64_t)(b * 8 + in_chunk) * columns
                                   : (float *)then.y.data + (uint64_t)b * columns;
            for (uint64_t c = 0; c < columns; c++) {
                const double off = fabs((double)want[c] - (double)got[c]);
                if (!(off <= worst)) worst = off;
            }
        }
    }
    CHECK(worst < 2e-6, "%s, window %d: off by %g", eg_type_name(type), (int)window, worst);
    for (uint64_t c = 0; c < columns; c++) /* a query before the first word */
        CHECK(((float *)whole.y.data)[2 * WORDS * columns + c] == 0, "padding gives a value");
    close_user(context, &whole);
    close_user(context, &first); /* the states live on */
    fill_words(&then, WORDS - 1, words);
    CHECK_OK(eg_run(then.instance, NULL, &error), error);
    close_user(context, &then);
    eg_context_destroy(context);
}

TEST(cached, word_by_word) {
    static const eg_type types[] = {EG_F32, EG_F16, EG_I8};
    float words[1500];
    uint64_t state = 4;
    for (int i = 0; i < 1500; i++) words[i] = test_random(&state);
    for (int i = 0; i < 3; i++) {
        check_words(types[i], 0, words);
        check_words(types[i], 6, words);
    }
}

TEST(cached, pages_before_the_window_are_not_touched) {
    const sizes s = {EG_F16, EG_F16, 1, 1, 4, 4, 16, 8, 8, {.heads = 2, .causal = 1, .window = 5}};
    eg_context *context = context_of(NULL, 1);
    user u;
    eg_error error;
    uint64_t state = 1;
    float before[16];
    open_user(context, &s, NULL, &u);
    for (int t = 0; t < 16; t++) {
        fill(&u.q, &state);
        fill(&u.k, &state);
        fill(&u.v, &state);
        set_pages(&u);
        const int32_t *pages = u.pages.data;
        *(int32_t *)u.at.data = pages[t / 4] * 4 + t % 4;
        *(int32_t *)u.lengths.data = t + 1;
        CHECK_OK(eg_run(u.instance, NULL, &error), error);
        memcpy(before, u.y.data, sizeof before);
        /* positions t - 4 .. t: earlier pages may be anybody's */
        for (int p = 0; p < (t - 4) / 4; p++) ((int32_t *)u.pages.data)[p] = 1 << 30;
        CHECK_OK(eg_run(u.instance, NULL, &error), error);
        CHECK(memcmp(before, u.y.data, sizeof before) == 0, "position %d looks at them", t);
    }
    close_user(context, &u);
    eg_context_destroy(context);
}

/* ---- a sequence goes on in two ways: shared pages give the bits of two sequences of their own */
static void copy_rows(const user *u, const char *name, const eg_slots_copy *copy) {
    eg_tensor rows;
    eg_error error;
    CHECK_OK(eg_instance_state(u->instance, name, &rows, &error), error);
    const size_t size = (size_t)rows.shape[1] * eg_type_bits(rows.type) / 8;
    memcpy((char *)rows.data + (size_t)copy->to * size,
           (char *)rows.data + (size_t)copy->from * size, (size_t)copy->count * size);
}

/* One more token of each sample; those of the second are the first's until they part. */
static void fill_token(user *shared, user *own, bool parted, uint64_t *state) {
    eg_tensor *const to[] = {&shared->q, &shared->k, &shared->v};
    eg_tensor *const too[] = {&own->q, &own->k, &own->v};
    for (int i = 0; i < 3; i++) {
        const size_t n = (size_t)elements(to[i]) / 2;
        float *x = to[i]->data;
        fill(to[i], state);
        if (!parted) memcpy(x + n, x, n * sizeof *x);
        memcpy(too[i]->data, x, 2 * n * sizeof *x);
    }
}

static void run_forked(eg_context *context, const sizes *s, uint64_t window) {
    enum { TOKENS = 15, FORK = 6 };
    const eg_pages_options options = {
        .count = s->slots / s->page, .page = s->page, .window = window};
    user shared, own;
    eg_pages *pages;
    eg_sequence *sequence[2] = {NULL, NULL};
    eg_slots_copy copy;
    eg_error error;
    uint64_t state = 8;
    open_user(context, s, NULL, &shared);
    open_user(context, s, NULL, &own);
    CHECK_OK(eg_pages_create(context, &options, &pages, &error), error);
    CHECK_OK(eg_sequence_begin(pages, &sequence[0], &error), error);
    for (uint64_t i = 0; i < 2 * s->table; i++) ((int32_t *)own.pages.data)[i] = (int32_t)i;
    for (int t = 0; t < TOKENS; t++) {
        if (t == FORK) {
            CHECK_OK(eg_sequence_fork(sequence[0], &sequence[1], &copy, &error), error);
            copy_rows(&shared, "keys", &copy);
            copy_rows(&shared, "values", &copy);
        }
        fill_token(&shared, &own, t >= FORK, &state);
        for (int b = 0; b < 2; b++) {
            int32_t *at = (int32_t *)shared.at.data + b,
                    *length = (int32_t *)shared.lengths.data + b;
            *at = -1;
            *length = 0;
            if (sequence[b]) {
                int32_t *row = (int32_t *)shared.pages.data + (uint64_t)b * s->table;
                CHECK_OK(eg_sequence_extend(sequence[b], 1, at, &error), error);
                CHECK_OK(eg_sequence_pages(sequence[b], s->table, row, &error), error);
                *length = (int32_t)eg_sequence_length(sequence[b]);
            }
            ((int32_t *)own.at.data)[b] = b * (int32_t)(s->table * s->page) + t;
            ((int32_t *)own.lengths.data)[b] = t + 1;
        }
        CHECK_OK(eg_run(shared.instance, NULL, &error), error);
        CHECK_OK(eg_run(own.instance, NULL, &error), error);
        const size_t bytes = (size_t)elements(&own.y) * sizeof(float) / (t < FORK ? 2 : 1);
        CHECK(memcmp(shared.y.data, own.y.data, bytes) == 0,
              "%s, window %d: other bits at token %d", eg_type_name(s->k_type), (int)window, t);
    }
    eg_pages_figures figures;
    eg_pages_figures_get(pages, &figures);
    CHECK(figures.used == (window ? 4 : 7), "%d pages", (int)figures.used);
    eg_pages_destroy(pages);
    close_user(context, &shared);
    close_user(context, &own);
}

TEST(cached, forks) {
    static const eg_type types[] = {EG_F32, EG_F16, EG_I8};
    eg_context *context = context_of(NULL, 2);
    for (int i = 0; i < 3; i++)
        for (uint64_t window = 0; window < 6; window += 5) {
            const sizes s = {types[i], types[i],
                             2,        1,
                             4,        4,
                             32,       12,
                             20,       {.heads = 4, .kv_heads = 2, .causal = 1, .window = window}};
            run_forked(context, &s, window);
        }
    eg_context_destroy(context);
}

/* ---- the same bits on any number of threads */
TEST(cached, threads) {
    for (size_t i = 1; i < CASES; i++) {
        float *want = NULL;
        for (unsigned threads = 1; threads < 4; threads++) {
            eg_context *context = context_of(NULL, threads);
            user u;
            eg_error error;
            uint64_t state = i;
            open_user(context, &cases[i], NULL, &u);
            for (int run = 0; run < 2; run++) {
                fill_any(&u, &state);
                CHECK_OK(eg_run(u.instance, NULL, &error), error);
            }
            const size_t bytes = (size_t)elements(&u.y) * sizeof *want;
            if (!want) memcpy(want = test_alloc(bytes), u.y.data, bytes);
            CHECK(memcmp(want, u.y.data, bytes) == 0, "case %zu, %u threads: other bits", i,
                  threads);
            close_user(context, &u);
            eg_context_destroy(context);
        }
        free(want);
    }
}

/* ---- memory: nothing is copied, caches are counted apart, states are shared */
TEST(cached, memory) {
    const sizes *s = &cases[2];
    eg_context *context = context_of(NULL, 1);
    user a, b;
    eg_error error;
    eg_memory_figures before, after;
    eg_program_info info = {.size = sizeof info};
    open_user(context, s, NULL, &a);
    eg_program_info_get(a.program, &info);
    const uint64_t want = s->slots * 2 * 64 * 2; /* keys and values, 64 halves each */
    CHECK(info.cache_bytes == want && info.state_bytes == 0 && info.states == 2,
          "%llu bytes of caches, %llu of states", (unsigned long long)info.cache_bytes,
          (unsigned long long)info.state_bytes);
    for (size_t i = 0; i < info.steps; i++) {
        eg_step_info step = {.size = sizeof step};
        CHECK_OK(eg_program_step(a.program, i, &step, &error), error);
        CHECK(strcmp(step.kernel, "copy") != 0, "a cache is copied");
    }
    CHECK_OK(eg_memory_query(context, EG_TAG_CACHE, &before, &error), error);
    /* whole pages, and what lies in front of the first */
    CHECK(before.current >= want && before.current < want + 2 * (uint64_t)sysconf(_SC_PAGESIZE),
          "%llu bytes", (unsigned long long)before.current);
    open_user(context, s, a.instance, &b);
    CHECK_OK(eg_memory_query(context, EG_TAG_CACHE, &after, &error), error);
    CHECK(after.current == before.current, "sharing takes memory");
    close_user(context, &a);
    CHECK_OK(eg_memory_query(context, EG_TAG_CACHE, &after, &error), error);
    CHECK(after.current == before.current, "the states are gone");
    uint64_t state = 3;
    fill_any(&b, &state);
    CHECK_OK(eg_run(b.instance, NULL, &error), error);
    eg_tensor keys;
    CHECK_OK(eg_instance_state(b.instance, "keys", &keys, &error), error);
    CHECK(keys.type == EG_F16 && keys.rank == 2 && keys.shape[0] == s->slots && keys.shape[1] == 64,
          "a cache of another shape");
    eg_instance_reset(b.instance);
    for (uint64_t i = 0; i < elements(&keys); i++)
        CHECK(((const uint16_t *)keys.data)[i] == 0, "not reset");
    close_user(context, &b);
    CHECK_OK(eg_memory_query(context, EG_TAG_CACHE, &after, &error), error);
    CHECK(after.current == 0, "the states stay");
    eg_context_destroy(context);
}

TEST(cached, int8_rows) {
    const sizes s = {EG_I8, EG_I8, 1, 3, 1, 4, 4, 3, 3, {.heads = 2}};
    static const float rows[3][6] = {{1, -2, 0.5f, 0, 0, 0},
                                     {127, 63.5f, -126.5f, 3, INFINITY, 1},
                                     {1e-44f, 0, 0, -1e38f, 1e38f, NAN}};
    static const int8_t want[3][6] = {
        {64, -127, 32, 0, 0, 0}, {127, 64, -126, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
    eg_context *context = context_of(NULL, 1);
    user u;
    eg_error error;
    eg_tensor keys;
    open_user(context, &s, NULL, &u);
    memcpy(u.k.data, rows, sizeof rows);
    for (int i = 0; i < 3; i++) ((int32_t *)u.at.data)[i] = 3 - i;
    CHECK_OK(eg_run(u.instance, NULL, &error), error);
    CHECK_OK(eg_instance_state(u.instance, "keys", &keys, &error), error);
    CHECK(keys.type == EG_I8 && keys.shape[1] == 8 + 8, "rows of %d", (int)keys.shape[1]);
    for (int r = 0; r < 3; r++) {
        const int8_t *row = (const int8_t *)keys.data + (3 - r) * 16;
        float scale[2];
        memcpy(scale, row + 8, sizeof scale);
        for (int i = 0; i < 6; i++)
            CHECK(row[i] == want[r][i], "row %d: %d is %d, not %d", r, i, row[i], want[r][i]);
        CHECK(r || (scale[0] == 2.0f / 127 && scale[1] == 0), "scale %g", (double)scale[0]);
        CHECK(!r || isnan(scale[1]), "what is not finite has a scale: %g", (double)scale[1]);
    }
    close_user(context, &u);
    eg_context_destroy(context);
}

TEST(cached, sharing_is_refused) {
    eg_context *context = context_of(NULL, 1), *other = context_of(NULL, 1);
    sizes s = cases[1];
    user u;
    eg_error error;
    eg_instance *wrong;
    open_user(context, &s, NULL, &u);
    for (int i = 0; i < 4; i++) {
        eg_graph *g;
        eg_program *program;
        s = cases[1];
        if (i == 0) s.slots *= 2;
        if (i == 1) s.v_type = EG_F16;
        CHECK_OK(eg_graph_create(i == 3 ? other : context, &g, &error), error);
        const nodes n = build(g, &s);
        if (i == 2) eg_state(g, "more", 1, (uint64_t[]){3});
        const eg_output output = {"y", n.y};
        CHECK_OK(eg_compile(i == 3 ? other : context, g, 1, &output, NULL, &program, &error),
                 error);
        static const char *const parts[] = {"'keys'", "'values'", "'more'", "another context"};
        CHECK_FAILS(eg_instance_create_with(program, NULL, u.instance, &wrong, &error), error,
                    EG_ERR_ARGUMENT, parts[i]);
        CHECK(!wrong, "an instance");
        eg_program_release(program);
        eg_graph_destroy(g);
    }
    close_user(context, &u);
    eg_context_destroy(context);
    eg_context_destroy(other);
}

/* ---- mistakes */
static void mistake_in(eg_context *context, int which, const char *part) {
    eg_graph *g;
    eg_program *program;
    eg_error error;
    const eg_attention_options o = {.heads = 2, .causal = 1}, odd = {.heads = 2, .kv_heads = 1},
                               drops = {.heads = 2, .dropout = 0.1};
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node q = eg_input(g, "q", EG_F32, 3, (uint64_t[]){1, 1, 8}),
            at = eg_input(g, "at", EG_I32, 2, (uint64_t[]){1, 1}),
            pages = eg_input(g, "pages", EG_I32, 2, (uint64_t[]){1, 2}),
            n = eg_input(g, "n", EG_I32, 1, (uint64_t[]){1}), c = eg_cache(g, "c", EG_F16, 8, 2, 4),
            e = eg_cache(g, "e", EG_F16, 16, 2, 4), d;
    eg_node a = eg_append(g, c, q, at), y = q;
    switch (which) {
    case 0: y = eg_add(g, c, c); break;
    case 1: eg_update(g, c, eg_append(g, eg_cache(g, "f", EG_F16, 8, 2, 4), q, at)); break;
    case 2: eg_update(g, c, q); break;
    case 3: eg_append(g, c, q, pages); break;
    case 4: eg_append(g, c, eg_slice(g, q, 2, 0, 4), at); break;
    case 5: eg_append(g, q, q, at); break;
    case 6: eg_cache(g, "z", EG_BF16, 8, 2, 4); break;
    case 7: eg_cache(g, "z", EG_F16, 8, 0, 4); break;
    case 8: eg_attention_cached(g, &odd, q, a, a, pages, n, 4); break;
    case 9: eg_attention_cached(g, &drops, q, a, a, pages, n, 4); break;
    case 10: eg_attention_cached(g, &o, q, a, e, pages, n, 4); break;
    case 11: eg_attention_cached(g, &o, q, a, a, pages, n, 9); break;
    case 12: eg_attention_cached(g, &o, q, q, a, pages, n, 4); break;
    case 13: eg_attention_cached(g, &o, q, a, a, at, pages, 4); break;
    case 14: eg_attention_cached(g, &o, eg_slice(g, q, 2, 0, 4), a, a, pages, n, 4); break;
    case 15:
        y = eg_sum(g, eg_attention_cached(g, &o, q, a, a, pages, n, 4), EG_ALL_AXES, 0);
        eg_gradient(g, y, 1, &q, &d, NULL);
        break;
    case 16: y = eg_attention_cached(g, &o, q, a, a, pages, n, 4); break; /* no update */
    case 17:
        eg_update(g, c, a);
        y = eg_add(g, eg_attention_cached(g, &o, q, a, a, pages, n, 4),
                   eg_attention_cached(g, &o, q, c, c, pages, n, 4));
        break;
    case 18: y = c; break;
    default: eg_update(g, eg_update(g, c, a), a); break;
    }
    const eg_output output = {"y", y};
    eg_status status = eg_compile(context, g, 1, &output, NULL, &program, &error);
    CHECK(status && strstr(error.message, part), "case %d: %s '%s', not '%s'", which,
          eg_status_name(status), error.message, part);
    eg_graph_destroy(g);
}

TEST(cached, mistakes) {
    static const char *const parts[] = {
        "cache 'c' is read by attention_cached only",
        "update: cache 'c' can be updated only with eg_append of itself",
        "update: a state of f32 [8, 8] cannot be updated with f32 [1, 1, 8]",
        "append: slots are i32 [1, 2]",
        "append: rows are f32 [1, 1, 4]",
        "append: 'input' is not a cache",
        "type 'bf16'",
        "cache 'z': 8 slots of 0 heads x 4 columns are zero or too large",
        "attention_cached: cache 'c' of 8 slots and 2 heads does not fit 1 key heads",
        "dropout 0.1",
        "attention_cached: the cache of keys has 8 slots, that of values 16",
        "pages of 9",
        "attention_cached: 'input' is not a cache",
        "lengths",
        "attention_cached: queries are f32 [1, 1, 4]",
        "no gradient",
        "'c' must be updated with the appended value",
        "'c' is read after rows were appended",
        "is a cache",
        "'update' is not a state"};
    eg_context *context = context_of(NULL, 1);
    for (int i = 0; i < (int)(sizeof parts / sizeof *parts); i++) mistake_in(context, i, parts[i]);
    eg_context_destroy(context);
}

TEST(cached, no_c_yet) {
    eg_context *context = context_of(NULL, 1);
    user u;
    eg_error error;
    open_user(context, &cases[1], NULL, &u);
    CHECK_FAILS(eg_export_c(u.program, NULL, test_folder(), "words", NULL, &error), error,
                EG_ERR_UNSUPPORTED, "cache 'keys'");
    close_user(context, &u);
    eg_context_destroy(context);
}

TEST(cached, budget) {
    eg_context *context;
    eg_error error;
    const eg_context_options options = {.threads = 1, .memory_budget = 8 << 20};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const sizes s = {EG_F16, EG_F16, 1, 1, 4, 64, 64 * 512, 64, 64, {.heads = 1}};
    const eg_output output = {"y", build(g, &s).y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_FAILS(eg_instance_create(program, NULL, &instance, &error), error, EG_ERR_BUDGET, "");
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

static eg_status attempt(void *from, eg_context *context, eg_error *error) {
    const sizes *s = from;
    eg_graph *g;
    eg_program *program = NULL;
    eg_instance *a = NULL, *b = NULL;
    eg_status status = eg_graph_create(context, &g, error);
    if (status) return status;
    const eg_output output = {"y", build(g, s).y};
    status = eg_graph_check(g, error);
    if (!status) status = eg_compile(context, g, 1, &output, NULL, &program, error);
    if (!status) status = eg_instance_create(program, NULL, &a, error);
    if (!status) status = eg_instance_create_with(program, NULL, a, &b, error);
    eg_instance_destroy(a);
    eg_instance_destroy(b);
    eg_program_release(program);
    eg_graph_destroy(g);
    return status;
}

TEST(cached, every_allocation_may_fail) {
    sizes s = cases[4];
    const int failed = test_every_allocation_within(attempt, &s);
    CHECK(failed > 50, "only %d allocations", failed);
}
