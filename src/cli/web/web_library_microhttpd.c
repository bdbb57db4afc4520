/* Opens libmicrohttpd and finds its functions. */
#include "cli/web/web.h"
#include "cli/web/web_library.h"

#include <dlfcn.h>
#include <string.h>

web_library mhd;

/* of Linux, and of Homebrew on both kinds of Macs */
static const char *const paths[] = {"libmicrohttpd.so.12", "libmicrohttpd.12.dylib",
                                    "/opt/homebrew/lib/libmicrohttpd.12.dylib",
                                    "/usr/local/lib/libmicrohttpd.12.dylib"};

static bool find(void *library, const char *name, void *function) {
    void *const address = dlsym(library, name);
    memcpy(function, &address, sizeof address); /* C has no cast between the two */
    return address != NULL;
}

static bool find_all(void *library) {
    bool found = true;
#define FIND(name) found = found && find(library, "MHD_" #name, &mhd.name);
    WEB_LIBRARY_MAP(FIND)
#undef FIND
    return found;
}

/* It stays open: threads of a server may outlive the last call. */
const char *web_missing(void) {
    if (mhd.start_daemon) return NULL;
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof paths / sizeof *paths; i++)
        library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    if (library && find_all(library)) return NULL;
    mhd = (web_library){0};
    if (!library) return "libmicrohttpd 12 is not installed";
    dlclose(library);
    return "this libmicrohttpd lacks a function";
}
