/* What feeds the machine: every supply that Linux lists, batteries of mice and pens aside. */
#include "chip/detect.h"
#include "profile/measure/environment.h"

#include <dirent.h>
#include <string.h>

static const char folder[] = "sys/class/power_supply";

typedef struct supplies {
    /* a supply is plugged in; a battery discharges; a battery is present */
    bool mains, discharging, charged;
    unsigned batteries;
    double charge; /* sum over the batteries, percent */
} supplies;

static bool supply_text(const char *root, const char *name, const char *file, char *out,
                        size_t size) {
    char path[512];
    const int length = snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    out[0] = 0;
    return length > 0 && (size_t)length < sizeof path && eg__root_text(root, path, out, size);
}

static void supply_read(const char *root, const char *name, supplies *s) {
    char type[32], text[32];
    uint64_t number;
    if (!supply_text(root, name, "type", type, sizeof type)) return;
    if (supply_text(root, name, "scope", text, sizeof text) && strcmp(text, "Device") == 0) return;
    if (strcmp(type, "Battery") != 0) {
        supply_text(root, name, "online", text, sizeof text);
        s->mains |= eg__text_number(text, &number) && number > 0;
        return;
    }
    supply_text(root, name, "status", text, sizeof text);
    s->discharging |= strcmp(text, "Discharging") == 0;
    s->charged |= strcmp(text, "Charging") == 0 || strcmp(text, "Full") == 0 ||
                  strcmp(text, "Not charging") == 0;
    supply_text(root, name, "capacity", text, sizeof text);
    if (!eg__text_number(text, &number) || number > 100) return;
    s->batteries++;
    s->charge += (double)number;
}

void eg__power_read(const char *root, eg_fact *power, eg_metric *battery) {
    static const char source[] = "/sys/class/power_supply", none[] = "no power supply is told of";
    char path[1024];
    supplies s = {0};
    const int length = snprintf(path, sizeof path, "%s/%s", root ? root : "", folder);
    DIR *list = length > 0 && (size_t)length < sizeof path ? opendir(path) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (entry->d_name[0] != '.') supply_read(root, entry->d_name, &s);
    if (list) closedir(list);
    /* a battery that discharges although a supply is plugged in: the supply is too weak */
    const char *text = s.discharging ? "battery" : s.mains || s.charged ? "mains" : "";
    *power = eg__fact(text, source, none);
    *battery = s.batteries ? eg__metric(s.charge / s.batteries, "%", EG_COUNTED, source)
                           : eg__metric_unavailable("%", "no battery is told of");
}
