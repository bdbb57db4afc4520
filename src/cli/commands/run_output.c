/* Outputs and states of a run: .csv or .npy files, or lines on stdout. */
#include "cli/commands/run.h"
#include "cli/commands/train.h"

#include <stdlib.h>
#include <string.h>

static eg_csv_options options_of(const run_settings *settings) {
    return (eg_csv_options){.digits = (unsigned)settings->digits, .single = 1};
}

void run_print_values(const run_settings *settings, const float *values, uint64_t count) {
    enum { PIECE = 16, WIDEST = 352 };
    const eg_csv_options options = options_of(settings);
    for (uint64_t i = 0; i < count; i += PIECE) {
        double wide[PIECE];
        char text[PIECE * WIDEST];
        const uint64_t here = count - i < PIECE ? count - i : PIECE;
        for (uint64_t k = 0; k < here; k++) wide[k] = (double)values[i + k];
        if (i) putchar(',');
        fwrite(text, 1, eg_csv_row(text, sizeof text, wide, here, &options), stdout);
    }
}

static void print_all(const run_settings *settings, const run_data *data, char **names) {
    const uint64_t outputs = data->y.shape[2];
    printf("%s", data->batched ? "sample," : "");
    for (uint64_t i = 0; i < outputs; i++) {
        if (i) putchar(',');
        output_text(stdout, names[i]);
    }
    putchar('\n');
    for (uint64_t i = 0; i < data->batch * data->steps; i++) {
        if (data->batched) printf("%llu,", (unsigned long long)(i / data->steps));
        run_print_values(settings, (const float *)data->y.data + i * outputs, outputs);
        putchar('\n');
    }
}

/* ---- files */

/* A column with the sample goes before the outputs when there can be several. */
static int write_csv(eg_context *context, const run_settings *settings, const run_data *data,
                     char **outputs_named) {
    const uint64_t outputs = data->y.shape[2], rows = data->batch * data->steps;
    const size_t extra = data->batched, columns = (size_t)outputs + extra;
    double *values = take_memory((size_t)rows, columns * sizeof *values);
    const char **names = take_memory(columns, sizeof *names);
    int code = CLI_OK;
    for (size_t i = 0; i < columns; i++) names[i] = i < extra ? "sample" : outputs_named[i - extra];
    const float *from = data->y.data;
    for (uint64_t i = 0; i < rows; i++) {
        if (extra) values[i * columns] = (double)(i / data->steps);
        for (size_t k = extra; k < columns; k++) values[i * columns + k] = (double)*from++;
    }
    const eg_table table = {.rows = rows, .columns = columns, .names = names, .values = values};
    const eg_csv_options options = options_of(settings);
    eg_error error;
    if (eg_csv_write(context, settings->output, &table, &options, &error)) code = fail_with(&error);
    free(values);
    free(names);
    return code;
}

/* Without the axis for samples when the input has none. */
static int write_npy(const char *path, const run_data *data, const eg_tensor *tensor) {
    eg_tensor flat = *tensor;
    eg_error error;
    if (!data->batched) {
        flat.rank--;
        for (unsigned i = 0; i < flat.rank; i++) flat.shape[i] = tensor->shape[i + 1];
    }
    return eg_npy_write(path, &flat, &error) ? fail_with(&error) : CLI_OK;
}

int run_write(eg_context *context, const run_settings *settings, const eg_model *model,
              const run_data *data) {
    const size_t length = settings->output ? strlen(settings->output) : 0;
    if (!settings->output && settings->json) return CLI_OK;
    if (length > 4 && strcmp(settings->output + length - 4, ".npy") == 0)
        return write_npy(settings->output, data, &data->y);
    char **names = output_names(model, data->link, settings->raw, data->y.shape[2]);
    int code = CLI_OK;
    if (settings->output) code = write_csv(context, settings, data, names);
    else print_all(settings, data, names);
    output_names_free(names);
    return code;
}

int run_write_state(const run_settings *settings, const run_data *data) {
    return settings->save_state ? write_npy(settings->save_state, data, &data->states) : CLI_OK;
}
