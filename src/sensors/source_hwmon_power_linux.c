/* Power and energy of rails that a board measures (INA226, Jetson, macsmc of Asahi, ...). */
#include "sensors/sensing.h"

#include <string.h>

typedef struct board {
    const char *folder;
    char chip[24];
} board;

static void input_read(eg_sensors *s, const char *file, void *user) {
    const board *b = user;
    char name[24], rail[EG_READING_LABEL], source[EG_READING_SOURCE];
    double micro;
    const size_t stem = strcspn(file, "_");
    if ((strcmp(file + stem, "_input") != 0 && strcmp(file + stem, "_average") != 0) ||
        !eg__sensing_number(s, &micro, "sys/class/hwmon/%s/%s", b->folder, file))
        return;
    if (!eg__sensing_text(s, name, sizeof name, "sys/class/hwmon/%s/%.*s_label", b->folder,
                          (int)stem, file))
        snprintf(name, sizeof name, "%.*s", (int)eg__min(stem, sizeof name - 1), file);
    snprintf(rail, sizeof rail, "%s %s", b->chip, name);
    snprintf(source, sizeof source, "/sys/class/hwmon/%.40s/%.40s", b->folder, file);
    if (file[0] == 'p')
        eg__sensing_put(s, EG_SENSOR_power, rail, micro * 1e-6, EG_MEASURED, source);
    else eg__sensing_energy(s, rail, micro * 1e-6, 0, source);
}

static void board_read(eg_sensors *s, const char *folder, void *user) {
    board b = {folder, ""};
    char path[128];
    (void)user;
    if (!eg__sensing_text(s, b.chip, sizeof b.chip, "sys/class/hwmon/%s/name", folder))
        snprintf(b.chip, sizeof b.chip, "%.20s", folder);
    snprintf(path, sizeof path, "sys/class/hwmon/%.64s", folder);
    eg__folder_each(s, path, "power", input_read, &b);
    eg__folder_each(s, path, "energy", input_read, &b);
}

void eg__source_hwmon_power(eg_sensors *s) {
    eg__folder_each(s, "sys/class/hwmon", "hwmon", board_read, NULL);
}
