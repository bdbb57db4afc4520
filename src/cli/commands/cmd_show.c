/* elegans show: what a model is made of, and what one step of it costs. */
#include "cli/commands/show.h"

#include <string.h>

typedef struct figures {
    eg_model_info info;
    uint64_t parameter_bytes, tensor_bytes; /* without masks, and with them */
    eg_metric flops, moved, memory;
} figures;

/* A model that looks at the future has no single step. */
static int count(eg_model *model, figures *f) {
    eg_error error;
    eg_stream_program *program;
    eg_tensor tensor;
    int trainable;
    f->info.size = sizeof f->info;
    eg_model_info_get(model, &f->info);
    for (size_t i = 0; eg_model_shape(model, i, &tensor, &trainable); i++) {
        uint64_t bytes = 0;
        eg_model_numbers(model, i, &bytes);
        f->tensor_bytes += bytes;
        if (trainable) f->parameter_bytes += bytes;
    }
    eg_status status = eg_stream_compile(model, &program, &error);
    if (status && status != EG_ERR_UNSUPPORTED) return fail_with(&error);
    if (status) {
        f->flops = f->moved = f->memory = (eg_metric){
            0, EG_UNAVAILABLE, NULL, "it looks at the future, so that no step is alone"};
        return CLI_OK;
    }
    eg_program_info p = {.size = sizeof p};
    eg_stream_program_info_get(program, &p);
    eg_stream_program_destroy(program);
    f->flops = (eg_metric){p.flops, EG_COUNTED, "FLOP", "of one compiled step"};
    f->moved = (eg_metric){p.bytes, EG_COUNTED, "bytes", "of one compiled step"};
    f->memory =
        (eg_metric){(double)(p.held_bytes + p.derived_bytes + p.constant_bytes + p.arena_bytes +
                             p.state_bytes + p.cache_bytes + p.scratch_bytes),
                    EG_COUNTED, "bytes", "weights, and one stream"};
    return CLI_OK;
}

/* ---- text */

/* ", NAME" or ", NAME VALUE" after what is there. */
static void add(char text[200], const char *name, uint64_t value) {
    const size_t at = strlen(text);
    const char *comma = at ? ", " : "";
    if (!name) return;
    if (value) snprintf(text + at, 200 - at, "%s%llu %s", comma, (unsigned long long)value, name);
    else snprintf(text + at, 200 - at, "%s%s", comma, name);
}

static void print_layer(const eg_layer_info *l, size_t number) {
    char name[32], value[200], details[200] = "", count[48];
    snprintf(name, sizeof name, "%zu %s", number, l->cell);
    snprintf(value, sizeof value, "%llu -> %s -> %llu", (unsigned long long)l->inputs,
             format_count(count, l->units, "unit"), (unsigned long long)l->outputs);
    print_row(name, value, l->wiring ? l->wiring : "");
    if (l->possible) {
        snprintf(value, sizeof value, "%llu of %llu synapses, %.1f %%",
                 (unsigned long long)l->synapses, (unsigned long long)l->possible,
                 100 * (double)l->synapses / (double)l->possible);
        print_row("", value, "counted");
    }
    add(details, l->mode, 0);
    for (size_t i = 0; i < l->backbone_count; i++) add(details, l->activation, l->backbone[i]);
    if (l->unfolds) add(details, "unfolds", l->unfolds);
    add(details, l->mixed ? "mixed memory" : NULL, 0);
    add(details, l->projection ? "projected" : NULL, 0);
    add(details, l->merge ? "both ways" : NULL, 0);
    add(details, l->merge, 0);
    print_row("", details, "");
}

void show_tensors(const eg_model *model, const char *as_in) {
    char shape[128];
    eg_tensor tensor;
    int trainable;
    const char *name;
    print_section("tensors", as_in);
    for (size_t i = 0; (name = eg_model_shape(model, i, &tensor, &trainable)); i++)
        printf("  %-52s %-14s%s%s%s\n", name, format_shape(shape, tensor.rank, tensor.shape),
               style_dim(), trainable ? eg_model_numbers(model, i, NULL) : "mask", style_end());
}

static void print_figures(const figures *f, const char *title) {
    char value[160], text[96], other[32], a[48], b[48];
    snprintf(value, sizeof value, "%s, %s", format_count(a, f->info.inputs, "input"),
             format_count(b, f->info.outputs, "output"));
    print_title(title, value);
    snprintf(value, sizeof value, "%llu, %s; %s with masks", (unsigned long long)f->info.parameters,
             format_bytes(text, f->parameter_bytes), format_bytes(other, f->tensor_bytes));
    print_row("parameters", value, "counted");
    snprintf(value, sizeof value, "%s, %s", format_count(a, f->info.state, "value"),
             format_bytes(text, f->info.state * sizeof(float)));
    print_row("state", value, "counted");
    if (f->flops.provenance == EG_UNAVAILABLE) {
        print_figure("one step", &f->flops);
        return;
    }
    snprintf(value, sizeof value, "%s kFLOP, %s moved", format_short(text, f->flops.value / 1e3),
             format_bytes(other, (uint64_t)f->moved.value));
    print_row("one step", value, "counted");
    snprintf(value, sizeof value, "%s as a stream, weights included",
             format_bytes(other, (uint64_t)f->memory.value));
    print_row("memory", value, "counted");
}

/* What a model remembers of its training. */
static void print_notes(const eg_model *model) {
    eg_scaling units;
    char value[200];
    const char *key, *text;
    eg_model_scaling_get(model, &units);
    const eg_link link = eg_model_link(model);
    if (units.input_mean || units.output_mean || units.time > 0 || link != EG_LINK_IDENTITY) {
        print_section("units", "inputs and outputs are in those of the data");
        if (units.input_mean) print_row("inputs", "standardised inside", "");
        if (units.output_mean) print_row("outputs", "scaled back to the data", "");
        snprintf(value, sizeof value, "each is a %s: %s of what it computes", eg_model_gives(model),
                 eg_link_name(link));
        if (link != EG_LINK_IDENTITY) print_row("outputs", value, "");
        snprintf(value, sizeof value, "divided by %g", (double)units.time);
        if (units.time > 0) print_row("elapsed time", value, "");
    }
    if (eg_model_note_key(model, 0)) print_section("notes", "of its training");
    for (size_t i = 0; (key = eg_model_note_key(model, i)); i++) {
        size_t at = 0;
        for (size_t k = 0; (text = eg_model_note(model, key, k)); k++) {
            const bool fits = at + strlen(text) + sizeof ", , ..." <= sizeof value;
            at += (size_t)snprintf(value + at, sizeof value - at, "%s%s", k ? ", " : "",
                                   fits ? text : "...");
            if (!fits) break;
        }
        print_row(key, value, "");
    }
}

static json *notes_json(const eg_model *model) {
    json *object = json_new_object();
    const char *key, *text;
    for (size_t i = 0; (key = eg_model_note_key(model, i)); i++) {
        json *list = json_new_list();
        for (size_t k = 0; (text = eg_model_note(model, key, k)); k++) json_append_text(list, text);
        json_put(object, key, list);
    }
    return object;
}

static int print_text(const eg_model *model, const figures *f, const char *title, bool tensors) {
    print_figures(f, title);
    print_section("layers", "inputs -> units -> outputs");
    for (size_t i = 0; i < f->info.layers; i++) {
        eg_layer_info layer = {.size = sizeof layer};
        if (eg_model_layer(model, i, &layer, NULL) == EG_OK) print_layer(&layer, i + 1);
    }
    print_notes(model);
    if (tensors) show_tensors(model, "as in torch's state-dict");
    return CLI_OK;
}

/* ---- JSON */

static json *layer_json(const eg_layer_info *l) {
    json *entry = json_new_object(), *backbone = json_new_list();
    json_put_text(entry, "cell", l->cell);
    json_put_text(entry, "wiring", l->wiring);
    json_put_text(entry, "mode", l->mode);
    json_put_text(entry, "activation", l->activation);
    json_put_text(entry, "merge", l->merge);
    json_put_count(entry, "inputs", l->inputs);
    json_put_count(entry, "units", l->units);
    json_put_count(entry, "outputs", l->outputs);
    json_put_count(entry, "projection", l->projection);
    json_put_count(entry, "synapses", l->synapses);
    json_put_count(entry, "possible_synapses", l->possible);
    json_put_count(entry, "unfolds", l->unfolds);
    json_put_flag(entry, "mixed_memory", l->mixed);
    for (size_t i = 0; i < l->backbone_count; i++) json_append_count(backbone, l->backbone[i]);
    json_put(entry, "backbone", backbone);
    return entry;
}

json *show_tensors_json(const eg_model *model) {
    json *list = json_new_list();
    eg_tensor tensor;
    int trainable;
    const char *name;
    for (size_t i = 0; (name = eg_model_shape(model, i, &tensor, &trainable)); i++) {
        json *entry = json_new_object(), *shape = json_new_list();
        for (unsigned k = 0; k < tensor.rank; k++) json_append_count(shape, tensor.shape[k]);
        json_put_text(entry, "name", name);
        json_put(entry, "shape", shape);
        json_put_text(entry, "type", eg_model_numbers(model, i, NULL));
        json_put_flag(entry, "trainable", trainable);
        json_append(list, entry);
    }
    return list;
}

static int print_json(const eg_model *model, const figures *f, const char *title, bool tensors) {
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object(), *layers = json_new_list();
    const eg_metric parameters = {(double)f->info.parameters, EG_COUNTED, NULL, "trainable values"};
    const eg_metric bytes = {(double)f->tensor_bytes, EG_COUNTED, "bytes", "all tensors"};
    json_put_text(document, "model", title);
    json_put_count(document, "inputs", f->info.inputs);
    json_put_count(document, "outputs", f->info.outputs);
    json_put_count(document, "state", f->info.state);
    json_put_text(document, "link", eg_link_name(eg_model_link(model)));
    json_put_text(document, "gives", eg_model_gives(model));
    json_put_metric(document, "parameters", &parameters);
    json_put_metric(document, "tensor_bytes", &bytes);
    json_put_metric(document, "step_flops", &f->flops);
    json_put_metric(document, "step_bytes", &f->moved);
    json_put_metric(document, "memory", &f->memory);
    for (size_t i = 0; i < f->info.layers; i++) {
        eg_layer_info layer = {.size = sizeof layer};
        if (eg_model_layer(model, i, &layer, NULL) == EG_OK)
            json_append(layers, layer_json(&layer));
    }
    json_put(document, "layers", layers);
    json_put(document, "notes", notes_json(model));
    if (tensors) json_put(document, "tensors", show_tensors_json(model));
    return json_print(document);
}

int cmd_show(int argc, char **argv) {
    bool as_json = false, tensors = false;
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--tensors", OPTION_FLAG, &tensors, NULL, "list every tensor with its shape"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print JSON"},
        {"--isa", OPTION_TEXT, &flags.isa, "NAME",
         "highest instruction set to use; ref = portable C"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "show MODEL [--tensors] [--json] [--isa NAME]",
        "Shows a model, a file or a spec such as cfc:autoncp:64:16,in=16,seed=1: its\n"
        "layers, and what one step of it costs on this machine. All of it is counted.",
        options,
        "  elegans show cfc:autoncp:64:16,in=16\n"
        "  elegans show cfc:autoncp:64:16,in=16,backbone=64+32,activation=silu\n"
        "  elegans show policy.safetensors --tensors\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "show needs one model: a file or a spec");
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    eg_model *model;
    eg_error error;
    if (eg_model_outline(context, argv[0], &model, &error)) /* nothing here needs values */
        code = fail_with(&error);
    else if (eg_model_transformer(model, &(eg_transformer_info){0}, NULL) == EG_OK) {
        code = show_transformer(context, model, argv[0], tensors, as_json);
        eg_model_destroy(model);
    } else {
        figures f = {0};
        code = count(model, &f);
        if (!code) code = (as_json ? print_json : print_text)(model, &f, argv[0], tensors);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
    return code;
}
