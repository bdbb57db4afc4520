/* Recorded channels: ioreport.txt below the root. A line is group|subgroup|channel|unit|value or, for states,
 * STATE=time,STATE=time; `seconds|1.003` is the time between the two samples, `clocks|TABLE|hertz,hertz` a table. */
#include "sensors/ioreport.h"

#include <string.h>

static const char file_name[] = "ioreport.txt";
enum { LINE = 4096, FIELDS = 5 };

static unsigned split(char *line, char *fields[FIELDS]) {
    unsigned n = 0;
    for (char *at = line; n < FIELDS; n++) {
        fields[n] = at;
        char *bar = strchr(at, '|');
        if (!bar) return n + 1;
        *bar = 0;
        at = bar + 1;
    }
    return n;
}

static bool integer_of(const char *text, int64_t *out) {
    double number;
    if (strcmp(text, "none") == 0) { /* not populated */
        *out = INT64_MIN;
        return true;
    }
    if (eg_number_parse(text, strlen(text), &number, NULL) || number < 0 || number > 1e18)
        return false;
    *out = (int64_t)number;
    return true;
}

static bool values_read(char *text, eg__channel *c) {
    char *rest = text;
    if (!strchr(text, '=')) return integer_of(text, &c->value);
    for (char *word; (word = strtok_r(rest, ",", &rest)); c->states++) {
        char *equals = strchr(word, '=');
        if (!equals || c->states == EG__STATES) return false;
        *equals = 0;
        if (!integer_of(equals + 1, &c->state[c->states].time)) return false;
        snprintf(c->state[c->states].name, sizeof c->state->name, "%s", word);
    }
    return c->states > 0;
}

bool eg__ioreport_recorded(eg_sensors *s, eg__ioreport_function *function, void *user,
                           double *seconds) {
    char line[LINE], *f[FIELDS];
    eg__text file;
    if (!eg__root_open(s->root, file_name, &file)) return false;
    while (eg__line_read(&file, line, sizeof line)) {
        const unsigned n = split(line, f);
        if (n == 2 && strcmp(f[0], "seconds") == 0)
            eg_number_parse(f[1], strlen(f[1]), seconds, NULL);
        eg__channel c = {.states = 0};
        if (n != FIELDS || !values_read(f[4], &c)) continue;
        snprintf(c.group, sizeof c.group, "%s", f[0]);
        snprintf(c.subgroup, sizeof c.subgroup, "%s", f[1]);
        snprintf(c.name, sizeof c.name, "%s", f[2]);
        snprintf(c.unit, sizeof c.unit, "%s", f[3]);
        function(s, &c, user);
    }
    eg__root_close(&file);
    return true;
}

bool eg__clocks_recorded(const eg_sensors *s, const char *table, eg__clock_table *out) {
    char line[LINE], *f[FIELDS];
    eg__text file;
    out->count = 0;
    if (!eg__root_open(s->root, file_name, &file)) return false;
    while (!out->count && eg__line_read(&file, line, sizeof line)) {
        if (split(line, f) != 3 || strcmp(f[0], "clocks") != 0 || strcmp(f[1], table) != 0)
            continue;
        char *rest = f[2];
        for (char *word; out->count < EG__CLOCKS && (word = strtok_r(rest, ",", &rest));)
            if (eg_number_parse(word, strlen(word), &out->hertz[out->count], NULL) == EG_OK)
                out->count++;
    }
    eg__root_close(&file);
    eg__clock_table_scale(out);
    return out->count > 0;
}

void eg__clock_table_scale(eg__clock_table *table) {
    double most = 0;
    for (unsigned i = 0; i < table->count; i++)
        if (table->hertz[i] > most) most = table->hertz[i];
    for (unsigned i = 0; i < table->count && most < 100e6; i++) table->hertz[i] *= 1e3;
}
