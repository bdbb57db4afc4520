/* What the parts of elegans entropy share: the input, what is gathered along it, and its outputs. */
#ifndef EG__CLI_ENTROPY_H
#define EG__CLI_ENTROPY_H

#include "cli/cli.h"

/* ---- entropy_input.c: a file, a pipe or "-", read in pieces, twice if need be */
typedef struct entropy_input {
    const char *path;
    FILE *file;
} entropy_input;
/* With `again` the input can be rewound: what is no file is copied to a temporary one. Close it, also after
 * a failure. */
int entropy_open(entropy_input *input, const char *path, bool again);
void entropy_close(entropy_input *input);
/* Calls `take` with the entropies of all places, in order, until it fails. */
typedef int entropy_taker(void *user, const float *entropies, size_t count);
int entropy_walk(entropy_input *input, eg_context *context, uint64_t window, entropy_taker *take,
                 void *user);

/* ---- entropy_json.c: one document, written as the entropies come */
typedef struct entropy_json {
    output_file out;
    FILE *sizes; /* those of the patches, until the entropies are complete; NULL = not wanted */
    bool started;
    char heads[1001][8], tails[1000][4]; /* ",0.123", "456" */
} entropy_json;
int entropy_json_begin(entropy_json *j, const char *path, uint64_t window, bool patches);
void entropy_json_add(entropy_json *j, const float *entropies, size_t count);
void entropy_json_patch(entropy_json *j, const uint32_t *sizes, size_t count);
/* `statistics` NULL = no patches. */
int entropy_json_end(entropy_json *j, const eg_entropy_column *all, const eg_patch_options *options,
                     const eg_patch_statistics *statistics);
void entropy_json_abort(entropy_json *j);
const char *patch_mode_name(eg_patch_mode mode);

#endif
