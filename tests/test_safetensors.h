/* What the tests of .safetensors share. */
#ifndef EG__TEST_SAFETENSORS_H
#define EG__TEST_SAFETENSORS_H

#include "formats/files/safetensors.h"
#include "test_formats.h"

/* Whether this build has a JSON parser; if not, the running test is skipped and should return. */
static inline bool test_reads_safetensors(void) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_safetensors *file;
    eg_error error = {0};
    eg_status status = eg__safetensors_parse(test.memory, "\2\0\0\0\0\0\0\0{}", 10, &file, &error);
    eg_safetensors_close(file);
    test_memory_close(&test);
    if (status == EG_ERR_UNSUPPORTED) test_skip("%s", error.message);
    else CHECK(status == EG_OK, "%s", error.message);
    return status == EG_OK;
}

#endif
