/* A pole on a cart, seen at irregular times by noisy sensors. */
#ifndef CARTPOLE_H
#define CARTPOLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cartpole {
    double position, speed, angle, turn; /* metres and radians, per second */
} cartpole;

double random_uniform(uint64_t *state); /* within [-1, 1) */
double random_normal(uint64_t *state);

cartpole cartpole_start(uint64_t *state); /* somewhere near the middle, leaning a little */
void cartpole_move(cartpole *c, double force, double seconds);
bool cartpole_fell(const cartpole *c);
/* The expert sees everything, exactly: a linear controller, in newtons. */
double cartpole_expert(const cartpole *c);
/* What a sensor tells: position and angle, no speeds, with noise. */
void cartpole_sense(const cartpole *c, uint64_t *state, float out[2]);
/* Seconds until the next look: irregular. */
double cartpole_wait(uint64_t *state);

enum { FORCE_MOST = 10 };
static const double WAIT_MEAN = 0.08;

#endif
