/* A grid as its parts see it. */
#ifndef EG__GRID_H
#define EG__GRID_H

#include "elegans/grid.h"
#include "memory/memory.h"

enum { EG__GRID_CELLS = 4096, EG__GRID_BATCHES = 16 };

struct eg_grid {
    eg__memory *memory;
    eg_preset preset;
    eg_metric budget;
    size_t batch_count, length_count, type_count;
    eg_grid_cell *cells;
    eg_grid_choice *choices; /* one per length and type */
};

/* ---- grid_choose.c: the best batch of each length and type, and why */
void eg__grid_choose(eg_grid *grid);

#endif
