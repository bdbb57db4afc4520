/* What a Mac has: Apple's own BLAS, and Homebrew's OpenBLAS. Symbols are bound per library. */
#include "library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

const blas_name library_blas[] = {
    {"accelerate", {"/System/Library/Frameworks/Accelerate.framework/Accelerate"}},
    {"openblas",
     {"/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
      "/usr/local/opt/openblas/lib/libopenblas.dylib"}},
    {NULL, {NULL}},
};
const char *const library_gomp[LIBRARY_NAMES_MAX] = {NULL};
const char *const library_sleef[LIBRARY_NAMES_MAX] = {"/opt/homebrew/opt/sleef/lib/libsleef.dylib",
                                                      "/usr/local/opt/sleef/lib/libsleef.dylib"};
const char *const library_mvec[LIBRARY_NAMES_MAX] = {NULL};

void *library_open(const char *const files[LIBRARY_NAMES_MAX]) {
    void *library = NULL;
    for (int i = 0; i < LIBRARY_NAMES_MAX && files[i] && !library; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

void library_find(void *library, const char *symbol, void *to) {
    void *address = library ? dlsym(library, symbol) : NULL;
    memcpy(to, &address, sizeof address);
}
