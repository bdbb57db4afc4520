/* Which batch of a grid to take, and why. */
#include "profile/project/grid.h"

#include <stdio.h>

static const double near_enough = 0.98; /* of the most samples per second: the rest is noise */

static bool usable(const eg_grid_cell *c) {
    return c->fits && c->samples.provenance != EG_UNAVAILABLE;
}

static void size_text(char out[32], double bytes) {
    if (bytes >= 1073741824.0) snprintf(out, 32, "%.1f GiB", bytes / 1073741824.0);
    else if (bytes >= 1048576.0) snprintf(out, 32, "%.1f MiB", bytes / 1048576.0);
    else snprintf(out, 32, "%.1f KiB", bytes / 1024.0);
}

static void say_none(const eg_grid *grid, const eg_grid_cell *cells, eg_grid_choice *out) {
    const eg_grid_cell *least = &cells[0];
    char takes[32], budget[32];
    for (size_t i = 0; i < grid->batch_count; i++) {
        if (cells[i].fits) { /* so it is something else */
            snprintf(out->reason, sizeof out->reason, "batch %llu: %s",
                     (unsigned long long)cells[i].batch, cells[i].seconds.source);
            return;
        }
        if (cells[i].memory.value < least->memory.value) least = &cells[i];
    }
    size_text(takes, least->memory.value);
    size_text(budget, grid->budget.value);
    snprintf(out->reason, sizeof out->reason, "no batch fits into %s: the smallest takes %s",
             budget, takes);
}

static void say_why(const eg_grid *grid, const eg_grid_cell *cells, const eg_grid_cell *most,
                    eg_grid_choice *out) {
    const eg_grid_cell *c = out->cell, *other = NULL;
    char *text = out->reason, budget[32];
    size_t large = 0;
    int at;
    for (size_t i = 0; i < grid->batch_count; i++) {
        const eg_grid_cell *o = &cells[i];
        large += !o->fits;
        if (o != c && usable(o) && (!other || o->samples.value > other->samples.value)) other = o;
    }
    if (c != most)
        at =
            snprintf(text, sizeof out->reason, "%.1f %% of the samples/s of batch %llu, sooner",
                     100 * c->samples.value / most->samples.value, (unsigned long long)most->batch);
    else if (other)
        at = snprintf(text, sizeof out->reason,
                      "most samples per second: %.2f times those of batch %llu",
                      c->samples.value / other->samples.value, (unsigned long long)other->batch);
    else at = snprintf(text, sizeof out->reason, "the only one that could be tried");
    size_text(budget, grid->budget.value);
    if (large)
        snprintf(text + at, sizeof out->reason - (size_t)at, "; %zu %s not fit into %s", large,
                 large == 1 ? "does" : "do", budget);
}

static void choose(const eg_grid *grid, eg_grid_cell *cells, eg_grid_choice *out) {
    const eg_grid_cell *most = NULL;
    eg_grid_cell *best = NULL;
    for (size_t i = 0; i < grid->batch_count; i++)
        if (usable(&cells[i]) && (!most || cells[i].samples.value > most->samples.value))
            most = &cells[i];
    *out = (eg_grid_choice){.length = cells[0].length, .type = cells[0].type};
    if (!most) {
        say_none(grid, cells, out);
        return;
    }
    for (size_t i = 0; i < grid->batch_count; i++)
        if (usable(&cells[i]) && cells[i].samples.value >= near_enough * most->samples.value &&
            (!best || cells[i].batch < best->batch))
            best = &cells[i];
    best->best = 1;
    out->cell = best;
    say_why(grid, cells, most, out);
}

void eg__grid_choose(eg_grid *grid) {
    for (size_t length = 0; length < grid->length_count; length++) {
        eg_grid_choice *choices = grid->choices + length * grid->type_count, *most = NULL;
        for (size_t type = 0; type < grid->type_count; type++) {
            eg_grid_choice *c = &choices[type];
            choose(grid, grid->cells + (length * grid->type_count + type) * grid->batch_count, c);
            if (c->cell && (!most || c->cell->samples.value > most->cell->samples.value)) most = c;
        }
        if (most) most->most = 1;
    }
}
