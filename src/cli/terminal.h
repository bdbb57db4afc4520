/* What reaches a terminal: text, and the styles of text.c. Control characters that names, labels, tokens or files
 * bring along are shown (\x1b), not obeyed. */
#ifndef EG__CLI_TERMINAL_H
#define EG__CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A noncharacter of Unicode from U+FDD0 on stands for a style until it is written, with a key after it that is drawn
 * anew in every process: names and files may have the character, but cannot know the key. */
enum { TERMINAL_FIRST = 0xfdd0, TERMINAL_KEY = 16 };
typedef enum terminal_style {
    TERMINAL_PLAIN,
    TERMINAL_BOLD,
    TERMINAL_DIM,
    TERMINAL_STYLES
} terminal_style;

typedef struct terminal {
    int descriptor;
    bool returns;            /* a bar of progress goes back to the start of its line */
    const char *key;         /* TERMINAL_KEY letters; NULL = there are no styles */
    unsigned char held[4];   /* of a UTF-8 sequence that is not complete yet, or of a style */
    unsigned count, missing; /* its bytes that are there, that are not */
    bool styling;            /* a style is held, and so much of its key was there: */
    unsigned matched;
} terminal;

/* ---- terminal.c, terminal_clean.c */
/* From here on stdout and stderr are guarded where they are terminals. */
void terminal_guard(void);
bool terminal_guarded(void);                     /* stdout is, so that styles can be used */
const char *terminal_mark(terminal_style style); /* what stands for it; static, once guarded */
/* Cleans `size` bytes into `out`, which has room for TERMINAL_ROOM(size); how many they became. */
#define TERMINAL_ROOM(size) (4 * ((size) + 4) + TERMINAL_KEY)
size_t terminal_clean(terminal *t, const char *bytes, size_t size, char *out);
/* Cleans and writes; false when that fails. */
bool terminal_write(terminal *t, const char *bytes, size_t size);

/* ---- terminal_linux.c, terminal_macos.c: a stream whose bytes go through terminal_write; NULL = not possible */
FILE *terminal_open(terminal *t);

#endif
