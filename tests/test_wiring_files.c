/* Wirings in JSON files: what is written reads back synapse for synapse; damage is refused. */
#include "test.h"
#include "elegans/context.h"
#include "formats/models/wiring_json.h"

AREA(wiring_files, "wirings in JSON: round trip, damage refused by name")

static eg_context *open_context(void) {
    eg_context *context = NULL;
    eg_error error;
    const eg_context_options options = {.size = sizeof options, .threads = 1};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

static void check_same(const eg_wiring *a, const eg_wiring *b) {
    CHECK(a->units == b->units && a->inputs == b->inputs && a->outputs == b->outputs, "sizes");
    CHECK(!memcmp(a->adjacency, b->adjacency, (size_t)a->units * a->units), "synapses");
    CHECK(!memcmp(a->sensory, b->sensory, (size_t)a->inputs * a->units), "sensory synapses");
    CHECK(a->layer_count == b->layer_count &&
              !memcmp(a->layer_first, b->layer_first,
                      (a->layer_count + 1) * sizeof *a->layer_first) &&
              !memcmp(a->layer_ids, b->layer_ids, a->units * sizeof *a->layer_ids),
          "layers");
}

/* A text in memory, not terminated, is the same wiring as the file of this text. */
TEST(wiring_files, from_memory) {
    static const char text[] =
        "{\"units\":3,\"inputs\":2,\"outputs\":1,\"synapses\":[[2,1,1],[1,0,-1]],"
        "\"sensory\":[[1,2,-1]],\"layers\":[[2],[1],[0]]}";
    const size_t length = sizeof text - 1;
    eg_context *context = open_context();
    eg_wiring *made = NULL, *back = NULL;
    eg_error error = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/memory.json", test_folder());
    char *exact = malloc(length);
    CHECK(exact, "memory");
    memcpy(exact, text, length);
    const eg_status status = eg_wiring_create_json(context, exact, length, &made, &error);
    if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
    else {
        CHECK_OK(status, error);
        CHECK(eg_wiring_synapse(made, 1, 0) == -1 && eg_wiring_synapse(made, 2, 1) == 1 &&
                  eg_wiring_sensory(made, 1, 2) == -1 && !eg_wiring_sensory(made, 0, 2),
              "synapses");
        CHECK_OK(eg_wiring_save(made, path, &error), error);
        CHECK_OK(eg_wiring_create(context, path, &back, &error), error);
        if (back) check_same(made, back);
        eg_wiring *none;
        CHECK_FAILS(eg_wiring_create_json(context, exact, length - 1, &none, &error), error,
                    EG_ERR_FORMAT, "");
        CHECK(!none, "half a text is no wiring");
    }
    free(exact);
    eg_wiring_destroy(made);
    eg_wiring_destroy(back);
    eg_context_destroy(context);
}

TEST(wiring_files, round_trip) {
    static const char *const specs[] = {"full:4:2,in=3,self=0", "random:9,in=2,sparsity=0.5",
                                        "autoncp:28:4,in=6"};
    eg_context *context = open_context();
    char path[300];
    snprintf(path, sizeof path, "%s/wiring.json", test_folder());
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        eg_wiring *made = NULL, *back = NULL;
        eg_error error = {0};
        CHECK_OK(eg_wiring_create(context, specs[i], &made, &error), error);
        eg_status status = eg_wiring_save(made, path, &error);
        if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
        else {
            CHECK_OK(status, error);
            CHECK_OK(eg_wiring_create(context, path, &back, &error), error);
            if (back) check_same(made, back);
        }
        eg_wiring_destroy(made);
        eg_wiring_destroy(back);
    }
    eg_wiring *w;
    eg_error error;
    CHECK_FAILS(eg_wiring_create(context, "full:3", &w, &error), error, EG_ERR_ARGUMENT,
                "no 'in=N' in the wiring 'full:3'");
    CHECK_FAILS(eg_wiring_create(context, "/nowhere/x.json", &w, &error), error, EG_ERR_FILE,
                "'/nowhere/x.json'");
    CHECK_FAILS(eg_wiring_create(NULL, "full:3", &w, &error), error, EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_wiring_create_json(context, NULL, 0, &w, &error), error, EG_ERR_ARGUMENT,
                "no text");
    CHECK(!w, "a failure leaves no wiring");
    CHECK_FAILS(eg_wiring_save(NULL, path, &error), error, EG_ERR_ARGUMENT, "no wiring");
    CHECK_FAILS(eg_wiring_statistics_get(NULL, NULL, &error), error, EG_ERR_ARGUMENT, "no wiring");
    eg_context_destroy(context);
}

#define HEAD "{\"units\":3,\"inputs\":2,\"outputs\":1,"
#define BODY HEAD "\"synapses\":[[0,1,1]],\"sensory\":[],"

TEST(wiring_files, damage) {
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "line"},
        {"[]", "a wiring is an object"},
        {"{}", "'units' of a wiring is no count within 1..16384"},
        {"{\"units\":0}", "'units'"},
        {"{\"units\":16385}", "'units'"},
        {"{\"units\":3}", "'inputs' of a wiring"},
        {"{\"units\":3,\"inputs\":1,\"outputs\":4}",
         "'outputs' of a wiring is no count within 1..3"},
        {"{\"units\":3,\"wings\":1}", "unknown key 'wings'"},
        {"{\"units\":3,\"units\":3}", "line"},
        {HEAD "\"sensory\":[]}", "'synapses' of a wiring is no list"},
        {HEAD "\"synapses\":[]}", "'sensory' of a wiring is no list"},
        {HEAD "\"synapses\":[3]}", "'synapses' 0 is no [source 0..2, destination 0..2, 1 or -1]"},
        {HEAD "\"synapses\":[[0,1]]}", "'synapses' 0"},
        {HEAD "\"synapses\":[[0,1,1],[3,1,1]]}", "'synapses' 1"},
        {HEAD "\"synapses\":[[0,-1,1]]}", "'synapses' 0"},
        {HEAD "\"synapses\":[[0,1,0]]}", "'synapses' 0"},
        {HEAD "\"synapses\":[[0,1,1.0]]}", "'synapses' 0"},
        {HEAD "\"synapses\":[[0,1,1],[0,1,-1]]}", "'synapses' 1 repeats the one from '0' to '1'"},
        {HEAD "\"synapses\":[],\"sensory\":[[2,0,1]]}", "'sensory' 0 is no [source 0..1"},
        {BODY "\"layers\":3}", "no list of 1 to 3 layers"},
        {BODY "\"layers\":[]}", "no list of 1 to 3 layers"},
        {BODY "\"layers\":[[0],[1],[2],[0]]}", "no list of 1 to 3 layers"},
        {BODY "\"layers\":[[0,1,2],[]]}", "no list of units"},
        {BODY "\"layers\":[[0,3]]}", "no unit within 0..2"},
        {BODY "\"layers\":[[0,1],[1]]}", "unit '1' is in the layers twice"},
        {BODY "\"layers\":[[0,1]]}", "'2' of '3' units are in the layers"},
        {BODY "\"layers\":[[2],[0,1]]}", "the last layer has '2' units, not the '1' outputs"},
    };
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__wiring *w;
        const char *text = rows[i].text;
        eg_status status = eg__wiring_from_json(memory, text, strlen(text), &w, &error);
        if (status == EG_ERR_UNSUPPORTED) {
            test_skip("%s", error.message);
            break;
        }
        CHECK(status && strstr(error.message, rows[i].part) && !w, "%s: '%s', expected '%s'", text,
              error.message, rows[i].part);
        eg__wiring_destroy(w);
    }
    eg__memory_destroy(memory);
    test_claim("round trip of every kind; %zu damaged files refused by name",
               sizeof rows / sizeof *rows);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    const eg_context_options options = {
        .size = sizeof options, .allocator = *allocator, .threads = 1, .isa = "ref"};
    eg_context *context = NULL;
    eg_wiring *w = NULL;
    eg_status status = eg_context_create(&options, &context, error);
    if (!status) status = eg_wiring_create(context, user, &w, error);
    if (!status) status = eg_wiring_save(w, user, error);
    eg_wiring_destroy(w);
    eg_context_destroy(context);
    return status;
}

TEST(wiring_files, every_allocation_may_fail) {
    eg_context *context = open_context();
    eg_wiring *w = NULL;
    eg_error error;
    char path[300];
    snprintf(path, sizeof path, "%s/failing.json", test_folder());
    CHECK_OK(eg_wiring_create(context, "autoncp:9:2,in=3", &w, &error), error);
    eg_status status = eg_wiring_save(w, path, &error);
    if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
    else CHECK(!status && test_every_allocation(attempt, path) >= 5, "%s", error.message);
    eg_wiring_destroy(w);
    eg_context_destroy(context);
}
