/* What the commands share: options, text for terminals, JSON. Public interface of the library only. */
#ifndef EG__CLI_H
#define EG__CLI_H

#include "elegans/elegans.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_SLOWER = 3,
    EXIT_STOPPED = 130 /* by Ctrl-C, saved */
};

/* ---- commands: one table in main.c, one file each */
typedef struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} command;
extern const command cli_commands[]; /* ends with a row of NULLs */

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
int cmd_version(int argc, char **argv);
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

/* Reads options out of argv; what remains is moved to its front and counted in *rest. Returns -1 to
 * go on, or the exit code after --help or a mistake, which was printed. */
int options_read(const usage *use, int argc, char **argv, int *rest);
/* The same from a JSON object: {"epochs": 20, "inputs": ["a", "b"], "last": true} for --epochs 20
 * --inputs a,b --last. What it holds lives as long as *document. */
typedef struct json_t json;
int options_config(const usage *use, const char *path, json **document);
/* Prints "elegans: ..." and, for a usage mistake, where to find help. Returns `code`. */
int fail(int code, const char *format, ...) EG_PRINTF(2, 3);
/* 4096, 64K, 256M, 2G, with binary units; false when it is none of these. */
bool parse_bytes(const char *text, uint64_t *out);
/* The options that all commands with a context share. */
typedef struct context_flags {
    const char *isa, *root;
    uint64_t threads;
    bool no_map; /* weights are read, not mapped */
} context_flags;
#define CONTEXT_OPTIONS(flags)                                                                     \
    {"--threads", OPTION_COUNT, &(flags).threads, "N", "threads to use (default: fastest cores)"}, \
    {                                                                                              \
        "--isa", OPTION_TEXT, &(flags).isa, "NAME", "kernels to use: ref, avx2, avx512, neon"      \
    }
/* Returns -1 to go on, or the exit code after a message. Warnings of the library go to stderr. */
int context_open(const context_flags *flags, eg_context **out);

/* ---- output_file.c: a file that takes its name when it is complete; a pipe or device is written straight;
 * without a path, stdout. All return -1 to go on, or the exit code after a message. */
typedef struct output_file {
    const char *path;
    char *temporary, *real;
    FILE *file;
} output_file;
int output_begin(output_file *o, const char *path);
int output_end(output_file *o);
void output_abort(output_file *o); /* instead of the end: what was there before stays */
/* Whether a file could be written there, before there is anything to write. */
int output_check(const char *path, bool regular);
bool output_device(const char *path); /* there is something that is neither file nor folder */

/* ---- text */
/* Colours only on a terminal, and never when NO_COLOR is set. */
const char *style_bold(void);
const char *style_dim(void);
const char *style_end(void);
void print_title(const char *left, const char *right);
void print_section(const char *name, const char *note);
/* "  name   value                      note": the note is dim and right-aligned at column 80. */
void print_row(const char *name, const char *value, const char *note);
/* Indented by two, in lines of at most 80 columns. */
void print_wrapped(const char *text);
/* "64 KiB", "32 MiB", "23.5 GiB". */
const char *format_bytes(char out[32], uint64_t bytes);
/* Three or four digits that matter: "118.2", "3.69", "1040". */
const char *format_short(char out[32], double value);
/* "12.3 us". */
const char *format_seconds(char out[32], double seconds);
/* "118.2 GFLOP/s", or "unavailable: why". */
const char *format_metric(char out[96], const eg_metric *metric);

/* ---- preset.c: how to run on a chip of the table or, with `host`, on this machine; its ceilings may be NULL */
void preset_print(const eg_preset *preset, const eg_chip *host, const eg_ceilings *ceilings);
json *preset_json(const eg_preset *preset, const eg_chip *host, const eg_ceilings *ceilings);
int preset_show(const char *chip, bool as_json); /* by name, or "all"; returns the exit code */

/* ---- JSON, through jansson; a build without it refuses --json with a message */
bool json_usable(void);
json *json_new_object(void);
json *json_new_list(void);
void json_put(json *object, const char *key, json *value); /* takes the value over */
void json_put_text(json *object, const char *key, const char *text);
void json_put_number(json *object, const char *key, double value); /* null when not finite */
void json_put_count(json *object, const char *key, uint64_t value);
void json_put_flag(json *object, const char *key, bool value);
void json_put_metric(json *object, const char *key, const eg_metric *metric);
void json_append(json *list, json *value); /* takes the value over */
void json_append_count(json *list, uint64_t value);
void json_append_text(json *list, const char *text);
void json_append_number(json *list, double value); /* null when not finite */
/* Prints, frees, and returns the exit code. */
int json_print(json *document);
/* One line, at once in the file; frees. False when it could not be written. */
bool json_write_line(json *document, FILE *file);
/* An object from a file, whose numbers, truths and lists of texts were made texts: "1.5", "true", "a,b".
 * NULL and a message otherwise. */
json *json_read_texts(const char *path, char message[256]);
/* Calls `each` for all members until it returns something else than -1, which is returned. */
int json_each_text(json *object, int (*each)(void *user, const char *key, const char *text),
                   void *user);
void json_free(json *document); /* NULL is fine */
/* Whole documents, for those who read them; NULL and a message when it cannot be read. What is not there is
 * NULL, "", NaN or 0; `object` and `list` may be NULL. */
json *json_read_file(const char *path, char message[256]);
json *json_get(const json *object, const char *key);
const char *json_text(const json *object, const char *key);
double json_number(const json *object, const char *key);
bool json_flag(const json *object, const char *key);
size_t json_length(const json *list);
json *json_item(const json *list, size_t index);
double json_item_number(const json *list, size_t index);
/* The members of an object in their order, until `each` returns false. */
void json_each(json *object, bool (*each)(void *user, const char *key, json *value), void *user);
/* As text in memory that the caller frees; NULL = no memory. */
char *json_dump_text(const json *document);

#endif
