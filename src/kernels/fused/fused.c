/* What all fused kernels share: names, the check of a program, use as an epilogue. */
#include "kernels/fused/fused.h"

static const struct {
    const char *name;
    unsigned inputs, flops;
} operations[EG__FUSED_COUNT] = {
#define ROW(name, inputs, text, flops) {text, inputs, flops},
    EG__FUSED_MAP(ROW)
#undef ROW
};

const char *eg__fused_op_name(eg__fused_op op) {
    return (unsigned)op < EG__FUSED_COUNT ? operations[op].name : "unknown";
}

unsigned eg__fused_op_inputs(eg__fused_op op) {
    return (unsigned)op < EG__FUSED_COUNT ? operations[op].inputs : 0;
}

unsigned eg__fused_op_flops(eg__fused_op op) {
    return (unsigned)op < EG__FUSED_COUNT ? operations[op].flops : 0;
}

eg_status eg__fused_check(const eg__fused_program *program, eg_error *error) {
    if (program->length > EG__FUSED_INSTRUCTIONS || program->operands > EG__FUSED_OPERANDS)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a fused program of %u instructions and %u operands is out of "
                        "range",
                        program->length, program->operands);
    unsigned written = 0;
    for (unsigned i = 0; i < program->operands; i++)
        if (program->kind[i] > EG__SCALAR)
            return eg__fail(error, EG_ERR_ARGUMENT, "operand %u has unknown kind %u", i,
                            program->kind[i]);
    for (unsigned i = 0; i < program->length; i++) {
        const eg__fused_instruction *code = &program->code[i];
        const uint8_t inputs[3] = {code->a, code->b, code->c};
        if (code->op >= EG__FUSED_COUNT)
            return eg__fail(error, EG_ERR_ARGUMENT, "instruction %u: unknown operation %u", i,
                            code->op);
        for (unsigned k = 0; k < operations[code->op].inputs; k++) {
            bool is_register = inputs[k] < EG__FUSED_REGISTERS;
            if (is_register ? !(written >> inputs[k] & 1)
                            : inputs[k] >= EG__OPERAND(program->operands))
                return eg__fail(error, EG_ERR_ARGUMENT,
                                "instruction %u (%s): input %u reads register %u, which is not set",
                                i, operations[code->op].name, k, inputs[k]);
        }
        if (code->out < EG__FUSED_REGISTERS) written |= 1u << code->out;
        else if (code->out >= EG__OPERAND(program->operands) ||
                 program->kind[code->out - EG__FUSED_REGISTERS] != EG__FULL)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "instruction %u (%s): writes register %u, which is not a full operand",
                            i, operations[code->op].name, code->out);
    }
    return EG_OK;
}

/* ---- superinstructions */
typedef struct pair {
    uint8_t first, second, joined;
} pair;
static const pair pairs[] = {
    {EG__FUSED_ADD, EG__FUSED_TANH, EG__FUSED_ADD_TANH},
    {EG__FUSED_ADD, EG__FUSED_SIGMOID, EG__FUSED_ADD_SIGMOID},
    {EG__FUSED_ADD, EG__FUSED_SILU, EG__FUSED_ADD_SILU},
    {EG__FUSED_ADD, EG__FUSED_RELU, EG__FUSED_ADD_RELU},
    {EG__FUSED_FMA, EG__FUSED_TANH, EG__FUSED_FMA_TANH},
    {EG__FUSED_FMA, EG__FUSED_SIGMOID, EG__FUSED_FMA_SIGMOID},
};

static bool reads(const eg__fused_instruction *code, uint8_t place) {
    const unsigned inputs = operations[code->op].inputs;
    return (inputs > 0 && code->a == place) || (inputs > 1 && code->b == place) ||
           (inputs > 2 && code->c == place);
}

/* Whether only `reader` reads the register that instruction i writes. */
static bool only_reader(const eg__fused_program *p, unsigned i, unsigned reader) {
    const uint8_t place = p->code[i].out;
    if (place >= EG__FUSED_REGISTERS) return false;
    for (unsigned k = i + 1; k < p->length; k++) {
        if (k != reader && reads(&p->code[k], place)) return false;
        if (k >= reader && p->code[k].out == place) break;
        if (k < reader && p->code[k].out == place) return false;
    }
    return true;
}

/* Nothing between i and `user` writes what instruction i reads, so that it may come later. An operand
 * that is written may be the memory of one that is read. */
static bool can_wait(const eg__fused_program *p, unsigned i, unsigned user) {
    for (unsigned k = i + 1; k < user; k++)
        if (p->code[k].out >= EG__FUSED_REGISTERS || reads(&p->code[i], p->code[k].out))
            return false;
    return true;
}

static eg__fused_instruction join(const eg__fused_instruction *first,
                                  const eg__fused_instruction *second) {
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].first == first->op && pairs[i].second == second->op)
            return (eg__fused_instruction){pairs[i].joined, second->out, first->a, first->b,
                                           first->c};
    /* (b - a) * c + a with the factors in either order, unless the difference overwrote a */
    const bool left = second->a == first->out;
    if (first->op == EG__FUSED_SUB && second->op == EG__FUSED_FMA && second->c == first->b &&
        second->c != first->out && second->a != second->b)
        return (eg__fused_instruction){EG__FUSED_LERP, second->out, first->b, first->a,
                                       left ? second->b : second->a};
    return (eg__fused_instruction){EG__FUSED_COUNT, 0, 0, 0, 0};
}

void eg__fused_join(eg__fused_program *p) {
    for (unsigned i = 0; i < p->length; i++)
        for (unsigned k = i + 1; k < p->length; k++) {
            if (!reads(&p->code[k], p->code[i].out)) continue;
            const eg__fused_instruction joined = join(&p->code[i], &p->code[k]);
            if (joined.op == EG__FUSED_COUNT || !only_reader(p, i, k) || !can_wait(p, i, k)) break;
            p->code[k] = joined;
            p->length--;
            for (unsigned n = i; n < p->length; n++) p->code[n] = p->code[n + 1];
            i--;
            break;
        }
}

bool eg__fused_is_flat(const eg__fused_f32_args *args) {
    for (unsigned i = 0; i < args->program->operands; i++) {
        unsigned kind = args->program->kind[i];
        if (kind == EG__ROW || kind == EG__COLUMN) return false;
        if (kind == EG__FULL && args->operand[i].stride != args->columns) return false;
    }
    return true;
}

static void apply(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                  size_t column, size_t columns) {
    (void)c, (void)c_stride; /* C is one of the operands */
    const eg__fused_epilogue *fused = user;
    eg__fused_f32_args part = fused->args;
    part.rows = rows;
    part.columns = columns;
    for (unsigned i = 0; i < part.program->operands; i++) {
        unsigned kind = part.program->kind[i];
        if (kind == EG__FULL || kind == EG__ROW)
            part.operand[i].data += row * part.operand[i].stride;
        if (kind == EG__FULL || kind == EG__COLUMN) part.operand[i].data += column;
    }
    fused->kernel(&part);
}

eg__epilogue eg__fused_epilogue_use(const eg__fused_epilogue *fused) {
    eg__epilogue epilogue = {apply, fused};
    return epilogue;
}
