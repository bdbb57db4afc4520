/* A model that lives in a pipe: a line with the features in, a line with the outputs out. */
#include "cli/commands/run.h"
#include "cli/publishing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pipe_run {
    const run_settings *settings;
    const eg_model_info *info;
    eg_stream *stream;
    eg_publisher *publisher;
    uint64_t line, fields, time; /* time: which field, from 0; fields = none */
    float span;                  /* what passes from line to line where no field says it */
    double first, last;          /* elapsed time of the first step; time of the last one */
    double *values;              /* [fields] */
    float *x, *y;
} pipe_run;

/* Fields are separated by one comma or semicolon, or by any number of blanks. */
static uint64_t split(char *text, uint64_t room, double *values, const char **bad) {
    const bool listed = strpbrk(text, ",;") != NULL;
    uint64_t count = 0;
    for (char *field; (field = strsep(&text, listed ? ",;" : " \t"));) {
        field += strspn(field, " \t");
        size_t length = strlen(field);
        while (length && strchr(" \t", field[length - 1])) length--;
        if (!length && !listed) continue;
        double value = NAN;
        if (eg_number_parse(field, length, &value, NULL) && !*bad) *bad = field;
        if (count < room) values[count] = value;
        count++;
    }
    return count;
}

static int read_line(pipe_run *p, char *text, float *elapsed) {
    const char *bad = NULL;
    const unsigned long long line = p->line;
    text[strcspn(text, "\r\n")] = 0;
    const uint64_t found = split(text, p->fields, p->values, &bad);
    const bool timed = p->time < p->fields;
    if (found != p->fields)
        return fail(EXIT_FAILED, "line %llu: %llu fields, the model takes %llu%s", line,
                    (unsigned long long)found, (unsigned long long)p->info->inputs,
                    timed ? " and the time" : "");
    if (bad) return fail(EXIT_FAILED, "line %llu: '%.60s' is not a number", line, bad);
    float *to = p->x;
    for (uint64_t i = 0; i < p->fields; i++) {
        if (i == p->time) continue;
        if (isnan(p->values[i]))
            return fail(EXIT_FAILED, "line %llu: field %llu has no value", line,
                        (unsigned long long)i + 1);
        *to++ = (float)p->values[i];
    }
    if (!timed) return CLI_OK;
    const double now = p->values[p->time];
    if (p->settings->timespans) *elapsed = (float)now;
    else *elapsed = (float)(line == 1 && !isnan(now) ? p->first : now - p->last);
    p->last = now;
    return CLI_OK;
}

static int follow(pipe_run *p, run_data *data) {
    char *text = NULL;
    size_t room = 0;
    int code = CLI_OK;
    while (!code && getline(&text, &room, stdin) >= 0) {
        eg_error error;
        float elapsed = p->span;
        p->line++;
        code = read_line(p, text, &elapsed);
        if (code) break;
        eg_publisher_begin(p->publisher);
        if (eg_stream_check(p->stream, p->x, &error) ||
            eg_stream_step(p->stream, p->x, elapsed, p->y, &error)) {
            code = fail(EXIT_FAILED, "line %llu: %s", (unsigned long long)p->line, error.message);
            break;
        }
        eg_publisher_end(p->publisher);
        run_print_values(p->settings, p->y, p->info->outputs);
        putchar('\n');
        /* whoever reads us needs the answer now */
        if (fflush(stdout)) code = fail(EXIT_FAILED, "cannot write the output");
    }
    if (!code && !feof(stdin))
        code = fail(EXIT_FAILED, "cannot read the input: %s", strerror(errno));
    free(text);
    eg_stream_state_get(p->stream, data->states.data);
    return code;
}

/* A stream has no names: what is no number means the last field. */
static int find_time(pipe_run *p) {
    const char *name = p->settings->time ? p->settings->time : p->settings->timespans;
    p->fields = p->info->inputs + (name != NULL);
    p->time = p->fields - (name != NULL);
    int64_t number;
    if (name &&
        eg_integer_parse(name, strlen(name), INT64_MIN, INT64_MAX, &number, NULL) == EG_OK) {
        if (number < 1 || (uint64_t)number > p->fields)
            return fail(EXIT_USAGE, "no field %s among %llu", name, (unsigned long long)p->fields);
        p->time = (uint64_t)number - 1;
    }
    return CLI_OK;
}

int run_stream(eg_context *context, eg_model *model, const run_settings *settings,
               const eg_model_info *info, run_data *data) {
    pipe_run p = {.settings = settings, .info = info};
    eg_stream_program *program = NULL;
    eg_error error;
    int code = find_time(&p);
    if (!code) code = run_first_span(settings, model, settings->time != NULL, &p.first);
    p.span = eg_model_timespan(model);
    if (code) return code;
    if (eg_stream_compile(model, &program, &error) || eg_stream_create(program, &p.stream, &error))
        code = fail_with(&error);
    p.values = take_memory((size_t)p.fields, sizeof *p.values);
    p.x = take_memory((size_t)(info->inputs + info->outputs), sizeof *p.x);
    if (!code) {
        p.y = p.x + info->inputs;
        eg_program_info costs = {.size = sizeof costs};
        eg_stream_program_info_get(program, &costs);
        p.publisher = publish_open(context, "stream", settings->model, &costs, true);
        eg_stream_state_set(p.stream, data->states.data);
        code = follow(&p, data);
        eg_publisher_close(p.publisher);
    }
    free(p.values);
    free(p.x);
    eg_stream_destroy(p.stream);
    eg_stream_program_destroy(program);
    return code;
}
