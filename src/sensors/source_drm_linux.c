/* GPUs: what their driver reports of itself (amdgpu), else the time that programs of this user spent on their engines, which
 * every driver with DRM usage statistics tells in /proc/<pid>/fdinfo. */
#include "sensors/sensing.h"

#include <string.h>

typedef struct gpus {
    unsigned nodes, busy;
} gpus;

static void clock_read(eg_sensors *s, const char *hwmon, void *user) {
    const char *card = user;
    double hertz;
    if (eg__sensing_number(s, &hertz, "sys/class/drm/%s/device/hwmon/%s/freq1_input", card,
                           hwmon) &&
        hertz > 0)
        eg__sensing_put(s, EG_SENSOR_gpu_clock, card, hertz, EG_COUNTED, "hwmon: freq1_input");
}

/* "card0", but not its connectors ("card0-HDMI-A-1"). */
static void card_read(eg_sensors *s, const char *card, void *user) {
    gpus *g = user;
    char path[128], name[64];
    double number;
    if (strchr(card, '-')) return;
    g->nodes++;
    snprintf(name, sizeof name, "%.60s", card);
    if (eg__sensing_number(s, &number, "sys/class/drm/%s/device/gpu_busy_percent", card) &&
        number >= 0 && number <= 100) {
        eg__sensing_put(s, EG_SENSOR_gpu_load, card, number, EG_COUNTED,
                        "its driver: gpu_busy_percent");
        g->busy++;
    }
    if (eg__sensing_number(s, &number, "sys/class/drm/%s/device/mem_info_vram_used", card))
        eg__sensing_put(s, EG_SENSOR_gpu_memory, card, number, EG_COUNTED,
                        "its driver: mem_info_vram_used");
    snprintf(path, sizeof path, "sys/class/drm/%.60s/device/hwmon", card);
    eg__folder_each(s, path, "hwmon", clock_read, name);
}

/* ---- engines, by client. A client that was duplicated has several descriptors: it counts once. */
enum { CLIENTS = 512 };
typedef struct engines {
    uint64_t clients[CLIENTS]; /* hashes of device and number */
    unsigned count, files;
    double nanoseconds;
    char process[64];
} engines;

static void fdinfo_read(eg_sensors *s, const char *descriptor, void *user) {
    engines *e = user;
    char path[160], line[256], *key, *value;
    uint64_t client = EG__HASH_SEED;
    double time = 0, n;
    bool drm = false;
    eg__text file;
    snprintf(path, sizeof path, "proc/%.60s/fdinfo/%.60s", e->process, descriptor);
    if (!eg__root_open(s->root, path, &file)) return;
    while (eg__line_read(&file, line, sizeof line)) {
        if (!eg__line_split(line, &key, &value)) continue;
        if (strcmp(key, "drm-driver") == 0) drm = true;
        if (strcmp(key, "drm-pdev") == 0 || strcmp(key, "drm-client-id") == 0)
            client = eg__hash(client, value, strlen(value) + 1);
        if (strncmp(key, "drm-engine-", 11) == 0 && strncmp(key + 11, "capacity-", 9) != 0 &&
            eg_number_parse(value, strcspn(value, " "), &n, NULL) == EG_OK)
            time += n;
    }
    eg__root_close(&file);
    if (!drm) return;
    for (unsigned i = 0; i < e->count; i++)
        if (e->clients[i] == client) return;
    if (e->count < CLIENTS) e->clients[e->count++] = client;
    e->files++;
    e->nanoseconds += time;
}

static void process_read(eg_sensors *s, const char *process, void *user) {
    engines *e = user;
    char path[128];
    if (strspn(process, "0123456789") != strlen(process)) return;
    snprintf(e->process, sizeof e->process, "%.60s", process);
    snprintf(path, sizeof path, "proc/%.60s/fdinfo", process);
    eg__folder_each(s, path, "", fdinfo_read, e);
}

void eg__source_drm(eg_sensors *s) {
    static const char source[] = "DRM usage statistics of the programs of this user, all engines";
    gpus g = {0, 0};
    engines e = {.count = 0};
    double delta, seconds;
    eg__folder_each(s, "sys/class/drm", "card", card_read, &g);
    if (!g.nodes) {
        eg__sensing_missing(s, EG_SENSOR_gpu_load, "no GPU in /sys/class/drm");
        eg__sensing_missing(s, EG_SENSOR_gpu_clock, "no GPU in /sys/class/drm");
        eg__sensing_missing(s, EG_SENSOR_gpu_memory, "no GPU in /sys/class/drm");
        return;
    }
    if (!g.busy) {
        eg__folder_each(s, "proc", "", process_read, &e);
        /* a program that ended takes its time along: then the sum goes back, and there is no rate */
        if (e.files && eg__sensing_delta(s, source, "all", e.nanoseconds, 0, &delta, &seconds))
            eg__sensing_put(s, EG_SENSOR_gpu_load, "", delta / seconds * 1e-7, EG_COUNTED, source);
        else
            eg__sensing_missing(s, EG_SENSOR_gpu_load,
                                "its driver reports no load, and no program of this user its time");
    }
    eg__sensing_missing(s, EG_SENSOR_gpu_clock, "its driver reports no clock");
    eg__sensing_missing(s, EG_SENSOR_gpu_memory, "its driver reports no memory");
}
