/* Checksums in a .safetensors file: any tool reads it, and we know whether it is as it was written. */
#include "formats/files/bytes.h"
#include "formats/files/safetensors.h"
#include "formats/files/zip.h"

#include <stdio.h>
#include <string.h>

static const char sums_name[] = "checksums";
enum { TENSORS_MOST = 64 }; /* of a file with checksums */

static uint64_t bytes_of(const eg_tensor *tensor) {
    uint64_t bytes = 0;
    (void)eg_tensor_measure(tensor, NULL, &bytes, NULL);
    return bytes;
}

/* Little-endian words, as the format has them, whatever the machine. */
static void put_word(unsigned char *words, size_t index, uint32_t sum) {
    eg__put64(words + 8 * index, sum);
}

eg_status eg__safetensors_save_summed(eg__memory *memory, const char *path, size_t count,
                                      const char *const *names, const eg_tensor *tensors,
                                      size_t metadata_count, const eg_pair *metadata,
                                      eg_error *error) {
    const char *all_names[TENSORS_MOST + 1];
    eg_tensor all[TENSORS_MOST + 1];
    unsigned char words[8 * (TENSORS_MOST + 2)];
    void *header;
    size_t size;
    if (count > TENSORS_MOST)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%zu' tensors with checksums, at most %d", count,
                        TENSORS_MOST);
    for (size_t i = 0; i < count; i++) {
        all_names[i] = names[i];
        all[i] = tensors[i];
        put_word(words, i + 1, eg__crc32(0, tensors[i].data, (size_t)bytes_of(&tensors[i])));
    }
    all_names[count] = sums_name;
    all[count] = (eg_tensor){EG_I64, 1, {count + 2}, words};
    /* it says nothing of what the tensors hold, so its sum is known before they are complete */
    eg_status status = eg__safetensors_head(memory, count + 1, all_names, all, metadata_count,
                                            metadata, &header, &size, error);
    if (status) return status;
    put_word(words, 0, eg__crc32(0, header, size));
    eg__memory_give(memory, header);
    put_word(words, count + 1, eg__crc32(0, words, 8 * (count + 1)));
    return eg__safetensors_save(memory, path, count + 1, all_names, all, metadata_count, metadata,
                                error);
}

static eg_status damaged(eg_error *error, const char *what) {
    return eg__fail(error, EG_ERR_FORMAT, "%s is damaged: its checksum does not match", what);
}

eg_status eg__safetensors_sums_check(const eg_safetensors *file, eg_error *error) {
    const size_t others = file->count ? file->count - 1 : 0;
    const eg__safetensor *sums = file->count ? &file->tensors[others] : NULL;
    if (!sums || strcmp(sums->name, sums_name) != 0 || sums->dtype->type != EG_I64 ||
        sums->rank != 1 || sums->shape[0] != others + 2)
        return eg__fail(error, EG_ERR_FORMAT,
                        "not a checkpoint of this version: it has no checksums");
    const unsigned char *words = sums->data;
    if (eg__get64(words + 8 * (others + 1)) != eg__crc32(0, words, 8 * (others + 1)))
        return damaged(error, "the list of checksums");
    /* parsed already, so the header lies within the file */
    const size_t header = 8 + (size_t)eg__get64(file->mapping.bytes);
    if (eg__get64(words) != eg__crc32(0, file->mapping.bytes, header))
        return damaged(error, "the header");
    for (size_t i = 0; i < others; i++) {
        const eg__safetensor *t = &file->tensors[i];
        char name[80], what[96];
        if (eg__get64(words + 8 * (i + 1)) == eg__crc32(0, t->data, (size_t)(t->end - t->begin)))
            continue;
        snprintf(what, sizeof what, "'%s'",
                 eg__file_quote(name, sizeof name, t->name, strlen(t->name)));
        return damaged(error, what);
    }
    return EG_OK;
}
