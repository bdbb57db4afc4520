/* Random graphs of all operations: compiled programs against the evaluation in double. */
#include "random_graph.h"
#include "test.h"
#include "elegans/elegans.h"

AREA(compile_random, "random graphs, compiled, against the same graph in double")

TEST(compile_random, cases) {
    eg_context *context[4];
    eg_error error;
    for (unsigned i = 0; i < 4; i++) {
        eg_context_options options = {.threads = i + 1};
        CHECK_OK(eg_context_create(&options, &context[i], &error), error);
    }
    const uint64_t cases = getenv("ELEGANS_QUICK") ? 300 : 3000; /* an emulator is slow */
    for (uint64_t i = 0; i < cases; i++) {
        eg_graph *g;
        random_case c;
        CHECK_OK(eg_graph_create(context[i % 4], &g, &error), error);
        random_case_make(g, i, &c);
        if (eg_graph_check(g, NULL) == EG_OK)
            compiled_check(context[i % 4], g, c.count, c.output, &c.c);
        eg_graph_destroy(g);
    }
    for (unsigned i = 0; i < 4; i++) eg_context_destroy(context[i]);
}
