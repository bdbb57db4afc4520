/* What differs around the program: chip, threads, power source, options. */
#include "report/diff.h"

#include <math.h>
#include <string.h>

typedef struct walk {
    eg__json *json;
    const eg__json_value *old_object, *new_object;
    bool second; /* members of the new one that the old one lacks */
} walk;

static void put_fact(eg__json *json, const char *key, const eg__json_value *object,
                     const char *name) {
    const char *text = eg__json_text(object, name);
    if (text[0]) eg__report_put_text(json, key, text);
    else eg__diff_put_number(json, key, eg__json_number(object, name));
}

static bool is_told(const eg__json_value *object, const char *name) {
    return eg__json_text(object, name)[0] || !isnan(eg__json_number(object, name));
}

static bool is_same(const walk *w, const char *name) {
    const double was = eg__json_number(w->old_object, name),
                 is = eg__json_number(w->new_object, name);
    return strcmp(eg__json_text(w->old_object, name), eg__json_text(w->new_object, name)) == 0 &&
           (was == is || (isnan(was) && isnan(is)));
}

/* What one of them does not tell is no difference, and not the same. */
static bool put_row(void *user, const char *name, const eg__json_value *value) {
    const walk *w = user;
    (void)value;
    const bool was = is_told(w->old_object, name), is = is_told(w->new_object, name);
    if ((!was && !is) || (w->second && eg__json_get(w->old_object, name))) return true;
    eg__json_open_object(w->json, NULL);
    eg__report_put_text(w->json, "name", name);
    put_fact(w->json, "old", w->old_object, name);
    put_fact(w->json, "new", w->new_object, name);
    if (was && is) eg__json_put_flag(w->json, "same", is_same(w, name));
    else eg__json_put_null(w->json, "same");
    eg__json_close(w->json);
    return true;
}

/* Flags are neither text nor numbers. */
static void put_compiled(eg__json *json, const eg__diff *d) {
    const char *text[EG__DIFF_SIDES];
    for (int i = 0; i < EG__DIFF_SIDES; i++)
        text[i] = eg__json_flag(d->side[i].run, "compiled") ? "yes" : "no";
    eg__json_open_object(json, NULL);
    eg__report_put_text(json, "name", "compiled");
    eg__report_put_text(json, "old", text[EG__DIFF_OLD]);
    eg__report_put_text(json, "new", text[EG__DIFF_NEW]);
    eg__json_put_flag(json, "same", text[EG__DIFF_OLD] == text[EG__DIFF_NEW]);
    eg__json_close(json);
}

void eg__diff_environment(eg__json *json, const eg__diff *d) {
    static const char *const options[] = {"model", "batch", "seq", "activations"};
    walk w = {json, d->side[EG__DIFF_OLD].run, d->side[EG__DIFF_NEW].run, false};
    eg__json_open_list(json, "environment");
    for (int i = 0; i < 4; i++) put_row(&w, options[i], NULL);
    put_compiled(json, d);
    w.old_object = eg__json_get(w.old_object, "machine");
    w.new_object = eg__json_get(w.new_object, "machine");
    eg__json_each(w.old_object, put_row, &w);
    w.second = true;
    eg__json_each(w.new_object, put_row, &w);
    eg__json_close(json);
}
