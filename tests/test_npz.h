/* What the tests of .npz share: the arrays of stored.npz and deflated.npz. */
#ifndef EG__TEST_NPZ_H
#define EG__TEST_NPZ_H

#include "test_formats.h"

#include "elegans/tensor.h"
#include "formats/files/npz.h"
#include "formats/files/zip.h"

static const float w_data[6] = {-1, 0, 1, 2, 3, 4};
static const uint8_t b_data[2] = {1, 0};
static const float size_data = -1;
static const char *const names[] = {"w", "layer/b", "gr\303\266\303\237e"};
enum { COUNT = 3 };

/* The tensors of stored.npz and deflated.npz. */
static inline void make_tensors(eg_tensor out[COUNT]) {
    out[0] = (eg_tensor){EG_F32, 2, {2, 3}, (void *)w_data};
    out[1] = (eg_tensor){EG_BOOL, 1, {2}, (void *)b_data};
    out[2] = (eg_tensor){EG_F32, 0, {0}, (void *)&size_data};
}

static inline bool same(const eg_tensor *a, const eg_tensor *b) {
    uint64_t size = 0;
    return a->type == b->type && a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
           !eg_tensor_measure(a, NULL, &size, NULL) && memcmp(a->data, b->data, size) == 0;
}

static inline bool inflates(void) {
    eg__inflate *inflate;
    eg__source none = eg__source_of_bytes("", 0);
    test_memory test;
    test_memory_open(&test, 0);
    eg_status status = eg__inflate_begin(&inflate, test.memory, &none, 0, 0, NULL);
    eg__inflate_end(inflate);
    test_memory_close(&test);
    return status == EG_OK;
}

static const char *const small[] = {"fixtures/npy/stored.npz", "fixtures/npy/deflated.npz"};

#endif
