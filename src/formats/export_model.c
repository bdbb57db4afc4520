/* A model as plain C: one step of it, with its state. */
#include "elegans/export.h"
#include "nn/model.h"

eg_status eg_model_export_c(eg_model *model, const char *directory, const char *name,
                            eg_export_info *info, eg_error *error) {
    if (!model) return eg__fail(error, EG_ERR_ARGUMENT, "no model");
    eg_stream_program *stream;
    eg_status status = eg_stream_compile(model, &stream, error);
    if (status) return status;
    eg_weights *weights;
    eg_program *program = eg__stream_program_inner(stream, &weights);
    status = eg_export_c(program, weights, directory, name, info, error);
    eg_stream_program_destroy(stream);
    return status;
}
