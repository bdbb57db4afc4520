/* Finds where a non-finite loss comes from: repeats the step node by node. */
#include "train/trainer.h"
#include "graph/passes/round.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAVES = 520 };
typedef struct hunt {
    eg_trainer *trainer;
    eg_graph *graph;
    size_t count;
    eg__binding bound[LEAVES];
} hunt;

static const float *values_of(const eg_trainer *t, const eg__node *node) {
    const eg_train_batch *b = t->used;
    const char *name = node->name;
    if (strcmp(name, "x") == 0) return b->x;
    if (strcmp(name, "target") == 0) return b->target;
    if (strcmp(name, "weight") == 0) return b->weight;
    if (strcmp(name, "timespans") == 0) return b->timespans;
    if (strcmp(name, "lengths") == 0) return b->lengths;
    if (strcmp(name, EG__LOSS_SCALE) == 0) return &t->scale;
    eg_tensor tensor = {0};
    return eg_weights_tensor(t->weights, name, &tensor, NULL) ? NULL : tensor.data;
}

static bool bind(hunt *h, uint32_t id) {
    const eg__node *node = &h->graph->nodes[id];
    const size_t elements = (size_t)eg__node_elements(node);
    const float *from = values_of(h->trainer, node);
    if (!from || h->count == LEAVES) return false;
    double *data =
        eg__memory_take_array(h->trainer->memory, EG_TAG_GRAPH, elements, sizeof *data, NULL);
    if (!data) return false;
    for (size_t i = 0; i < elements; i++) data[i] = (double)from[i];
    h->bound[h->count++] = (eg__binding){{id}, data};
    return true;
}

/* The whole step as a graph: outputs[0] is the loss, the others are the gradients. */
static eg_status build(hunt *h, eg_node outputs[LEAVES], size_t *count, eg_error *error) {
    const eg_trainer *t = h->trainer;
    const eg_gradient_options all = {0};
    const eg__compile_options rounding = {.training = true, .products = t->options.dtype};
    eg_node wrt[LEAVES];
    eg__train_nodes n = {0};
    *count = 0;
    eg_status status = eg__train_graph(t, h->graph, &n, error);
    for (uint32_t i = 1; !status && i <= h->graph->size && *count < LEAVES - 1; i++)
        if (h->graph->nodes[i].op == EG__GRAPH_parameter) wrt[(*count)++] = (eg_node){i};
    outputs[0] = n.loss;
    if (!status)
        status = eg__train_gradient(t, h->graph, &all, n.loss, *count, wrt, outputs + 1, error);
    if (!status)
        status = eg__round_products(&h->graph, *count + 1, outputs, &rounding, NULL, error);
    for (uint32_t i = 1; !status && i <= h->graph->size; i++) {
        const unsigned op = h->graph->nodes[i].op;
        if ((op == EG__GRAPH_parameter || op == EG__GRAPH_input) && !bind(h, i))
            status = eg__fail(error, EG_ERR_MEMORY, "no memory");
    }
    return status;
}

/* On the way to the loss and, if that is finite, to the gradients. */
static eg_status find(hunt *h, eg__culprit *out, eg_error *error) {
    eg_node outputs[LEAVES];
    size_t count;
    eg_status status = build(h, outputs, &count, error);
    if (!status)
        status = eg__graph_hunt(h->graph, h->count, h->bound, 1, outputs, true, h->trainer->seed,
                                out, error);
    if (status || out->node) return status;
    return eg__graph_hunt(h->graph, h->count, h->bound, count, outputs + 1, true, h->trainer->seed,
                          out, error);
}

/* The batch is the first axis inside scans, the second (after time) elsewhere; "" for values
 * without a batch axis. */
static void place(const eg_trainer *t, const eg__node *node, const eg__culprit *c, uint64_t *sample,
                  char text[80]) {
    const uint64_t batch = t->options.batch, time = t->options.time;
    text[0] = 0;
    *sample = UINT64_MAX;
    if (node->op == EG__GRAPH_parameter) return;
    const bool over_time =
        !node->scan && node->rank >= 2 && node->shape[0] == time && node->shape[1] == batch;
    if (!over_time && (!node->rank || node->shape[0] != batch)) return;
    const uint64_t each = eg__node_elements(node) / batch / (over_time ? time : 1);
    const uint64_t row = c->element / (each ? each : 1);
    *sample = over_time ? row % batch : row;
    const uint64_t step = over_time ? row / batch : c->time;
    if (over_time || node->scan)
        snprintf(text, 80, " at sample %llu, time %llu", (unsigned long long)*sample,
                 (unsigned long long)step);
    else snprintf(text, 80, " at sample %llu", (unsigned long long)*sample);
}

eg_status eg__train_blame(eg_trainer *t, eg__blame *out, eg_error *error) {
    hunt h = {.trainer = t};
    eg__culprit c = {0};
    char what[160] = "", where[80] = "";
    uint64_t sample = UINT64_MAX;
    eg_status status = eg_graph_create(t->context, &h.graph, NULL);
    if (!status) status = find(&h, &c, NULL);
    if (!status && c.node) {
        const eg__node *node = &h.graph->nodes[c.node];
        place(t, node, &c, &sample, where);
        if (node->name && *node->name)
            snprintf(what, sizeof what, ": %s '%.60s' is %g", eg__node_operation(node), node->name,
                     c.value);
        else
            snprintf(what, sizeof what, ": the first %g comes from node %u (%s)", c.value, c.node,
                     eg__node_operation(node));
    }
    for (size_t i = 0; i < h.count; i++) eg__memory_give(t->memory, h.bound[i].data);
    eg_graph_destroy(h.graph);
    if (out) out->sample = sample;
    char loss[80] = "a gradient is not finite";
    if (t->options.dtype == EG_F16)
        snprintf(loss, sizeof loss, "a gradient is not finite, not even with a loss scale of %g,",
                 (double)t->scale);
    if (!isfinite(t->loss))
        snprintf(loss, sizeof loss, "the loss is %g",
                 isnan(t->loss) ? NAN : (double)t->loss); /* no sign */
    return eg__fail(error, EG_ERR_FORMAT, "%s after %llu steps%s%s", loss,
                    (unsigned long long)t->steps, what, where);
}
