/* A model as plain C: one step of it, with its state. */
#include "export/c.h"
#include "nn/model.h"

#include <stdio.h>

enum { NAMES = 64, NAME_BYTES = 60 }; /* that the comment has at most */

/* A name that can stand in a comment: on one line, and without the end or beginning of another. */
static void comment_name(char out[2 * NAME_BYTES], const char *name) {
    size_t at = 0;
    for (const char *c = name; *c && at < NAME_BYTES; c++) {
        const bool begins =
            at && ((out[at - 1] == '*' && *c == '/') || (out[at - 1] == '/' && *c == '*'));
        if (begins) out[at++] = ' ';
        out[at++] = (unsigned char)*c < ' ' || *c == 0x7f || *c == '\\' ? '?' : *c;
    }
    while (at == NAME_BYTES && at && ((unsigned char)out[at - 1] & 0xc0) == 0x80) at--;
    out[at] = 0;
}

/* The first names of inputs or outputs: which is at which place. */
static void write_names(eg__c_export *x, char array, const char *what, size_t count,
                        const char *(*name_of)(const eg_model *, size_t), const eg_model *model) {
    for (size_t i = 0; i < count && i < NAMES; i++) {
        char text[2 * NAME_BYTES];
        const char *name = name_of(model, i);
        if (!name) continue;
        comment_name(text, name);
        eg__c_line(x, " *   %c[%zu]  %s'%s'", array, i, what, text);
    }
    if (count > NAMES && name_of(model, NAMES))
        eg__c_line(x, " *   and %zu more in their order", count - NAMES);
}

static const char *input_name(const eg_model *model, size_t index) {
    return eg_model_note(model, "inputs", index);
}

static void describe(eg__c_export *x, const void *user) {
    const eg_model *model = user;
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    char what[32], span[EG_NUMBER_SIZE];
    eg_number_format_f32(span, eg_model_timespan(model));
    snprintf(what, sizeof what, "%s of ", eg_model_gives(model));
    write_names(x, 'x', "", (size_t)info.inputs, input_name, model);
    if (model->link != EG_LINK_IDENTITY)
        eg__c_line(x, " * Each y is a %s: the %s of what the network computes.",
                   eg_model_gives(model), eg_link_name(model->link));
    write_names(x, 'y', what, (size_t)info.outputs, eg_model_output_name, model);
    eg__c_line(x, " * elapsed: time since the step before, in the unit of the training; %s where",
               span);
    eg__c_line(x, " * it is unknown, as at the first step.");
    eg__c_line(x, " *");
}

eg_status eg_model_export_c(eg_model *model, const char *directory, const char *name,
                            eg_export_info *info, eg_error *error) {
    if (!model) return eg__fail(error, EG_ERR_ARGUMENT, "no model");
    eg_stream_program *stream;
    eg_status status = eg__model_check_values(model, error);
    if (!status) status = eg_stream_compile(model, &stream, error);
    if (status) return status;
    eg_weights *weights;
    eg_program *program = eg__stream_program_inner(stream, &weights);
    status = eg__export_c(program, weights, directory, name, describe, model, info, error);
    eg_stream_program_destroy(stream);
    return status;
}
