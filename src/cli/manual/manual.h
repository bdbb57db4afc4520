/* All commands with their options in the words of somebody else: completions of shells, and the man page. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/cli.h"

enum { MANUAL_TEXT = 1024 };

typedef struct manual_form {
    const char *name; /* "bash" */
    void (*begin)(void);
    void (*command)(const command *c, const usage *use); /* each of them, in order */
    void (*end)(void);
} manual_form;
extern const manual_form manual_bash, manual_zsh, manual_fish, manual_man;

int manual_write(const manual_form *form); /* to stdout; returns an exit code */

/* ---- what the forms ask of an option or a command */
typedef enum manual_value { MANUAL_NONE, MANUAL_ANY, MANUAL_FILE, MANUAL_WORDS } manual_value;
/* What follows an option; `words` has those that it can be, separated by blanks, or that a file may be instead. */
manual_value manual_value_of(const command *c, const option *o, char words[MANUAL_TEXT]);
/* What the line of a command says beside options: "copy gemm kernels" of "bench copy|gemm|kernels". */
typedef struct manual_line {
    char words[MANUAL_TEXT];
    size_t place; /* of the words among its arguments, from 1 */
    bool files;   /* some arguments are names of files or models */
} manual_line;
void manual_line_of(const command *c, const usage *use, manual_line *out);
/* All options, and "-o" where --output has no other; separated by blanks. */
void manual_options(const usage *use, char words[MANUAL_TEXT]);
/* Text with `before` in front of each character that is one of `special`. */
void manual_escape(const char *text, const char *special, const char *before);

#endif
