/* A profiled program on other chips, and beside what such chips should reach. */
#include "cli/commands/profile.h"

#include <stdlib.h>
#include <string.h>

static void check(const eg_metric *value, const eg_chip_row *row, eg_chip_tier tier,
                  eg_requirement_kind need, double amount, double overhead,
                  eg_requirement_result *out) {
    eg_requirement requirement;
    const eg_metric ceiling = eg_chip_ceiling(row, need);
    *out = (eg_requirement_result){0};
    if (eg_requirement_of(tier, need, &requirement, NULL) ||
        eg_requirement_check_run(value, &requirement, &ceiling, amount, overhead, out, NULL))
        *out = (eg_requirement_result){0};
}

static int project_one(const eg_projector *projector, uint64_t batch, const eg_chip_row *row,
                       eg_report_device *out) {
    eg_error error;
    eg_preset preset;
    const eg_projection *p = &out->projection;
    snprintf(out->name, sizeof out->name, "%s", row->name);
    if (eg_projector_project(projector, batch, row, NULL, &out->projection, &error) ||
        eg_preset_of(row, &preset, &error))
        return fail(EXIT_FAILED, "%s: %s", row->name, error.message);
    const eg_unit_projection *best = &p->unit[p->best];
    check(&best->tflops, row, preset.tier, EG_REQUIREMENT_COMPUTE, p->flops, p->start,
          &out->compute);
    check(&best->memory_bandwidth, row, preset.tier, EG_REQUIREMENT_BANDWIDTH,
          best->memory_bandwidth.value * 1e9 * best->seconds.value, p->start, &out->bandwidth);
    return CLI_OK;
}

int devices_each(const char *which, int (*each)(void *user, const eg_chip_row *row), void *user) {
    eg_error error;
    eg_chip_row row;
    int code = CLI_OK;
    if (strcmp(which, "all") == 0) {
        for (size_t i = 0; !code && i < eg_chip_table_size(); i++)
            if (eg_chip_table_get(i, &row, NULL) == EG_OK) code = each(user, &row);
        return code;
    }
    for (const char *at = which; !code && at;) {
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
               : CLI_OK;
}

/* Before anything is measured. */
int devices_check(const char *which) {
    size_t count = 0;
    return devices_each(which, count_next, &count);
}

typedef struct projecting {
    const eg_projector *projector;
    uint64_t batch;
    devices *out;
} projecting;

static int project_next(void *user, const eg_chip_row *row) {
    projecting *p = user;
    if (p->out->count == DEVICES_MOST) return fail(EXIT_USAGE, "--device: more than 64 chips");
    return project_one(p->projector, p->batch, row, &p->out->list[p->out->count++]);
}

int devices_project(eg_model *model, const eg_profile_options *options, const char *which,
                    devices *d) {
    eg_error error;
    eg_projector *projector;
    d->count = 0;
    if (eg_projector_create(model, options, &projector, &error))
        return fail(EXIT_FAILED, "--device: %s", error.message);
    projecting p = {projector, options->batch ? options->batch : 1, d};
    const int code = devices_each(which, project_next, &p);
    eg_projector_destroy(projector);
    return code;
}

static void print_check(const char *name, const eg_requirement_result *r) {
    char text[320];
    if (!r->text[0]) return;
    snprintf(text, sizeof text, "%s: %s (%s)", name, eg_check_name(r->check), r->text);
    printf("  %s%-10s ", style_dim(), "");
    print_folded(text, strlen(text), 13, 15, NULL);
    fputs(style_end(), stdout);
}

void devices_print(const devices *d, bool requirements) {
    char time[32], low[32], high[32];
    print_section("on other chips",
                  "modelled; in brackets what is likely; GB/s to and from the DRAM");
    for (size_t i = 0; i < d->count; i++) {
        const eg_report_device *v = &d->list[i];
        const eg_unit_projection *u = &v->projection.unit[v->projection.best];
        printf("  %-10s %-7.7s %9s [%s to %s]  %.3g TFLOP/s, %.3g GB/s\n", v->name,
               eg_unit_name(v->projection.best), format_seconds(time, u->seconds.value),
               format_seconds(low, u->low), format_seconds(high, u->high), u->tflops.value,
               u->memory_bandwidth.value);
        if (!requirements) continue;
        print_check("compute", &v->compute);
        print_check("bandwidth", &v->bandwidth);
    }
}
