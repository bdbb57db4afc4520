/* Recorded runs as files that others open: Chrome's trace format, and folded stacks for flame graphs. */
#include "profile/profile.h"
#include "formats/file.h"

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

/* JSON's quotes for what a user may have named. */
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

/* Times are microseconds, with three digits of nanoseconds. */
static void say_event(output *o, const eg_profile *p, const eg_record_event *e) {
    const eg_profile_row *row = row_of(p, e->step);
    if (!row) return;
    const double begin = (double)e->begin / 1000, length = (double)(e->end - e->begin) / 1000;
    say(o,
        ",\n{\"name\":\"%s %s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,"
        "\"tid\":%u,\"args\":{\"step\":%u,\"shape\":\"%s\",\"run\":%llu",
        row->operation, row->kernel, row->inside ? "scan" : "run", begin, length, e->thread,
        e->step, row->shape, (unsigned long long)e->run);
    if (e->time != UINT32_MAX) say(o, ",\"time\":%u", e->time);
    if (e->parts > 1) say(o, ",\"threads\":%u", e->parts);
    if (row->text[0]) say(o, ",\"does\":\"%s\"", row->text);
    say(o, "}}");
}

/* The planned memory of the program: it is taken before and given back after all runs. */
static void say_memory(output *o, const eg_profile *p, double begin, double end) {
    eg_program_info info;
    eg_program_info_get(p->subject.program, &info);
    for (int i = 0; i < 2; i++)
        say(o,
            ",\n{\"name\":\"memory\",\"ph\":\"C\",\"ts\":%.3f,\"pid\":1,\"args\":{\"arena\":%llu,"
            "\"weights\":%llu,\"states\":%llu}}",
            i ? end : begin, (unsigned long long)info.arena_bytes,
            (unsigned long long)(info.parameter_bytes + info.derived_bytes + info.constant_bytes),
            (unsigned long long)info.state_bytes);
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
    double last = 0;
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
    for (uint64_t i = 0; !o.status && i < eg_recorder_count(p->recorder); i++) {
        eg_record_event e;
        o.status = eg_recorder_event(p->recorder, i, &e, error);
        if (o.status) break;
        say_event(&o, p, &e);
        if ((double)e.end / 1000 > last) last = (double)e.end / 1000;
    }
    say_memory(&o, p, 0, last);
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
