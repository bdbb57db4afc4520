/* What all fused kernels share: names, the check of a program, use as an epilogue. */
#include "kernels/fused.h"

static const struct {
    const char *name;
    unsigned inputs;
} operations[EG__FUSED_COUNT] = {
#define ROW(name, inputs, text) {text, inputs},
    EG__FUSED_MAP(ROW)
#undef ROW
};

const char *eg__fused_op_name(eg__fused_op op) {
    return (unsigned)op < EG__FUSED_COUNT ? operations[op].name : "unknown";
}

unsigned eg__fused_op_inputs(eg__fused_op op) {
    return (unsigned)op < EG__FUSED_COUNT ? operations[op].inputs : 0;
}

eg_status eg__fused_check(const eg__fused_program *program, eg_error *error) {
    if (program->length > EG__FUSED_INSTRUCTIONS || program->operands > EG__FUSED_OPERANDS)
        return eg__fail(error, EG_ERR_ARGUMENT, "fused program of %u instructions, %u operands",
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
                                "instruction %u (%s): input %u reads place %u, which holds nothing",
                                i, operations[code->op].name, k, inputs[k]);
        }
        if (code->out < EG__FUSED_REGISTERS) written |= 1u << code->out;
        else if (code->out >= EG__OPERAND(program->operands) ||
                 program->kind[code->out - EG__FUSED_REGISTERS] != EG__FULL)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "instruction %u (%s): writes place %u, which is no full operand", i,
                            operations[code->op].name, code->out);
    }
    return EG_OK;
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
