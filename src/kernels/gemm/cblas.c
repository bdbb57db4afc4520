/* Opens a CBLAS. */
#include "kernels/gemm/cblas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* POSIX has objects and functions share a representation; C does not let one be cast to the other. */
static bool find(void *library, const char *symbol, void *to) {
    void *address = dlsym(library, symbol);
    memcpy(to, &address, sizeof address);
    return address != NULL;
}

/* Each library has its own way to say that it must not start threads of its own. */
static void make_single_threaded(void *library) {
    void (*threads)(int);
    void (*threads_long)(long);
    int (*threading)(unsigned);
    if (find(library, "openblas_set_num_threads", &threads) ||
        find(library, "scipy_openblas_set_num_threads", &threads))
        threads(1);
    if (find(library, "bli_thread_set_num_threads", &threads_long)) threads_long(1);
    if (find(library, "BLASSetThreading", &threading)) threading(1); /* Accelerate of macOS 15 */
}

static bool open_one(const char *path, eg__cblas *out) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    /* the wheels of SciPy prefix all names */
    if (!find(library, "cblas_sgemm", &out->sgemm) &&
        !find(library, "scipy_cblas_sgemm", &out->sgemm)) {
        dlclose(library);
        return false;
    }
    make_single_threaded(library);
    snprintf(out->path, sizeof out->path, "%s", path);
    return true;
}

eg_status eg__cblas_open(const char *path, eg__cblas *out, eg_error *error) {
    memset(out, 0, sizeof *out);
    if (path && strlen(path) >= EG__CBLAS_PATH)
        return eg__fail(error, EG_ERR_ARGUMENT, "a path of %zu bytes is too long", strlen(path));
    if (path)
        return open_one(path, out)
                   ? EG_OK
                   : eg__fail(error, EG_ERR_NOT_FOUND, "'%s' is no library with cblas_sgemm", path);
    for (size_t i = 0; eg__cblas_names[i]; i++)
        if (open_one(eg__cblas_names[i], out)) return EG_OK;
    return eg__fail(error, EG_ERR_NOT_FOUND, "no CBLAS on this machine: '%s' and others",
                    eg__cblas_names[0]);
}
