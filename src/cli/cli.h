/* What the commands share: options, text for terminals, JSON. Public interface of the library only. */
#ifndef EG__CLI_H
#define EG__CLI_H

#include "elegans/elegans.h"

#include <stdbool.h>
#include <stdio.h>

/* Functions here return CLI_OK, or a code that ends the program and is passed up to main(), unless
 * their comment says otherwise; the message of a failure has been printed already. */
enum {
    CLI_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_SLOWER = 3,
    EXIT_ALERT = 4,     /* an alert of `monitor` fired */
    EXIT_STOPPED = 130, /* by Ctrl-C, saved */
    CLI_DONE = -1       /* nothing is left to do, after --help: the program ends with exit code 0 */
};

/* ---- commands: one table in main.c, one file each */
typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} command;
extern const command cli_commands[]; /* ends with a row of NULLs */
/* Says so, and which one may have been meant. Returns EXIT_USAGE. */
int command_unknown(const char *name);

int cmd_bench(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_quantize(int argc, char **argv);
int cmd_embed(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_perplexity(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_tokenize(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_completions(int argc, char **argv);
int cmd_wiring(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_baseline(int argc, char **argv);
int cmd_history(int argc, char **argv);
int cmd_diagnose(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_entropy(int argc, char **argv);

/* ---- options: a table per command; --help is understood everywhere */
typedef enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_COUNT, /* from 1 */
    OPTION_WHOLE, /* from 0 */
    OPTION_NUMBER
} option_kind;
typedef struct option {
    const char *name; /* "--json"; NULL ends the table */
    option_kind kind;
    void *value;          /* bool *, const char **, uint64_t *, double * */
    const char *argument; /* what the help calls the value: "N" */
    const char *text;
} option;

typedef struct usage {
    const char *line;  /* "info [--measure] [--json]" */
    const char *about; /* a sentence or two */
    const option *options;
    const char *examples; /* lines, or NULL */
} usage;

/* Whether there is such an option; and whether -o means this one, which is --output. */
bool option_there(const usage *use, const char *name);
bool option_is_output(const usage *use, const option *o);
/* What --help of a command does; NULL = it prints what it has. */
typedef void usage_explainer(const usage *use);
void options_explain(usage_explainer *with);

/* The command that runs, so that a usage mistake can point to its help. */
void options_command(const char *name);
/* Reads options out of argv; what remains is moved to its front and counted in *rest. CLI_DONE after --help. */
int options_read(const usage *use, int argc, char **argv, int *rest);
/* The same from a JSON object: {"epochs": 20, "inputs": ["a", "b"], "last": true} for --epochs 20
 * --inputs a,b --last. What it holds lives as long as *document. */
typedef struct json_t json;
int options_config(const usage *use, const char *path, json **document);
/* Prints "elegans: ..." and, for a usage mistake, where to find help. Returns `code`. */
int fail(int code, const char *format, ...) EG_PRINTF(2, 3);
int fail_with(const eg_error *error); /* EXIT_FAILED, with the library's message */
/* Prints "elegans: warning: ..." on stderr. */
void warn(const char *format, ...) EG_PRINTF(1, 2);
/* 4096, 64K, 256M, 2G, with binary units; false when it is none of these. */
bool parse_bytes(const char *text, uint64_t *out);
/* The instruction sets of this build, as eg_isa_list has them. */
enum { ISA_NAMES = 16 };
typedef struct isa_names {
    const char *name[ISA_NAMES]; /* static */
    unsigned lanes[ISA_NAMES];
    bool usable[ISA_NAMES];
    size_t count;
    char text[120]; /* "avx512, avx2, ref" */
} isa_names;
int isa_list(isa_names *out);
/* The options that all commands with a context share. */
typedef struct context_flags {
    const char *isa, *root;
    uint64_t threads;
    bool no_map;            /* weights are read, not mapped */
    bool no_tuned;          /* what `elegans tune` stored is not used */
    uint64_t memory_budget; /* bytes; 0 = the default */
} context_flags;
#define CONTEXT_OPTIONS(flags)                                                                     \
    {"--threads", OPTION_COUNT, &(flags).threads, "N", "threads to use (default: fastest cores)"}, \
        {"--no-tuned", OPTION_FLAG, &(flags).no_tuned, NULL,                                       \
         "blocks from the caches, not from 'tune'"},                                               \
    {                                                                                              \
        "--isa", OPTION_TEXT, &(flags).isa, "NAME",                                                \
            "highest instruction set to use; ref = portable C"                                     \
    }
/* Warnings of the library go to stderr. */
int context_open(const context_flags *flags, eg_context **out);

/* ---- take.c: memory that is freed with free(); where there is none, the program ends with a message and exit code 1,
 * and output files that are not complete are taken back. */
void *take_memory(size_t count, size_t size); /* zeroed */
void *take_more(void *old, size_t size);
char *take_text(const char *text);
/* As it stands in a list with commas: in quotes where it needs them, quotes inside doubled. */
char *list_item(const char *text);

/* ---- table_options.c: how a file of text is to be read */
typedef struct table_settings {
    bool short_header, no_header;
    const char *decimal, *dates, *encoding;
} table_settings;
#define TABLE_OPTIONS(t)                                                                          \
    {"--short-header", OPTION_FLAG, &(t).short_header, NULL, "the first column has no name"},     \
        {"--no-header", OPTION_FLAG, &(t).no_header, NULL, "the first line is data"},             \
        {"--decimal", OPTION_TEXT, &(t).decimal, "CHAR", "',' for decimal commas"},               \
        {"--dates", OPTION_TEXT, &(t).dates, "ORDER", "iso (default), mdy (2/4/2015), dmy"}, {    \
        "--encoding", OPTION_TEXT, &(t).encoding, "NAME", "utf-8 (default), latin1, windows-1252" \
    }
int table_options(const table_settings *settings, eg_table_options *out);

/* ---- output_file.c: a file that takes its name when it is complete, on the disk; a pipe or device is written
 * straight; without a path, stdout. Nothing else opens files to write (tools/layers.awk). */
typedef struct output_file {
    const char *path;
    eg_file_output *beside; /* NULL = a pipe, a device or stdout */
    FILE *file;
} output_file;
int output_begin(output_file *o, const char *path);
int output_end(output_file *o);
void output_abort(output_file *o); /* instead of the end: what was there before stays */
/* Whether a file could be written there, before there is anything to write. */
int output_check(const char *path, bool regular);
/* Whether a model may have this name: what is written is a safetensors file, and its name says so. */
int output_model(const char *path);
/* A file to append lines to, which begins with those of the old one that `keep` (NULL = none) wants. */
int output_log(const char *path, bool (*keep)(void *user, const char *line), void *user,
               FILE **out);
bool output_device(const char *path); /* there is something that is neither file nor folder */
/* A finished report, with a newline at its end; destroys it. False (and errno) when not all of it could be written,
 * which whoever ends the file also sees. */
bool output_report(eg_report *report, FILE *file);
/* The same into a file of its own. */
int output_report_file(eg_report *report, const char *path);
/* The document of a profile, which --json and --output write with ten digits. */
int output_document(eg_report *report, FILE *file);

/* ---- text */
/* Of stdout alone: only on a terminal, and never when NO_COLOR is set. */
const char *style_bold(void);
const char *style_dim(void);
const char *style_end(void);
enum { TEXT_WIDTH = 80 };           /* columns of a line */
int text_columns(const char *text); /* that a text in UTF-8 takes */
void print_title(const char *left, const char *right);
void print_section(const char *name, const char *note);
/* "  name   value                      note": the note is dim and right-aligned at column 80; long values are folded,
 * long names have a line of their own. */
void print_row(const char *name, const char *value, const char *note);
/* A figure and its provenance, or why there is none. */
void print_figure(const char *name, const eg_metric *metric);
/* A text in so many columns: cut, or with blanks after it. */
void print_padded(const char *text, int columns);
/* Indented by two, in lines of at most 80 columns. */
void print_wrapped(const char *text);
/* Text in lines of at most 80 columns, of which the first begins at column `used` and the others at `indent`.
 * A command rather than prose has an `end` ("" or, for a shell, " \\") after all lines but the last. */
void print_folded(const char *text, size_t length, int used, int indent, const char *end);
/* "64 KiB", "32 MiB", "23.5 GiB". */
const char *format_bytes(char out[32], uint64_t bytes);
/* "1 input", "3 inputs". */
const char *format_count(char out[48], uint64_t count, const char *word);
/* Three or four digits that matter: "118.2", "3.69", "1040". */
const char *format_short(char out[32], double value);
/* "12.3 us". */
const char *format_seconds(char out[32], double seconds);
/* "1.25 mJ". */
const char *format_joules(char out[32], double joules);
/* "[2,3]". */
const char *format_shape(char out[128], unsigned rank, const uint64_t *shape);
/* A bar as high as 0..1, in eighths of a line. */
const char *format_block(double height);
/* "118.2 GFLOP/s", or "unavailable: why". */
const char *format_metric(char out[96], const eg_metric *metric);

/* ---- preset.c: how to run on a chip of the table or, with `host`, on this machine; its ceilings may be NULL */
void preset_print(const eg_preset *preset, const eg_chip *host, const eg_ceilings *ceilings);
json *preset_json(const eg_preset *preset, const eg_chip *host, const eg_ceilings *ceilings);
int preset_show(const char *chip, bool as_json); /* by name, or "all" */
/* --preset CHIP sets what was not said: the batch, the memory (never more than this machine has), and the backbone and
 * dropout of a spec of a CfC. Any pointer but `store` may be NULL. Without a chip it does nothing. */
typedef struct preset_store { /* the texts */
    char batch[24], memory[24], model[1024];
} preset_store;
int preset_apply(const char *chip, context_flags *flags, const char **batch, const char **memory,
                 const char **model, preset_store *store);
bool spec_has(const char *spec, const char *key); /* "cfc:8,in=3" has "in" */
/* "32" or "auto", which is 0; NULL leaves *out as it is. */
int read_batch(const char *text, uint64_t *out);
/* --activations: f32, bf16 or f16; NULL = f32. */
int read_activations(const char *text, eg_type *out);
/* On stderr: how far results with such activations are from those of f32, which were measured, too. */
void print_activations(eg_type type, const eg_tensor *exact, const eg_tensor *rounded);

/* ---- JSON, through jansson; a build without it refuses --json with a message. What cannot be put into a document
 * (for want of memory) is remembered: whatever writes it then fails, with a message, and writes nothing. */
bool json_usable(void);
json *json_new_object(void);
json *json_new_list(void);
void json_put(json *object, const char *key, json *value); /* takes the value over */
/* null when there is none; bytes that are not UTF-8 are shown as \xNN. */
void json_put_text(json *object, const char *key, const char *text);
void json_put_number(json *object, const char *key, double value); /* null when not finite */
void json_put_count(json *object, const char *key, uint64_t value);
void json_put_flag(json *object, const char *key, bool value);
void json_put_metric(json *object, const char *key, const eg_metric *metric);
void json_append(json *list, json *value); /* takes the value over */
void json_append_count(json *list, uint64_t value);
void json_append_text(json *list, const char *text);
void json_append_number(json *list, double value); /* null when not finite */
/* Prints and frees. */
int json_print(json *document);
/* One line, at once in the file; frees. */
int json_write_line(json *document, FILE *file);
/* An object from a file, whose numbers, truths and lists of texts were made texts: "1.5", "true", "a,b".
 * NULL and a message otherwise. */
json *json_read_texts(const char *path, char message[256]);
/* Calls `each` for all members until one fails. */
int json_each_text(json *object, int (*each)(void *user, const char *key, const char *text),
                   void *user);
void json_free(json *document); /* NULL is fine */
/* Whole documents, for those who read them; NULL and a message when it cannot be read. What is not there is
 * NULL, NaN or 0; `object` and `list` may be NULL. */
json *json_read_file(const char *path, char message[256]);
json *json_read_text(const char *text); /* NULL when it is no JSON */
json *json_get(const json *object, const char *key);
double json_number(const json *object, const char *key);
size_t json_length(const json *list);
double json_item_number(const json *list, size_t index);
/* As text in memory that the caller frees; NULL after a failure, whose message was printed. */
char *json_dump_text(const json *document);

#endif
