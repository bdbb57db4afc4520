/* Wirings: bit for bit those of ncps, statistics as networkx counts them, bad specs refused. */
#include "golden_tensors.h"
#include "elegans/context.h"
#include "nn/wiring_draw.h"

AREA(wiring, "wirings as ncps draws them")

static eg__wiring *build(eg__memory *memory, const char *spec) {
    eg__wiring_options options;
    uint32_t inputs;
    eg_error error = {0};
    eg__wiring *w = NULL;
    eg_status status = eg__wiring_parse(spec, &options, &inputs, &error);
    if (!status) status = eg__wiring_build(memory, &options, inputs, &w, &error);
    CHECK(!status, "%s: %s", spec, error.message);
    return w;
}

static eg__memory *new_memory(void) {
    eg__memory *memory = NULL;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    return memory;
}

/* ---- the golden files */

/* What a second build() adds to a wiring in ncps: proof that the generator goes on as theirs. */
static void draw_twice(eg__wiring *w) {
    if (w->options.kind == EG__WIRING_FULL) {
        eg__pcg pcg;
        eg__pcg_seed(&pcg, w->options.seed);
        eg__wiring_draw_full(w, &pcg);
        eg__wiring_draw_full_sensory(w, &pcg);
        eg__wiring_draw_full_sensory(w, &pcg);
    } else {
        eg__mt mt;
        eg_error error;
        eg__mt_seed(&mt, (uint32_t)w->options.seed);
        CHECK_OK(eg__wiring_draw_ncp(w, &mt, &error), error);
        CHECK_OK(eg__wiring_draw_ncp(w, &mt, &error), error);
    }
}

static bool same(const golden_file *file, const char *name, const int8_t *ours, size_t count) {
    size_t size;
    const int32_t *theirs = golden_tensor(file, name, &size);
    if (!theirs || size != count * sizeof *theirs) return false;
    for (size_t i = 0; i < count; i++)
        if (theirs[i] != ours[i]) return false;
    return true;
}

TEST(wiring, golden) {
    static const struct {
        const char *file, *spec;
        bool twice;
    } rows[] = {
        {"00_fullyconnected", "full:10,in=5", false},
        {"01_fullyconnected", "full:16:4,in=3,wiring_seed=7", false},
        {"02_fullyconnected", "full:9,in=2,wiring_seed=0,self=0", false},
        {"03_fullyconnected", "full:5,in=2", true},
        {"04_random", "random:12,in=4", false},
        {"05_random", "random:20:5,in=6,sparsity=0.5", false},
        {"06_random", "random:15,in=7,wiring_seed=42,sparsity=0.9", false},
        {"07_random", "random:105,in=8,wiring_seed=3,sparsity=0.75", false},
        {"08_random", "random:105,in=8,wiring_seed=3,sparsity=0.99", false},
        {"09_random", "random:3,in=1,wiring_seed=5,sparsity=0.5", false},
        {"10_ncp", "ncp:10:8:4,sensory_fanout=4,inter_fanout=5,recurrent=6,motor_fanin=4,in=8",
         false},
        {"11_ncp",
         "ncp:20:5:3,sensory_fanout=1,inter_fanout=1,recurrent=3,motor_fanin=1,in=3,wiring_seed=9",
         false},
        {"12_ncp",
         "ncp:3:17:6,sensory_fanout=1,inter_fanout=1,recurrent=0,motor_fanin=1,in=2,wiring_seed=0",
         false},
        {"13_ncp", "ncp:10:8:4,sensory_fanout=4,inter_fanout=5,recurrent=6,motor_fanin=4,in=8",
         true},
        {"14_autoncp", "autoncp:28:4,in=6", false},
        {"15_autoncp", "autoncp:28:4,in=20", false},
        {"16_autoncp", "autoncp:64:16,in=16", false},
        {"17_autoncp", "autoncp:64:16,in=16,wiring_seed=4294967295", false},
        {"18_autoncp", "autoncp:128:10,in=12,wiring_seed=0,sparsity=0.1", false},
        {"19_autoncp", "autoncp:40:7,in=9,wiring_seed=1,sparsity=0.9", false},
        {"20_autoncp", "autoncp:12:3,in=3,wiring_seed=2,sparsity=1.0", false},
        {"21_autoncp", "autoncp:5:2,in=1,wiring_seed=2", false},
    };
    if (!test_data("")) {
        test_skip("ELEGANS_DATA is not set");
        return;
    }
    eg__memory *memory = new_memory();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[128];
        golden_file file = {0};
        snprintf(path, sizeof path, "ncp-golden/public/wirings/%s.safetensors", rows[i].file);
        CHECK(golden_open(&file, test_data(path)), "no %s", path);
        eg__wiring *w = build(memory, rows[i].spec);
        if (w && rows[i].twice) draw_twice(w);
        if (w && file.bytes) {
            CHECK(same(&file, "adjacency", w->adjacency, (size_t)w->units * w->units), "%s",
                  rows[i].file);
            CHECK(same(&file, "sensory_adjacency", w->sensory, (size_t)w->inputs * w->units),
                  "%s: sensory", rows[i].file);
        }
        eg__wiring_destroy(w);
        golden_close(&file);
    }
    eg__memory_destroy(memory);
}

/* ---- the same and more, by checksum, with the statistics */

typedef struct expected {
    unsigned long long adjacency, sensory, pairs, total;
    unsigned components, largest, unreached, longest;
} expected;

static void check_statistics(const eg__wiring *w, const char *spec, const expected *e) {
    eg_wiring_statistics s;
    eg_error error;
    CHECK_OK(eg_wiring_statistics_get(w, &s, &error), error);
    CHECK(s.components == e->components && s.largest_component == e->largest &&
              s.unreached == e->unreached && s.pairs == e->pairs && s.path_longest == e->longest,
          "%s: %u components, largest %u, unreached %u, %llu pairs, longest %u", spec, s.components,
          s.largest_component, s.unreached, (unsigned long long)s.pairs, s.path_longest);
    CHECK(s.pairs ? s.path_mean == (double)e->total / (double)e->pairs : s.path_mean == 0,
          "%s: mean %g", spec, s.path_mean);
    uint64_t synapses = 0, sensory = 0;
    for (uint32_t d = 0; d < w->units; d++) {
        for (uint32_t u = 0; u < w->units; u++) synapses += eg_wiring_synapse(w, u, d) != 0;
        for (uint32_t u = 0; u < w->inputs; u++) sensory += eg_wiring_sensory(w, u, d) != 0;
    }
    CHECK(s.synapses == synapses && s.excitatory + s.inhibitory == synapses, "%s: synapses", spec);
    CHECK(s.sensory_synapses == sensory && s.sensory_excitatory + s.sensory_inhibitory == sensory,
          "%s: sensory synapses", spec);
    CHECK(s.in.mean == s.out.mean && s.in.least <= s.in.mean && s.in.mean <= s.in.most, "%s", spec);
}

TEST(wiring, checksums) {
    FILE *file = fopen(test_path("fixtures/wirings/golden.txt"), "r");
    CHECK(file, "no fixture");
    eg__memory *memory = new_memory();
    char line[512], spec[256];
    expected e;
    unsigned count = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (line[0] == '#' ||
            sscanf(line, "%255s %llx %llx %u %u %u %llu %llu %u", spec, &e.adjacency, &e.sensory,
                   &e.components, &e.largest, &e.unreached, &e.pairs, &e.total, &e.longest) != 9)
            continue;
        eg__wiring *w = build(memory, spec);
        if (!w) continue;
        CHECK(golden_checksum(w->adjacency, (size_t)w->units * w->units) == e.adjacency, "%s",
              spec);
        CHECK(golden_checksum(w->sensory, (size_t)w->inputs * w->units) == e.sensory, "%s: sensory",
              spec);
        check_statistics(w, spec, &e);
        eg__wiring_destroy(w);
        count++;
    }
    CHECK(count == 172, "%u rows", count);
    if (file) fclose(file);
    eg__memory_destroy(memory);
    test_claim("%u wirings are those of ncps; paths and components those of networkx", count);
}

/* ---- rules */

TEST(wiring, built_twice) {
    static const char *const specs[] = {"full:7,in=3", "random:9,in=3,sparsity=0.5",
                                        "autoncp:12:3,in=4"};
    eg__memory *memory = new_memory();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        eg__wiring *a = build(memory, specs[i]), *b = build(memory, specs[i]), *c = NULL;
        if (!a || !b) continue;
        eg_error error;
        /* options that were completed once give the same wiring again */
        CHECK_OK(eg__wiring_build(memory, &a->options, a->inputs, &c, &error), error);
        const size_t inner = (size_t)a->units * a->units, outer = (size_t)a->inputs * a->units;
        CHECK(!memcmp(a->adjacency, b->adjacency, inner) && !memcmp(a->sensory, b->sensory, outer),
              "%s: a second one differs", specs[i]);
        CHECK(c && !memcmp(a->adjacency, c->adjacency, inner) &&
                  !memcmp(a->sensory, c->sensory, outer),
              "%s: completed options differ", specs[i]);
        eg__wiring_destroy(a);
        eg__wiring_destroy(b);
        eg__wiring_destroy(c);
    }
    eg__memory_destroy(memory);
}

TEST(wiring, layers) {
    eg__memory *memory = new_memory();
    eg__wiring *w = build(memory, "autoncp:28:4,in=6");
    eg_wiring_info info = {.size = sizeof info};
    eg_wiring_info_get(w, &info);
    CHECK(!strcmp(info.kind, "autoncp") && info.seed == 22222 && info.units == 28 &&
              info.inputs == 6 && info.outputs == 4 && info.layers == 3 &&
              info.layer_sizes[0] == 15 && info.layer_sizes[1] == 9 && info.layer_sizes[2] == 4,
          "%s %u", info.kind, info.layers);
    CHECK(w->options.sensory_fanout == 7 && w->options.inter_fanout == 4 &&
              w->options.recurrent == 9 && w->options.motor_fanin == 4,
          "the fans of autoncp");
    CHECK(eg_wiring_layer_unit(w, 0, 0) == 13 && eg_wiring_layer_unit(w, 1, 8) == 12 &&
              eg_wiring_layer_unit(w, 2, 3) == 3 && eg_wiring_layer_unit(w, 2, 4) == UINT32_MAX &&
              eg_wiring_layer_unit(w, 3, 0) == UINT32_MAX,
          "motor units have the lowest ids");
    CHECK(!eg_wiring_synapse(w, 28, 0) && !eg_wiring_synapse(w, 0, 28) &&
              !eg_wiring_sensory(w, 6, 0) && !eg_wiring_sensory(w, 0, 28),
          "synapses beyond the last unit");
    eg__wiring_destroy(w);
    w = build(memory, "full:5:2,in=1,wiring_seed=18446744073709551615");
    eg_wiring_info_get(w, &info);
    CHECK(info.layers == 1 && info.layer_sizes[0] == 5 && info.outputs == 2 &&
              info.seed == UINT64_MAX,
          "one layer");
    eg__wiring_destroy(w);
    eg__memory_destroy(memory);
}

/* A ring of three that is fed, and a pair beside it that is not: counted by hand. */
TEST(wiring, statistics_by_hand) {
    eg__memory *memory = new_memory();
    const eg__wiring_options options = {.kind = EG__WIRING_EDGES, .units = 5};
    eg__wiring *w;
    eg_error error;
    eg_wiring_statistics s;
    CHECK_OK(eg__wiring_build(memory, &options, 2, &w, &error), error);
    eg__wiring_set(w, 0, 1, 1), eg__wiring_set(w, 1, 2, -1), eg__wiring_set(w, 2, 0, 1);
    eg__wiring_set(w, 3, 4, -1), eg__wiring_set(w, 4, 4, -1);
    eg__wiring_set_sensory(w, 1, 2, 1);
    CHECK_OK(eg_wiring_statistics_get(w, &s, &error), error);
    CHECK(s.synapses == 5 && s.excitatory == 2 && s.inhibitory == 3 && s.self == 1, "synapses");
    CHECK(s.sensory_synapses == 1 && s.sensory_excitatory == 1 && s.sensory_density == 0.1 &&
              s.density == 0.2,
          "density");
    CHECK(s.in.least == 0 && s.in.most == 2 && s.in.mean == 1 && s.out.least == 1 &&
              s.out.most == 1 && s.sensory_in.most == 1 && s.sensory_out.least == 0 &&
              s.sensory_out.mean == 0.5,
          "degrees");
    CHECK(s.components == 3 && s.largest_component == 3 && s.unreached == 2, "components");
    CHECK(s.pairs == 7 && s.path_longest == 2 && s.path_mean == 10.0 / 7, "paths");
    eg__wiring_destroy(w);
    eg__memory_destroy(memory);
}

TEST(wiring, bad_specs) {
    static const struct {
        const char *spec, *part;
    } rows[] = {
        {"", "unknown wiring ''"},
        {"worm:3", "unknown wiring 'worm'"},
        {"full", "'full' is not of the form 'full:UNITS[:OUTPUTS]'"},
        {"full:", "'full:' is not"},
        {"full:0,in=1", "'full:0' is not"},
        {"full:-3,in=1", "'full:-3' is not"},
        {"full:3:2:1,in=1", "'full:3:2:1' is not"},
        {"full:4294967296,in=1", "'full:4294967296' is not"},
        {"full:3:4,in=1", "'4' outputs are more than the '3' units"},
        {"full:16385,in=1", "'16385' units"},
        {"full:3,in=1,", "unknown key ''"},
        {"full:3,in=1,seed=2", "unknown key 'seed'"},
        {"full:3,in=1,sparsity=0.5", "unknown key 'sparsity'"},
        {"full:3,in=1,in=2", "repeated key 'in'"},
        {"full:3,in=0", "unusable value 'in=0'"},
        {"full:3,in", "unusable value 'in'"},
        {"full:3,in=x", "unusable value 'in=x'"},
        {"full:3,in=16385", "'16385' inputs"},
        {"full:3", "'0' inputs"},
        {"full:3,in=1,self=2", "unusable value 'self=2'"},
        {"full:3,in=1,wiring_seed=18446744073709551616", "unusable value 'wiring_seed=1844"},
        {"full:3,in=1,wiring_seed=", "unusable value 'wiring_seed='"},
        {"random:3,in=1,sparsity=1", "sparsity '1' of a random wiring"},
        {"random:3,in=1,sparsity=-0.1", "sparsity '-0.1'"},
        {"random:3,in=1,sparsity=nan", "sparsity 'nan'"},
        {"random:3,in=1,sparsity=x", "unusable value 'sparsity=x'"},
        {"random:3,in=1,self=0", "unknown key 'self'"},
        {"autoncp:64,in=1", "'autoncp:64' is not"},
        {"autoncp:5:3,in=1", "'3' outputs of '5' units"},
        {"autoncp:2:1,in=1", "'1' outputs of '2' units"},
        {"autoncp:20000:4,in=1", "'20000' units"},
        {"autoncp:64:8,in=1,sparsity=0.05", "sparsity '0.05'"},
        {"autoncp:64:8,in=1,sparsity=1.5", "sparsity '1.5'"},
        {"autoncp:64:8,in=1,wiring_seed=4294967296", "seed '4294967296'"},
        {"autoncp:64:8,in=1,motor_fanin=3", "unknown key 'motor_fanin'"},
        {"ncp:3:4,in=1", "'ncp:3:4' is not"},
        {"ncp:3:4:5,in=1", "missing key 'sensory_fanout'"},
        {"ncp:3:4:5,in=1,sensory_fanout=4,inter_fanout=1,motor_fanin=1", "sensory_fanout '4'"},
        {"ncp:3:4:5,in=1,sensory_fanout=1,inter_fanout=5,motor_fanin=1", "inter_fanout '5'"},
        {"ncp:3:4:5,in=1,sensory_fanout=1,inter_fanout=1,motor_fanin=5", "motor_fanin '5'"},
        {"ncp:3:4:5,in=1,sensory_fanout=1,inter_fanout=1,motor_fanin=1,recurrent=300000000",
         "recurrent '300000000'"},
        {"ncp:3:4:4294967290,in=1,sensory_fanout=1,inter_fanout=1,motor_fanin=1", "motor units"},
    };
    eg__memory *memory = new_memory();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__wiring_options options;
        uint32_t inputs;
        eg_error error = {0};
        eg__wiring *w = NULL;
        eg_status status = eg__wiring_parse(rows[i].spec, &options, &inputs, &error);
        if (!status) status = eg__wiring_build(memory, &options, inputs, &w, &error);
        CHECK(status && strstr(error.message, rows[i].part) && !w, "%s: '%s', expected '%s'",
              rows[i].spec, error.message, rows[i].part);
        eg__wiring_destroy(w);
    }
    eg__memory_destroy(memory);
    test_claim("%zu bad specs refused", sizeof rows / sizeof *rows);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    const eg_context_options options = {
        .size = sizeof options, .allocator = *allocator, .threads = 1, .isa = "ref"};
    eg_context *context = NULL;
    eg_wiring *w = NULL;
    eg_wiring_statistics s;
    eg_status status = eg_context_create(&options, &context, error);
    if (!status) status = eg_wiring_create(context, user, &w, error);
    if (!status) status = eg_wiring_statistics_get(w, &s, error);
    eg_wiring_destroy(w);
    eg_context_destroy(context);
    return status;
}

TEST(wiring, every_allocation_may_fail) {
    static const char *const specs[] = {"full:4,in=2", "random:5,in=2,sparsity=0.5",
                                        "autoncp:9:2,in=3"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        CHECK(test_every_allocation(attempt, (void *)specs[i]) >= 5, "%s took no memory", specs[i]);
}
