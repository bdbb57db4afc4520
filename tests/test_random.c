/* Random numbers: the same bits as numpy and torch drew, and the rules between the functions. */
#include "golden_tensors.h"
#include "base/random.h"

#include <math.h>

AREA(random, "MT19937, PCG64 and torch's uniform_ draw what numpy and torch drew")

enum { MOST = 1024 };
typedef struct drawn {
    union {
        int64_t integers[MOST];
        double doubles[MOST];
        float floats[2 * MOST];
    };
    size_t size; /* bytes */
} drawn;

/* numpy's randint: low <= result < high. */
static int64_t randint(eg__mt *mt, int64_t low, int64_t high) {
    return (int64_t)((uint64_t)low + eg__mt_interval(mt, (uint64_t)high - 1 - (uint64_t)low));
}

static void add(drawn *d, int64_t value) {
    d->integers[d->size / sizeof value] = value;
    d->size += sizeof value;
}

static bool draw_mt(drawn *d, const char *what, uint32_t seed) {
    eg__mt mt;
    uint32_t list[32];
    eg__mt_seed(&mt, seed);
    if (strcmp(what, "u32") == 0)
        for (int i = 0; i < 700; i++) add(d, eg__mt_u32(&mt));
    else if (strcmp(what, "permutation17_x5") == 0)
        for (int i = 0; i < 5; i++) {
            eg__mt_permutation(&mt, 17, list);
            for (int k = 0; k < 17; k++) add(d, list[k]);
        }
    else if (strcmp(what, "choice_15_7_then_pm1_x10") == 0)
        for (int i = 0; i < 10; i++) {
            eg__mt_choice(&mt, 15, NULL, 7, list);
            for (int k = 0; k < 7; k++) add(d, list[k]);
            add(d, 2 * randint(&mt, 0, 2) - 1);
        }
    else if (strcmp(what, "randint10_x20") == 0)
        for (int i = 0; i < 20; i++) add(d, randint(&mt, 0, 10));
    else if (strcmp(what, "random_sample_x20") == 0) {
        for (int i = 0; i < 20; i++) d->doubles[i] = eg__mt_sample(&mt);
        d->size = 20 * sizeof(double);
    } else return false;
    return true;
}

static int64_t polarity(eg__pcg *pcg) { return eg__pcg_bounded(pcg, 2) ? 1 : -1; }

static bool draw_pcg(drawn *d, const char *what, const uint32_t *seed, size_t words) {
    static uint32_t list[256], work[10001];
    eg__pcg pcg;
    eg__pcg_seed_words(&pcg, seed, words);
    uint32_t chosen = 0;
    if (strcmp(what, "u64bits_x20") == 0)
        for (int i = 0; i < 20; i++) add(d, (int64_t)eg__pcg_u64(&pcg));
    else if (strcmp(what, "choice_m1_1_1_x50") == 0)
        for (int i = 0; i < 50; i++) add(d, polarity(&pcg));
    else if (strcmp(what, "choice_100_of_400") == 0)
        eg__pcg_choice(&pcg, 400, chosen = 100, list, work);
    else if (strcmp(what, "choice_250_of_10001") == 0)
        eg__pcg_choice(&pcg, 10001, chosen = 250, list, work);
    else if (strcmp(what, "then_pm_x5") == 0) {
        eg__pcg_choice(&pcg, 10001, 250, list, work);
        for (int i = 0; i < 5; i++) add(d, polarity(&pcg));
    } else return false;
    for (uint32_t i = 0; i < chosen; i++) add(d, list[i]);
    return true;
}

/* A decimal number of any size in base 2^32, lowest word first. */
static size_t decimal_words(const char *text, uint32_t words[4]) {
    size_t used = 1;
    memset(words, 0, 4 * sizeof *words);
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t carry = (uint64_t)(*text - '0');
        for (size_t i = 0; i < 4; i++) {
            carry += (uint64_t)words[i] * 10;
            words[i] = (uint32_t)carry;
            if (words[i] && i + 1 > used) used = i + 1;
            carry >>= 32;
        }
    }
    return used;
}

static bool draw(drawn *d, const char *name) {
    uint32_t words[4];
    const char *seed = strchr(name, '.') + 1, *what = strchr(seed, '.') + 1;
    size_t count = decimal_words(seed, words);
    d->size = 0;
    if (strncmp(name, "mt.", 3) == 0) return draw_mt(d, what, words[0]);
    if (strncmp(name, "pcg.", 4) == 0) return draw_pcg(d, what, words, count);
    if (strncmp(name, "ss.", 3) == 0) {
        eg__seed_sequence(words, count, (uint64_t *)d->integers);
        d->size = 4 * sizeof(uint64_t);
    } else {
        eg__mt mt;
        eg__mt_seed(&mt, words[0]);
        eg__torch_uniform(&mt, 40, d->floats, -0.3, 0.3);
        d->size = 40 * sizeof(float);
    }
    return true;
}

TEST(random, golden) {
    golden_file golden = {0};
    bool there = golden_open(&golden, test_data("ncp-golden/public/rng.safetensors"));
    FILE *file = fopen(test_path("fixtures/wirings/random.txt"), "r");
    CHECK(file, "no fixture");
    char line[256], name[128];
    static drawn d;
    unsigned long long sum;
    unsigned count = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%127s %llx", name, &sum) != 2) continue;
        CHECK(draw(&d, name), "nothing draws %s", name);
        CHECK(golden_checksum(d.integers, d.size) == sum, "%s: other bits", name);
        size_t size = 0;
        const void *bytes = there ? golden_tensor(&golden, name, &size) : NULL;
        CHECK(!there || (bytes && size == d.size && memcmp(bytes, d.integers, size) == 0),
              "%s is not what the golden file holds", name);
        count++;
    }
    CHECK(count == 58, "%u rows", count);
    if (file) fclose(file);
    golden_close(&golden);
    test_claim("%u sequences of numpy and torch, %s: every bit", count,
               there ? "values and checksums" : "checksums");
}

TEST(random, small_seeds_of_two_kinds) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        eg__pcg a, b;
        uint32_t word = (uint32_t)seed;
        eg__pcg_seed(&a, seed);
        eg__pcg_seed_words(&b, &word, 1);
        CHECK(eg__pcg_u64(&a) == eg__pcg_u64(&b), "seed %d", (int)seed);
    }
}

TEST(random, halves) {
    eg__mt a, b;
    eg__mt_seed(&a, 7), eg__mt_seed(&b, 7);
    uint64_t high = eg__mt_u32(&a);
    CHECK((high << 32 | eg__mt_u32(&a)) == eg__mt_u64(&b), "the first word is the high half");
    eg__pcg c, d;
    eg__pcg_seed(&c, 7), eg__pcg_seed(&d, 7);
    uint64_t low = eg__pcg_u32(&c), whole = eg__pcg_u64(&d);
    CHECK(c.has_half && (low | (uint64_t)eg__pcg_u32(&c) << 32) == whole && !c.has_half,
          "the low half comes first");
}

/* What numpy 2.4 gives: RandomState(5).randint(0, 2**40), (-3, 3), (-2**63, 2**63-1), and the sum
 * of 1000 default_rng(5).integers(0, 3000000001), which reject a third of their draws. */
TEST(random, wide_bounds) {
    eg__mt mt;
    eg__mt_seed(&mt, 5);
    CHECK(eg__mt_interval(&mt, 0) == 0 && mt.at == EG__MT_WORDS, "a draw for one value");
    int64_t wide = randint(&mt, 0, (int64_t)1 << 40), small = randint(&mt, -3, 3),
            all = randint(&mt, INT64_MIN, INT64_MAX);
    CHECK(wide == 425438759118 && small == 2 && all == -5410076705834541962, "%lld %lld %lld",
          (long long)wide, (long long)small, (long long)all);
    eg__pcg pcg, same;
    eg__pcg_seed(&pcg, 5), eg__pcg_seed(&same, 5);
    CHECK(eg__pcg_bounded(&pcg, 0) == 0 && !pcg.has_half, "a draw for one value");
    CHECK(eg__pcg_bounded(&pcg, UINT32_MAX) == eg__pcg_u32(&same), "all 32 bits");
    eg__pcg_seed(&pcg, 5);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) sum += eg__pcg_bounded(&pcg, 3000000000u);
    CHECK(sum == 1459132073071u, "rejections: %llu", (unsigned long long)sum);
}

/* choice(20000, k) by default_rng(9): few by Floyd's way, many from the tail of a shuffle, all. */
TEST(random, few_and_many) {
    static const struct {
        uint32_t chosen;
        uint64_t sum;
    } rows[] = {{0, 0xcbf29ce484222325u},    {1, 0xf481a3e6e7a6849bu},
                {399, 0xe67052ce38838fceu},  {400, 0xb5d09e2657294ed4u},
                {401, 0xeac6003403b6850fu},  {19999, 0x3c631bb9fc01b085u},
                {20000, 0xe23e1cf97f78d62du}};
    enum { ALL = 20000 };
    uint32_t *out = test_alloc(ALL * sizeof *out), *work = test_alloc(ALL * sizeof *work);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        eg__pcg pcg;
        eg__pcg_seed(&pcg, 9);
        eg__pcg_choice(&pcg, ALL, rows[r].chosen, out, work);
        uint64_t sum = golden_checksum(out, rows[r].chosen * sizeof *out);
        CHECK(sum == rows[r].sum, "%u of %d", rows[r].chosen, ALL);
    }
    eg__pcg pcg;
    eg__pcg_seed(&pcg, 9);
    for (int i = 0; i < 1000; i++) out[i] = eg__pcg_bounded(&pcg, 4); /* choice(5, 1000) */
    CHECK(golden_checksum(out, 1000 * sizeof *out) == 0x7a6f0cac23b160a4u, "with repetition");
    free(out);
    free(work);
}

TEST(random, normal_draws) {
    static const uint64_t rows[][2] = {{0, 0},   {1, 4},   {2, 4},   {3, 8},
                                       {4, 8},   {15, 32}, {16, 16}, {17, 33},
                                       {32, 32}, {36, 52}, {64, 64}, {100, 116}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(eg__torch_normal_draws(rows[i][0]) == rows[i][1], "%d values", (int)rows[i][0]);
    eg__mt a, b;
    eg__mt_seed(&a, 1), eg__mt_seed(&b, 1);
    eg__mt_skip(&a, 1000);
    for (int i = 0; i < 1000; i++) eg__mt_u32(&b);
    CHECK(eg__mt_u32(&a) == eg__mt_u32(&b), "skipping is drawing");
}

/* The whole list at once gives what one draw after the other gives, fused as torch's vector code. */
TEST(random, uniform_is_fused) {
    static const double rows[][2] = {
        {0, 1}, {-1, 1},       {-0.3, 0.3},   {0.25, 0.75},          {-1e-3, 2e-3},
        {3, 8}, {-1e30, 1e30}, {0, 0x1p-126}, {-0x1p-140, 0x1p-139}, {0x1p-126, 0x1p-124},
        {1, 1}};
    enum { COUNT = 100003 }; /* no multiple of a block of words */
    float *out = test_alloc(COUNT * sizeof *out);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        eg__mt all, each;
        eg__mt_seed(&all, 7), eg__mt_seed(&each, 7);
        for (int i = 0; i < 5; i++) CHECK(eg__mt_u32(&all) == eg__mt_u32(&each), "draw %d", i);
        eg__torch_uniform(&all, COUNT, out, rows[r][0], rows[r][1]);
        const float low = (float)rows[r][0], range = (float)rows[r][1] - low;
        size_t wrong = 0;
        for (size_t i = 0; i < COUNT; i++) {
            const float unit = (float)(eg__mt_u32(&each) & 0xffffff) * 0x1p-24f;
            wrong += out[i] != fmaf(unit, range, low);
        }
        CHECK(!wrong, "%zu of %d within %g..%g differ", wrong, COUNT, rows[r][0], rows[r][1]);
        CHECK(eg__mt_u32(&all) == eg__mt_u32(&each), "the same number of draws");
    }
    free(out);
}
