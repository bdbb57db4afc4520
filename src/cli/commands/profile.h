/* elegans profile: what is measured, as text and as JSON. */
#ifndef EG__CLI_PROFILE_H
#define EG__CLI_PROFILE_H

#include "cli/cli.h"

enum {
    PART_COMPUTE = EG_REPORT_COMPUTE,
    PART_MEMORY = EG_REPORT_MEMORY,
    PART_HARDWARE = EG_REPORT_HARDWARE,
    PART_ALL = PART_COMPUTE | PART_MEMORY | PART_HARDWARE
};

typedef struct profile_settings {
    const char *batch, *preset; /* a number or "auto"; a chip */
    bool auto_batch;
    const char *model, *sort, *trace, *stacks, *output, *sweep, *device, *note, *history;
    unsigned parts;
    uint64_t top;
    uint64_t budget;      /* of a grid; 0 = the preset's */
    bool quick;           /* time and rates alone */
    bool try_all, no_try; /* advice: however long it takes; not at all */
    bool steps, json, ablation, grid, save;
} profile_settings;

/* ---- profile_text.c */
int profile_print(const eg_profile *profile, const eg_analysis *analysis,
                  const profile_settings *settings);
/* One figure, under the name that the JSON has for it. */
void profile_print_figure(const char *name, const eg_metric *metric);
/* ---- profile_quick.c: returns the exit code */
int profile_quick(eg_model *model, const profile_settings *settings,
                  const eg_profile_options *options);
/* ---- profile_memory.c: memory over time */
void memory_print(const eg_profile *profile);

/* ---- profile_devices.c: the same program on other chips */
enum { DEVICES_MOST = 64 };
typedef struct devices {
    eg_report_device list[DEVICES_MOST];
    size_t count;
} devices;
/* Calls `each` for every chip of "M1,M4 Max" or "all" until one fails. */
int devices_each(const char *which, int (*each)(void *user, const eg_chip_row *row), void *user);
int devices_project(eg_model *model, const eg_profile_options *options, const char *which,
                    devices *out);
int devices_check(const char *which); /* fails for a name that no chip has */
void devices_print(const devices *d, bool requirements);

/* ---- profile_grid.c: batches, lengths and types, here or on other chips; returns the exit code */
int profile_grid(eg_model *model, const profile_settings *settings,
                 const eg_profile_options *options);

/* ---- profile_ablation.c: the same model in several ways; returns the exit code */
int profile_ablation(const context_flags *flags, const profile_settings *settings,
                     const eg_profile_options *options);

#endif
