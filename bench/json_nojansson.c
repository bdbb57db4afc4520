/* A build without jansson writes no JSON. */
#include "bench.h"

void report_json(const bench *b, const char *path) {
    (void)b;
    bench_fail("cannot write '%s': built without jansson", path);
}
