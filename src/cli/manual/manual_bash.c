/* Completion of the program in bash. */
#include "cli/manual/manual.h"

static void begin(void) {
    printf("# Completion of the elegans program in bash: elegans completions bash\n"
           "_elegans() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local words= files=\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words=\"");
    for (const command *c = cli_commands; c->name; c++) printf("%s ", c->name);
    printf("--help --version\"\n"
           "    else\n"
           "        case \"${COMP_WORDS[1]} $before\" in\n");
}

static void values(const command *c, const option *o, const char *name) {
    char words[MANUAL_TEXT];
    switch (manual_value_of(c, o, words)) {
    case MANUAL_NONE: return;
    case MANUAL_ANY: printf("        \"%s %s\") ;;\n", c->name, name); return;
    case MANUAL_FILE:
        printf("        \"%s %s\") words=\"%s\" files=1 ;;\n", c->name, name, words);
        return;
    case MANUAL_WORDS: break;
    }
    printf("        \"%s %s\") words=\"%s\" ;;\n", c->name, name, words);
}

static void one(const command *c, const usage *use) {
    char options[MANUAL_TEXT];
    manual_line line;
    for (const option *o = use->options; o->name; o++) {
        values(c, o, o->name);
        if (option_is_output(use, o)) values(c, o, "-o");
    }
    manual_line_of(c, use, &line);
    manual_options(use, options);
    printf("        \"%s \"*) words=\"%s%s%s\"%s ;;\n", c->name, line.words,
           line.words[0] ? " " : "", options, line.files ? " files=1" : "");
}

static void end(void) {
    printf("        esac\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "    [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
           "}\n"
           "complete -F _elegans elegans\n");
}

const manual_form manual_bash = {"bash", begin, one, end};
