/* Arbitrary text as the spec of a model and of a wiring: built within a budget, or refused with a message. */
#include "fuzz.h"
#include "elegans/elegans.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const char *const begin[] = {"cfc:", "ltc:", "llama:", "gpt2:", "bert:", ""};
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 24};
    static eg_context *context; /* making one takes longer than all else */
    if (!context) require(eg_context_create(&options, &context, NULL) == EG_OK);
    char spec[300];
    if (length > 256) return 0;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        snprintf(spec, sizeof spec, "%s%.*s", begin[i], (int)length, (const char *)bytes);
        if (strchr(spec, '/') == spec || strchr(spec, '.') == spec) continue; /* that is a path */
        eg_model *model = NULL;
        eg_wiring *wiring = NULL;
        eg_error error = {0};
        eg_status status = eg_model_open(context, spec, &model, &error);
        require(status ? error.message[0] && !model : model != NULL);
        eg_model_destroy(model);
        if (i + 1 < sizeof begin / sizeof *begin) continue;
        status = eg_wiring_create(context, spec, &wiring, &error);
        require(status ? error.message[0] && !wiring : wiring != NULL);
        eg_wiring_destroy(wiring);
    }
    return 0;
}
