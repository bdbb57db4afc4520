/* Link functions: from the values that a model computes to its outputs (probabilities, for
 * example). */
#include "nn/model.h"

#include <string.h>

/* A new link is one row: running, saving, showing and exporting use this table. */
static const struct link_row {
    const char *name;
    const char *output; /* what one number of it is */
    const char *loss;   /* the loss that implies it, as notes name it; NULL = all others */
    eg_node (*build)(eg_graph *graph, eg_node y);
} rows[] = {
    [EG_LINK_IDENTITY] = {"identity", "value", NULL, NULL},
    [EG_LINK_SIGMOID] = {"sigmoid", "probability", "binary", eg_sigmoid},
    [EG_LINK_SOFTMAX] = {"softmax", "probability", "classes", eg_softmax},
};
enum { LINKS = sizeof rows / sizeof *rows };

const char *eg_link_name(eg_link link) { return (unsigned)link < LINKS ? rows[link].name : NULL; }

eg_link eg__link_of_loss(const char *loss) {
    for (unsigned i = 0; loss && i < LINKS; i++)
        if (rows[i].loss && strcmp(rows[i].loss, loss) == 0) return (eg_link)i;
    return EG_LINK_IDENTITY;
}

eg_node eg_link_node(eg_graph *graph, eg_link link, eg_node y) {
    if (!graph || !y.id) return (eg_node){0};
    if ((unsigned)link >= LINKS)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "unknown link %d", (int)link);
    return rows[link].build ? rows[link].build(graph, y) : y;
}

eg_node eg__model_output(const eg_model *model, eg_graph *graph, eg_node y) {
    return eg_link_node(graph, model->link, eg__units_output(model, graph, y));
}

eg_status eg__link_fits(const eg_model *model, eg_link link, eg_error *error) {
    if (!eg_link_name(link)) return eg__fail(error, EG_ERR_ARGUMENT, "unknown link %d", (int)link);
    if (link == EG_LINK_IDENTITY) return EG_OK;
    if (model->transformer)
        return eg__fail(error, EG_ERR_ARGUMENT, "link '%s': a transformer gives logits",
                        rows[link].name);
    if (model->units.output_mean)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "link '%s': the outputs have units, which probabilities have not",
                        rows[link].name);
    return EG_OK;
}

eg_status eg_model_link_set(eg_model *model, eg_link link, eg_error *error) {
    if (!model) return eg__fail(error, EG_ERR_ARGUMENT, "link: no model");
    const eg_status status = eg__link_fits(model, link, error);
    if (!status) model->link = link;
    return status;
}

eg_link eg_model_link(const eg_model *model) { return model->link; }

/* With the identity set although the loss implies another link, the output is the value before that
 * link. */
const char *eg_model_gives(const eg_model *model) {
    const eg_link learned = eg__link_of_loss(eg_model_note(model, "loss", 0));
    if (model->transformer || (model->link == EG_LINK_IDENTITY && learned != EG_LINK_IDENTITY))
        return "logit";
    return rows[model->link].output;
}

const char *eg_model_output_name(const eg_model *model, size_t index) {
    return eg_model_note(model, eg_model_note(model, "labels", 0) ? "labels" : "targets", index);
}
