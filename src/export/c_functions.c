/* Functions that exported code calls; only those that it does call are written. */
#include "export/c.h"

#include <string.h>

/* A function that rounds floats to f16 or bf16 precision: the exponent gives the weight of the last
 * digit; for denormals it is the smallest exponent. */
#define ROUND(name, least, digits, most)                             \
    "static float " name "(float x) {\n"                             \
    "    int e;\n"                                                   \
    "    if (!(fabsf(x) < INFINITY)) return x;\n"                    \
    "    (void)frexpf(x, &e);\n"                                     \
    "    e = (e < " least " ? " least " : e) - " digits ";\n"        \
    "    x = ldexpf(rintf(ldexpf(x, -e)), e);\n"                     \
    "    return fabsf(x) > " most " ? copysignf(INFINITY, x) : x;\n" \
    "}\n"

static const eg__c_function functions[] = {
    {"sigmoid", "static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }\n"},
    {"silu", "static float silu(float x) { return x / (1.0f + expf(-x)); }\n"},
    {"relu", "static float relu(float x) { return x < 0.0f ? 0.0f : x; }\n"},
    {"gelu", "static float gelu(float x) { return 0.5f * x * erfcf(x * -0.707106781f); }\n"},
    {"softplus", "static float softplus(float x) {\n"
                 "    return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));\n"
                 "}\n"},
    {"round_f16", ROUND("round_f16", "-13", "11", "65504.0f")},
    {"round_bf16", ROUND("round_bf16", "-125", "8", "3.38953139e38f")},
    {"least", "static float least(float a, float b) { return a < b || a != a ? a : b; }\n"},
    {"largest", "static float largest(float a, float b) { return a > b || a != a ? a : b; }\n"},
};
static const eg__c_functions math = {functions, sizeof functions / sizeof *functions};

/* A function is called only by later ones. */
static const eg__c_functions *const lists[] = {
    &math,
    &eg__c_functions_products,
    &eg__c_functions_rows,
    &eg__c_functions_moves,
    &eg__c_functions_synapses,
    &eg__c_functions_attention,
    &eg__c_functions_conv,
    &eg__c_functions_quantized,
};
enum { LISTS = sizeof lists / sizeof *lists, MOST = 64 }; /* one bit each */

/* Behind the lists: functions that kinds of steps bring themselves. */
static const eg__c_step *const kinds[EG__STEP_COUNT] = {
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, c, ...) &eg__c_step_##c,
#include "graph/steps/steps.def"
};
static const eg__c_function *function_of_kinds(unsigned i) {
    for (unsigned kind = 0; kind < EG__STEP_COUNT; kind++)
        if (kinds[kind]->function.text && i-- == 0) return &kinds[kind]->function;
    return NULL;
}

/* NULL past the last. */
static const eg__c_function *function(unsigned i) {
    unsigned list = 0;
    while (list < LISTS && i >= lists[list]->count) i -= (unsigned)lists[list++]->count;
    return list < LISTS ? &lists[list]->list[i] : function_of_kinds(i);
}

bool eg__c_is_function(const char *name) {
    for (unsigned i = 0; function(i); i++)
        if (strcmp(function(i)->name, name) == 0) return true;
    return false;
}

static bool calls(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if (at[length] == '(' && (at == text || at[-1] == ' ')) return true;
    return false;
}

/* A function and those it calls, which come before it. */
static void need(eg__c_export *x, const char *name) {
    unsigned i = 0;
    while (i < MOST && function(i) && strcmp(function(i)->name, name) != 0) i++;
    if (i == MOST) eg__c_fail(x, EG_ERR_OVERFLOW, "more than %d functions of exported C", MOST);
    if (i == MOST || !function(i)) return;
    x->functions |= UINT64_C(1) << i;
    for (unsigned before = 0; before < i; before++)
        if (calls(function(i)->text, function(before)->name)) need(x, function(before)->name);
}

static void need_fused(eg__c_export *x, const eg__fused_program *program) {
    for (unsigned i = 0; i < program->length; i++) {
        const char *text = eg__c_operation(program->code[i].op);
        if (!text) {
            eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for the operation '%s' of a step 'fused'",
                       eg__fused_op_name(program->code[i].op));
            return;
        }
        for (unsigned h = 0; h < MOST && function(h); h++)
            if (calls(text, function(h)->name)) need(x, function(h)->name);
    }
}

const char *eg__c_function_of(const eg__step *step) {
    const eg__c_step *row = eg__c_row(step);
    return row->function_of ? row->function_of(step) : row->function.name;
}

void eg__c_need_functions(eg__c_export *x, const eg__step *step) {
    const char *name = eg__c_function_of(step);
    const eg__fused_program *chain = eg__step_shape_of(step, 1).program;
    if (!eg__c_row(step)->write)
        eg__c_fail(x, EG_ERR_UNSUPPORTED, "no C for a step '%s'", step->name);
    if (name) need(x, name);
    if (chain) need_fused(x, chain);
}

bool eg__c_needs_integers(const eg__c_export *x) {
    for (unsigned i = 0; i < MOST && function(i); i++) {
        const char *text = function(i)->text;
        if (x->functions >> i & 1 &&
            (strstr(text, "int8_t") || strstr(text, "int16_t") || strstr(text, "int32_t")))
            return true;
    }
    return false;
}

void eg__c_write_functions(eg__c_export *x) {
    for (unsigned i = 0; i < MOST && function(i); i++)
        if (x->functions >> i & 1) eg__c_put(x, "\n%s", function(i)->text);
}
