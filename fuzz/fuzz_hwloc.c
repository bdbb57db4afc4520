/* Feeds arbitrary bytes to a recorded machine as its hwloc.xml: hwloc must not crash on anything that
 * the check in front of it lets through, and no absurd number of cores comes out. */
#include "fuzz.h"
#include "chip/detect.h"

#include <sanitizer/lsan_interface.h>

static char root[] = "/tmp/fuzz_hwloc_XXXXXX", path[64];

static void folder_remove(void) {
    remove(path);
    rmdir(root);
}

static void folder_make(void) {
    if (path[0]) return;
    require(mkdtemp(root) != NULL);
    snprintf(path, sizeof path, "%s/hwloc.xml", root);
    atexit(folder_remove);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    folder_make();
    fuzz_write(path, bytes, length);
    eg_chip chip = {0};
    __lsan_disable(); /* hwloc forgets some of its memory when it rejects a file */
    bool told = false;
    if (eg__topology_read(root, NULL, &chip, &told, NULL)) told = false;
    __lsan_enable();
    require(!told == !chip.kind_count && chip.kind_count <= EG_CORE_KINDS_MAX);
    for (unsigned i = 0; i < chip.kind_count; i++) {
        const eg_core_kind *kind = &chip.kinds[i];
        require(kind->cores >= 1 && kind->cores <= kind->threads);
        require(kind->l1d_bytes <= EG__CACHE_LIMIT && kind->l2_bytes <= EG__CACHE_LIMIT);
    }
    return 0;
}
