/* Where Debian keeps its libraries, and how to load them apart from each other. */
#include "library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stddef.h>
#include <string.h>

const blas_name library_blas[] = {
    {"openblas",
     {"/usr/lib/*/openblas-pthread/libopenblas.so.0", "/usr/lib/*/openblas-openmp/libopenblas.so.0",
      "libopenblas.so.0", NULL}},
    {"blis",
     {"/usr/lib/*/blis-openmp/libblis.so.[0-9]", "/usr/lib/*/blis-pthread/libblis.so.[0-9]",
      "libblis.so.4", NULL}},
    {NULL, {NULL}},
};
const char *const library_gomp[LIBRARY_NAMES_MAX] = {"libgomp.so.1"};
const char *const library_sleef[LIBRARY_NAMES_MAX] = {"libsleef.so.3"};
const char *const library_mvec[LIBRARY_NAMES_MAX] = {"libmvec.so.1"};

static void *open_one(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

/* A pattern may match a library of another architecture: that one does not load. */
static void *open_pattern(const char *pattern) {
    void *library = NULL;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !library; i++)
            library = open_one(found.gl_pathv[i]);
        globfree(&found);
    }
    return library;
}

void *library_open(const char *const files[LIBRARY_NAMES_MAX]) {
    void *library = NULL;
    for (int i = 0; i < LIBRARY_NAMES_MAX && files[i] && !library; i++)
        library = strchr(files[i], '*') ? open_pattern(files[i]) : open_one(files[i]);
    return library;
}

void library_find(void *library, const char *symbol, void *to) {
    void *address = library ? dlsym(library, symbol) : NULL;
    memcpy(to, &address, sizeof address);
}
