/* elegans graph: a graph as text, as Graphviz, as JSON. */
#include "cli/cli.h"
#include "cli/commands/graph_examples.h"

#include <string.h>

/* Steps of the scan that a node is inside, for its share of the cost. */
static double times_run(const eg_graph *graph, const eg_node_info *info) {
    double steps = 1;
    for (size_t i = 1; info->scan && i <= eg_graph_size(graph); i++) {
        eg_node_info other = {.size = sizeof other}, sequence = {.size = sizeof sequence};
        if (eg_graph_node(graph, (eg_node){(uint32_t)i}, &other, NULL)) continue;
        if (strcmp(other.operation, "step") != 0 || other.scan != info->scan) continue;
        if (eg_graph_node(graph, other.inputs[1], &sequence, NULL) == EG_OK)
            steps = (double)sequence.shape[0];
        break;
    }
    return steps;
}

static void print_text(const eg_graph *graph, const char *title) {
    char note[48], shape[128], number[32];
    double total = 0;
    print_title(title, format_count(note, eg_graph_size(graph), "node"));
    for (size_t i = 1; i <= eg_graph_size(graph); i++) {
        eg_node_info info = {.size = sizeof info};
        if (eg_graph_node(graph, (eg_node){(uint32_t)i}, &info, NULL)) continue;
        double flops = info.flops * times_run(graph, &info);
        total += flops;
        printf("%5zu %s%-12s%-16s", i, info.scan ? "| " : "  ", info.operation,
               format_shape(shape, info.rank, info.shape));
        if (info.name) printf(" %s", info.name);
        for (size_t k = 0; k < info.input_count; k++) printf(" %u", info.inputs[k].id);
        if (flops > 0)
            printf("  %s%s kFLOP%s", style_dim(), format_short(number, flops / 1e3), style_end());
        putchar('\n');
    }
    snprintf(note, sizeof note, "%s MFLOP", format_short(number, total / 1e6));
    print_row("one run", note, "counted");
}

/* Inside of a quoted string: a quote ends it and a backslash begins an escape; lines are ours alone. */
static void print_dot_text(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            printf("\\\\x%02x", (unsigned)(unsigned char)*text);
        else if (*text == '"' || *text == '\\') printf("\\%c", *text);
        else putchar(*text);
}

static void print_dot(const eg_graph *graph) {
    char shape[128];
    printf("digraph elegans {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n");
    for (size_t i = 1; i <= eg_graph_size(graph); i++) {
        eg_node_info info = {.size = sizeof info};
        if (eg_graph_node(graph, (eg_node){(uint32_t)i}, &info, NULL)) continue;
        printf("  n%zu [label=\"", i);
        print_dot_text(info.name ? info.name : info.operation);
        printf("\\n%s\"%s];\n", format_shape(shape, info.rank, info.shape),
               info.name   ? ", style=filled, fillcolor=\"#dde8f4\""
               : info.scan ? ", style=filled, fillcolor=\"#f4eedd\""
                           : "");
        for (size_t k = 0; k < info.input_count; k++)
            printf("  n%u -> n%zu;\n", info.inputs[k].id, i);
    }
    printf("}\n");
}

/* ---- compiled */
static void print_step(const eg_program *program, size_t index, const char *indent) {
    eg_step_info step = {.size = sizeof step};
    char number[32], shape[64], more[32];
    if (eg_program_step(program, index, &step, NULL)) return;
    if (step.depth)
        snprintf(shape, sizeof shape, "%llu x %llu x %llu", (unsigned long long)step.rows,
                 (unsigned long long)step.columns, (unsigned long long)step.depth);
    else
        snprintf(shape, sizeof shape, "%llu x %llu", (unsigned long long)step.rows,
                 (unsigned long long)step.columns);
    char head[128];
    int wide = snprintf(head, sizeof head, "%5zu %s%-*s %-18s", index, indent,
                        12 - (int)strlen(indent), step.kernel, shape);
    if (step.flops > 0)
        wide += snprintf(head + wide, sizeof head - (size_t)wide, " %s kFLOP",
                         format_short(number, step.flops / 1e3));
    wide += snprintf(head + wide, sizeof head - (size_t)wide, " %s kB",
                     format_short(more, step.bytes / 1e3));
    char text[1024] = "";
    size_t used = 0;
    if (step.text[0]) used = (size_t)snprintf(text, sizeof text, "%s: ", step.text);
    for (uint32_t i = 0; i < step.operands && used < sizeof text; i++) {
        eg_operand_info operand = {.size = sizeof operand};
        if (eg_program_operand(program, index, i, &operand, NULL)) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s+%llu", i ? " " : "",
                                 operand.space, (unsigned long long)operand.offset);
        if (operand.time_stride && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "+%llut",
                                     (unsigned long long)operand.time_stride);
    }
    const bool beside = wide + 2 + (int)strlen(text) <= TEXT_WIDTH; /* else below */
    printf("%s%s", head, beside && text[0] ? "  " : "\n");
    if (!text[0]) return;
    printf("%*s%s", beside ? 0 : 8, "", style_dim());
    print_folded(text, strlen(text), beside ? wide + 2 : 8, 8, NULL);
    fputs(style_end(), stdout);
}

static void print_part(const eg_program *program, const char *title, size_t from, size_t count) {
    if (!count) return;
    print_title(title, "rows x columns x depth, counted cost, operands in bytes");
    for (size_t i = from; i < from + count; i++) {
        eg_step_info step = {.size = sizeof step};
        print_step(program, i, "");
        if (eg_program_step(program, i, &step, NULL)) continue;
        for (uint64_t k = 0; k < step.body_steps; k++) print_step(program, step.body + k, "| ");
    }
}

static void print_bytes(const char *name, uint64_t bytes) {
    char number[32], text[64];
    snprintf(text, sizeof text, "%s kB", format_short(number, (double)bytes / 1e3));
    print_row(name, text, "counted");
}

static void print_steps(const eg_program *program) {
    eg_program_info info = {.size = sizeof info};
    char text[64], number[32];
    eg_program_info_get(program, &info);
    print_part(program, "when parameters change", info.run_steps, info.prologue_steps);
    print_part(program, "each run", 0, info.run_steps);
    print_title("memory", "of one instance, and shared");
    print_bytes("arena", info.arena_bytes);
    print_bytes("least possible", info.arena_bound_bytes);
    print_bytes("parameters", info.parameter_bytes);
    print_bytes("made of them", info.derived_bytes);
    snprintf(text, sizeof text, "%s MFLOP", format_short(number, info.flops / 1e6));
    print_row("one run", text, "counted");
}

/* ---- where graphs come from */
enum { OUTPUTS = EXAMPLE_PARAMETERS + 1 };
typedef struct source {
    eg_graph *graph;
    eg_output outputs[OUTPUTS];
    size_t count;
    char names[OUTPUTS][32];
} source;

static void add_output(source *s, const char *name, eg_node node) {
    if (s->count == OUTPUTS) return;
    snprintf(s->names[s->count], sizeof s->names[0], "%s", name);
    s->outputs[s->count] = (eg_output){s->names[s->count], node};
    s->count++;
}

/* A file does not say what is wanted: what nobody uses. */
static void find_outputs(source *s) {
    for (size_t i = 1; i <= eg_graph_size(s->graph); i++) {
        eg_node_info info = {.size = sizeof info}, user = {.size = sizeof user};
        if (eg_graph_node(s->graph, (eg_node){(uint32_t)i}, &info, NULL)) continue;
        bool used = info.scan || info.name || strcmp(info.operation, "scan") == 0;
        for (size_t k = i + 1; !used && k <= eg_graph_size(s->graph); k++) {
            if (eg_graph_node(s->graph, (eg_node){(uint32_t)k}, &user, NULL)) continue;
            for (size_t n = 0; n < user.input_count; n++) used = used || user.inputs[n].id == i;
        }
        char name[32];
        snprintf(name, sizeof name, "node%zu", i);
        if (!used) add_output(s, name, (eg_node){(uint32_t)i});
    }
}

static int fill_example(source *s, const char *name, bool gradient, eg_error *error) {
    const graph_example *example = graph_examples;
    while (example->name && strcmp(example->name, name) != 0) example++;
    if (!example->name) return fail(EXIT_USAGE, "unknown example '%s': mlp, cfc or gru", name);
    eg_node parameters[EXAMPLE_PARAMETERS], d[EXAMPLE_PARAMETERS];
    size_t count = 0;
    eg_node loss = example->build(s->graph, parameters, &count);
    add_output(s, "loss", loss);
    eg_status status = gradient ? eg_gradient(s->graph, loss, count, parameters, d, error)
                                : eg_graph_check(s->graph, error);
    if (status) return fail_with(error);
    for (size_t i = 0; gradient && i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "gradient%zu", i);
        add_output(s, text, d[i]);
    }
    return CLI_OK;
}

static int open_graph(eg_context *context, const char *path, const char *example, bool gradient,
                      source *s) {
    eg_error error;
    if (path) {
        if (eg_graph_load(context, path, &s->graph, &error)) return fail_with(&error);
        find_outputs(s);
        return CLI_OK;
    }
    if (eg_graph_create(context, &s->graph, &error)) return fail_with(&error);
    return fill_example(s, example, gradient, &error);
}

typedef struct settings {
    const char *title, *save, *passes;
    bool dot, steps;
} settings;

static int show(eg_context *context, const source *s, const settings *w) {
    eg_error error;
    eg_program *program = NULL;
    const eg_graph *graph = s->graph;
    if (w->steps || w->passes) {
        const eg_compile_options options = {.passes = w->passes};
        if (eg_compile(context, graph, s->count, s->outputs, &options, &program, &error))
            return fail_with(&error);
        graph = eg_program_graph(program);
    }
    int code = CLI_OK;
    if (w->save && eg_graph_save(graph, w->save, &error)) code = fail_with(&error);
    else if (w->dot) print_dot(graph);
    else if (w->steps) print_steps(program);
    else if (!w->save) print_text(graph, w->title);
    eg_program_release(program);
    return code;
}

static int check_passes(const char *passes) {
    if (!passes || strcmp(passes, "list") != 0) return CLI_OK;
    print_title("passes", "in the order they run");
    for (size_t i = 0; eg_pass_name(i); i++) print_row(eg_pass_name(i), eg_pass_text(i), "");
    return CLI_DONE;
}

int cmd_graph(int argc, char **argv) {
    bool gradient = false;
    const char *example = NULL;
    settings w = {0};
    context_flags flags = {.threads = 1};
    const option options[] = {
        {"--example", OPTION_TEXT, &example, "NAME", "a built-in network: mlp, cfc, gru"},
        {"--gradient", OPTION_FLAG, &gradient, NULL, "with the gradient of its loss"},
        {"--passes", OPTION_TEXT, &w.passes, "LIST",
         "after these passes: all, none, all,-fuse, ...; list"},
        {"--steps", OPTION_FLAG, &w.steps, NULL, "print the compiled steps"},
        {"--dot", OPTION_FLAG, &w.dot, NULL, "print Graphviz"},
        {"--json", OPTION_TEXT, &w.save, "FILE", "write the graph as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "graph FILE.json|--example NAME [--gradient] [--passes LIST] [--dot|--json FILE|--steps]",
        "Shows a graph: every node with its operation, shape, inputs and cost. Nodes\n"
        "marked with | are inside a scan; their cost is that of all its steps. With\n"
        "--passes it is shown as the passes of a compilation leave it, with --steps as\n"
        "the steps it becomes: kernel, shape, cost, and where the operands lie.",
        options,
        "  elegans graph --example cfc\n"
        "  elegans graph --example gru --gradient --steps\n"
        "  elegans graph --example mlp --dot | dot -Tsvg > mlp.svg\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    code = check_passes(w.passes);
    if (code) return code;
    if (rest > 1 || (rest == 1) == (example != NULL))
        return fail(EXIT_USAGE, "graph needs one file, or --example NAME");
    if (gradient && !example)
        return fail(EXIT_USAGE, "--gradient needs --example: a file has no loss");
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    source s = {0};
    w.title = rest ? argv[0] : example;
    code = open_graph(context, rest ? argv[0] : NULL, example, gradient, &s);
    if (!code) code = show(context, &s, &w);
    eg_graph_destroy(s.graph);
    eg_context_destroy(context);
    return code;
}
