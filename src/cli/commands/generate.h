/* What elegans generate was asked for, and what came of it. */
#ifndef EG__GENERATE_H
#define EG__GENERATE_H

#include "cli/commands/bytes.h"
#include "cli/commands/language.h"

typedef struct generate_settings {
    const char *model, *prompt, *tokenizer, *cache;
    size_t prompt_length;
    uint64_t count;
    eg_sampling sampling;
    bool stats, json, ignore_end;
} generate_settings;

typedef struct generate_result {
    uint64_t prompt_tokens, tokens; /* given, and made */
    uint64_t
        steps; /* runs of one token: the first token comes of the prompt, the last needs none */
    double begun, ready_seconds;    /* opening and compiling; measured */
    double prompt_seconds, seconds; /* measured */
    double read;                    /* bytes that all steps of decoding read; counted */
    const char *stopped;            /* "length", "end", "context", "interrupt", "closed"; static */
    eg_generator_info info;
    bytes text;
    uint32_t *ids;
} generate_result;

void generate_print_stats(eg_context *context, const language *l, const generate_result *r);
int generate_print_json(eg_context *context, const language *l, const generate_settings *w,
                        const generate_result *r);

#endif
