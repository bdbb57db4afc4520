/* A short stable name for this hardware, so that what was measured on it is not used elsewhere. */
#include "chip/detect.h"

#include <string.h>

typedef struct hash {
    uint64_t value;
} hash;

static void hash_bytes(hash *h, const void *data, size_t size) {
    h->value = eg__hash(h->value, data, size);
}

static void hash_text(hash *h, const char *text) { hash_bytes(h, text, strlen(text) + 1); }

/* byte by byte, so that it is the same for either order of bytes in memory */
static void hash_number(hash *h, uint64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(number >> 8 * i);
    hash_bytes(h, bytes, sizeof bytes);
}

static hash hash_processor(const eg_chip *chip) {
    hash h = {EG__HASH_SEED};
    hash_text(&h, chip->vendor);
    hash_text(&h, chip->name);
    hash_text(&h, chip->arch);
    hash_number(&h, chip->cpu_family);
    hash_number(&h, chip->cpu_model);
    hash_number(&h, chip->cpu_stepping);
    return h;
}

void eg__chip_fingerprint(eg_chip *chip) {
    hash h = hash_processor(chip);
    hash_number(&h, chip->kind_count);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        const eg_core_kind *kind = &chip->kinds[i];
        hash_text(&h, kind->name);
        hash_number(&h, kind->cores);
        hash_number(&h, kind->threads);
        hash_number(&h, kind->l1i_bytes);
        hash_number(&h, kind->l1d_bytes);
        hash_number(&h, kind->l2_bytes);
        hash_number(&h, kind->l2_cores);
    }
    hash_number(&h, chip->l3_bytes);
    hash_number(&h, chip->l3_count);
    hash_number(&h, chip->packages);
    hash_number(&h, chip->numa_nodes);
    /* another kernel keeps a few MB more for itself: that is no other machine */
    hash_number(&h, (chip->memory_bytes + (UINT64_C(1) << 30) - 1) >> 30);
    snprintf(chip->fingerprint, sizeof chip->fingerprint, "%016llx", (unsigned long long)h.value);
}

void eg__chip_hardware(const eg_chip *chip, char out[17]) {
    const eg_core_kind *kind = &chip->kinds[0];
    hash h = hash_processor(chip);
    if (chip->kind_count) {
        hash_text(&h, kind->name);
        hash_number(&h, kind->l1i_bytes);
        hash_number(&h, kind->l1d_bytes);
        hash_number(&h, kind->l2_bytes);
    }
    hash_number(&h, chip->l3_bytes);
    snprintf(out, 17, "%016llx", (unsigned long long)h.value);
}
