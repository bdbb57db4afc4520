/* What rounding activations to f16 or bf16 changes: the same inputs through a program of f32. */
#include "elegans/quantize.h"
#include "profile/profile.h"

#include <math.h>

static eg_status compare(eg_profile *p, eg__subject *exact, eg_difference *off, double *size,
                         eg_error *error) {
    eg_tensor wide, y;
    eg_status status = eg_run(exact->instance, NULL, error);
    if (!status) status = eg_instance_output(exact->instance, "y", &wide, error);
    /* the recorder's runs carried on with states: from the beginning, as the other one */
    eg_instance_reset(p->subject.instance);
    if (!status) status = eg_run(p->subject.instance, NULL, error);
    if (!status) status = eg_instance_output(p->subject.instance, "y", &y, error);
    if (!status) status = eg_tensor_compare(&wide, &y, off, error);
    double squares = 0;
    uint64_t n = 1;
    for (unsigned i = 0; !status && i < wide.rank; i++) n *= wide.shape[i];
    for (uint64_t i = 0; !status && i < n; i++) {
        const double value = ((const float *)wide.data)[i];
        squares += value * value;
    }
    *size = n ? sqrt(squares / (double)n) : 0;
    return status;
}

eg_status eg__profile_activations(eg_profile *p, eg_model *model, eg_error *error) {
    if (p->options.activations == EG_F32) return EG_OK;
    eg__subject exact;
    eg_difference off = {0};
    double size = 0;
    eg_profile_options options = p->options;
    options.activations = EG_F32;
    eg_status status = eg__subject_compile(&exact, model, &options, error);
    if (status) return status;
    status = eg__subject_prepare(&exact, model, error);
    if (!status) status = compare(p, &exact, &off, &size, error);
    eg__subject_close(&exact);
    if (status || !(size > 0)) return status;
    static const char source[] = "outputs of one run beside those of a program of f32, same inputs";
    p->metrics[EG_PROFILE_activations_rms] =
        eg__metric(off.rms / size, "x rms", EG_MEASURED, source);
    p->metrics[EG_PROFILE_activations_max] =
        eg__metric(off.most / size, "x rms", EG_MEASURED, source);
    return EG_OK;
}
