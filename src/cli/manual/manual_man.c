/* The man page. */
#include "cli/manual/manual.h"

#include <string.h>

/* A line that groff takes as it is. */
static void plain(const char *text, size_t length) {
    if (length && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stdout);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') fputs("\\e", stdout);
        else if (text[i] == '-') fputs("\\-", stdout);
        else putchar(text[i]);
    }
}

static void text_of(const char *text) { plain(text, strlen(text)); }

static void begin(void) {
    printf(
        ".\\\" elegans help --man\n"
        ".TH ELEGANS 1 \"\" \"elegans %s\" \"User Commands\"\n"
        ".SH NAME\n"
        "elegans \\- liquid networks and transformers, tuned for the chip they run on\n"
        ".SH SYNOPSIS\n"
        ".B elegans\n.I command\n.RI [ options ]\n"
        ".SH DESCRIPTION\n"
        ".B elegans\n"
        "trains, runs, quantizes, profiles and exports liquid neural networks and transformers.\n"
        "Every figure says where it comes from: measured here, counted, simulated, modelled, from a\n"
        "data sheet (spec) or a table, or unavailable and why.\n"
        ".SH COMMANDS\n",
        eg_version());
}

/* Lines that are indented stay as they are, and so does what `all` says. */
static void lines(const char *text, bool all) {
    bool kept = false;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        const bool keep = all || text[0] == ' ';
        if (keep != kept) puts(keep ? ".nf" : ".fi");
        kept = keep;
        if (!length) puts(".PP");
        else plain(text, length), putchar('\n');
        text += length + (text[length] == '\n');
    }
    if (kept) puts(".fi");
}

static void one(const command *c, const usage *use) {
    printf(".SS \"");
    text_of(c->name);
    printf("\"\n.B elegans\n");
    text_of(use->line);
    printf("\n.PP\n");
    lines(use->about, false);
    for (const option *o = use->options; o->name; o++) {
        printf(".TP\n\\fB");
        if (option_is_output(use, o)) printf("\\-o\\fR, \\fB");
        text_of(o->name);
        printf("\\fR");
        if (o->argument) {
            printf(" \\fI");
            text_of(o->argument);
            printf("\\fR");
        }
        putchar('\n');
        lines(o->text, false);
    }
    if (!use->examples) return;
    printf(".PP\n");
    lines(use->examples, true);
}

static void end(void) {
    static const char *const codes[][2] = {
        {"0", "Done."},
        {"1", "Something failed; the message on standard error names it."},
        {"2", "The command line was wrong."},
        {"3", "baseline compare found that the model is slower than the baseline."},
        {"130", "Stopped by Ctrl-C: train, with everything saved, generate or perplexity."}};
    static const char *const variables[][2] = {
        {"NO_COLOR", "When set and not empty, no colour is used. Without it, on a terminal only."},
        {"XDG_CACHE_HOME, HOME", "Measured ceilings are stored in $XDG_CACHE_HOME/elegans or "
                                 "$HOME/.cache/elegans."},
        {"XDG_DATA_HOME", "Baselines and profiles are kept in $XDG_DATA_HOME/elegans or "
                          "$HOME/.local/share/elegans."}};
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        printf(".TP\n.B %s\n", codes[i][0]);
        lines(codes[i][1], false);
    }
    printf(".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        printf(".TP\n.B %s\n", variables[i][0]);
        lines(variables[i][1], false);
    }
    printf(".SH SEE ALSO\n.BR pkg\\-config (1):\n.B pkg\\-config \\-\\-cflags \\-\\-libs elegans\n"
           "says how to build against the library.\n");
}

const manual_form manual_man = {"man", begin, one, end};
