/* Wirings as text: "autoncp:64:16,sparsity=0.5,wiring_seed=3". */
#include "nn/wiring.h"

#include <string.h>

typedef struct piece {
    const char *text;
    size_t length;
} piece;

static bool piece_is(piece p, const char *text) {
    return p.length == strlen(text) && memcmp(p.text, text, p.length) == 0;
}

/* The text before the next `end` character (or the end of the text); *rest begins after it. */
static piece cut(const char **rest, const char *end) {
    piece p = {*rest, strcspn(*rest, end)};
    *rest += p.length;
    return p;
}

static int width(piece p) { return (int)eg__min(p.length, 60); }

static eg_status refuse(eg_error *error, const char *what, piece p) {
    return eg__fail(error, EG_ERR_FORMAT, "%s '%.*s' in a wiring", what, width(p), p.text);
}

/* ---- values */

static bool read_seed(piece p, uint64_t *out) {
    uint64_t value = 0;
    for (size_t i = 0; i < p.length; i++) {
        unsigned digit = (unsigned)(p.text[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return p.length > 0;
}

static bool read_count(piece p, uint32_t *out) {
    uint64_t value;
    if (!read_seed(p, &value) || value > UINT32_MAX) return false;
    *out = (uint32_t)value;
    return true;
}

/* ---- keys: which kinds have them, and where their values go */

enum {
    FULL = 1 << EG__WIRING_FULL,
    RANDOM = 1 << EG__WIRING_RANDOM,
    NCP = 1 << EG__WIRING_NCP,
    AUTONCP = 1 << EG__WIRING_AUTONCP,
    EVERY = FULL | RANDOM | NCP | AUTONCP
};
typedef enum key_id {
    KEY_IN,
    KEY_SEED,
    KEY_SPARSITY,
    KEY_SELF,
    KEY_SENSORY_FANOUT,
    KEY_INTER_FANOUT,
    KEY_MOTOR_FANIN,
    KEY_RECURRENT,
    KEY_COUNT
} key_id;
static const struct {
    const char *name;
    unsigned kinds, needed;
} keys[KEY_COUNT] = {
    [KEY_IN] = {"in", EVERY, 0},
    [KEY_SEED] = {"wiring_seed", EVERY, 0},
    [KEY_SPARSITY] = {"sparsity", RANDOM | AUTONCP, 0},
    [KEY_SELF] = {"self", FULL, 0},
    [KEY_SENSORY_FANOUT] = {"sensory_fanout", NCP, NCP},
    [KEY_INTER_FANOUT] = {"inter_fanout", NCP, NCP},
    [KEY_MOTOR_FANIN] = {"motor_fanin", NCP, NCP},
    [KEY_RECURRENT] = {"recurrent", NCP, 0},
};

static bool set_key(key_id key, piece value, eg__wiring_options *o, uint32_t *inputs) {
    uint32_t flag;
    switch (key) {
    case KEY_IN: return read_count(value, inputs) && *inputs;
    case KEY_SEED: return o->has_seed = read_seed(value, &o->seed);
    case KEY_SPARSITY:
        o->has_sparsity = true;
        return eg_number_parse(value.text, value.length, &o->sparsity, NULL) == EG_OK;
    case KEY_SELF:
        if (!read_count(value, &flag) || flag > 1) return false;
        o->no_self = !flag;
        return true;
    case KEY_SENSORY_FANOUT: return read_count(value, &o->sensory_fanout);
    case KEY_INTER_FANOUT: return read_count(value, &o->inter_fanout);
    case KEY_MOTOR_FANIN: return read_count(value, &o->motor_fanin);
    case KEY_RECURRENT: return read_count(value, &o->recurrent);
    default: return false;
    }
}

static eg_status read_keys(const char *rest, eg__wiring_options *o, uint32_t *inputs,
                           eg_error *error) {
    unsigned given = 0;
    while (*rest == ',') {
        rest++;
        const char *start = rest;
        piece name = cut(&rest, "=,");
        key_id key = 0;
        while (key < KEY_COUNT &&
               !(piece_is(name, keys[key].name) && keys[key].kinds >> o->kind & 1))
            key++;
        if (key == KEY_COUNT)
            return eg__fail(error, EG_ERR_FORMAT, "unknown key '%.*s' of a wiring of kind '%s'",
                            width(name), name.text, eg__wiring_kind_name(o->kind));
        if (given >> key & 1) return refuse(error, "repeated key", name);
        given |= 1u << key;
        piece value = {rest, 0};
        if (*rest == '=') {
            rest++;
            value = cut(&rest, ",");
        }
        if (!set_key(key, value, o, inputs))
            return refuse(error, "unusable value",
                          (piece){start, (size_t)(value.text + value.length - start)});
    }
    for (key_id key = 0; key < KEY_COUNT; key++)
        if (keys[key].needed >> o->kind & 1 && !(given >> key & 1))
            return eg__fail(error, EG_ERR_FORMAT, "missing key '%s' of a wiring of kind '%s'",
                            keys[key].name, eg__wiring_kind_name(o->kind));
    return EG_OK;
}

/* ---- the head: the kind and its sizes */

static const struct {
    const char *usage;
    unsigned least, most; /* sizes */
} heads[] = {
    [EG__WIRING_FULL] = {"full:UNITS[:OUTPUTS]", 1, 2},
    [EG__WIRING_RANDOM] = {"random:UNITS[:OUTPUTS]", 1, 2},
    [EG__WIRING_NCP] = {"ncp:INTER:COMMAND:MOTOR", 3, 3},
    [EG__WIRING_AUTONCP] = {"autoncp:UNITS:OUTPUTS", 2, 2},
};

static eg_status read_head(const char **rest, eg__wiring_options *o, eg_error *error) {
    const char *start = *rest;
    piece name = cut(rest, ":,");
    uint32_t sizes[3] = {0};
    unsigned count = 0;
    while (o->kind < EG__WIRING_EDGES && !piece_is(name, eg__wiring_kind_name(o->kind))) o->kind++;
    if (o->kind == EG__WIRING_EDGES)
        return eg__fail(error, EG_ERR_FORMAT,
                        "unknown wiring '%.*s', known are full, random, ncp and autoncp",
                        width(name), name.text);
    bool good = true;
    while (**rest == ':') {
        ++*rest;
        piece value = cut(rest, ":,");
        good =
            good && count < heads[o->kind].most && read_count(value, &sizes[count]) && sizes[count];
        count++;
    }
    if (!good || count < heads[o->kind].least)
        return eg__fail(error, EG_ERR_FORMAT, "'%.*s' is not of the form '%s'",
                        width((piece){start, (size_t)(*rest - start)}), start,
                        heads[o->kind].usage);
    if (o->kind == EG__WIRING_NCP) {
        o->inter = sizes[0];
        o->command = sizes[1];
        o->motor = sizes[2];
    } else {
        o->units = sizes[0];
        o->outputs = sizes[1];
    }
    return EG_OK;
}

eg_status eg__wiring_parse(const char *text, eg__wiring_options *options, uint32_t *inputs,
                           eg_error *error) {
    *options = (eg__wiring_options){0};
    *inputs = 0;
    eg_status status = read_head(&text, options, error);
    return status ? status : read_keys(text, options, inputs, error);
}
