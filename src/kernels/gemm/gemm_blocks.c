/* Cache block sizes of a product, from the sizes of the caches. */
#include "kernels/kernels.h"

eg__gemm_blocks eg__gemm_blocks_for(uint64_t first_cache, uint64_t second_cache) {
    /* Measured on an Intel Xeon with a second cache of 2 MiB: one thread, depth 512, m = n = k, the best of 60 (avx512) and of 40
     * (avx2) interleaved products. GFLOP/s with 168 rows, 168 again, 336, 504, 672:
     *   avx512, 1024: 162.3, 162.1, 161.1, 158.5, 154.3    2048: 161.9, 161.9, 159.9, 155.7, 155.1
     *   avx2, 1024:    89.0,  86.5,  86.5,  86.9,  84.3    2048:  84.0,  84.8,  84.1,  83.4,  83.8
     * So more than 168 rows cost up to 5 % with avx512 and gain nothing with avx2. */
    enum { TILE_ROWS = 8, ROWS_UNIT = 24, MOST_ROWS = 168, MOST_DEPTH = 2048 };
    eg__gemm_blocks blocks = EG__GEMM_BLOCKS;
    /* double the depth while a panel of B and the rows of a tile still fit into L1 */
    const uint64_t line = (EG__PANEL + TILE_ROWS) * sizeof(float);
    while (blocks.depth < MOST_DEPTH && 2 * blocks.depth * line <= first_cache) blocks.depth *= 2;
    /* two thirds of L2: the rest is for B, which streams through, and C */
    const uint64_t rows = second_cache / 3 * 2 / (blocks.depth * sizeof(float));
    if (second_cache) blocks.rows = (size_t)eg__min(rows, MOST_ROWS) / ROWS_UNIT * ROWS_UNIT;
    blocks.rows = eg__max(blocks.rows, ROWS_UNIT);
    return blocks;
}
