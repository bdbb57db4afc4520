/* Wirings from arbitrary bytes: as a spec and as JSON. What is accepted is built and looked at. */
#include "fuzz.h"
#include "formats/models/wiring_json.h"

#include <string.h>

static void look(eg__wiring *wiring) {
    eg_wiring_statistics statistics;
    require(eg_wiring_statistics_get(wiring, &statistics, NULL) ||
            statistics.excitatory + statistics.inhibitory == statistics.synapses);
    eg__wiring_destroy(wiring);
}

static void feed_spec(eg__memory *memory, const char *text) {
    eg__wiring_options options;
    uint32_t inputs;
    eg__wiring *wiring;
    if (eg__wiring_parse(text, &options, &inputs, NULL)) return;
    /* large ones are right and slow */
    if (options.units > 200 || inputs > 200 || options.recurrent > 1000) return;
    if (options.inter > 200 || options.command > 200 || options.motor > 200) return;
    if (eg__wiring_build(memory, &options, inputs, &wiring, NULL) == EG_OK) look(wiring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    eg__memory *memory;
    eg__memory_options options = {.budget = 1 << 20};
    if (eg__memory_create(&memory, &options, NULL)) return 0;
    char *text = malloc(size + 1);
    if (!text) abort();
    memcpy(text, data, size);
    text[size] = 0;
    feed_spec(memory, text);
    free(text);
    eg__wiring *wiring;
    if (eg__wiring_from_json(memory, (const char *)data, size, &wiring, NULL) == EG_OK)
        look(wiring);
    eg__memory_destroy(memory);
    return 0;
}
