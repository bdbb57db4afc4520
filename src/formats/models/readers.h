/* Formats of models: readers.def as a table, and the choice of a reader. */
#ifndef EG__READERS_H
#define EG__READERS_H

#include "formats/files/head.h"
#include "nn/model.h"

typedef bool eg__reader_is(const eg__head *head);
typedef eg_status eg__reader_open(eg_context *context, const char *path, eg_model **out,
                                  eg_error *error);
typedef eg_status eg__reader_load(eg_context *context, const char *path, const char *config,
                                  eg_model **out, eg_error *error);

#define READER(what, is, open, rest, ...) \
    eg__reader_is is;                     \
    eg__reader_open open;
#define TENSORS(what, is, load, rest, ...) \
    eg__reader_is is;                      \
    eg__reader_load load;
#define FOREIGN(what, is, way, ...) eg__reader_is is;
#define NAMED(what, way, ...)
#include "formats/models/readers.def"

typedef enum eg__reader_rest { EG__REST_NONE, EG__REST_FILE, EG__REST_FOLDER } eg__reader_rest;

typedef struct eg__reader {
    const char *what;
    eg__reader_is *is;     /* NULL = its bytes tell nothing */
    eg__reader_open *open; /* of these three one is there */
    eg__reader_load *load;
    const char *way;
    eg__reader_rest rest;
    const char *ends[4];
} eg__reader;

const eg__reader *eg__reader_at(size_t index); /* NULL past the last */
/* The reader for a file; never NULL. For an unreadable file it is one that reports why. */
const eg__reader *eg__reader_find(const eg__head *head);
/* EG_ERR_UNSUPPORTED, what the file is, and the way to a model, unless the reader has one. */
eg_status eg__reader_check(const eg__reader *reader, const char *path, eg_error *error);

#endif
