/* Programs of which parts run on other devices: random splits of random graphs, states, weights, failures, costs. */
#include "device_host.h"
#include "engine/context.h"
#include "engine/program.h"
#include "random_graph.h"
#include "test.h"
#include "test_compile.h"

#include <math.h>

AREA(device, "programs split between devices: equal to one, states, weights, failures, costs")

enum { DEVICES = 2 };
typedef struct machine {
    eg_context *context;
    host_device device[DEVICES];
    size_t count;
} machine;

static void machine_open(machine *m, size_t count, unsigned threads, bool imports) {
    static const char *const names[DEVICES] = {"one", "two"};
    const eg_context_options options = {.threads = threads};
    eg_error error;
    *m = (machine){.count = count};
    CHECK_OK(eg_context_create(&options, &m->context, &error), error);
    for (size_t i = 0; i < count; i++) {
        host_device_open(&m->device[i], names[i]);
        if (imports && i == 0) host_device_import(&m->device[i]);
        CHECK_OK(eg__context_device_add(m->context, &m->device[i].device, &error), error);
    }
}
static void machine_close(machine *m) {
    for (size_t i = 0; i < m->count; i++) host_device_close(&m->device[i]);
    eg_context_destroy(m->context);
}
/* Costs that make any split as likely as another. */
static void machine_shuffle(machine *m, uint64_t number) {
    for (size_t i = 0; i < m->count; i++) m->device[i].random = 2 * (number * 2 + i) + 1;
    m->context->placement.host = (eg__host_rates){1e30, 1e30, 1e-6};
}

TEST(device, random_graphs) {
    machine m[2];
    int64_t parts = 0, runs = 0, imported = 0;
    for (unsigned i = 0; i < 2; i++) machine_open(&m[i], DEVICES, i + 1, i == 1);
    const uint64_t cases = test_quick() ? 200 : 1500;
    for (uint64_t i = 0; i < cases; i++) {
        eg_graph *g;
        eg_error error;
        eg_output outputs[RANDOM_OUTPUTS];
        char name[32];
        machine *on = &m[i % 2];
        machine_shuffle(on, i);
        CHECK_OK(eg_graph_create(on->context, &g, &error), error);
        const size_t count = random_graph(g, i, outputs);
        snprintf(name, sizeof name, "case %llu", (unsigned long long)i);
        const compiled_case c = {name, NULL, (int)(i % 3 != 0), -1, 1};
        if (eg_graph_check(g, NULL) == EG_OK) compiled_check(on->context, g, count, outputs, &c);
        eg_graph_destroy(g);
    }
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned d = 0; d < DEVICES; d++) {
            parts += m[i].device[d].parts;
            runs += m[i].device[d].runs;
            imported += m[i].device[d].imported;
        }
        machine_close(&m[i]);
    }
    CHECK(parts > (int64_t)cases, "only %lld parts in %llu graphs", (long long)parts,
          (unsigned long long)cases);
    CHECK(imported > 0, "nothing was imported");
    test_claim("%llu random graphs split into %lld parts on two devices and the cores: %lld runs",
               (unsigned long long)cases, (long long)parts, (long long)runs);
}
