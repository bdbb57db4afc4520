/* Two models on the same data, given or random: how far the outputs are from each other. */
#include "cli/commands/run.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 16, STEPS = 32 };

/* Numbers that look like standardised measurements: the same on every machine. */
static float next_random(uint64_t *state) {
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (float)(*state >> 40) / (float)(1 << 24) - 0.5f;
    }
    return sum * 1.7320508f;
}

static int random_data(eg_context *context, const eg_model *model, const eg_model_info *info,
                       run_data *d) {
    const uint64_t shape[] = {SAMPLES, STEPS, info->inputs};
    eg_scaling units;
    eg_error error;
    uint64_t seed = 1;
    *d = (run_data){.batch = SAMPLES, .steps = STEPS, .batched = true};
    if (eg_tensor_create(context, EG_F32, 3, shape, &d->x, &error)) return fail_with(&error);
    eg_model_scaling_get(model, &units);
    for (uint64_t i = 0; i < SAMPLES * STEPS * info->inputs; i++) {
        const uint64_t at = i % info->inputs;
        ((float *)d->x.data)[i] =
            next_random(&seed) * (units.input_scale ? units.input_scale[at] : 1) +
            (units.input_mean ? units.input_mean[at] : 0);
    }
    return CLI_OK;
}

static int prepare(eg_context *context, const run_settings *settings, const eg_model *model,
                   const eg_model_info *info, run_data *d) {
    eg_error error;
    int code = settings->input ? run_read(context, settings, model, d)
                               : random_data(context, model, info, d);
    if (!code) code = run_read_state(context, settings, info, d);
    if (code) return code;
    const uint64_t shape[] = {d->batch, d->steps, info->outputs};
    return eg_tensor_create(context, EG_F32, 3, shape, &d->y, &error) ? fail_with(&error) : CLI_OK;
}

static int run_one(eg_context *context, const eg_model *model, run_data *d, double *best) {
    enum { TURNS = 5 };
    int code = CLI_OK;
    for (int i = 0; !code && i < TURNS; i++) {
        memset(d->states.data, 0, d->states.shape[0] * d->states.shape[1] * sizeof(float));
        code = run_batch(context, model, d);
        if (!i || d->seconds < *best) *best = d->seconds;
    }
    return code;
}

int run_compare(eg_context *context, const run_settings *settings, const eg_model *wide,
                const eg_model *other, run_difference *out) {
    run_data d = {0};
    eg_model_info info = {.size = sizeof info};
    eg_error error;
    eg_tensor exact = {0};
    eg_model_info_get(wide, &info);
    if (info.kind != EG_MODEL_LIQUID && settings->input)
        return fail(EXIT_USAGE, "--data: tables are for liquid networks; see elegans perplexity");
    if (info.kind != EG_MODEL_LIQUID) return run_tokens(context, wide, other, out);
    int code = prepare(context, settings, wide, &info, &d);
    if (!code) code = run_one(context, wide, &d, &out->seconds[0]);
    if (!code) {
        exact = d.y;
        d.y.data = NULL;
        if (eg_tensor_create(context, EG_F32, 3, exact.shape, &d.y, &error))
            code = fail_with(&error);
    }
    if (!code) code = run_one(context, other, &d, &out->seconds[1]);
    if (!code) eg_tensor_compare(&exact, &d.y, &out->off, NULL);
    out->samples = d.batch;
    out->steps = d.steps;
    out->is_random = !settings->input;
    eg_tensor *const all[] = {&d.x, &d.timespans, &d.y, &d.states, &exact};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) eg_tensor_release(context, all[i]);
    return code;
}

/* ---- told */
void run_print_difference(const run_difference *d) {
    char value[128], c[32];
    snprintf(value, sizeof value, "%.2g at most, %.2g rms, %s dB", d->off.most, d->off.rms,
             isinf(d->off.snr) ? "inf" : format_short(c, d->off.snr));
    print_row("outputs off by", value, d->is_random ? "measured, random data" : "measured");
}

void run_put_difference(json *object, const eg_difference *d) {
    const eg_metric most = {d->most, EG_MEASURED, NULL, "largest absolute difference"};
    const eg_metric rms = {d->rms, EG_MEASURED, NULL, "root of the mean square"};
    const eg_metric snr = {d->snr, EG_MEASURED, "dB",
                           "power of the original over that of the error"};
    json_put_metric(object, "max", &most);
    json_put_metric(object, "rms", &rms);
    json_put_metric(object, "snr", &snr);
}

void run_put_outputs(json *object, const run_settings *settings, const run_difference *d) {
    json_put_text(object, "data", settings->input ? settings->input : "random");
    json_put_count(object, "samples", d->samples);
    json_put_count(object, "steps", d->steps);
    run_put_difference(object, &d->off);
}
