/* How each kind of wiring completes its options and draws its synapses; for wiring.c and tests. */
#ifndef EG__WIRING_DRAW_H
#define EG__WIRING_DRAW_H

#include "base/random.h"
#include "nn/wiring.h"

/* Fill in what was not given, and refuse what cannot be. */
eg_status eg__wiring_complete_random(eg__wiring_options *options, eg_error *error);
eg_status eg__wiring_complete_ncp(eg__wiring_options *options, eg_error *error);
eg_status eg__wiring_complete_autoncp(eg__wiring_options *options, eg_error *error);

/* Draw into a wiring that is there. Sensory and other synapses of full and random wirings are drawn
 * one after the other with one generator. */
void eg__wiring_draw_full(eg__wiring *wiring, eg__pcg *pcg);
void eg__wiring_draw_full_sensory(eg__wiring *wiring, eg__pcg *pcg);
eg_status eg__wiring_draw_random(eg__wiring *wiring, eg__pcg *pcg, eg_error *error);
eg_status eg__wiring_draw_ncp(eg__wiring *wiring, eg__mt *mt, eg_error *error);

#endif
