/* A profiled program on other chips, and beside what such chips should reach. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool check(const eg_metric *value, const eg_chip_row *row, eg_tier tier, eg_need need,
                  eg_requirement_result *out) {
    eg_requirement requirement;
    const eg_metric ceiling = eg_chip_ceiling(row, need);
    return eg_requirement_of(tier, need, &requirement, NULL) == EG_OK &&
           eg_requirement_check(value, &requirement, &ceiling, out, NULL) == EG_OK;
}

static int project_one(const eg_step_cost *costs, size_t count, const eg_chip_row *row,
                       device *out) {
    eg_error error;
    eg_preset preset;
    snprintf(out->name, sizeof out->name, "%s", row->name);
    if (eg_project(count, costs, row, NULL, &out->projection, &error) ||
        eg_preset_of(row, &preset, &error))
        return fail(EXIT_FAILED, "%s: %s", row->name, error.message);
    const eg_unit_projection *best = &out->projection.unit[out->projection.best];
    if (!check(&best->tflops, row, preset.tier, EG_NEED_COMPUTE, &out->compute))
        out->compute = (eg_requirement_result){0};
    if (!check(&best->bandwidth, row, preset.tier, EG_NEED_BANDWIDTH, &out->bandwidth))
        out->bandwidth = (eg_requirement_result){0};
    return -1;
}

int devices_each(const char *which, int (*each)(void *user, const eg_chip_row *row), void *user) {
    eg_error error;
    eg_chip_row row;
    int code = -1;
    if (strcmp(which, "all") == 0) {
        for (size_t i = 0; code < 0 && i < eg_chip_table_size(); i++)
            if (eg_chip_table_get(i, &row, NULL) == EG_OK) code = each(user, &row);
        return code;
    }
    for (const char *at = which; code < 0 && at;) {
        char name[64];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), at);
        if (eg_chip_table_find(name, &row, &error))
            code = fail(EXIT_FAILED, "--device: %s", error.message);
        else code = each(user, &row);
        at = at[length] ? at + length + 1 : NULL;
    }
    return code;
}

static int count_next(void *user, const eg_chip_row *row) {
    size_t *count = user;
    (void)row;
    return ++*count > DEVICES_MOST
               ? fail(EXIT_USAGE, "--device: more than %d chips; 'all' has them all", DEVICES_MOST)
               : -1;
}

/* Before anything is measured. */
int devices_check(const char *which) {
    size_t count = 0;
    return devices_each(which, count_next, &count);
}

typedef struct projecting {
    const eg_step_cost *costs;
    size_t count;
    devices *out;
} projecting;

static int project_next(void *user, const eg_chip_row *row) {
    projecting *p = user;
    if (p->out->count == DEVICES_MOST) return fail(EXIT_USAGE, "--device: more than 64 chips");
    return project_one(p->costs, p->count, row, &p->out->list[p->out->count++]);
}

int devices_project(const eg_profile *profile, const char *which, devices *d) {
    eg_error error;
    eg_program_info info;
    int code;
    const eg_program *program = eg_profile_program(profile);
    d->count = 0;
    eg_program_info_get(program, &info);
    eg_step_cost *costs = calloc(info.steps + 1, sizeof *costs);
    if (!costs) return fail(EXIT_FAILED, "no memory");
    projecting p = {.costs = costs, .out = d};
    if (eg_program_costs(program, costs, &p.count, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    else code = devices_each(which, project_next, &p);
    free(costs);
    return code;
}

void devices_print(const devices *d) {
    char time[32], low[32], high[32];
    print_section("on other chips", "modelled; in brackets what is likely");
    for (size_t i = 0; i < d->count; i++) {
        const device *v = &d->list[i];
        const eg_unit_projection *u = &v->projection.unit[v->projection.best];
        printf("  %-10s %-7.7s %9s [%s to %s]  %.3g TFLOP/s, %.3g GB/s\n", v->name,
               eg_unit_name(v->projection.best), format_seconds(time, u->seconds.value),
               format_seconds(low, u->low), format_seconds(high, u->high), u->tflops.value,
               u->bandwidth.value);
        if (v->compute.text[0])
            printf("  %s%-10s compute: %s (%s)%s\n", style_dim(), "",
                   eg_check_name(v->compute.check), v->compute.text, style_end());
        if (v->bandwidth.text[0])
            printf("  %s%-10s bandwidth: %s (%s)%s\n", style_dim(), "",
                   eg_check_name(v->bandwidth.check), v->bandwidth.text, style_end());
    }
}

json *devices_json(const devices *d) {
    json *list = json_new_list();
    for (size_t i = 0; i < d->count; i++) {
        const device *v = &d->list[i];
        const eg_unit_projection *u = &v->projection.unit[v->projection.best];
        json *object = json_new_object();
        json_put_text(object, "name", v->name);
        json_put_text(object, "best_unit", eg_unit_name(v->projection.best));
        json_put_number(object, "seconds", u->seconds.value);
        json_put_number(object, "low", u->low);
        json_put_number(object, "high", u->high);
        json_put_number(object, "tflops", u->tflops.value);
        json_put_number(object, "gbps", u->bandwidth.value);
        json_put_number(object, "utilization", u->utilization.value);
        json_put_number(object, "compute_share", u->compute);
        json_put_number(object, "memory_share", u->memory);
        json_put_number(object, "overhead_share", u->overhead);
        json_put_text(object, "condition", u->condition);
        json_put_text(object, "provenance", eg_provenance_name(EG_MODELLED));
        json_put_text(object, "compute_check", eg_check_name(v->compute.check));
        json_put_text(object, "compute_text", v->compute.text);
        json_put_text(object, "bandwidth_check", eg_check_name(v->bandwidth.check));
        json_put_text(object, "bandwidth_text", v->bandwidth.text);
        json_append(list, object);
    }
    return list;
}
