/* Whether a model and a data set go together. */
#include "train/check.h"
#include "train/data.h"

/* A number that is no probability makes a cross entropy that means nothing. */
static eg_status check_binary(const eg_data *data, eg_error *error) {
    const eg__store *s = data->store;
    for (uint64_t i = 0; i < s->rows * s->targets; i++) {
        if (!(s->y[i] < 0 || s->y[i] > 1)) continue; /* NaN counts for nothing */
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

eg_status eg__data_fits(const eg_model *model, const eg_data *data, eg_loss loss, bool learns,
                        eg_error *error) {
    eg_model_info m;
    eg_data_info d;
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
    return loss == EG_LOSS_BINARY ? check_binary(data, error) : EG_OK;
}
