/* elegans bench advice: every rule of advice on models that it applies to, promised and measured. */
#include "cli/commands/bench.h"

#include <math.h>
#include <string.h>

typedef struct advice_case {
    const char *rule, *model;
    uint64_t batch, seq;
    const char *isa; /* NULL = the best */
    bool no_compile;
} advice_case;
static const advice_case cases[] = {
    {"batch", "cfc:autoncp:28:4,in=8", 1, 1, NULL, false},
    {"batch", "cfc:autoncp:12:3,in=4", 1, 4, NULL, false},
    {"batch", "cfc:autoncp:40:8,in=8", 1, 1, NULL, false},
    {"batch", "ltc:autoncp:16:4,in=6,unfolds=2", 1, 1, NULL, false},
    {"threads", "cfc:autoncp:64:16,in=16", 64, 64, NULL, false},
    {"threads", "cfc:128,in=16", 64, 32, NULL, false},
    {"threads", "ltc:autoncp:64:16,in=16", 32, 16, NULL, false},
    {"data_type", "cfc:1024,in=64", 1, 1, NULL, false},
    {"data_type", "cfc:1536,in=64", 1, 1, NULL, false},
    {"data_type", "cfc:2048,in=64", 1, 1, NULL, false},
    {"data_type", "llama:4:512,vocab=2048", 1, 1, NULL, false},
    {"half", "cfc:1024,in=64", 1, 1, NULL, false},
    {"half", "cfc:1536,in=64", 1, 1, NULL, false},
    {"half", "cfc:2048,in=64", 1, 1, NULL, false},
    {"half", "llama:4:512,vocab=2048", 1, 1, NULL, false},
    {"compile", "cfc:128,in=16", 1, 1, NULL, true},
    {"compile", "cfc:autoncp:64:16,in=16", 32, 4, NULL, true},
    {"compile", "ltc:autoncp:28:4,in=8", 8, 4, NULL, true},
    {"isa", "cfc:64,in=16", 8, 1, "ref", false},
    {"isa", "ltc:autoncp:28:4,in=8", 8, 2, "ref", false},
    {"isa", "llama:2:64,vocab=128", 1, 8, "ref", false},
    {"cache", "cfc:autoncp:64:16,in=16", 16384, 16, NULL, false},
    {"cache", "cfc:128,in=16", 16384, 8, NULL, false},
    {"cache", "cfc:64,in=16,mode=pure", 32768, 8, NULL, false},
    {"cache", "cfc:32,in=8", 16384, 16, NULL, false},
    {"cache", "ltc:autoncp:64:16,in=16", 16384, 8, NULL, false},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef enum outcome { NOT_FIRED, UNTRIED, HELPS, DOES_NOT } outcome;
typedef struct advice_row {
    const advice_case *of;
    outcome outcome;
    double promised, measured; /* shares of the time of a sample */
    const char *untried;
} advice_row;

static const char *outcome_name(outcome o) {
    static const char *const names[] = {"does not apply here", "not tried", "helps",
                                        "does not help: not advised"};
    return names[o];
}

static void look_for(const eg_analysis *analysis, double seconds, advice_row *row) {
    static const eg_finding_kind kinds[] = {EG_RECOMMENDATION, EG_TRIED};
    const eg_finding *f;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; (f = eg_analysis_finding(analysis, kinds[k], i)); i++) {
            if (strcmp(f->rule, row->of->rule) != 0) continue;
            row->promised = f->gain / seconds;
            row->measured = f->measured / seconds;
            row->untried = f->untried;
            row->outcome = !isfinite(f->measured)          ? UNTRIED
                           : kinds[k] == EG_RECOMMENDATION ? HELPS
                                                           : DOES_NOT;
        }
}

static int run_case(const context_flags *flags, advice_row *row) {
    const advice_case *c = row->of;
    context_flags how = *flags;
    eg_context *context;
    eg_model *model = NULL;
    eg_profile *profile = NULL;
    eg_analysis *analysis = NULL;
    eg_error error;
    const eg_profile_options options = {
        .batch = c->batch, .seq = c->seq, .no_compile = c->no_compile, .no_cache = 1};
    const eg_try_options trying = {
        .size = sizeof trying, .seconds = 6, .bytes = UINT64_MAX, .name = c->model};
    how.threads = 1;
    if (c->isa) how.isa = c->isa;
    int code = context_open(&how, &context);
    if (code) return code;
    if (eg_model_open(context, c->model, &model, &error) ||
        eg_profile_model(model, c->model, &options, &profile, &error) ||
        eg_analyse(profile, &analysis, &error) ||
        eg_analysis_try(analysis, model, profile, &trying, &error))
        code = fail(EXIT_FAILED, "%s, %s: %s", c->rule, c->model, error.message);
    if (!code) {
        eg_statistics time;
        eg_profile_time(profile, &time);
        look_for(analysis, time.p50.value, row);
    }
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return code;
}

static void print_advice(const advice_row *row) {
    char model[64], promised[16] = "-", measured[16] = "-";
    snprintf(model, sizeof model, "%s %llux%llu", row->of->model,
             (unsigned long long)row->of->batch, (unsigned long long)row->of->seq);
    if (row->outcome != NOT_FIRED)
        snprintf(promised, sizeof promised, "%.0f %%", 100 * row->promised);
    if (row->outcome >= HELPS) snprintf(measured, sizeof measured, "%.0f %%", 100 * row->measured);
    const char *text = row->outcome == UNTRIED ? row->untried : outcome_name(row->outcome);
    printf("  %-10s %-34.34s %8s %8s  ", row->of->rule, model, promised, measured);
    print_folded(text, strlen(text), 67, 67, NULL);
    fflush(stdout);
}

static json *advice_json(const advice_row *row) {
    json *object = json_new_object();
    json_put_text(object, "rule", row->of->rule);
    json_put_text(object, "model", row->of->model);
    json_put_count(object, "batch", row->of->batch);
    json_put_count(object, "seq", row->of->seq);
    json_put_text(object, "outcome", outcome_name(row->outcome));
    json_put_number(object, "promised", row->outcome == NOT_FIRED ? NAN : row->promised);
    json_put_number(object, "measured", row->outcome >= HELPS ? row->measured : NAN);
    return object;
}

int bench_advice(const context_flags *flags, const char *filter, bool as_json) {
    if (as_json && !json_usable()) return json_print(NULL);
    json *list = as_json ? json_new_list() : NULL;
    unsigned applied = 0, helped = 0, ran = 0;
    int code = CLI_OK;
    if (!as_json) {
        print_title("Advice, tried", "of the time per sample");
        printf("  %s%-10s %-34s %8s %8s%s\n", style_dim(), "rule", "model, batch x steps",
               "promised", "measured", style_end());
    }
    for (size_t i = 0; !code && i < CASES; i++) {
        advice_row row = {.of = &cases[i]};
        if (filter && !strstr(cases[i].rule, filter)) continue;
        ran++;
        code = run_case(flags, &row);
        if (code) break;
        applied += row.outcome != NOT_FIRED;
        helped += row.outcome == HELPS;
        if (as_json) json_append(list, advice_json(&row));
        else print_advice(&row);
    }
    if (code) {
        json_free(list);
        return code;
    }
    if (!ran) {
        json_free(list);
        return fail(EXIT_FAILED, "no rule of advice contains '%s'", filter);
    }
    if (as_json) return json_print(list);
    printf("  %s%u of %u apply on this machine; %u keep at least half of what they promise%s\n",
           style_dim(), applied, ran, helped, style_end());
    return CLI_OK;
}
