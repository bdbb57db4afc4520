/* elegans eval: how good a model is on tables. */
#include "cli/commands/language.h"
#include "cli/commands/train.h"

typedef struct eval_settings {
    data_settings data;
    const char *model, *files, *loss;
    bool json;
} eval_settings;

/* Figures of nothing are none, and a script that asks for them must notice. */
static int check_targets(const eval_settings *w, const eg_data *data) {
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    const uint64_t rows = d.last ? d.windows : d.covered;
    if (d.without_target < rows) return CLI_OK;
    return fail(EXIT_FAILED,
                "%s: none of the %llu rows has a value of '%s': nothing to compare with; "
                "elegans predict needs none",
                w->files, (unsigned long long)rows, w->data.target);
}

static int measure(eg_context *context, const eg_model *model, eval_settings *w, notes *n) {
    const bool windows = w->data.window || w->data.stride; /* as asked, else each row once */
    if (w->data.window && !w->data.stride) w->data.stride = w->data.window;
    int code = notes_read(model, &w->data, n);
    if (!windows) data_once(&w->data);
    if (!code && w->loss) code = loss_parse(w->loss, &n->loss);
    if (code) return code;
    if (!w->data.target)
        return fail(EXIT_USAGE, "eval needs --target COLUMN: the model does not say it");
    int classes = n->loss == EG_LOSS_CLASSES;
    const eg_data_options more = {.labels = n->data.labels, .label_count = n->data.label_count};
    eg_data *data;
    eg_metrics *metrics = NULL;
    double loss;
    code = data_read(context, w->files, &w->data, &more, &classes, &data);
    if (code) return code;
    code = check_targets(w, data);
    if (!code) code = metrics_of(context, model, w->model, data, n->loss, &loss, &metrics);
    if (!code && w->json) {
        json *document = metrics_json(data, n->loss, loss, metrics);
        json_put_text(document, "model", w->model);
        json_put_text(document, "data", w->files);
        code = json_print(document);
    } else if (!code) {
        print_title(w->model, w->files);
        data_print("data", data);
        metrics_print("measured", data, n->loss, loss, metrics);
    }
    eg_metrics_destroy(metrics);
    eg_data_destroy(data);
    return code;
}

int cmd_eval(int argc, char **argv) {
    eval_settings w = {0};
    context_flags flags = {0};
    const option options[] = {
        {"--data", OPTION_TEXT, &w.files, "FILES", "tables, separated by commas"},
        DATA_OPTIONS(w.data, "rows of a window (default: whole recordings)",
                     "rows between windows (default: as --window)"),
        {"--loss", OPTION_TEXT, &w.loss, "NAME", "mse, mae, huber, binary, classes"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print as JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "eval MODEL --data FILES [OPTIONS]",
        "Runs a model over tables and compares its predictions with the targets, each row once,\n"
        "as predict does; with --window or --stride, on windows instead. Columns, labels and\n"
        "loss are those of the training unless given.",
        options,
        "  elegans eval model.safetensors --data test.csv\n"
        "  elegans eval model.safetensors --data a.csv,b.csv --stride 8 --json\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1 || !w.files) return fail(EXIT_USAGE, "eval needs a model and --data FILES");
    if ((code = data_check(&w.data)) != CLI_OK) return code;
    if (w.json && !json_usable()) return json_print(NULL);
    w.model = argv[0];
    eg_context *context;
    eg_model *model;
    eg_error error;
    notes n = {0};
    code = context_open(&flags, &context);
    if (code) return code;
    if (eg_model_open(context, w.model, &model, &error)) code = fail_with(&error);
    else {
        code = language_refuse(model, "eval");
        if (!code) code = measure(context, model, &w, &n);
        notes_free(&n);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
    return code;
}
