/* elegans profile: what is measured, as text and as JSON. */
#ifndef EG__CLI_PROFILE_H
#define EG__CLI_PROFILE_H

#include "cli.h"

enum { PART_COMPUTE = 1, PART_MEMORY = 2, PART_HARDWARE = 4, PART_ALL = 7 };

typedef struct profile_wish {
    const char *model, *sort, *trace, *stacks, *output;
    unsigned parts;
    uint64_t top;
    bool steps, json;
} profile_wish;

/* ---- profile_text.c */
int profile_print(const eg_profile *profile, const eg_analysis *analysis, const profile_wish *wish);
/* ---- profile_json.c */
json *profile_json(eg_context *context, const eg_profile *profile, const eg_analysis *analysis,
                   unsigned parts);

#endif
