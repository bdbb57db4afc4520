/* elegans wiring: a neural circuit as text, statistics, Graphviz, JSON or a picture. */
#include "cli/cli.h"

#include <string.h>

/* ---- text */

static const char *column_name(const eg_wiring_info *info, uint32_t column) {
    return column ? eg_wiring_layer_name(info, column - 1) : "sensory";
}

static uint32_t column_size(const eg_wiring_info *info, uint32_t column) {
    return column ? info->layer_sizes[column - 1] : info->inputs;
}

/* Synapses from one column (0 = the inputs) to another, of one polarity. */
static uint64_t count_between(const eg_wiring *wiring, const eg_wiring_info *info, uint32_t from,
                              uint32_t to, int polarity) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < column_size(info, from); i++)
        for (uint32_t k = 0; k < column_size(info, to); k++) {
            const uint32_t end = eg_wiring_layer_unit(wiring, to - 1, k);
            const int found =
                from ? eg_wiring_synapse(wiring, eg_wiring_layer_unit(wiring, from - 1, i), end)
                     : eg_wiring_sensory(wiring, i, end);
            count += found == polarity;
        }
    return count;
}

static void print_between(const eg_wiring *wiring, const eg_wiring_info *info, uint32_t from,
                          uint32_t to) {
    const uint64_t plus = count_between(wiring, info, from, to, 1),
                   minus = count_between(wiring, info, from, to, -1);
    const double possible = (double)column_size(info, from) * column_size(info, to);
    char name[40], value[64], note[32];
    if (!plus && !minus) return;
    snprintf(name, sizeof name, "%s to %s", column_name(info, from), column_name(info, to));
    snprintf(value, sizeof value, "%8llu  = %llu + %llu", (unsigned long long)(plus + minus),
             (unsigned long long)plus, (unsigned long long)minus);
    snprintf(note, sizeof note, "%.1f %% of all possible", 100 * (double)(plus + minus) / possible);
    printf("  %-20s", name);
    printf("%-28s%s%28s%s\n", value, style_dim(), note, style_end());
}

static void print_head(const eg_wiring_info *info, const char *title) {
    char note[160], a[48], b[48], c[48];
    snprintf(note, sizeof note, "%s, %s, %s", format_count(a, info->inputs, "input"),
             format_count(b, info->units, "unit"), format_count(c, info->outputs, "output"));
    print_title(title, note);
}

static void print_text(const eg_wiring *wiring, const eg_wiring_info *info, const char *title) {
    char value[64];
    print_head(info, title);
    snprintf(value, sizeof value, "%llu", (unsigned long long)info->seed);
    print_row("kind", info->kind, "");
    if (strcmp(info->kind, "edges") != 0) print_row("seed", value, "");
    for (uint32_t column = 0; column <= info->layers; column++) {
        snprintf(value, sizeof value, "%u", column_size(info, column));
        print_row(column_name(info, column), value, "");
    }
    print_section("synapses", "all = excitatory + inhibitory");
    for (uint32_t from = 0; from <= info->layers; from++)
        for (uint32_t to = 1; to <= info->layers; to++) print_between(wiring, info, from, to);
}

/* ---- statistics */

static void print_count(const char *name, uint64_t count) {
    char value[32];
    snprintf(value, sizeof value, "%llu", (unsigned long long)count);
    print_row(name, value, "counted");
}

static void print_share(const char *name, double share) {
    char value[32];
    snprintf(value, sizeof value, "%.2f %%", 100 * share);
    print_row(name, value, "counted");
}

static void print_degree(const char *name, const eg_wiring_degree *degree) {
    char value[64];
    snprintf(value, sizeof value, "%u to %u, mean %.2f", degree->least, degree->most, degree->mean);
    print_row(name, value, "counted");
}

static void print_statistics(const eg_wiring_info *info, const eg_wiring_statistics *s,
                             const char *title) {
    char value[64];
    print_head(info, title);
    print_section("sensory synapses", "from inputs to units");
    print_count("all", s->sensory_synapses);
    print_count("excitatory", s->sensory_excitatory);
    print_count("inhibitory", s->sensory_inhibitory);
    print_share("density", s->sensory_density);
    print_degree("from an input", &s->sensory_out);
    print_degree("into a unit", &s->sensory_in);
    print_section("synapses", "from units to units");
    print_count("all", s->synapses);
    print_count("excitatory", s->excitatory);
    print_count("inhibitory", s->inhibitory);
    print_count("to themselves", s->self);
    print_share("density", s->density);
    print_degree("from a unit", &s->out);
    print_degree("into a unit", &s->in);
    print_section("paths", "along synapses between units");
    print_count("components", s->components);
    print_count("largest", s->largest_component);
    print_count("not reached", s->unreached);
    print_count("pairs", s->pairs);
    snprintf(value, sizeof value, "mean %.3f, longest %u", s->path_mean, s->path_longest);
    print_row("path", s->pairs ? value : "none", "counted");
    print_section("layers", "units");
    for (uint32_t l = 0; l < info->layers; l++)
        print_count(eg_wiring_layer_name(info, l), info->layer_sizes[l]);
}

/* ---- Graphviz */

static void print_edge(char kind, uint32_t from, uint32_t to, int polarity) {
    if (polarity)
        printf("  %c%u -> n%u [color=\"%s\", arrowhead=%s];\n", kind, from, to,
               polarity > 0 ? "#2166ac" : "#b2182b", polarity > 0 ? "normal" : "tee");
}

static void print_dot(const eg_wiring *wiring, const eg_wiring_info *info) {
    printf("digraph wiring {\n  rankdir=LR;\n  node [shape=circle, fontname=\"sans-serif\", "
           "fontsize=10];\n");
    for (uint32_t column = 0; column <= info->layers; column++) {
        printf("  { rank=same;");
        for (uint32_t i = 0; i < column_size(info, column); i++)
            if (column) printf(" n%u;", eg_wiring_layer_unit(wiring, column - 1, i));
            else printf(" s%u;", i);
        printf(" }\n");
    }
    for (uint32_t to = 0; to < info->units; to++) {
        for (uint32_t i = 0; i < info->inputs; i++)
            print_edge('s', i, to, eg_wiring_sensory(wiring, i, to));
        for (uint32_t i = 0; i < info->units; i++)
            print_edge('n', i, to, eg_wiring_synapse(wiring, i, to));
    }
    printf("}\n");
}

/* ---- the command */

typedef struct settings {
    const char *save, *svg;
    bool statistics, dot;
} settings;

static int draw(const eg_wiring *wiring, const char *title, const char *path) {
    eg_report *picture;
    eg_error error;
    if (eg_report_of_wiring(wiring, title, &picture, &error)) return fail_with(&error);
    return output_report_file(picture, path);
}

static int show(const eg_wiring *wiring, const char *title, const settings *w) {
    eg_wiring_info info = {.size = sizeof info};
    eg_wiring_statistics statistics;
    eg_error error;
    eg_wiring_info_get(wiring, &info);
    if (w->save && eg_wiring_save(wiring, w->save, &error)) return fail_with(&error);
    if (w->svg) {
        const int code = draw(wiring, title, w->svg);
        if (code) return code;
    }
    if (w->dot) print_dot(wiring, &info);
    else if (w->statistics) {
        if (eg_wiring_statistics_get(wiring, &statistics, &error)) return fail_with(&error);
        print_statistics(&info, &statistics, title);
    } else if (!w->save && !w->svg) print_text(wiring, &info, title);
    return CLI_OK;
}

int cmd_wiring(int argc, char **argv) {
    settings w = {0};
    const context_flags flags = {.threads = 1};
    const option options[] = {
        {"--stats", OPTION_FLAG, &w.statistics, NULL, "print degrees, density, components, paths"},
        {"--dot", OPTION_FLAG, &w.dot, NULL, "print Graphviz"},
        {"--svg", OPTION_TEXT, &w.svg, "FILE", "draw it"},
        {"--json", OPTION_TEXT, &w.save, "FILE", "write its synapses as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "wiring SPEC|FILE.json [--stats|--dot] [--svg FILE] [--json FILE]",
        "Shows a wiring: which input and which unit has a synapse to which unit. Specs:\n"
        "  autoncp:UNITS:OUTPUTS,in=N[,sparsity=0.5]\n"
        "  ncp:INTER:COMMAND:MOTOR,in=N,sensory_fanout=N,inter_fanout=N,motor_fanin=N\n"
        "      [,recurrent=N]\n"
        "  full:UNITS[:OUTPUTS],in=N[,self=0]\n"
        "  random:UNITS[:OUTPUTS],in=N[,sparsity=0]\n"
        "each with [,wiring_seed=N], and draws what the Python package ncps draws. A file\n"
        "lists synapses, as --json writes them.",
        options,
        "  elegans wiring autoncp:28:4,in=6\n"
        "  elegans wiring autoncp:28:4,in=6 --svg worm.svg\n"
        "  elegans wiring random:20,in=4,sparsity=0.7 --stats\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "wiring needs one spec or one file");
    if (w.statistics && w.dot) return fail(EXIT_USAGE, "--stats or --dot, not both");
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    eg_wiring *wiring;
    eg_error error;
    if (eg_wiring_create(context, argv[0], &wiring, &error)) code = fail_with(&error);
    else code = show(wiring, argv[0], &w);
    eg_wiring_destroy(wiring);
    eg_context_destroy(context);
    return code;
}
