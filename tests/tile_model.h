/* A software model of Intel's AMX, from its published documentation, and the kernels of kernels/tile that run through it. */
#ifndef EG__TEST_TILE_MODEL_H
#define EG__TEST_TILE_MODEL_H

#include "kernels/kernels.h"
#define EG__TILE_MODEL 1
#include "kernels/tile/tile.h"

typedef enum tile_instruction {
    TILE_ldtilecfg,
    TILE_tilerelease,
    TILE_tilezero,
    TILE_tileloadd,
    TILE_tilestored,
    TILE_tdpbf16ps,
    TILE_tdpbssd,
    TILE_tdpbusd,
    TILE_INSTRUCTIONS
} tile_instruction;

typedef struct tile_state {
    bool configured;
    eg__tile_config config;
    uint8_t tile[EG__TILES][EG__TILE_ROWS][EG__TILE_BYTES];
    uint64_t count[TILE_INSTRUCTIONS]; /* executed, without those that were refused */
} tile_state;

/* The state of the calling thread; no tiles at first. */
tile_state *tile_state_here(void);
/* Each executes an instruction: NULL, or why a processor refuses it ("#GP ...", "#UD ..."), or that this model does. What is
 * refused changes nothing. */
const char *tile_configure(tile_state *s, const eg__tile_config *config);
void tile_release(tile_state *s);
const char *tile_zero(tile_state *s, unsigned tile);
const char *tile_load(tile_state *s, unsigned tile, const void *at, size_t stride);
const char *tile_store(tile_state *s, unsigned tile, void *at, size_t stride);
const char *tile_multiply(tile_state *s, tile_instruction which, unsigned sum, unsigned left,
                          unsigned right);

/* The rows `amxtile` with functions that call the model; of any machine. */
enum { TILE_MODELLED = 2 };
extern const eg__kernel tile_modelled[TILE_MODELLED];
void eg__tile_enter_modelled(void);
void eg__tile_leave_modelled(void);
eg__gemm_bf16bf16_function eg__gemm_bf16bf16_modelled;
eg__gemm_i8i8_function eg__gemm_i8i8_modelled;

#endif
