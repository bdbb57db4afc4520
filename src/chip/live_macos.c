/* This machine, when it runs macOS: the same values as in a dump, asked for one by one. */
#include "chip/detect.h"

#include <string.h>
#include <sys/sysctl.h>
#include <sys/types.h>

static void fact_ask(const eg__sysctl_key *key, char out[EG__SYSCTL_SIZE]) {
    char raw[256];
    size_t size = sizeof raw;
    out[0] = 0;
    if (sysctlbyname(key->name, raw, &size, NULL, 0) != 0 || size > sizeof raw) return;
    if (key->is_text) {
        eg__text_clean(out, EG__SYSCTL_SIZE, raw, strnlen(raw, size));
    } else if (size == sizeof(int32_t)) {
        int32_t value;
        memcpy(&value, raw, sizeof value);
        snprintf(out, EG__SYSCTL_SIZE, "%ld", (long)value);
    } else if (size == sizeof(int64_t)) {
        int64_t value;
        memcpy(&value, raw, sizeof value);
        snprintf(out, EG__SYSCTL_SIZE, "%lld", (long long)value);
    }
}

static void facts_ask(eg__sysctl_facts *out) {
    memset(out, 0, sizeof *out);
    for (size_t i = 0; eg__sysctl_keys[i].name; i++) fact_ask(&eg__sysctl_keys[i], out->values[i]);
}

eg_status eg__live_detect(const eg__log *log, eg_chip *chip, eg_error *error) {
    (void)error;
    eg__sysctl_facts facts;
    facts_ask(&facts);
    eg__sysctl_decode(&facts, log, chip);
    return EG_OK;
}

uint64_t eg__live_memory_available(void) {
    eg__sysctl_facts facts;
    facts_ask(&facts);
    return eg__sysctl_memory_available(&facts);
}
