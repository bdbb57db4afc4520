/* A program as a stranger would write it: built against an installed elegans with pkg-config. */
#include <elegans/elegans.h>

#include <stdio.h>

int main(void) {
    eg_error error;
    eg_context *context;
    if (eg_context_create(NULL, &context, &error)) {
        fprintf(stderr, "hello: %s\n", error.message);
        return 1;
    }
    printf("elegans %s on %s, kernels for %s\n", eg_version(), eg_context_chip(context)->name,
           eg_context_isa(context));
    eg_context_destroy(context);
    return 0;
}
