/* Graphs as JSON from arbitrary bytes. */
#include "formats/graph_json.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    eg__memory *memory;
    eg__memory_options options = {.budget = 64 << 20};
    if (eg__memory_create(&memory, &options, NULL)) return 0;
    eg_graph *graph;
    if (eg__graph_from_json(memory, (const char *)data, size, &graph, NULL) == EG_OK)
        eg_graph_destroy(graph);
    eg__memory_destroy(memory);
    return 0;
}
