/* Random graphs: values that stay small, and operations added to them. */
#ifndef EG__RANDOM_GRAPH_H
#define EG__RANDOM_GRAPH_H

#include "elegans/program.h"
#include "graph/graph.h"
#include "test_compile.h"

enum { POOL = 400, MOST = 6000 /* elements */ };
typedef struct item {
    eg_node node;
    double bound; /* its elements are about this large at most */
} item;
typedef struct maker {
    eg_graph *g;
    uint64_t state;
    item pool[POOL];
    size_t count, inside; /* values of the open scan begin there; 0 = none is open */
    unsigned leaves, states;
    uint64_t favourite[4], length; /* extents that come up often; steps of most scans */
} maker;

static inline const eg__node *at(const maker *m, item x) { return eg__node_at(m->g, x.node); }
static inline uint64_t size_of(const maker *m, item x) { return eg__node_elements(at(m, x)); }

uint64_t random_draw(maker *m, uint64_t n); /* below n */
uint64_t random_extent(maker *m);
unsigned random_shape(maker *m, uint64_t *shape, unsigned ranks,
                      uint64_t most);                   /* returns the rank */
item random_tame(maker *m, item x, double most);        /* x, or something of it that is smaller */
item random_keep(maker *m, eg_node node, double bound); /* adds it to the pool */
item random_pick(maker *m);                             /* one of the pool */
item random_leaf(maker *m, unsigned rank, const uint64_t *shape);
item random_new_leaf(maker *m);
/* Something that x can be added to; `given` = that is not computed, and so not rounded. */
item random_partner(maker *m, item x, bool given);

void random_unary(maker *m, item x);
void random_binary(maker *m, item x, item y);
void random_product(maker *m);
void random_conv(maker *m);
void random_movement(maker *m);
void random_over_axes(maker *m); /* reductions, softmax, norms */
void random_state(maker *m);

/* A whole graph, all of which follows from its number; returns how many outputs it has. */
enum { RANDOM_OUTPUTS = 12 };
typedef struct random_case {
    compiled_case c;
    char name[32], passes[64];
    unsigned threads;
    size_t count;
    eg_output output[RANDOM_OUTPUTS];
} random_case;
void random_case_make(eg_graph *g, uint64_t number, random_case *c);
size_t random_graph(eg_graph *g, uint64_t number, eg_output outputs[RANDOM_OUTPUTS]);

#endif
