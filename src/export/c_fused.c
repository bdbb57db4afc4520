/* Register programs as loops over elements, one statement for every instruction. */
#include "export/c.h"

#include <string.h>

static const char *const operations[EG__FUSED_COUNT] = {
    [EG__FUSED_COPY] = "$a",
    [EG__FUSED_ADD] = "$a + $b",
    [EG__FUSED_SUB] = "$a - $b",
    [EG__FUSED_MUL] = "$a * $b",
    [EG__FUSED_DIV] = "$a / $b",
    [EG__FUSED_MIN] = "least($a, $b)",
    [EG__FUSED_MAX] = "largest($a, $b)",
    [EG__FUSED_FMA] = "$a * $b + $c",
    [EG__FUSED_NEG] = "-$a",
    [EG__FUSED_ABS] = "fabsf($a)",
    [EG__FUSED_SQRT] = "sqrtf($a)",
    [EG__FUSED_RSQRT] = "1.0f / sqrtf($a)",
    [EG__FUSED_EXP] = "expf($a)",
    [EG__FUSED_LOG] = "logf($a)",
    [EG__FUSED_TANH] = "tanhf($a)",
    [EG__FUSED_SIGMOID] = "sigmoid($a)",
    [EG__FUSED_SOFTPLUS] = "softplus($a)",
    [EG__FUSED_ERF] = "erff($a)",
    [EG__FUSED_GELU] = "gelu($a)",
    [EG__FUSED_SILU] = "silu($a)",
    [EG__FUSED_RELU] = "relu($a)",
    [EG__FUSED_SIN] = "sinf($a)",
    [EG__FUSED_COS] = "cosf($a)",
    [EG__FUSED_ROUND_F16] = "round_f16($a)",
    [EG__FUSED_ROUND_BF16] = "round_bf16($a)",
    [EG__FUSED_POW] = "powf($a, $b)",
    [EG__FUSED_LT] = "$a < $b ? 1.0f : 0.0f",
    [EG__FUSED_LE] = "$a <= $b ? 1.0f : 0.0f",
    [EG__FUSED_EQ] = "$a == $b ? 1.0f : 0.0f",
    [EG__FUSED_NE] = "$a != $b ? 1.0f : 0.0f",
    [EG__FUSED_SELECT] = "$a != 0.0f ? $b : $c",
    [EG__FUSED_LERP] = "$a + $c * ($b - $a)",
    [EG__FUSED_ADD_TANH] = "tanhf($a + $b)",
    [EG__FUSED_ADD_SIGMOID] = "sigmoid($a + $b)",
    [EG__FUSED_ADD_SILU] = "silu($a + $b)",
    [EG__FUSED_ADD_RELU] = "relu($a + $b)",
    [EG__FUSED_FMA_TANH] = "tanhf($a * $b + $c)",
    [EG__FUSED_FMA_SIGMOID] = "sigmoid($a * $b + $c)",
};

const char *eg__c_operation(eg__fused_op op) {
    return (unsigned)op < EG__FUSED_COUNT ? operations[op] : NULL;
}

typedef struct loop {
    eg__c_export *x;
    const eg__step *step;
    const eg__c_frame *frame;
    const eg__fused_program *program;
    unsigned first; /* operand of the step that is the program's first */
    size_t rows, columns;
    int value[EG__FUSED_REGISTERS + EG__FUSED_OPERANDS]; /* number of what a place holds; -1 */
    int values;
} loop;

static void element(const loop *l, unsigned i, char out[EG__C_TEXT]) {
    const unsigned operand = l->first + i;
    const float *literal = eg__c_literal(l->x, l->step, l->frame, operand);
    char terms[EG__C_TEXT], number[32];
    out[0] = 0;
    if (literal) {
        eg__c_add(out, *literal < 0 ? "(%s)" : "%s", eg__c_number(*literal, number));
        return;
    }
    const eg__fused_kind kind = l->program->kind[i];
    const size_t stride = l->step->operand[operand].stride;
    eg__c_place(l->x, l->step, l->frame, operand, out, terms);
    if (out[0] == '(') eg__c_fail(l->x, EG_ERR_UNSUPPORTED, "no C for a step 'fused' on integers");
    if (l->rows > 1 && stride && (kind == EG__FULL || kind == EG__ROW))
        eg__c_add(terms, "%sr * %zu", terms[0] ? " + " : "", stride);
    if (l->columns > 1 && (kind == EG__FULL || kind == EG__COLUMN))
        eg__c_add(terms, "%si", terms[0] ? " + " : "");
    eg__c_add(out, "[%s]", terms[0] ? terms : "0");
}

static bool reads(const eg__fused_instruction *code, uint8_t place) {
    const unsigned inputs = eg__fused_op_inputs(code->op);
    return (inputs > 0 && code->a == place) || (inputs > 1 && code->b == place) ||
           (inputs > 2 && code->c == place);
}

static bool is_read(const eg__fused_program *p, unsigned i) {
    const uint8_t place = p->code[i].out;
    for (unsigned k = i + 1; k < p->length; k++) {
        if (reads(&p->code[k], place)) return true;
        if (p->code[k].out == place) return false;
    }
    return false;
}

static void input(const loop *l, uint8_t place, char out[EG__C_TEXT]) {
    out[0] = 0;
    if (l->value[place] >= 0) eg__c_add(out, "v%d", l->value[place]);
    else element(l, place - EG__FUSED_REGISTERS, out);
}

static void expression(const loop *l, const eg__fused_instruction *code, char out[1024]) {
    const uint8_t at[3] = {code->a, code->b, code->c};
    char in[3][EG__C_TEXT] = {"", "", ""};
    for (unsigned k = 0; k < eg__fused_op_inputs(code->op); k++) input(l, at[k], in[k]);
    size_t length = 0;
    for (const char *p = operations[code->op]; *p; p++) {
        if (*p != '$') {
            out[length++] = *p;
            continue;
        }
        const char *text = in[*++p - 'a'];
        memcpy(out + length, text, strlen(text));
        length += strlen(text);
    }
    out[length] = 0;
}

static void instruction(loop *l, unsigned i) {
    const eg__fused_instruction *code = &l->program->code[i];
    const bool stores = code->out >= EG__FUSED_REGISTERS, kept = is_read(l->program, i);
    char text[1024], to[EG__C_TEXT];
    expression(l, code, text);
    if (kept) {
        l->value[code->out] = l->values++;
        eg__c_line(l->x, "const float v%d = %s;", l->value[code->out], text);
    }
    if (!stores) return;
    element(l, code->out - EG__FUSED_REGISTERS, to);
    if (kept) eg__c_line(l->x, "%s = v%d;", to, l->value[code->out]);
    else eg__c_line(l->x, "%s = %s;", to, text);
}

/* Rows that can be joined into one. */
static bool is_flat(const loop *l) {
    for (unsigned i = 0; i < l->program->operands; i++) {
        const unsigned kind = l->program->kind[i];
        if (kind == EG__ROW || kind == EG__COLUMN) return false;
        if (kind == EG__FULL && l->step->operand[l->first + i].stride != l->columns) return false;
    }
    return true;
}

void eg__c_write_fused(eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                       const eg__fused_program *program, unsigned first, size_t rows,
                       size_t columns) {
    loop l = {x, step, frame, program, first, rows, columns, {0}, 0};
    for (unsigned i = 0; i < EG__FUSED_REGISTERS + EG__FUSED_OPERANDS; i++) l.value[i] = -1;
    if (rows > 1 && is_flat(&l)) l.columns *= rows, l.rows = 1;
    if (l.rows > 1 && l.columns > 1) eg__c_line(x, "for (int r = 0; r < %zu; r++)", l.rows);
    else if (l.rows > 1) eg__c_open(x, "for (int r = 0; r < %zu; r++)", l.rows);
    if (l.rows > 1 && l.columns > 1) x->indent++;
    if (l.columns > 1) eg__c_open(x, "for (int i = 0; i < %zu; i++)", l.columns);
    else if (l.rows == 1) {
        eg__c_line(x, "{");
        x->indent++;
    }
    for (unsigned i = 0; i < program->length; i++) instruction(&l, i);
    eg__c_close(x);
    if (l.rows > 1 && l.columns > 1) x->indent--;
}

size_t eg__c_chain(eg__fused_kind kind, size_t stride, size_t rows, size_t columns) {
    switch (kind) {
    case EG__FULL: return eg__c_rows(rows, stride, columns);
    case EG__ROW: return eg__c_rows(rows, stride, 1);
    case EG__COLUMN: return columns;
    case EG__SCALAR: break;
    }
    return 1;
}

static size_t span(const eg__c_export *x, const eg__step *step, const eg__c_frame *frame,
                   unsigned i) {
    const size_t flat = step->u.fused.flat;
    (void)x;
    return eg__c_chain(step->u.fused.program.kind[i], step->operand[i].stride,
                       flat ? 1 : frame->count * step->rows, flat ? flat : step->columns);
}

static void write_step(eg__c_writing *w) {
    const eg__step *step = w->step;
    const size_t flat = step->u.fused.flat;
    eg__c_write_fused(w->x, step, w->frame, &step->u.fused.program, 0, flat ? 1 : w->rows,
                      flat ? flat : step->columns);
}

const eg__c_step eg__c_step_fused = {.span = span, .write = write_step};
