/* Which kernels and blocks a chip of the table would use: the ARM rows of the one list, whatever this build is for. */
#include "base/abi.h"
#include "elegans/kernels.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    eg__operation operation;
    const char *isa;
    unsigned features;
} row;
#define FIRST(features, ...) (features)
static const row rows[] = {
#define EG__LIST_ARM
#define KERNEL(op, set, ...) {EG__OP_##op, #set, FIRST(__VA_ARGS__, 0)},
#include "kernels/kernels.def"
#undef EG__LIST_ARM
};

/* The cores of all chips of the table have NEON with f16 and dot products of bytes; bf16 and i8mm came with the second generation.
 * Matrix units are in a column. */
unsigned eg_chip_row_features(const eg_chip_row *chip) {
    enum { FIRST_GENERATION = 0x1b588bb3 };
    unsigned features = EG_CPU_NEON | EG_CPU_FP16 | EG_CPU_DOTPROD | EG_CPU_FHM;
    if (chip->cpufamily != FIRST_GENERATION) features |= EG_CPU_BF16 | EG_CPU_I8MM;
    if (strcmp(chip->matrix_unit, "AMX") == 0) features |= EG_CPU_APPLE_AMX;
    if (strcmp(chip->matrix_unit, "SME2") == 0) features |= EG_CPU_SME | EG_CPU_SME2;
    return features;
}

eg_status eg_kernel_choice_get(const eg_chip_row *chip, size_t operation, eg_kernel_choice *out,
                               eg_error *error) {
    if (!chip || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no chip or no output pointer");
    if (operation >= EG__OP_COUNT)
        return eg__fail(error, EG_ERR_ARGUMENT, "operation %zu is not below %d", operation,
                        EG__OP_COUNT);
    const unsigned features = eg_chip_row_features(chip);
    eg_kernel_choice choice = {.operation = eg__operation_name((eg__operation)operation),
                               .text = eg__operation_text((eg__operation)operation),
                               .isa = "ref",
                               .provenance = EG_MODELLED};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].operation != (eg__operation)operation || (rows[i].features & ~features))
            continue;
        choice.isa = rows[i].isa;
        break; /* the best first */
    }
    EG__INFO(eg_kernel_choice, out, &choice);
    return EG_OK;
}

/* BLIS's analytical model: enough sums in a tile to hide the latency of an FMA on every pipe, a depth whose panel stays in L1, rows that
 * stay in L2. The tile is compiled into the kernels; whether it has enough sums is checked. */
eg_status eg_blocks_of(const eg_chip_row *chip, int slow, eg_blocks *out, eg_error *error) {
    enum { LANES = 4, LATENCY = 4, TILE_ROWS = 6, TILE_COLUMNS = 16 };
    if (!chip || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no chip or no output pointer");
    const double first = slow ? chip->slow_l1d_kb : chip->fast_l1d_kb;
    const double second = slow ? chip->slow_l2_mb : chip->fast_l2_mb;
    const unsigned cores = slow ? chip->slow_cores : chip->fast_cores;
    const unsigned clusters = slow ? chip->slow_clusters : chip->fast_clusters;
    if (!cores || !(first > 0) || !(second > 0))
        return eg__fail(error, EG_ERR_NOT_FOUND, "the table does not have the %s caches of '%s'",
                        slow ? "slow" : "fast", chip->name);
    const double share = second * 1048576 / eg__max(cores / eg__max(clusters, 1), 1);
    const eg__gemm_blocks blocks = eg__gemm_blocks_for((uint64_t)(first * 1024), (uint64_t)share);
    const eg_blocks result = {.tile_rows = TILE_ROWS,
                              .tile_columns = TILE_COLUMNS,
                              .sums = TILE_ROWS * TILE_COLUMNS / LANES,
                              .sums_needed = slow ? 0 : chip->fast_fma_pipes * LATENCY,
                              .rows = (unsigned)blocks.rows,
                              .depth = (unsigned)blocks.depth,
                              .band = (unsigned)eg__gemm_band(1 << 20, 128, 128, &blocks),
                              .provenance = EG_MODELLED};
    EG__INFO(eg_blocks, out, &result);
    return EG_OK;
}

size_t eg_operation_count(void) { return EG__OP_COUNT; }
