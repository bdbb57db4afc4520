/* The system management controller of a Mac: power of the whole system, and temperatures. */
#include "sensors/apple_macos.h"

#include <mach/mach.h>
#include <string.h>

/* What the controller's driver takes and gives. */
typedef struct smc_call {
    uint32_t key;
    unsigned char version[8], limit[16];
    uint32_t size, type;
    unsigned char attributes, padding[3];
    unsigned char result, status, command, padding2;
    uint32_t index;
    unsigned char bytes[32];
} smc_call;
_Static_assert(sizeof(smc_call) == 80, "as the driver has it");
enum { SELECTOR = 2, READ = 5, KEY_INFO = 9 };

static const struct {
    const char *key;
    eg_sensor sensor;
    const char *label;
} keys[] = {
    {"PSTR", EG_SENSOR_power, "system"},
    {"PDTR", EG_SENSOR_power, "DC in"},
    {"Tp01", EG_SENSOR_temperature, "CPU Tp01"},
    {"Tp05", EG_SENSOR_temperature, "CPU Tp05"},
    {"Te05", EG_SENSOR_temperature, "CPU Te05"},
    {"Tg05", EG_SENSOR_temperature, "GPU Tg05"},
    {"Tm02", EG_SENSOR_temperature, "memory Tm02"},
    {"TB0T", EG_SENSOR_temperature, "battery TB0T"},
};

static uint32_t code_of(const char *text) {
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) code = code << 8 | (unsigned char)text[i];
    return code;
}

static bool call(const eg__apple *a, smc_call *c) {
    const smc_call in = *c;
    size_t size = sizeof *c;
    return a->IOConnectCallStructMethod(a->smc, SELECTOR, &in, sizeof in, c, &size) == 0 &&
           c->result == 0;
}

/* Keys of type "flt ", four bytes: all that we read are. */
static bool key_read(const eg__apple *a, const char *key, double *out) {
    float value;
    smc_call c = {.key = code_of(key), .command = KEY_INFO};
    if (!call(a, &c) || c.type != code_of("flt ") || c.size != sizeof value) return false;
    c = (smc_call){.key = code_of(key), .size = sizeof value, .command = READ};
    if (!call(a, &c)) return false;
    memcpy(&value, c.bytes, sizeof value);
    *out = value;
    return true;
}

void eg__smc_open(eg_sensors *s) {
    eg__apple *a = eg__apple_of(s);
    eg__io list = 0, entry;
    eg__cf match = a->IOServiceMatching("AppleSMC");
    if (!match || a->IOServiceGetMatchingServices(0, match, &list) != 0) return;
    while ((entry = a->IOIteratorNext(list))) {
        char name[128] = "";
        a->IORegistryEntryGetName(entry, name);
        if (!a->smc && strcmp(name, "AppleSMCKeysEndpoint") == 0)
            if (a->IOServiceOpen(entry, mach_task_self(), 0, &a->smc) != 0) a->smc = 0;
        a->IOObjectRelease(entry);
    }
    a->IOObjectRelease(list);
}

void eg__smc_close(eg_sensors *s) {
    eg__apple *a = eg__apple_of(s);
    if (a->smc) a->IOServiceClose(a->smc);
    a->smc = 0;
}

void eg__source_smc(eg_sensors *s) {
    const eg__apple *a = eg__apple_of(s);
    char source[32];
    if (s->root) return;
    for (size_t i = 0; a && a->smc && i < sizeof keys / sizeof *keys; i++) {
        double value;
        /* a key of another chip does not exist here, or reads 0 */
        if (!key_read(a, keys[i].key, &value) || value <= 0 || value > 1000) continue;
        snprintf(source, sizeof source, "SMC key %s", keys[i].key);
        eg__sensing_put(s, keys[i].sensor, keys[i].label, value, EG_MEASURED, source);
    }
    eg__sensing_missing(s, EG_SENSOR_temperature, "the SMC has none of the keys that we know");
}
