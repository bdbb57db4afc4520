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

/* ---- entropy_curve.c: an input of any length in at most CURVE_MOST columns. When they are full, two
 * become one, so that the length need not be known before. */
enum { CURVE_MOST = 1024, CURVE_CUTS = 256 };
typedef struct curve_column {
    double sum;        /* of the entropies */
    double sizes;      /* of the patch that each byte lies in */
    float least, most; /* entropy */
    uint64_t count;    /* bytes */
} curve_column;
typedef struct entropy_curve {
    uint64_t per; /* bytes of a column */
    size_t count;
    uint64_t bytes, patches;
    double low, high;          /* thresholds */
    uint64_t calm, busy;       /* bytes at most `low`, at least `high` */
    uint64_t place;            /* where the next patch begins */
    uint64_t cuts[CURVE_CUTS]; /* where the first patches end */
    curve_column columns[CURVE_MOST];
} entropy_curve;
void curve_start(entropy_curve *curve, double low, double high);
void curve_add(entropy_curve *curve, const float *entropies, size_t count);
/* After the entropies of its bytes. */
void curve_add_patch(entropy_curve *curve, uint32_t size);
/* All columns together. */
curve_column curve_all(const entropy_curve *curve);

/* ---- entropy_json.c: one document, written as the entropies come */
typedef struct entropy_json {
    output_file out;
    FILE *sizes; /* those of the patches, until the entropies are complete; NULL = not wanted */
    bool started;
    char digits[1000][4]; /* "000" to "999" */
} entropy_json;
int entropy_json_begin(entropy_json *j, const char *path, uint64_t window, bool patches);
void entropy_json_add(entropy_json *j, const float *entropies, size_t count);
void entropy_json_patch(entropy_json *j, const uint32_t *sizes, size_t count);
/* `statistics` NULL = no patches. */
int entropy_json_end(entropy_json *j, const entropy_curve *curve, const eg_patch_options *options,
                     const eg_patch_statistics *statistics);
void entropy_json_abort(entropy_json *j);
const char *patch_mode_name(eg_patch_mode mode);

/* ---- entropy_svg.c */
int entropy_svg_write(const char *path, const char *title, uint64_t window,
                      const entropy_curve *curve, bool thresholds);

#endif
