/* Operations of two runs, those of one kind and shape side by side; what moved most comes first. */
#include "report/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No program has as many; a document with more was not written by a profile. */
enum { ROWS_MOST = 4096 };

typedef struct pair {
    const eg__json_value *old_row, *new_row; /* NULL = only in the other */
    double moved;                            /* seconds; the time of what is in one only */
    size_t at;
} pair;

static double seconds_of(const eg__json_value *row) { return eg__json_number(row, "seconds"); }

static bool has_same(const eg__json_value *a, const eg__json_value *b, const char *key) {
    return strcmp(eg__json_text(a, key), eg__json_text(b, key)) == 0;
}

/* Exactly, then without the kernel, which another build or chip may choose. */
static bool is_pair(const eg__json_value *a, const eg__json_value *b, bool exactly) {
    return has_same(a, b, "operation") && has_same(a, b, "shape") &&
           eg__json_flag(a, "in_scan") == eg__json_flag(b, "in_scan") &&
           (!exactly || (has_same(a, b, "kernel") && has_same(a, b, "does")));
}

static void find_pairs(const eg__json_value *list, size_t count, pair *pairs, size_t pair_count,
                       bool exactly, bool *taken) {
    for (size_t i = 0; i < pair_count; i++)
        for (size_t k = 0; k < count && !pairs[i].new_row; k++) {
            const eg__json_value *row = eg__json_item(list, k);
            if (taken[k] || !is_pair(pairs[i].old_row, row, exactly)) continue;
            pairs[i].new_row = row;
            taken[k] = true;
        }
}

static int by_change(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->moved != y->moved) return x->moved < y->moved ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static const char *judge(const eg__diff *d, const pair *p) {
    if (!p->old_row) return "only in the second";
    if (!p->new_row) return "only in the first";
    return eg__diff_judge_time(d, seconds_of(p->old_row), seconds_of(p->new_row), d->noise_seconds);
}

static void put_pair(eg__json *json, const eg__diff *d, const pair *p) {
    const eg__json_value *row = p->new_row ? p->new_row : p->old_row;
    const double was = seconds_of(p->old_row), is = seconds_of(p->new_row);
    eg__json_open_object(json, NULL);
    eg__report_put_text(json, "operation", eg__json_text(row, "operation"));
    eg__report_put_text(json, "kernel", eg__json_text(row, "kernel"));
    if (p->old_row && p->new_row && !has_same(p->old_row, p->new_row, "kernel"))
        eg__report_put_text(json, "old_kernel", eg__json_text(p->old_row, "kernel"));
    eg__report_put_text(json, "shape", eg__json_text(row, "shape"));
    eg__report_put_text(json, "does", eg__json_text(row, "does"));
    eg__json_put_flag(json, "in_scan", eg__json_flag(row, "in_scan"));
    eg__report_put_number(json, "old", was);
    eg__report_put_number(json, "new", is);
    eg__report_put_number(json, "change", eg__diff_change(was, is));
    eg__report_put_number(json, "change_seconds", is - was);
    eg__report_put_text(json, "provenance", eg_provenance_name(EG_MEASURED));
    eg__report_put_text(json, "judgement", judge(d, p));
    eg__json_close(json);
}

static void put_all(eg__json *json, const eg__diff *d, pair *pairs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double was = seconds_of(pairs[i].old_row), is = seconds_of(pairs[i].new_row);
        const double moved = fabs((is > 0 ? is : 0) - (was > 0 ? was : 0));
        pairs[i].moved = isfinite(moved) ? moved : 0;
        pairs[i].at = i;
    }
    if (count) qsort(pairs, count, sizeof *pairs, by_change);
    for (size_t i = 0; i < count; i++) put_pair(json, d, &pairs[i]);
}

void eg__diff_operations(eg__json *json, const eg__diff *d) {
    const eg__json_value *old_list = eg__json_get(d->side[EG__DIFF_OLD].run, "operations"),
                         *new_list = eg__json_get(d->side[EG__DIFF_NEW].run, "operations");
    const size_t old_count = eg__json_length(old_list), new_count = eg__json_length(new_list);
    eg_error error = {EG_ERR_MEMORY, ""};
    eg__json_open_list(json, "operations");
    if (old_count > ROWS_MOST || new_count > ROWS_MOST) {
        eg__json_fail(json, EG_ERR_FORMAT, "%zu operations in '%.80s', more than %d",
                      eg__max(old_count, new_count),
                      d->side[old_count > ROWS_MOST ? EG__DIFF_OLD : EG__DIFF_NEW].name, ROWS_MOST);
        return;
    }
    pair *pairs = eg__memory_take_array(d->memory, EG_TAG_FILE, old_count + new_count + 1,
                                        sizeof *pairs, &error);
    bool *taken = !pairs ? NULL
                         : eg__memory_take_array(d->memory, EG_TAG_FILE, new_count + 1,
                                                 sizeof *taken, &error);
    if (!taken) {
        eg__json_fail(json, error.status, "%s", error.message);
    } else {
        memset(pairs, 0, (old_count + new_count + 1) * sizeof *pairs);
        memset(taken, 0, (new_count + 1) * sizeof *taken);
        size_t count = 0;
        for (; count < old_count; count++) pairs[count].old_row = eg__json_item(old_list, count);
        find_pairs(new_list, new_count, pairs, old_count, true, taken);
        find_pairs(new_list, new_count, pairs, old_count, false, taken);
        for (size_t i = 0; i < new_count; i++)
            if (!taken[i]) pairs[count++].new_row = eg__json_item(new_list, i);
        put_all(json, d, pairs, count);
    }
    eg__memory_give(d->memory, taken);
    eg__memory_give(d->memory, pairs);
    eg__json_close(json);
}
