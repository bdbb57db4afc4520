/* elegans: one program, one file per command. */
#include "cli/cli.h"
#include "cli/terminal.h"

#include <signal.h>
#include <string.h>

const command cli_commands[] = {
    {"info", "what this machine is and can do, and which kernels would run on it", cmd_info},
    {"bench", "measure bandwidth, matrix products, kernels, liquid cells, training", cmd_bench},
    {"tune", "measure block sizes of products once, for this machine", cmd_tune},
    {"graph", "look at a graph: text, Graphviz, JSON", cmd_graph},
    {"wiring", "look at a neural circuit: text, statistics, picture, Graphviz, JSON", cmd_wiring},
    {"show", "look at a model: layers, parameters, cost and memory of a step", cmd_show},
    {"train", "train a model on tables: CSV, npy, npz", cmd_train},
    {"eval", "evaluate a model on tables", cmd_eval},
    {"predict", "predictions of a trained model for tables, in their own units", cmd_predict},
    {"profile", "measure what a model costs here, step by step, and what bounds it", cmd_profile},
    {"report", "a profile as one page: HTML, Markdown", cmd_report},
    {"baseline", "store times by name, and detect whether a model became slower", cmd_baseline},
    {"history", "times of a model over the history of its profiles", cmd_history},
    {"diagnose", "what slows models down on this machine, and a checklist", cmd_diagnose},
    {"monitor", "what this machine and its programs are doing: load, heat, steps/s", cmd_monitor},
    {"entropy", "entropy along the bytes of a file, and patches cut by it", cmd_entropy},
    {"run", "run a model over sequences, or as a filter in a pipe", cmd_run},
    {"convert", "write a model, or the tensors of one, as a model file", cmd_convert},
    {"quantize", "write a quantized model: f16, bf16, int8, int4", cmd_quantize},
    {"export", "write a model as C source", cmd_export},
    {"generate", "continue a text with a language model, token by token", cmd_generate},
    {"embed", "embeddings of texts, and their similarities", cmd_embed},
    {"perplexity", "perplexity of a language model on a text", cmd_perplexity},
    {"tokenize", "the tokens of a text, the text of tokens, a vocabulary", cmd_tokenize},
    {"demo", "train a network to balance a pole, and watch it", cmd_demo},
    {"completions", "completions of commands and options for bash, zsh and fish", cmd_completions},
    {"help", "explain a command", cmd_help},
    {"version", "print the version", cmd_version},
    {NULL, NULL, NULL},
};

static const char *command_at(void *user, size_t index) {
    (void)user;
    return cli_commands[index].name;
}

int command_unknown(const char *name) {
    char meant[EG_DID_YOU_MEAN_SIZE];
    options_command(NULL); /* the list of commands helps, not the help of help */
    return fail(EXIT_USAGE, "unknown command '%s'%s", name,
                eg_did_you_mean(meant, name, command_at, NULL));
}

int main(int argc, char **argv) {
    terminal_guard();
    signal(SIGXFSZ,
           SIG_IGN); /* a limit on files is told as a full disk is, and nothing is left behind */
    if (argc < 2) {
        cmd_help(1, argv);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    for (const command *c = cli_commands; c->name; c++)
        if (strcmp(c->name, name) == 0) {
            options_command(c->name);
            int code = c->run(argc - 1, argv + 1);
            if (code == CLI_DONE) code = CLI_OK;
            /* a full disk or a closed pipe shows only now */
            if ((fflush(stdout) != 0 || ferror(stdout)) && !code)
                return fail(EXIT_FAILED, "cannot write the output");
            return code;
        }
    return command_unknown(name);
}
