/* Without zlib, deflated members are refused; stored ones need no zlib. */
#include "formats/files/zip.h"

eg_status eg__inflate_begin(eg__inflate **out, eg__memory *memory, const eg__source *source,
                            uint64_t offset, uint64_t size, eg_error *error) {
    (void)memory, (void)source, (void)offset, (void)size;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "deflated data, and elegans was built without zlib");
}

/* Nothing was begun, so these cannot succeed either. */
eg_status eg__inflate_read(eg__inflate *inflate, void *out, size_t size, eg_error *error) {
    (void)out, (void)size;
    return eg__inflate_finish(inflate, error);
}

eg_status eg__inflate_finish(eg__inflate *inflate, eg_error *error) {
    (void)inflate;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "built without zlib");
}

void eg__inflate_end(eg__inflate *inflate) { (void)inflate; }
