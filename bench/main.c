/* The benchmark: our kernels beside the peak of this machine and beside other libraries. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GFLOPS "GFLOP/s"
/* Those with threads last: from then on idle threads of others are about. */
const group bench_groups[] = {
    {"gemm", "products of recurrent cells, m x n x k", GFLOPS, true, 1, bench_gemm},
    {"gemv", "one row times a matrix", GFLOPS, true, 1, bench_gemv},
    {"square", "square products", GFLOPS, true, 1, bench_square},
    {"odd", "sizes that fit no tile", GFLOPS, true, 1, bench_odd},
    {"halves", "products of bf16 and f16, m x n x k", GFLOPS, true, 1, bench_halves},
    {"small", "products with quantized weights, m x n x k", GFLOPS, true, 1, bench_quantized},
    {"math", "functions of 4096 floats", "ns/element", false, 1, bench_math},
    {"layernorm", "layer norm with gain and bias, rows x columns", "ns/element", false, 1,
     bench_layernorm},
    {"softmax", "softmax of rows, rows x columns", "ns/element", false, 1, bench_softmax},
    {"attention", "attention of 12 heads of 64 columns, queries = keys", GFLOPS, true, 1,
     bench_attention},
    {"conv", "convolutions and their gradients by the filters", GFLOPS, true, 1, bench_conv},
    {"gate", "gate of a CfC cell, rows x columns", "ns/element", false, 1, bench_gate},
    {"chain", "add mul sub max min mul add abs mul add", "ns/element", false, 1, bench_chain},
    {"epilogue", "matmul + bias + tanh, m x n x k", "ns", false, 1, bench_epilogue},
    {"mlp", "forward 64-256-256-64 with tanh", GFLOPS, true, 1, bench_mlp},
    {"mlp_train", "the same forward and backward, products counted", GFLOPS, true, 1,
     bench_mlp_train},
    {"gru", "64 steps of 32 inputs, linear before reset", GFLOPS, true, 1, bench_gru},
    {"entropy", "entropy of 256 KiB in windows of 256 bytes", "ns/byte", false, 1, bench_entropy},
    {"project", "models predicted from kernels", "us", false, 1, bench_project},
    {"recorder", "runs that are recorded and runs that are not", "us", false, 1, bench_recorder},
    {"threads", "a product on two threads", GFLOPS, true, 2, bench_two_threads},
    {"launch", "launch of two threads and wait for both", "ns", false, 2, bench_launch},
};
const size_t bench_group_count = sizeof bench_groups / sizeof *bench_groups;

static const char usage[] =
    "usage: bench [options]\n"
    "  --no-peers     only our kernels and the peak of this machine\n"
    "  --quick        shorter rounds, no square above 1024: 40 seconds instead of 3 minutes\n"
    "  --full         every K with every N in the groups gemm and gemv: some 10 minutes\n"
    "  --group NAME   only this one: gemm gemv square odd small math layernorm softmax attention\n"
    "                 conv gate chain epilogue mlp mlp_train gru entropy project recorder threads\n"
    "                 launch\n"
    "  --rounds N     5 .. 64; a figure is the median over the rounds (default 5)\n"
    "  --isa NAME     our kernels for this instruction set; \"ref\" = portable C\n"
    "  --json FILE    write the results there, too\n";

_Noreturn static void usage_fail(const char *what, const char *value) {
    fprintf(stderr, "bench: %s '%s'\n%s", what, value, usage);
    exit(2);
}

static unsigned parse_rounds(const char *text) {
    int64_t rounds;
    if (eg_integer_parse(text, strlen(text), 5, ROUNDS_MAX, &rounds, NULL) != EG_OK)
        usage_fail("not a number of rounds within 5 .. 64:", text);
    return (unsigned)rounds;
}

static const char *parse_group(const char *name) {
    for (size_t i = 0; i < bench_group_count; i++)
        if (!strcmp(bench_groups[i].name, name)) return name;
    usage_fail("unknown group", name);
}

/* An option with a value: fills *to when `argument` is it. */
static bool takes(char **argument, const char *name, const char **to) {
    if (strcmp(*argument, name) != 0) return false;
    if (!argument[1]) usage_fail("no value for", name);
    *to = argument[1];
    return true;
}

static options parse(char **argument) {
    options o = {.rounds = 5};
    for (const char *value = NULL; *argument; argument++) {
        if (!strcmp(*argument, "--help")) {
            fputs(usage, stdout);
            exit(0);
        }
        if (!strcmp(*argument, "--no-peers")) o.no_peers = true;
        else if (!strcmp(*argument, "--quick")) o.quick = true;
        else if (!strcmp(*argument, "--full")) o.full = true;
        else if (takes(argument, "--group", &value)) o.group = parse_group(value), argument++;
        else if (takes(argument, "--rounds", &value)) o.rounds = parse_rounds(value), argument++;
        else if (takes(argument, "--isa", &o.isa) || takes(argument, "--json", &o.json)) argument++;
        else usage_fail("unknown option", *argument);
    }
    return o;
}

static void start(bench *b, options o) {
    eg_error error;
    memset(b, 0, sizeof *b);
    b->options = o;
    b->pace = (pace){o.rounds, o.quick ? 8e7 : 5e8, o.quick ? 1 : 2};
    if (getloadavg(&b->load, 1) != 1) b->load = 0;
    if (eg_chip_detect(NULL, NULL, NULL, &b->chip, &error) != EG_OK ||
        eg__kernels_select(b->chip.features, o.isa, &b->kernels, &error) != EG_OK ||
        eg__memory_create(&b->memory, NULL, &error) != EG_OK ||
        eg__arena_create(&b->arena, b->memory, EG_TAG_MEASURE, 0, &error) != EG_OK)
        bench_fail("%s", error.message);
    peers_open(b);
}

static void run_group(bench *b, const group *g) {
    if (b->options.group && strcmp(b->options.group, g->name) != 0) return;
    if (g->threads > b->chip.threads) {
        printf("\n%s: skipped, it needs %u cores\n", g->name, g->threads);
        return;
    }
    b->group = g;
    g->run(b);
    report_progress(b, NULL);
    report_group(b, g);
}

int main(int argc, char **argv) {
    static bench b;
    (void)argc;
    start(&b, parse(argv + 1));
    report_start(&b);
    for (size_t i = 0; i < bench_group_count; i++) run_group(&b, &bench_groups[i]);
    report_summary(&b);
    if (b.options.json) report_json(&b, b.options.json);
    eg__arena_destroy(b.arena);
    eg__memory_destroy(b.memory);
    if (b.wrong) fprintf(stderr, "bench: %u results were wrong and left out\n", b.wrong);
    return b.wrong ? 1 : 0;
}
