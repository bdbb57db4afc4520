/* Arbitrary text as a stored tuning, as it is and with the hash that it would need: what is read is written back as it was. */
#include "engine/tuning.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

static void read_and_write(const char *bytes, size_t length) {
    eg_tuning first, second;
    eg_error error = {0};
    char text[EG__TUNING_TEXT], back[EG__TUNING_TEXT];
    if (eg__tuning_parse(bytes, length, &first, &error)) {
        require(error.message[0] != 0);
        return;
    }
    const size_t size = eg__tuning_write(&first, text);
    require(size < sizeof text);
    require(eg__tuning_parse(text, size, &second, &error) == EG_OK);
    require(eg__tuning_write(&second, back) == size && memcmp(text, back, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char text[EG__TUNING_TEXT];
    read_and_write((const char *)bytes, length);
    if (length + 32 > sizeof text) return 0;
    memcpy(text, bytes, length);
    const int hash = snprintf(text + length, sizeof text - length, "hash %016llx\n",
                              (unsigned long long)eg__hash(EG__HASH_SEED, text, length));
    read_and_write(text, length + (size_t)hash);
    return 0;
}
