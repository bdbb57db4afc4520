/* Neural circuit policies: sensory to inter, inter to command, command to itself and to motor. */
#include "nn/wiring_draw.h"

/* ---- options */

/* draws may repeat a pair, so the number of units is no bound */
enum { RECURRENT_MAX = EG__WIRING_UNITS_MAX * EG__WIRING_UNITS_MAX };

static eg_status over(eg_error *error, const char *fan, uint32_t value, const char *layer,
                      uint32_t size) {
    return eg__fail(error, EG_ERR_ARGUMENT, "%s '%u' is more than the '%u' %s units", fan, value,
                    size, layer);
}

eg_status eg__wiring_complete_ncp(eg__wiring_options *o, eg_error *error) {
    const uint32_t sizes[] = {o->inter, o->command, o->motor};
    static const char *const names[] = {"inter", "command", "motor"};
    for (int i = 0; i < 3; i++)
        if (!sizes[i] || sizes[i] > EG__WIRING_UNITS_MAX)
            return eg__fail(error, EG_ERR_ARGUMENT, "'%u' %s units: a circuit has 1 to %d",
                            sizes[i], names[i], EG__WIRING_UNITS_MAX);
    if (o->motor_fanin > o->command)
        return over(error, "motor_fanin", o->motor_fanin, "command", o->command);
    if (o->sensory_fanout > o->inter)
        return over(error, "sensory_fanout", o->sensory_fanout, "inter", o->inter);
    if (o->inter_fanout > o->command)
        return over(error, "inter_fanout", o->inter_fanout, "command", o->command);
    if (o->recurrent > RECURRENT_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "recurrent '%u' is more than %d", o->recurrent,
                        RECURRENT_MAX);
    o->units = o->inter + o->command + o->motor;
    o->outputs = o->motor;
    return EG_OK;
}

static uint32_t at_least_one(double value) { return value < 1 ? 1 : (uint32_t)value; }

eg_status eg__wiring_complete_autoncp(eg__wiring_options *o, eg_error *error) {
    if (!o->has_sparsity) o->sparsity = 0.5;
    o->has_sparsity = true;
    if (!(o->sparsity >= 0.1 && o->sparsity <= 1))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "sparsity '%g' of an autoncp wiring is not within [0.1, 1]", o->sparsity);
    if (o->units > EG__WIRING_UNITS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%u' units: a wiring has 1 to %d", o->units,
                        EG__WIRING_UNITS_MAX);
    if (!o->outputs || o->units < 3 || o->outputs >= o->units - 2)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "'%u' outputs of '%u' units: an autoncp wiring has at least one, and three "
                        "units more",
                        o->outputs, o->units);
    /* in double and in this order, as ncps: 1 - 0.9 is slightly below 0.1, which changes the
     * rounding */
    const double density = 1.0 - o->sparsity;
    const uint32_t inner = o->units - o->outputs;
    o->command = at_least_one(0.4 * inner);
    o->inter = inner - o->command;
    o->motor = o->outputs;
    o->sensory_fanout = at_least_one(o->inter * density);
    o->inter_fanout = o->motor_fanin = at_least_one(o->command * density);
    o->recurrent = at_least_one(o->command * density * 2);
    return eg__wiring_complete_ncp(o, error);
}

/* ---- drawing */

typedef struct group { /* units with successive ids, or all inputs */
    uint32_t first, count;
} group;

typedef struct circuit {
    eg__wiring *wiring;
    eg__mt *mt;
    uint32_t *chosen; /* room for the largest group */
    bool *reached;    /* by the place in its group: has a synapse already */
} circuit;

static int polarity(eg__mt *mt) { return eg__mt_u32(mt) & 1 ? 1 : -1; }

/* `count` members of a group in c->chosen, by place. */
static void choose(circuit *c, group from, uint32_t count) {
    eg__mt_choice(c->mt, from.count, NULL, count, c->chosen);
}

/* The number of synapses for units that were never chosen, as in ncps: the mean, clamped to
 * 1..most. */
static uint32_t mean_fan(uint32_t members, uint32_t fan, uint32_t of, uint32_t most) {
    double mean = (double)((uint64_t)members * fan) / of;
    return mean < 1 ? 1 : mean > most ? most : (uint32_t)mean;
}

static void connect(circuit *c, bool sensory, uint32_t source, uint32_t destination) {
    int sign = polarity(c->mt);
    if (sensory) eg__wiring_set_sensory(c->wiring, source, destination, sign);
    else eg__wiring_set(c->wiring, source, destination, sign);
}

/* Each unit of `near` chooses `fan` units of `far`; units of `far` that were not chosen then choose
 * the mean number (at most `limit`) of `near`. `forward`: the synapses go from near to far. */
static void join(circuit *c, group near, group far, uint32_t fan, uint32_t limit, bool forward,
                 bool sensory) {
    for (uint32_t i = 0; i < far.count; i++) c->reached[i] = false;
    for (uint32_t i = 0; i < near.count; i++) {
        choose(c, far, fan);
        for (uint32_t k = 0; k < fan; k++) {
            uint32_t a = near.first + i, b = far.first + c->chosen[k];
            c->reached[c->chosen[k]] = true;
            connect(c, sensory, forward ? a : b, forward ? b : a);
        }
    }
    const uint32_t mean = mean_fan(near.count, fan, far.count, limit);
    for (uint32_t i = 0; i < far.count; i++) {
        if (c->reached[i]) continue;
        choose(c, near, mean);
        for (uint32_t k = 0; k < mean; k++) {
            uint32_t a = near.first + c->chosen[k], b = far.first + i;
            connect(c, sensory, forward ? a : b, forward ? b : a);
        }
    }
}

static void draw_recurrent(circuit *c, group command) {
    for (uint32_t i = 0; i < c->wiring->options.recurrent; i++) {
        uint32_t source = (uint32_t)eg__mt_interval(c->mt, command.count - 1);
        uint32_t destination = (uint32_t)eg__mt_interval(c->mt, command.count - 1);
        connect(c, false, command.first + source, command.first + destination);
    }
}

eg_status eg__wiring_draw_ncp(eg__wiring *w, eg__mt *mt, eg_error *error) {
    const eg__wiring_options *o = &w->options;
    const group sensors = {0, w->inputs}, motor = {0, o->motor}, command = {o->motor, o->command},
                inter = {o->motor + o->command, o->inter};
    const size_t most = eg__max(w->units, w->inputs);
    eg_error reason = {EG_ERR_MEMORY, ""};
    circuit c = {.wiring = w, .mt = mt};
    c.chosen = eg__memory_take_array(w->memory, EG_TAG_GRAPH, most,
                                     sizeof *c.chosen + sizeof *c.reached, &reason);
    if (!c.chosen) return eg__fail(error, reason.status, "%s", reason.message);
    c.reached = (bool *)(c.chosen + most);
    join(&c, sensors, inter, o->sensory_fanout, w->inputs, true, true);
    /* ncps clamps this mean to the number of command units (it should be inter units):
     * reproduced */
    join(&c, inter, command, o->inter_fanout, o->command, true, false);
    draw_recurrent(&c, command);
    join(&c, motor, command, o->motor_fanin, o->motor, false, false);
    eg__memory_give(w->memory, c.chosen);
    return EG_OK;
}
