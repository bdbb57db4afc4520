/* Bytes that may be no text: read, gathered, shown. */
#ifndef EG__CLI_BYTES_H
#define EG__CLI_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bytes {
    char *at; /* to be freed */
    size_t count, room;
} bytes;
/* Room for so many more; ends the program when there is no memory. */
void bytes_reserve(bytes *b, size_t more);
void bytes_append(bytes *b, const char *from, size_t count);
/* All of stdin, or of a file. */
int bytes_read_stdin(bytes *out);
int bytes_read_file(const char *path, bytes *out);
/* What is no printable text as \xNN, or for machines as U+FFFD. The caller frees it; never NULL. */
char *bytes_printable(const char *from, size_t length, bool for_people);

#endif
