/* Tiles are configured while a thread runs a step with one of their kernels, and released after it: the system then has 8 KiB less to
 * save. */
#include "kernels/kernels.h"
#include "kernels/tile/tile.h"

void eg__tile_enter(void) {
    static const eg__tile_config whole = EG__TILE_WHOLE;
    TILE_CONFIGURE(&whole);
}
void eg__tile_leave(void) { TILE_RELEASE(); }
