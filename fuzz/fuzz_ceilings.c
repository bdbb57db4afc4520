/* Arbitrary text as kept ceilings: what is read has provenances and finite values, and is written back as it was. */
#include "fuzz.h"
#include "profile/measure/ceilings.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    eg_ceilings first, second;
    unsigned threads = 0, again = 0;
    eg_error error = {0};
    char text[EG__CEILINGS_TEXT];
    if (eg__ceilings_read((const char *)bytes, length, &first, &threads, &error)) {
        require(error.message[0] != 0);
        return 0;
    }
    const size_t size = eg__ceilings_write(&first, threads, text);
    require(size < sizeof text);
    require(eg__ceilings_read(text, size, &second, &again, &error) == EG_OK && again == threads);
    char back[EG__CEILINGS_TEXT];
    require(eg__ceilings_write(&second, again, back) == size && memcmp(text, back, size) == 0);
    return 0;
}
