/* A monitor, as its parts see it. */
#ifndef EG__MONITOR_H
#define EG__MONITOR_H

#include "formats/files/file.h"
#include "formats/files/json.h"
#include "formats/files/json_value.h"
#include "monitor/pages.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- history.c */
typedef struct eg__series {
    const char *name, *unit; /* static */
    char label[EG_READING_LABEL];
    uint64_t pid;
    struct {
        float least, mean, most;
        uint32_t samples;
    } bins[EG_HISTORY_POINTS];
} eg__series;
typedef struct eg__history {
    eg__memory *memory;
    eg__series *series[EG_HISTORY_SERIES];
    size_t count;
    double begins[EG_HISTORY_POINTS]; /* of each point, seconds since 1970 */
    size_t points;
    double width; /* seconds of a point; 0 = that of the first sample that comes */
    bool short_of_memory;
    eg_history_point given[EG_HISTORY_POINTS];
} eg__history;
/* EG_ERR_MEMORY: figures that are new were left out. Beyond EG_HISTORY_SERIES they are, too, without a word. */
eg_status eg__history_add(eg__history *h, const eg_monitor_sample *sample, eg_error *error);
void eg__history_close(eg__history *h);

/* ---- runs.c: programs as they were last, for an hour */
typedef struct eg__run {
    double seen;       /* seconds since 1970 */
    eg_published last; /* what it points to is below */
    char sources[EG_FIGURE_COUNT][EG_READING_SOURCE];
    eg_loss_point losses[EG_LOSS_POINTS];
    eg_operation_share operations[EG_OPERATION_SHARES];
} eg__run;
typedef struct eg__runs {
    eg__run *run[EG_HISTORY_RUNS]; /* in the order they appeared */
    size_t count;
} eg__runs;
/* EG_ERR_MEMORY: programs that are new were left out. */
eg_status eg__runs_add(eg__runs *r, eg__memory *memory, const eg_monitor_sample *sample,
                       eg_error *error);
void eg__runs_close(eg__runs *r, eg__memory *memory);

/* ---- replay.c: lines of a recording */
typedef struct eg__replay {
    eg__mapping file;
    const char *path; /* the caller's copy */
    size_t at, line;
    eg__json_value *document; /* of the present sample, whose texts are in it */
    eg_loss_point *losses;
    eg_operation_share *operations;
    size_t loss_room, operation_room, loss_count, operation_count; /* of all programs */
    eg_reading *readings;
    eg_published *published;
    size_t reading_room, published_room;
} eg__replay;
eg_status eg__replay_open(eg__replay *r, eg__memory *memory, const char *path, eg_error *error);
eg_status eg__replay_next(eg__replay *r, eg__memory *memory, eg_monitor_sample *out,
                          eg_error *error);
void eg__replay_close(eg__replay *r, eg__memory *memory);

struct eg_monitor {
    eg__memory *memory;
    eg_sensors *sensors; /* NULL = a recording */
    eg__pages pages;
    eg_published *published;
    size_t published_room;
    eg__history *history;
    eg__replay replay;
    char *replay_path;        /* NULL = this machine */
    eg_monitor_sample sample; /* the last one */
    bool sampled;
    char *line;               /* as JSON; NULL = nobody asked */
    char *metrics, *document; /* likewise: for Prometheus, the history as JSON */
    eg__runs runs;
    /* a thread that samples */
    pthread_t thread;
    int wake[2]; /* a byte ends it */
    atomic_bool started;
    double interval;
    eg_monitor_function function;
    void *user;
};
/* As eg_monitor_read, in whichever thread. */
eg_status eg__monitor_sample(eg_monitor *m, eg_error *error);
/* ---- record.c */
eg_status eg__sample_write(eg__memory *memory, const eg_monitor_sample *sample, char **text,
                           size_t *length, eg_error *error);
void eg__published_write(eg__json *json, const eg_published *p); /* into an object that is open */
/* ---- history_write.c */
eg_status eg__history_write(eg__memory *memory, const eg__history *h, const eg__runs *runs,
                            char **text, size_t *length, eg_error *error);
/* ---- metrics.c */
eg_status eg__metrics_write(eg__memory *memory, const eg_monitor_sample *sample,
                            eg_metrics_form form, char **text, size_t *length, eg_error *error);

#endif
