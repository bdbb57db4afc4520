/* Graphs as JSON from arbitrary bytes. */
#include "fuzz.h"
#include "formats/models/graph_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    eg__memory *memory;
    eg__memory_options options = {.budget = 64 << 20};
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_graph *graph;
    if (eg__graph_from_json(memory, (const char *)data, size, &graph, NULL) == EG_OK)
        eg_graph_destroy(graph);
    eg__memory_destroy(memory);
    return 0;
}
