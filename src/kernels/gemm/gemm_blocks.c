/* The sizes of blocks of a product, from those of the caches. */
#include "kernels/kernels.h"

eg__gemm_blocks eg__gemm_blocks_for(uint64_t first_cache, uint64_t second_cache) {
    /* more rows than that were not faster on a second cache of 2 MiB */
    enum { TILE_ROWS = 8, ROWS_UNIT = 24, MOST_ROWS = 168, MOST_DEPTH = 2048 };
    eg__gemm_blocks blocks = EG__GEMM_BLOCKS;
    /* twice the depth where a panel of B and the rows of a tile of it still fit */
    const uint64_t line = (EG__PANEL + TILE_ROWS) * sizeof(float);
    while (blocks.depth < MOST_DEPTH && 2 * blocks.depth * line <= first_cache) blocks.depth *= 2;
    /* two thirds of the second cache: the rest is for B, which passes by, and C */
    const uint64_t rows = second_cache / 3 * 2 / (blocks.depth * sizeof(float));
    if (second_cache) blocks.rows = (size_t)eg__min(rows, MOST_ROWS) / ROWS_UNIT * ROWS_UNIT;
    blocks.rows = eg__max(blocks.rows, ROWS_UNIT);
    return blocks;
}
