/* Intel's AMX: instructions on tiles of 16 rows x 64 bytes. They have nothing in common with Apple's unit of the same name
 * (kernels/amx), so everything of theirs here is called `tile`.
 *
 * In files named _amxtile.c a macro is the instruction itself. Where EG__TILE_MODEL is 1 (tests) it calls a software model, so that
 * the same kernels run on any processor. They are inline assembly, not intrinsics: those of gcc do not say that tileloadd reads
 * memory, so that stores before it may be moved behind it. */
#ifndef EG__TILE_H
#define EG__TILE_H

#include <stddef.h>
#include <stdint.h>

enum {
    EG__TILE_ROWS = 16,
    EG__TILE_BYTES = 64, /* of a row */
    EG__TILE_SIZE = EG__TILE_ROWS * EG__TILE_BYTES,
    EG__TILES = 8,
    /* bytes of scratch memory of a product of halves: 11 tiles, and 16 rows of 512 pairs and a tile */
    EG__TILE_HALVES_SCRATCH = 11 * EG__TILE_SIZE + 16 * (512 * 4 + EG__TILE_BYTES),
    EG__TILE_INTEGERS_SCRATCH = 6 * EG__TILE_SIZE, /* beside the rows of A */
};

/* What ldtilecfg reads: 64 bytes. All that is reserved is 0. */
typedef struct eg__tile_config {
    uint8_t palette;   /* 1; 0 = no tiles */
    uint8_t start_row; /* where an interrupted load or store goes on */
    uint8_t reserved[14];
    uint16_t bytes[16]; /* of a row, of each of eight tiles */
    uint8_t rows[16];
} eg__tile_config;
/* All tiles are whole: kernels pad what is smaller with zeros, so that one configuration serves a whole step. */
#define EG__TILE_WHOLE                                                     \
    {                                                                      \
        .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = { \
            16,                                                            \
            16,                                                            \
            16,                                                            \
            16,                                                            \
            16,                                                            \
            16,                                                            \
            16,                                                            \
            16                                                             \
        }                                                                  \
    }

#if defined(EG__TILE_MODEL) && EG__TILE_MODEL
void eg__tile_model_configure(const eg__tile_config *config);
void eg__tile_model_release(void);
void eg__tile_model_zero(unsigned tile);
void eg__tile_model_load(unsigned tile, const void *at, size_t stride);
void eg__tile_model_store(unsigned tile, void *at, size_t stride);
void eg__tile_model_bf16(unsigned sum, unsigned left, unsigned right);
void eg__tile_model_bytes(unsigned sum, unsigned left, unsigned right);
#define TILE_CONFIGURE(config)       eg__tile_model_configure(config)
#define TILE_RELEASE()               eg__tile_model_release()
#define TILE_ZERO(tile)              eg__tile_model_zero(tile)
#define TILE_LOAD(tile, at, stride)  eg__tile_model_load(tile, at, stride)
#define TILE_STORE(tile, at, stride) eg__tile_model_store(tile, at, stride)
#define TILE_BF16(sum, left, right)  eg__tile_model_bf16(sum, left, right)
#define TILE_I8(sum, left, right)    eg__tile_model_bytes(sum, left, right)
#else
/* Numbers of tiles are literals. Rows lie `stride` bytes apart, which may be 0. */
#define TILE_CONFIGURE(config) __asm__ volatile("ldtilecfg %0" : : "m"(*(config)))
#define TILE_RELEASE()         __asm__ volatile("tilerelease" : : : "memory")
#define TILE_ZERO(tile)        __asm__ volatile("tilezero %%tmm" #tile : :)
#define TILE_LOAD(tile, at, stride)                                   \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile               \
                     :                                                \
                     : "r"((const void *)(at)), "r"((size_t)(stride)) \
                     : "memory")
#define TILE_STORE(tile, at, stride)                            \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)"     \
                     :                                          \
                     : "r"((void *)(at)), "r"((size_t)(stride)) \
                     : "memory")
/* sum += left * right: of pairs of bf16, and of four signed bytes */
#define TILE_BF16(sum, left, right) \
    __asm__ volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sum : :)
#define TILE_I8(sum, left, right) \
    __asm__ volatile("tdpbssd %%tmm" #right ", %%tmm" #left ", %%tmm" #sum : :)
#endif

#endif
