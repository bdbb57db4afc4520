/* The quick way to a profile: one call, one struct, nothing recorded, nothing to destroy. */
#include "base/abi.h"
#include "profile/profile.h"

#include <string.h>

/* ---- what one run of a model computes and moves; all zero = there is no model */
static eg_status count(eg_model *model, const eg_profile_options *o, eg_program_info *out,
                       eg_error *error) {
    eg__subject subject;
    eg_status status = eg__subject_compile(&subject, model, o, error);
    if (status) return status;
    eg_program_info_get(subject.program, out);
    eg__subject_close(&subject);
    return EG_OK;
}

/* ---- figures */
static void fill_rates(const eg_program_info *c, const eg_profile_options *o, eg_quick_result *r) {
    static const char why[] = "a function alone: its FLOPs are unknown";
    const double seconds = r->time.p50.value;
    const double batch = (double)(o->batch ? o->batch : 1);
    r->seconds = eg__metric(seconds, "s", EG_MEASURED, "median of the timed calls");
    r->rate = eg__metric(1 / seconds, "calls/s", EG_MEASURED, "1 / median time");
    r->samples = eg__metric(batch / seconds, "samples/s", EG_MEASURED, "batch / median time");
    r->flops = eg__metric(c->flops, "FLOP", EG_COUNTED, "steps of one run of the model");
    r->tflops =
        eg__metric(c->flops / seconds * 1e-12, "TFLOP/s", EG_MEASURED, "flops / median time");
    r->bytes_moved = eg__metric(c->bytes, "B", EG_COUNTED, "operands of one run of the model");
    r->operand_rate =
        eg__metric(c->bytes / seconds * 1e-9, "GB/s", EG_MEASURED, "bytes_moved / median time");
    if (c->bytes > 0) return;
    r->samples = eg__metric_unavailable("samples/s", why);
    r->flops = eg__metric_unavailable("FLOP", why);
    r->tflops = eg__metric_unavailable("TFLOP/s", why);
    r->bytes_moved = eg__metric_unavailable("B", why);
    r->operand_rate = eg__metric_unavailable("GB/s", why);
}

static void fill(const eg_profile *p, const eg_program_info *c, eg_quick_result *r) {
    memset(r, 0, sizeof *r);
    eg_profile_time(p, &r->time);
    fill_rates(c, &p->options, r);
    r->memory = p->metrics[EG_PROFILE_peak_memory];
    r->library = p->metrics[EG_PROFILE_library_peak];
    r->leaked = p->metrics[EG_PROFILE_leaked];
    r->cpu_time = p->hardware.cpu_time;
    if (r->cpu_time.provenance != EG_UNAVAILABLE) r->cpu_time.value /= (double)r->time.count;
    r->noise = eg_statistics_noise(&r->time, r->noise_text);
}

eg_status eg_quick_profile(const eg_quick_subject *what, const eg_quick_options *options,
                           eg_quick_result *out, eg_error *error) {
    eg_quick_options o;
    if (!what || !out || (!what->model && (!what->function || !what->context)))
        return eg__fail(
            error, EG_ERR_ARGUMENT,
            "quick profile: no model, no function with its context, or no output pointer");
    const eg_status taken = EG__OPTIONS(eg_quick_options, &o, options, error);
    if (taken) return taken;
    const eg_profile_options how = {.size = sizeof how,
                                    .batch = o.batch,
                                    .seq = o.seq,
                                    .runs = o.runs,
                                    .warmup = o.warmup,
                                    .no_ceilings = 1,
                                    .no_steps = 1,
                                    .stop = o.stop,
                                    .stop_user = o.stop_user};
    eg_context *context = what->context ? what->context : what->model->context;
    eg_program_info info = {.size = sizeof info};
    eg_profile *p;
    eg_status status =
        what->model && what->function ? count(what->model, &how, &info, error) : EG_OK;
    if (!status)
        status = what->function
                     ? eg_profile_callback(context, "", what->function, what->user, &how, &p, error)
                     : eg_profile_model(what->model, "", &how, &p, error);
    if (status) return status;
    if (!what->function) eg_program_info_get(p->subject.program, &info);
    fill(p, &info, out);
    eg_profile_destroy(p);
    return EG_OK;
}
