/* --activations: what products multiply, and what that changes. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

int read_activations(const char *text, eg_type *out) {
    static const eg_type types[] = {EG_F32, EG_BF16, EG_F16};
    for (size_t i = 0; text && i < sizeof types / sizeof *types; i++)
        if (strcmp(text, eg_type_name(types[i])) == 0) {
            *out = types[i];
            return CLI_OK;
        }
    return text ? fail(EXIT_USAGE, "--activations: '%s' is not f32, bf16 or f16", text) : CLI_OK;
}

void print_activations(eg_type type, const eg_tensor *exact, const eg_tensor *rounded) {
    eg_difference off;
    if (eg_tensor_compare(exact, rounded, &off, NULL)) return;
    fprintf(stderr,
            "activations in %s: rms %.2g of the outputs' from f32, at most %.3g (measured)\n",
            eg_type_name(type), pow(10, -off.snr / 20), off.most);
}
