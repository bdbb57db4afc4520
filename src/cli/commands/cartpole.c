/* A pole on a cart: Barto, Sutton and Anderson's, with a continuous force. */
#include "cli/commands/cartpole.h"

#include <math.h>

/* splitmix64: any state is good */
static uint64_t next(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
double random_uniform(uint64_t *state) { return (double)(next(state) >> 11) * 0x1p-52 - 1; }
double random_normal(uint64_t *state) {
    const double a = 1 - (random_uniform(state) + 1) / 2, b = random_uniform(state);
    return sqrt(-2 * log(a)) * cos(3.14159265358979323846 * b);
}

cartpole cartpole_start(uint64_t *state) {
    return (cartpole){0.5 * random_uniform(state), 0.1 * random_uniform(state),
                      0.03 * random_uniform(state), 0.05 * random_uniform(state)};
}

void cartpole_move(cartpole *c, double force, double seconds) {
    const double gravity = 9.8, cart = 1.0, pole = 0.1, half = 0.5, step = 0.001;
    force = force > FORCE_MOST ? FORCE_MOST : force < -FORCE_MOST ? -FORCE_MOST : force;
    for (double left = seconds; left > 0; left -= step) {
        const double h = left < step ? left : step, s = sin(c->angle), k = cos(c->angle);
        const double push = (force + pole * half * c->turn * c->turn * s) / (cart + pole);
        const double turning =
            (gravity * s - k * push) / (half * (4.0 / 3.0 - pole * k * k / (cart + pole)));
        const double moving = push - pole * half * turning * k / (cart + pole);
        c->speed += h * moving;
        c->turn += h * turning;
        c->position += h * c->speed;
        c->angle += h * c->turn;
    }
}

bool cartpole_fell(const cartpole *c) {
    return fabs(c->position) > 2.4 || fabs(c->angle) > 0.2095 || !isfinite(c->angle);
}

double cartpole_expert(const cartpole *c) {
    const double force = 1.0 * c->position + 2.0 * c->speed + 38 * c->angle + 8.5 * c->turn;
    return force > FORCE_MOST ? FORCE_MOST : force < -FORCE_MOST ? -FORCE_MOST : force;
}

void cartpole_sense(const cartpole *c, uint64_t *state, float out[2]) {
    /* in units that a network likes */
    out[0] = (float)(c->position + 0.001 * random_normal(state));
    out[1] = (float)(10 * (c->angle + 0.00025 * random_normal(state)));
}

double cartpole_wait(uint64_t *state) {
    if (random_uniform(state) < 0) return 0.012 + 0.008 * random_uniform(state);
    return 0.15 + 0.04 * random_uniform(state); /* frames were lost */
}
