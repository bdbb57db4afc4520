/* Bytes cut into patches: short where they say much, long where they say little. */
#include <elegans/elegans.h>
#include <stdio.h>

int main(void) {
    const char text[] = "........................................................"
                        "The worm C. elegans has 302 neurons; 7 of them move it forward. "
                        "========================================================";
    enum { COUNT = sizeof text - 1 };
    float entropies[COUNT];
    uint32_t sizes[COUNT];
    size_t patches;
    eg_context *context;
    eg_error error;
    eg_patch_statistics s;
    /* 32 bytes can say 5 bits, which is 0.625: thresholds for small windows are lower */
    const eg_patch_options options = {.low = 0.2, .high = 0.5};
    if (eg_context_create(NULL, &context, &error) ||
        eg_entropy_of(context, text, COUNT, 32, entropies, &error) ||
        eg_patch_sizes(context, &options, entropies, COUNT, sizes, &patches, &s, &error))
        return puts(error.message), 1;
    const char *at = text;
    for (size_t i = 0; i < patches; at += sizes[i++])
        printf("%2u  %.3f  %.*s\n", sizes[i], (double)entropies[at - text], (int)sizes[i], at);
    printf("%zu of %d bytes, %.1f bytes per patch\n", (size_t)(at - text), (int)COUNT,
           s.compression_ratio);
    eg_context_destroy(context);
    return 0;
}
