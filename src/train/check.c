/* Whether a model and a data set fit together. */
#include "train/check.h"
#include "nn/model.h"
#include "train/data.h"

#include <math.h>

/* Cross entropy of a target outside of 0..1 is meaningless. */
static eg_status check_binary(const eg_data *data, eg_error *error) {
    const eg__store *s = data->store;
    for (uint64_t i = 0; i < s->rows * s->targets; i++) {
        if (!(s->y[i] < 0 || s->y[i] > 1)) continue; /* NaN: no value */
        size_t table;
        uint64_t row;
        eg_data_row(data, i / s->targets, &table, &row);
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "row %llu of table %zu, target '%s': %g is not within 0..1, which the loss "
                        "'binary' needs",
                        (unsigned long long)row + 1, table + 1, s->target_names[i % s->targets],
                        (double)s->y[i]);
    }
    return EG_OK;
}

static const char *loss_of(eg_link link) {
    int i = 0;
    while (eg_loss_name((eg_loss)i) && eg_loss_link((eg_loss)i) != link) i++;
    return eg_loss_name((eg_loss)i) ? eg_loss_name((eg_loss)i) : "none";
}

eg_status eg__data_fits(const eg_model *model, const eg_data *data, eg_loss loss, bool learns,
                        eg_error *error) {
    eg_model_info m = {.size = sizeof m};
    eg_data_info d = {.size = sizeof d};
    eg_model_info_get(model, &m);
    eg_data_info_get(data, &d);
    if (d.inputs != m.inputs)
        return eg__fail(error, EG_ERR_ARGUMENT, "the model takes %llu inputs, the data have %llu",
                        (unsigned long long)m.inputs, (unsigned long long)d.inputs);
    if (!learns && !d.targets) return EG_OK;
    const bool classes = loss == EG_LOSS_CLASSES;
    if (!d.targets || classes != (d.classes > 0))
        return eg__fail(error, EG_ERR_ARGUMENT, "the data have no targets for the loss '%s'",
                        eg_loss_name(loss));
    const uint64_t wanted = classes ? d.classes : d.targets;
    if (wanted != m.outputs)
        return eg__fail(error, EG_ERR_ARGUMENT, "the model has %llu outputs, the data %llu %s",
                        (unsigned long long)m.outputs, (unsigned long long)wanted,
                        classes ? "classes" : "targets");
    /* training may change the output's meaning; a metric of something else would be wrong */
    if (!learns && model->link != EG_LINK_IDENTITY && model->link != eg_loss_link(loss))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the model gives probabilities (link '%s'), which the loss '%s' does not "
                        "measure; try '%s'",
                        eg_link_name(model->link), eg_loss_name(loss), loss_of(model->link));
    return loss == EG_LOSS_BINARY ? check_binary(data, error) : EG_OK;
}

static bool has_target(const eg_data *data, uint64_t target) {
    const eg__store *s = data->store;
    for (size_t i = 0; i < data->count; i++) {
        const eg__window w = data->windows[i];
        for (uint64_t t = s->last ? w.length - 1 : 0; t < w.length; t++)
            if (!isnan(s->y[(w.first + t) * s->targets + target])) return true;
    }
    return false;
}

eg_status eg__data_teaches(const eg_data *data, bool validates, eg_error *error) {
    const eg__store *s = data->store;
    uint64_t found = 0;
    for (uint64_t i = 0; i < s->targets; i++) {
        const bool there = has_target(data, i);
        found += there;
        if (there || validates) continue;
        return eg__fail(
            error, EG_ERR_ARGUMENT,
            "target '%.60s' has no value in the %llu rows of the training data: nothing "
            "to learn; leave it out, or give data that have it",
            s->target_names[i], (unsigned long long)data->covered);
    }
    if (found) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT,
                    "no target has a value in the %llu rows of the validation data: nothing tells "
                    "which epoch is the best; split otherwise, or validate on nothing",
                    (unsigned long long)data->covered);
}
