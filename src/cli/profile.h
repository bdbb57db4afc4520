/* elegans profile: what is measured, as text and as JSON. */
#ifndef EG__CLI_PROFILE_H
#define EG__CLI_PROFILE_H

#include "cli.h"

enum { PART_COMPUTE = 1, PART_MEMORY = 2, PART_HARDWARE = 4, PART_ALL = 7 };

typedef struct profile_wish {
    const char *model, *sort, *trace, *stacks, *output, *sweep, *device;
    unsigned parts;
    uint64_t top;
    uint64_t budget; /* of a grid; 0 = the preset's */
    bool steps, json, ablation, grid;
} profile_wish;

/* ---- profile_text.c */
int profile_print(const eg_profile *profile, const eg_analysis *analysis, const profile_wish *wish);
/* ---- profile_json.c */
json *profile_json(eg_context *context, const eg_profile *profile, const eg_analysis *analysis,
                   unsigned parts);

/* ---- profile_memory.c: memory over time */
void memory_print(const eg_profile *profile);
json *memory_phases_json(const eg_profile *profile);
json *memory_arena_json(const eg_profile *profile);

/* ---- profile_devices.c: the same program on other chips; -1 to go on, or the exit code */
enum { DEVICES_MOST = 64 };
typedef struct device {
    char name[64];
    eg_projection projection;
    eg_requirement_result compute, bandwidth;
} device;
typedef struct devices {
    device list[DEVICES_MOST];
    size_t count;
} devices;
/* Calls `each` for every chip of "M1,M4 Max" or "all" until it returns something else than -1, which is
 * returned. */
int devices_each(const char *which, int (*each)(void *user, const eg_chip_row *row), void *user);
int devices_project(const eg_profile *profile, const char *which, devices *out);
int devices_check(const char *which); /* -1, or the code of a message: a name that no chip has */
void devices_print(const devices *d);
json *devices_json(const devices *d);

/* ---- profile_grid.c: batches, lengths and types, here or on other chips; returns the exit code */
int profile_grid(eg_model *model, const profile_wish *wish, const eg_profile_options *options);

/* ---- profile_ablation.c: the same model in several ways; returns the exit code */
int profile_ablation(const context_flags *flags, const profile_wish *wish,
                     const eg_profile_options *options);

#endif
