/* Recorded runs as files: Chrome's trace format, and folded stacks for flame graphs. */
#include "profile/profile.h"
#include "formats/files/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct output {
    eg__writer writer;
    eg_status status;
    eg_error *error;
} output;

static void say(output *o, const char *format, ...) EG_PRINTF(2, 3);
static void say(output *o, const char *format, ...) {
    char text[1024];
    va_list arguments;
    if (o->status) return;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    o->status = eg__writer_append(&o->writer, text, (size_t)length, o->error);
}

/* Escapes a user's text for JSON. */
static const char *quoted(char out[512], const char *text) {
    size_t at = 0;
    for (; *text && at < 500; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20) continue;
        if (c == '"' || c == '\\') out[at++] = '\\';
        out[at++] = (char)c;
    }
    out[at] = 0;
    return out;
}

static const eg_profile_row *row_of(const eg_profile *p, uint32_t step) {
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].step == step) return &p->steps[i];
    return NULL;
}

/* One clock for all of it: microseconds since the profile began, with three digits of nanoseconds. */
static double recorded_at(const eg_profile *p, uint64_t ns) {
    const uint64_t began = eg__recorder_began(p->recorder);
    return (double)(ns + (began > p->began ? began - p->began : 0)) / 1000;
}

static void say_event(output *o, const eg_profile *p, const eg_record_event *e,
                      const eg_profile_row *row) {
    const double begin = recorded_at(p, e->begin), length = (double)(e->end - e->begin) / 1000;
    say(o,
        ",\n{\"name\":\"%s %s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,"
        "\"tid\":%u,\"args\":{\"step\":%u,\"shape\":\"%s\",\"run\":%llu",
        row->operation, row->kernel, row->inside ? "scan" : "run", begin, length, e->thread,
        e->step, row->shape, (unsigned long long)e->run);
    if (e->time != UINT32_MAX) say(o, ",\"time\":%u", e->time);
    if (e->parts > 1)
        say(o, ",\"%s\":%u", e->time == UINT32_MAX ? "threads" : "stands for", e->parts);
    if (row->text[0]) say(o, ",\"does\":\"%s\"", row->text);
    say(o, "}}");
}

/* ---- memory over time */
/* The phases as a separate track, and the memory that the library held, which changes only between
 * phases. */
static void say_phases(output *o, const eg_profile *p) {
    const unsigned row = eg__threads_count(p->context->threads);
    say(o,
        ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"args\":{\"name\":"
        "\"profile\"}}",
        row);
    for (size_t i = 0; i < p->moment_count; i++) {
        const eg_profile_moment *m = &p->moments[i];
        const double end = m->seconds * 1e6, begin = i ? p->moments[i - 1].seconds * 1e6 : end;
        if (i)
            say(o,
                ",\n{\"name\":\"%s\",\"cat\":\"phase\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,"
                "\"pid\":1,\"tid\":%u,\"args\":{\"does\":\"%s\"}}",
                eg_profile_phase_name(m->phase), begin, end - begin, row,
                eg_profile_phase_text(m->phase));
        say(o,
            ",\n{\"name\":\"library, most of a phase\",\"ph\":\"C\",\"ts\":%.3f,\"pid\":1,"
            "\"args\":{\"bytes\":%llu}}",
            begin, (unsigned long long)m->peak);
        say(o, ",\n{\"name\":\"library\",\"ph\":\"C\",\"ts\":%.3f,\"pid\":1,\"args\":{", end);
        for (int tag = 0; tag < EG_TAG_COUNT; tag++)
            say(o, "%s\"%s\":%llu", tag ? "," : "", eg_tag_name((eg_tag)tag),
                (unsigned long long)m->by_tag[tag]);
        say(o, "}}");
    }
}

typedef struct live { /* of the arena, while the events of thread 0 go by */
    uint64_t bytes, end;
    uint32_t run;
    bool said;
} live;

static void say_live(output *o, const eg_profile *p, live *l, uint64_t at, uint64_t bytes) {
    if (l->said && l->bytes == bytes) return;
    say(o,
        ",\n{\"name\":\"arena, live\",\"ph\":\"C\",\"ts\":%.3f,\"pid\":1,\"args\":{\"bytes\":%llu}}",
        recorded_at(p, at), (unsigned long long)bytes);
    l->bytes = bytes;
    l->said = true;
}

/* A scan's own event encloses those of its steps, which are more exact; after a run nothing is
 * live. */
static void follow(output *o, const eg_profile *p, live *l, const eg_record_event *e,
                   const eg_profile_row *row) {
    if (e->thread) return;
    if (l->said && e->run != l->run) say_live(o, p, l, l->end, 0);
    if (row->work != EG_WORK_SCAN) say_live(o, p, l, e->begin, row->live);
    l->end = e->end;
    l->run = e->run;
}

static eg_status open_output(output *o, const eg_profile *p, const char *path, eg_error *error) {
    o->status = EG_OK;
    o->error = error;
    if (!p || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no profile or no path");
    if (!p->recorder)
        return eg__fail(error, EG_ERR_ARGUMENT, "a callback has no steps that were recorded");
    return eg__writer_begin(&o->writer, path, error);
}

eg_status eg_profile_trace(const eg_profile *p, const char *path, eg_error *error) {
    output o;
    char name[512];
    live l = {0};
    eg_status status = open_output(&o, p, path, error);
    if (status) return status;
    say(&o,
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
        "\"pid\":1,\"args\":{\"name\":\"elegans: %s\"}}",
        quoted(name, p->name));
    for (unsigned i = 0; i < eg__threads_count(p->context->threads); i++)
        say(&o,
            ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"args\":{\"name\":"
            "\"%s %u\"}}",
            i, i ? "worker" : "caller", i);
    say_phases(&o, p);
    for (uint64_t i = 0; !o.status && i < eg_recorder_count(p->recorder); i++) {
        eg_record_event e;
        o.status = eg_recorder_event(p->recorder, i, &e, error);
        const eg_profile_row *row = o.status ? NULL : row_of(p, e.step);
        if (!row) continue;
        say_event(&o, p, &e, row);
        follow(&o, p, &l, &e, row);
    }
    if (l.said) say_live(&o, p, &l, l.end, 0);
    say(&o, "\n]}\n");
    return eg__writer_end(&o.writer, o.status, error);
}

/* "model;scan;tanh fused 32x64 12345": nanoseconds of a run. */
eg_status eg_profile_stacks(const eg_profile *p, const char *path, eg_error *error) {
    output o;
    eg_status status = open_output(&o, p, path, error);
    if (status) return status;
    for (size_t i = 0; i < p->step_count; i++) {
        const eg_profile_row *row = &p->steps[i];
        const unsigned long long ns = (unsigned long long)(row->seconds * 1e9 + 0.5);
        char name[256];
        snprintf(name, sizeof name, "%s", p->name[0] ? p->name : "model");
        for (char *c = name; *c; c++)
            if (*c == ';' || *c == ' ' || *c == '\n') *c = '_';
        if (ns)
            say(&o, "%s;%s%s %s %s %llu\n", name, row->inside ? "scan;" : "", row->operation,
                row->kernel, row->shape, ns);
    }
    return eg__writer_end(&o.writer, o.status, error);
}
