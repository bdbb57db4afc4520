/* elegans graph: a graph as text, as Graphviz, as JSON. */
#include "cli.h"
#include "graph_examples.h"

#include <string.h>

static const char *shape_text(const eg_node_info *info, char out[128]) {
    int at = snprintf(out, 128, "[");
    for (unsigned i = 0; i < info->rank; i++)
        at += snprintf(out + at, (size_t)(128 - at), "%s%llu", i ? "," : "",
                       (unsigned long long)info->shape[i]);
    snprintf(out + at, (size_t)(128 - at), "]");
    return out;
}

/* Steps of the scan that a node is inside, for its share of the cost. */
static double times_run(const eg_graph *graph, const eg_node_info *info) {
    double steps = 1;
    for (size_t i = 1; info->scan && i <= eg_graph_size(graph); i++) {
        eg_node_info other, sequence;
        if (eg_graph_node(graph, (eg_node){(uint32_t)i}, &other, NULL)) continue;
        if (strcmp(other.operation, "step") != 0 || other.scan != info->scan) continue;
        if (eg_graph_node(graph, other.inputs[1], &sequence, NULL) == EG_OK)
            steps = (double)sequence.shape[0];
        break;
    }
    return steps;
}

static void print_text(const eg_graph *graph, const char *title) {
    char note[64], shape[128], number[32];
    double total = 0;
    snprintf(note, sizeof note, "%zu nodes", eg_graph_size(graph));
    print_title(title, note);
    for (size_t i = 1; i <= eg_graph_size(graph); i++) {
        eg_node_info info;
        if (eg_graph_node(graph, (eg_node){(uint32_t)i}, &info, NULL)) continue;
        double flops = info.flops * times_run(graph, &info);
        total += flops;
        printf("%5zu %s%-12s%-16s", i, info.scan ? "| " : "  ", info.operation,
               shape_text(&info, shape));
        if (info.name) printf(" %s", info.name);
        for (size_t k = 0; k < info.input_count; k++) printf(" %u", info.inputs[k].id);
        if (flops > 0)
            printf("  %s%s kFLOP%s", style_dim(), format_short(number, flops / 1e3), style_end());
        putchar('\n');
    }
    snprintf(note, sizeof note, "%s MFLOP", format_short(number, total / 1e6));
    print_row("one run", note, "counted");
}

static void print_dot(const eg_graph *graph) {
    char shape[128];
    printf("digraph elegans {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n");
    for (size_t i = 1; i <= eg_graph_size(graph); i++) {
        eg_node_info info;
        if (eg_graph_node(graph, (eg_node){(uint32_t)i}, &info, NULL)) continue;
        printf("  n%zu [label=\"%s\\n%s\"%s];\n", i, info.name ? info.name : info.operation,
               shape_text(&info, shape),
               info.name   ? ", style=filled, fillcolor=\"#dde8f4\""
               : info.scan ? ", style=filled, fillcolor=\"#f4eedd\""
                           : "");
        for (size_t k = 0; k < info.input_count; k++)
            printf("  n%u -> n%zu;\n", info.inputs[k].id, i);
    }
    printf("}\n");
}

static int fill_example(eg_graph *graph, const char *name, bool gradient, eg_error *error) {
    const graph_example *example = graph_examples;
    while (example->name && strcmp(example->name, name) != 0) example++;
    if (!example->name) return fail(EXIT_USAGE, "unknown example '%s': mlp, cfc or gru", name);
    eg_node parameters[EXAMPLE_PARAMETERS], d[EXAMPLE_PARAMETERS];
    size_t count = 0;
    eg_node loss = example->build(graph, parameters, &count);
    eg_status status = gradient ? eg_gradient(graph, loss, count, parameters, d, error)
                                : eg_graph_check(graph, error);
    return status ? fail(EXIT_FAILED, "%s", error->message) : -1;
}

static int open_graph(eg_context *context, const char *path, const char *example, bool gradient,
                      eg_graph **out) {
    eg_error error;
    if (path) {
        if (eg_graph_load(context, path, out, &error))
            return fail(EXIT_FAILED, "%s", error.message);
        return -1;
    }
    if (eg_graph_create(context, out, &error)) return fail(EXIT_FAILED, "%s", error.message);
    return fill_example(*out, example, gradient, &error);
}

int cmd_graph(int argc, char **argv) {
    bool dot = false, gradient = false;
    const char *example = NULL, *save = NULL;
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--example", OPTION_TEXT, &example, "NAME", "a built-in network: mlp, cfc, gru"},
        {"--gradient", OPTION_FLAG, &gradient, NULL, "with the gradient of its loss"},
        {"--dot", OPTION_FLAG, &dot, NULL, "print Graphviz"},
        {"--json", OPTION_TEXT, &save, "FILE", "write the graph as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "graph FILE.json|--example NAME [--gradient] [--dot|--json FILE]",
        "Shows a graph: every node with its operation, shape, inputs and cost. Nodes\n"
        "marked with | are inside a scan; their cost is that of all its steps.",
        options,
        "  elegans graph --example cfc\n"
        "  elegans graph --example mlp --dot | dot -Tsvg > mlp.svg\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code >= 0) return code;
    if (rest > 1 || (rest == 1) == (example != NULL))
        return fail(EXIT_USAGE, "graph needs one file, or --example NAME");
    if (gradient && !example)
        return fail(EXIT_USAGE, "--gradient needs --example: a file has no loss");
    eg_context *context;
    code = context_open(&flags, &context);
    if (code >= 0) return code;
    eg_graph *graph = NULL;
    eg_error error;
    code = open_graph(context, rest ? argv[0] : NULL, example, gradient, &graph);
    if (code < 0) {
        code = EXIT_DONE;
        if (save && eg_graph_save(graph, save, &error))
            code = fail(EXIT_FAILED, "%s", error.message);
        else if (dot) print_dot(graph);
        else if (!save) print_text(graph, rest ? argv[0] : example);
    }
    eg_graph_destroy(graph);
    eg_context_destroy(context);
    return code;
}
