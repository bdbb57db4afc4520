/* The expression of an alert: NAME[:LABEL] COMPARISON VALUE[UNIT] [for DURATION] [clear VALUE[UNIT]]. */
#include "base/base.h"
#include "monitor/alert.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    const char *text, *at;
    eg_error *error;
} reader;

static size_t position(const reader *r) { return (size_t)(r->at - r->text) + 1; }

static eg_status expected(const reader *r, const char *what) {
    char found[24];
    snprintf(found, sizeof found, "%.20s", r->at);
    return eg__fail(r->error, EG_ERR_FORMAT, "position %zu: %s expected, not '%s'", position(r),
                    what, found);
}

static void skip(reader *r) { r->at += strspn(r->at, " \t"); }

/* ---- names: sensors first, then figures of programs */
static const char *name_at(void *user, size_t index) {
    (void)user;
    if (index < EG_SENSOR_COUNT) return eg_sensor_name((eg_sensor)index);
    index -= EG_SENSOR_COUNT;
    return index < EG_FIGURE_COUNT ? eg_figure_name((eg_figure)index) : NULL;
}

static eg_status read_name(reader *r, eg__alert_rule *out) {
    char word[40], meant[EG_DID_YOU_MEAN_SIZE];
    skip(r);
    const size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (!length) return expected(r, "the name of a figure");
    snprintf(word, sizeof word, "%.*s", (int)eg__min(length, sizeof word - 1), r->at);
    size_t i = 0;
    while (name_at(NULL, i) && strcmp(name_at(NULL, i), word) != 0) i++;
    if (!name_at(NULL, i)) {
        char list[160] = "";
        for (size_t k = 0, used = 0; k < EG_FIGURE_COUNT && used < sizeof list; k++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "",
                                     eg_figure_name((eg_figure)k));
        eg_did_you_mean(meant, word, name_at, NULL);
        return eg__fail(r->error, EG_ERR_NOT_FOUND,
                        "position %zu: no figure '%s'%s%s figures: %s, ...", position(r), word,
                        meant, meant[0] ? "" : ";", list);
    }
    out->is_sensor = i < EG_SENSOR_COUNT;
    out->id = (int)(out->is_sensor ? i : i - EG_SENSOR_COUNT);
    out->name = name_at(NULL, i);
    out->unit =
        out->is_sensor ? eg_sensor_unit((eg_sensor)out->id) : eg_figure_unit((eg_figure)out->id);
    r->at += length;
    return EG_OK;
}

/* As it is, or with blanks in it between quotes. */
static eg_status read_label(reader *r, eg__alert_rule *out) {
    if (*r->at != ':') return EG_OK;
    r->at++;
    const bool quoted = *r->at == '"';
    r->at += quoted;
    const size_t length = strcspn(r->at, quoted ? "\"" : " \t<>");
    if (!length) return expected(r, "a label");
    if (length >= sizeof out->label)
        return eg__fail(r->error, EG_ERR_FORMAT, "position %zu: a label of %zu bytes is too long",
                        position(r), length);
    snprintf(out->label, sizeof out->label, "%.*s", (int)length, r->at);
    r->at += length;
    if (quoted && *r->at != '"') return expected(r, "'\"' after the label");
    r->at += quoted;
    return EG_OK;
}

static eg_status read_comparison(reader *r, eg__alert_rule *out) {
    skip(r);
    if (*r->at != '>' && *r->at != '<') return expected(r, "one of > >= < <=");
    out->above = *r->at++ == '>';
    out->or_equal = *r->at == '=';
    r->at += out->or_equal;
    return EG_OK;
}

/* ---- values */

/* Bytes of the number at the front: "1e3" has three, "5e" and "5us" one. */
static size_t number_length(const char *text) {
    size_t length = text[0] == '-' || text[0] == '+';
    length += strspn(text + length, "0123456789.");
    if (text[length] != 'e' && text[length] != 'E') return length;
    const size_t sign = text[length + 1] == '-' || text[length + 1] == '+';
    const size_t digits = strspn(text + length + 1 + sign, "0123456789");
    return digits ? length + 1 + sign + digits : length;
}

static bool is_keyword(const char *word, size_t length) {
    return (length == 3 && memcmp(word, "for", 3) == 0) ||
           (length == 5 && memcmp(word, "clear", 5) == 0);
}

static eg_status read_value(reader *r, const char *unit, const char *what, double *out) {
    char names[120];
    skip(r);
    const size_t length = number_length(r->at);
    if (!length || eg_number_parse(r->at, length, out, NULL) || !isfinite(*out))
        return expected(r, what);
    r->at += length;
    const char *before = r->at;
    skip(r);
    const size_t letters = strcspn(r->at, " \t");
    if (is_keyword(r->at, letters)) {
        r->at = before;
        return EG_OK;
    }
    const double factor = eg__unit_factor(unit, r->at, letters);
    if (!(factor > 0))
        return eg__fail(r->error, EG_ERR_NOT_FOUND, "position %zu: no unit '%.*s' here; units: %s",
                        position(r), (int)eg__min(letters, 20), r->at,
                        eg__unit_names(unit, names, sizeof names));
    if (!isfinite(*out * factor)) return expected(r, "a smaller number");
    r->at += letters;
    *out *= factor;
    return EG_OK;
}

static bool take_word(reader *r, const char *word) {
    const size_t length = strlen(word);
    skip(r);
    if (strncmp(r->at, word, length) != 0 ||
        (r->at[length] && !isspace((unsigned char)r->at[length])))
        return false;
    r->at += length;
    return true;
}

eg_status eg__alert_parse(const char *text, eg__alert_rule *out, eg_error *error) {
    reader r = {text, text, error};
    *out = (eg__alert_rule){0};
    eg_status status = read_name(&r, out);
    if (!status) status = read_label(&r, out);
    if (!status) status = read_comparison(&r, out);
    if (!status) status = read_value(&r, out->unit, "a number", &out->limit);
    /* a figure that swings around its limit must not fire again and again */
    const double margin = 0.05 * fabs(out->limit);
    out->clear = out->above ? out->limit - margin : out->limit + margin;
    if (!status && take_word(&r, "for")) {
        status = read_value(&r, "s", "a duration", &out->hold);
        if (!status && out->hold < 0)
            return eg__fail(error, EG_ERR_FORMAT, "position %zu: a duration of %g s is below 0",
                            position(&r), out->hold);
    }
    if (!status && take_word(&r, "clear")) {
        status = read_value(&r, out->unit, "a number", &out->clear);
        if (!status && (out->above ? out->clear > out->limit : out->clear < out->limit))
            return eg__fail(error, EG_ERR_FORMAT,
                            "position %zu: it would end at %g, which is beyond its limit of %g",
                            position(&r), out->clear, out->limit);
    }
    if (status) return status;
    skip(&r);
    return *r.at ? expected(&r, "'for', 'clear' or the end") : EG_OK;
}
