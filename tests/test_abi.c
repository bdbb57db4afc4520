/* Structs of options and information: callers of the first version, of this one and of a later one. */
#include "base/abi.h"
#include "test.h"

AREA(abi, "options and infos of the first version, of this one and of a later one")

static const struct {
    const char *name;
    size_t size_at, first, now;
} rows[] = {
#define ABI(type, last) {#type, offsetof(type, size), eg__first_##type, sizeof(type)},
#include "base/abi.def"
};
enum { ROWS = sizeof rows / sizeof *rows, MORE = 16 };

/* A struct that is `size` bytes long and says so, all other bytes 7; on the heap, so that one byte too many is seen. */
static unsigned char *make(size_t size, size_t says) {
    unsigned char *made = test_alloc(size);
    memset(made, 7, size);
    memcpy(made, &says, sizeof says);
    return made;
}

static bool all(const unsigned char *bytes, size_t from, size_t to, unsigned char value) {
    for (size_t i = from; i < to; i++)
        if (bytes[i] != value) return false;
    return true;
}

TEST(abi, options) {
    for (size_t r = 0; r < ROWS; r++) {
        const size_t first = rows[r].first, now = rows[r].now, head = sizeof(size_t);
        unsigned char *kept = test_alloc(now);
        eg_error error;
        CHECK(rows[r].size_at == 0 && first > head && first <= now, "%s: %zu of %zu bytes",
              rows[r].name, first, now);
        const size_t sizes[] = {first, now, now + MORE};
        for (int i = 0; i < 3; i++) {
            const size_t size = sizes[i], known = size < now ? size : now;
            unsigned char *given = make(size, i ? size : 0); /* 0 says: the first version */
            if (size > now) memset(given + now, 0, size - now);
            CHECK_OK(eg__options_take(kept, now, first, rows[r].name, given, &error), error);
            size_t says;
            memcpy(&says, kept, head);
            CHECK(says == now && all(kept, head, known, 7) && all(kept, known, now, 0),
                  "%s of %zu bytes", rows[r].name, size);
            if (size > now) {
                given[size - 1] = 1;
                CHECK_FAILS(eg__options_take(kept, now, first, rows[r].name, given, &error), error,
                            EG_ERR_UNSUPPORTED, rows[r].name);
                CHECK(all(kept, 0, now, 0), "%s: something is left", rows[r].name);
            }
            free(given);
        }
        unsigned char *small = make(now, first - 1);
        CHECK_FAILS(eg__options_take(kept, now, first, rows[r].name, small, &error), error,
                    EG_ERR_ARGUMENT, rows[r].name);
        CHECK_OK(eg__options_take(kept, now, first, rows[r].name, NULL, &error), error);
        CHECK(all(kept, head, now, 0), "%s: defaults", rows[r].name);
        free(small);
        free(kept);
    }
}

TEST(abi, infos) {
    for (size_t r = 0; r < ROWS; r++) {
        const size_t first = rows[r].first, now = rows[r].now, head = sizeof(size_t);
        unsigned char *info = make(now, now);
        memset(info + head, 5, now - head);
        const size_t sizes[] = {first, now, now + MORE};
        for (int i = 0; i < 3; i++) {
            const size_t size = sizes[i], known = size < now ? size : now;
            unsigned char *out = make(size, i ? size : 0);
            size_t says;
            eg__info_give(out, now, first, info);
            memcpy(&says, out, head);
            CHECK(says == (i ? size : 0), "%s: its size became %zu", rows[r].name, says);
            CHECK(all(out, head, known, 5) && all(out, known, size, 0), "%s of %zu bytes",
                  rows[r].name, size);
            free(out);
        }
        free(info);
    }
}

/* What callers see: the same from the public calls. */
TEST(abi, calls) {
    struct {
        eg_model_options options;
        unsigned char later[MORE];
    } later = {.options = {.size = sizeof later}};
    eg_context *context;
    eg_graph *graph;
    eg_model *model;
    eg_model_nodes nodes;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:4,in=2", &model, &error), error);
    CHECK_OK(eg_graph_create(context, &graph, &error), error);
    CHECK_OK(eg_model_build(model, graph, &later.options, &nodes, &error), error);
    later.later[3] = 1;
    CHECK_FAILS(eg_model_build(model, graph, &later.options, &nodes, &error), error,
                EG_ERR_UNSUPPORTED, "eg_model_options");
    struct {
        eg_model_info info;
        unsigned char later[MORE];
    } info = {.info = {.size = sizeof info}}, old = {.info = {.size = 0}};
    memset(info.later, 9, sizeof info.later);
    memset(old.later, 9, sizeof old.later);
    eg_model_info_get(model, &info.info);
    eg_model_info_get(model, &old.info);
    CHECK(info.info.inputs == 2 && old.info.inputs == 2 && info.info.outputs == 4, "%llu inputs",
          (unsigned long long)info.info.inputs);
    CHECK(all(info.later, 0, MORE, 0) && all(old.later, 0, MORE, 9), "bytes behind an info");
    CHECK(info.info.size == sizeof info && old.info.size == 0, "sizes");
    eg_graph_destroy(graph);
    eg_model_destroy(model);
    eg_context_destroy(context);
}
