/* A monitor: sensors of the machine and pages of programs, one sample after the other. */
#include "monitor/monitor.h"
#include "base/abi.h"
#include "engine/context.h"

#include <math.h>
#include <string.h>

/* ---- opening */
static eg_status keep_text(eg__memory *memory, const char *text, char **out, eg_error *error) {
    if (text) *out = eg__memory_take_text(memory, EG_TAG_MEASURE, text, strlen(text), error);
    return text && !*out ? EG_ERR_MEMORY : EG_OK;
}

static eg_status open_parts(eg_monitor *m, eg_context *context, const eg_monitor_options *o,
                            eg_error *error) {
    eg_status status = keep_text(m->memory, o->replay, &m->replay_path, error);
    if (!status) status = keep_text(m->memory, o->folder, &m->pages.folder, error);
    if (!status) {
        m->history = eg__memory_take_zeroed(m->memory, EG_TAG_MEASURE, sizeof *m->history, error);
        if (!m->history) return EG_ERR_MEMORY;
        m->history->memory = m->memory;
    }
    if (status) return status;
    if (o->replay) return eg__replay_open(&m->replay, m->memory, m->replay_path, error);
    const eg_sensors_options sensing = {.size = sizeof sensing, .root = o->root};
    status = eg_sensors_open(context, &sensing, &m->sensors, error);
    return status ? status : eg__pages_read(&m->pages, error);
}

eg_status eg_monitor_open(eg_context *context, const eg_monitor_options *options, eg_monitor **out,
                          eg_error *error) {
    eg_monitor_options wish;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the monitor");
    *out = NULL;
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    eg_status status = EG__OPTIONS(eg_monitor_options, &wish, options, error);
    if (status) return status;
    eg__memory *memory = eg__context_memory(context);
    eg_monitor *m = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *m, error);
    if (!m) return EG_ERR_MEMORY;
    m->memory = memory;
    m->pages.memory = memory;
    m->wake[0] = m->wake[1] = -1;
    status = open_parts(m, context, &wish, error);
    if (status) eg_monitor_close(m);
    else *out = m;
    return status;
}

void eg_monitor_close(eg_monitor *m) {
    if (!m) return;
    eg_monitor_stop(m);
    eg_sensors_close(m->sensors);
    eg__pages_close(&m->pages);
    eg__replay_close(&m->replay, m->memory);
    if (m->history) eg__history_close(m->history);
    eg__memory_give(m->memory, m->history);
    eg__memory_give(m->memory, m->published);
    eg__memory_give(m->memory, m->replay_path);
    eg__runs_close(&m->runs, m->memory);
    eg__memory_give(m->memory, m->line);
    eg__memory_give(m->memory, m->metrics);
    eg__memory_give(m->memory, m->document);
    eg__memory_give(m->memory, m);
}

/* ---- samples */
static void put_lists(eg__tracked *t, eg_published *out) {
    const eg__page_training *r = &t->now.training;
    for (size_t i = 0; t->now.training_known && i < r->points; i++) {
        if (!isfinite(r->curve[i].loss)) continue;
        t->losses[out->loss_count++] =
            (eg_loss_point){r->curve[i].step, r->curve[i].loss, r->curve[i].validation};
    }
    out->losses = t->losses;
    out->operations = t->now.operations.shares;
    out->operation_count = t->now.operations_known ? t->now.operations.count : 0;
}

static eg_status read_live(eg_monitor *m, eg_monitor_sample *out, eg_error *error) {
    eg_sensor_sample machine = {.size = sizeof machine};
    eg_status status = eg_sensors_read(m->sensors, &machine, error);
    if (!status) status = eg__pages_read(&m->pages, error);
    if (status) return status;
    const size_t count = m->pages.count;
    if (!eg__memory_grow(m->memory, EG_TAG_MEASURE, (void **)&m->published, 0, &m->published_room,
                         count, sizeof *m->published))
        return eg__fail(error, EG_ERR_MEMORY, "no memory for the figures of %zu programs", count);
    for (size_t i = 0; i < count; i++) {
        eg__figures_of(m->pages.tracked[i], &m->published[i]);
        put_lists(m->pages.tracked[i], &m->published[i]);
    }
    *out = (eg_monitor_sample){.size = sizeof *out,
                               .time_ns = machine.time_ns,
                               .elapsed = machine.elapsed,
                               .reading_count = machine.count,
                               .readings = machine.readings,
                               .published_count = count,
                               .published = m->published,
                               .ignored = m->pages.ignored,
                               .ignored_text = m->pages.ignored_text};
    return EG_OK;
}

eg_status eg__monitor_sample(eg_monitor *m, eg_error *error) {
    const bool before = m->sampled;
    m->sampled = false; /* after a failure there is none */
    eg_status status = m->replay_path ? eg__replay_next(&m->replay, m->memory, &m->sample, error)
                                      : read_live(m, &m->sample, error);
    m->sampled =
        !status || (before && status == EG_ERR_STOPPED); /* the last of a recording stays */
    if (status) return status;
    status = eg__runs_add(&m->runs, m->memory, &m->sample, error);
    const eg_status kept = eg__history_add(m->history, &m->sample, error);
    return status ? status : kept;
}

static bool is_foreign(const eg_monitor *m) {
    return m->started && !pthread_equal(m->thread, pthread_self());
}

eg_status eg_monitor_read(eg_monitor *m, eg_monitor_sample *out, eg_error *error) {
    if (!m || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no monitor, or no output pointer");
    if (m->started) return eg__fail(error, EG_ERR_BUSY, "the monitor was started: stop it first");
    const eg_status status = eg__monitor_sample(m, error);
    if (!status) EG__INFO(eg_monitor_sample, out, &m->sample);
    return status;
}

/* ---- a sample as text, which the monitor keeps in *slot until the next one */
static eg_status check_text(const eg_monitor *m, const char **text, eg_error *error) {
    if (!m || !text) return eg__fail(error, EG_ERR_ARGUMENT, "no monitor, or no output pointer");
    *text = NULL;
    if (is_foreign(m)) return eg__fail(error, EG_ERR_BUSY, "the monitor was started");
    if (!m->sampled) return eg__fail(error, EG_ERR_ARGUMENT, "no sample was read yet");
    return EG_OK;
}

static eg_status hand_out(eg_monitor *m, char **slot, char *made, eg_status status,
                          const char **text) {
    eg__memory_give(m->memory, *slot);
    *text = *slot = made;
    return status;
}

eg_status eg_monitor_line(eg_monitor *m, const char **text, size_t *length, eg_error *error) {
    eg_status status = check_text(m, text, error);
    if (status) return status;
    size_t bytes = 0;
    char *made = NULL;
    status = eg__sample_write(m->memory, &m->sample, &made, length ? length : &bytes, error);
    return hand_out(m, &m->line, made, status, text);
}

eg_status eg_monitor_metrics(eg_monitor *m, eg_metrics_form form, const char **text, size_t *length,
                             eg_error *error) {
    eg_status status = check_text(m, text, error);
    if (status) return status;
    if (form != EG_METRICS_OPEN && form != EG_METRICS_PROMETHEUS)
        return eg__fail(error, EG_ERR_ARGUMENT, "no form %d of metrics", (int)form);
    size_t bytes = 0;
    char *made = NULL;
    status = eg__metrics_write(m->memory, &m->sample, form, &made, length ? length : &bytes, error);
    return hand_out(m, &m->metrics, made, status, text);
}

eg_status eg_monitor_history(eg_monitor *m, const char **text, size_t *length, eg_error *error) {
    eg_status status = check_text(m, text, error);
    if (status) return status;
    size_t bytes = 0;
    char *made = NULL;
    status =
        eg__history_write(m->memory, m->history, &m->runs, &made, length ? length : &bytes, error);
    return hand_out(m, &m->document, made, status, text);
}

eg_status eg_monitor_series(eg_monitor *m, size_t index, eg_series_info *out, eg_error *error) {
    if (!m || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no monitor, or no output pointer");
    if (is_foreign(m)) return eg__fail(error, EG_ERR_BUSY, "the monitor was started");
    eg__history *h = m->history;
    if (index >= h->count)
        return eg__fail(error, EG_ERR_NOT_FOUND, "no series %zu among %zu", index, h->count);
    const eg__series *s = h->series[index];
    for (size_t i = 0; i < h->points; i++)
        h->given[i] = (eg_history_point){h->begins[i], s->bins[i].least, s->bins[i].mean,
                                         s->bins[i].most, s->bins[i].samples};
    const eg_series_info info = {.name = s->name,
                                 .unit = s->unit,
                                 .label = s->label,
                                 .pid = s->pid,
                                 .seconds = h->width,
                                 .count = h->points,
                                 .points = h->given};
    EG__INFO(eg_series_info, out, &info);
    return EG_OK;
}
