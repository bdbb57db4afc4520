/* Checkpoints of llama2.c that are wrong: cut off, too long, and every number of the header. */
#include "formats/files/bytes.h"
#include "test_formats.h"
#include "test_transformer.h"

AREA(llama2c_damage, "checkpoints of llama2.c that are wrong in one place, by name")

typedef struct checkpoint {
    unsigned char *bytes;
    size_t size;
    char path[600];
} checkpoint;

static void open_checkpoint(checkpoint *c) {
    char from[512];
    unsigned char *bytes = test_file(transformer_path("llama.bin", from), &c->size);
    CHECK(c->size == 283932, "llama.bin has %zu bytes", c->size);
    c->bytes = test_alloc(c->size + 8); /* and some behind its end */
    memset(c->bytes + c->size, 0, 8);
    memcpy(c->bytes, bytes, c->size);
    free(bytes);
    snprintf(c->path, sizeof c->path, "%s/model.bin", test_folder());
}

TEST(llama2c_damage, truncated) {
    eg_context *context = small_context();
    checkpoint c;
    char name[64];
    open_checkpoint(&c);
    for (size_t size = 0; size < c.size;) {
        snprintf(name, sizeof name, "%zu of %zu bytes", size, c.size);
        test_file_write(c.path, c.bytes, size);
        check_opening(context, c.path, name, EG_ERR_FORMAT,
                      size < 28 ? "not a checkpoint of llama2.c" : "ends within");
        const bool near_end = size < 40 || c.size - size <= 40;
        size = near_end ? size + 1 : eg__min(size / 4096 * 4096 + 4096, c.size - 40);
    }
    for (size_t more = 0; more < 6; more++) {
        test_file_write(c.path, c.bytes, c.size + more);
        snprintf(name, sizeof name, "%zu bytes more", more);
        check_opening(context, c.path, name, more ? EG_ERR_FORMAT : EG_OK,
                      "bytes after the last tensor");
    }
    free(c.bytes);
    eg_context_destroy(context);
}

TEST(llama2c_damage, heads) {
    static const struct {
        int word;
        int64_t value;
        const char *part;
    } rows[] = {{0, 0, "number 0 of its header is 0"},
                {0, -64, "number 0 of its header is -64"},
                {0, INT32_MIN, "number 0"},
                {0, INT32_MAX, "the width 2147483647 is not a multiple of 8 heads"},
                {0, 0x7ffffff8, "width 2147483640"},
                {0, 72, "need an even number"},
                {0, 128, "ends within"},
                {1, 0, "number 1"},
                {1, INT32_MAX, "feed-forward width"},
                {1, 97, "ends within"},
                {1, 95, "bytes after"},
                {2, 0, "number 2"},
                {2, 3, "ends within"},
                {2, 512, "ends within"},
                {2, 513, "layers 513"},
                {2, INT32_MAX, "layers"},
                {3, 0, "number 3"},
                {3, 7, "the width 64 is not a multiple of 7 heads"},
                {3, INT32_MAX, "the width 64 is not a multiple of 2147483647 heads"},
                {4, 0, "number 4"},
                {4, 3, "8 heads are not a multiple of 3 key heads"},
                {4, INT32_MAX, "heads of keys"},
                {4, 4, "ends within"},
                {5, 0, "number 5"},
                {5, INT32_MIN, "number 5"},
                {5, INT32_MAX, "vocabulary 2147483647"},
                {5, -INT32_MAX, "vocabulary 2147483647"},
                {5, -4194304, "ends within"},
                {5, 100, "bytes after"}, /* tied: the output is not needed */
                {6, 0, "number 6"},
                {6, -1, "number 6"},
                {6, INT32_MAX, "context"},
                {6, 4194304, "ends within"},
                {6, 65, "ends within"}};
    eg_context *context = small_context();
    checkpoint c;
    char name[64];
    open_checkpoint(&c);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char kept[4], *at = c.bytes + 4 * rows[i].word;
        memcpy(kept, at, 4);
        eg__put32(at, (uint32_t)rows[i].value);
        test_file_write(c.path, c.bytes, c.size);
        memcpy(at, kept, 4);
        snprintf(name, sizeof name, "number %d is %lld", rows[i].word, (long long)rows[i].value);
        check_opening(context, c.path, name, EG_ERR_FORMAT, rows[i].part);
    }
    for (uint32_t version = 0; version < 4; version++) {
        unsigned char *other = test_alloc(c.size + 256);
        memset(other, 0, 256);
        memcpy(other + 256, c.bytes, c.size);
        eg__put32(other, 0x616b3432);
        eg__put32(other + 4, version);
        test_file_write(c.path, other, version == 1 ? 200 : c.size);
        check_opening(context, c.path, "version", version == 1 ? EG_ERR_FORMAT : EG_ERR_UNSUPPORTED,
                      version == 1 ? "the header is cut off" : "a header of version ");
        free(other);
    }
    free(c.bytes);
    eg_context_destroy(context);
}
