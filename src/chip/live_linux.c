/* This machine, when it runs Linux. */
#include "chip/detect.h"

#include <sys/auxv.h>

eg_status eg__live_detect(const eg__log *log, eg_chip *chip, eg_error *error) {
    bool asked = eg__processor_ask(getauxval(AT_HWCAP), getauxval(AT_HWCAP2), chip);
    return eg__linux_detect(NULL, asked, log, chip, error);
}

uint64_t eg__live_memory_available(void) {
    uint64_t total, available;
    eg__meminfo_read(NULL, NULL, &total, &available);
    return available;
}
