/* macOS: frameworks are opened with the sensors and closed with them. */
#include "sensors/apple_macos.h"

#include <dlfcn.h>
#include <string.h>

enum { UTF8 = 0x08000100 };

static void functions_find(eg__apple *a) {
    bool foundation = a->foundation, iokit = a->iokit, ioreport = a->ioreport;
    /* dlsym returns an object pointer for a function: POSIX says that this copy works */
#define CALL(library, result, name, arguments)                      \
    do {                                                            \
        void *found = a->library ? dlsym(a->library, #name) : NULL; \
        memcpy(&a->name, &found, sizeof found);                     \
        library = library && found;                                 \
    } while (0);
    EG__APPLE_CALLS(CALL)
#undef CALL
    a->has_foundation = foundation;
    a->has_iokit = foundation && iokit;
    a->has_ioreport = foundation && iokit && ioreport;
}

void eg__sensors_system_open(eg_sensors *s) {
    static const char frameworks[] = "/System/Library/Frameworks";
    char path[128];
    if (s->root) return; /* a recorded machine has nothing to open */
    eg__apple *a = eg__memory_take_zeroed(s->memory, EG_TAG_MEASURE, sizeof *a, NULL);
    s->system = a;
    s->short_of_memory |= !a;
    if (!a) return;
    snprintf(path, sizeof path, "%s/CoreFoundation.framework/CoreFoundation", frameworks);
    a->foundation = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    snprintf(path, sizeof path, "%s/IOKit.framework/IOKit", frameworks);
    a->iokit = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    a->ioreport = dlopen("/usr/lib/libIOReport.dylib", RTLD_LAZY | RTLD_LOCAL);
    functions_find(a);
    if (a->has_ioreport) eg__ioreport_open(s);
    if (a->has_iokit) eg__smc_open(s);
}

void eg__sensors_system_close(eg_sensors *s) {
    eg__apple *a = eg__apple_of(s);
    if (!a) return;
    eg__ioreport_close(s);
    eg__smc_close(s);
    if (a->ioreport) dlclose(a->ioreport);
    if (a->iokit) dlclose(a->iokit);
    if (a->foundation) dlclose(a->foundation);
    eg__memory_give(s->memory, a);
    s->system = NULL;
}

eg__cf eg__apple_string(const eg__apple *a, const char *text) {
    return a->CFStringCreateWithCString(NULL, text, UTF8);
}

void eg__apple_text(const eg__apple *a, eg__cf string, char *out, size_t size) {
    if (!string || !a->CFStringGetCString(string, out, (long)size, UTF8)) out[0] = 0;
}

eg__cf eg__apple_value(const eg__apple *a, eg__cf dictionary, const char *key) {
    eg__cf name = eg__apple_string(a, key);
    if (!name) return NULL;
    eg__cf value = dictionary ? a->CFDictionaryGetValue(dictionary, name) : NULL;
    a->CFRelease(name);
    return value;
}
