/* Whole programs of fused_f32: their check, and random ones against the reference and against their
 * own instructions one by one. */
#include "test_kernels.h"

#include <math.h>

AREA(fused_code, "random register programs, their check, several outputs, shared memory")

TEST(fused_code, names_and_inputs) {
    CHECK(strcmp(eg__fused_op_name(EG__FUSED_TANH), "tanh") == 0, "name");
    CHECK(strcmp(eg__fused_op_name(EG__FUSED_COUNT), "unknown") == 0, "unknown name");
    CHECK(eg__fused_op_inputs(EG__FUSED_SELECT) == 3 && eg__fused_op_inputs(EG__FUSED_ADD) == 2 &&
              eg__fused_op_inputs(EG__FUSED_EXP) == 1 && eg__fused_op_inputs(EG__FUSED_COUNT) == 0,
          "inputs");
}

TEST(fused_code, bad_programs) {
    const uint8_t x = EG__OPERAND(0), y = EG__OPERAND(1);
    const struct {
        eg__fused_program program;
        const char *part; /* of the message; NULL = a good program */
    } rows[] = {
        {{.length = 0, .operands = 0}, NULL},
        {{.length = 2,
          .operands = 2,
          .code = {{EG__FUSED_EXP, 7, x, 0, 0}, {EG__FUSED_ADD, y, 7, x, 0}}},
         NULL},
        {{.length = EG__FUSED_INSTRUCTIONS + 1, .operands = 2},
         "a fused program of 33 instructions and 2 operands is out of range"},
        {{.length = 1, .operands = EG__FUSED_OPERANDS + 1},
         "a fused program of 1 instructions and 17 operands is out of range"},
        {{.length = 0, .operands = 2, .kind = {EG__FULL, 4}}, "operand 1 has unknown kind 4"},
        {{.length = 1, .operands = 2, .code = {{EG__FUSED_COUNT, y, x, 0, 0}}},
         "instruction 0: unknown operation"},
        {{.length = 1, .operands = 2, .code = {{EG__FUSED_EXP, y, 3, 0, 0}}},
         "instruction 0 (exp): input 0 reads register 3, which is not set"},
        {{.length = 1, .operands = 2, .code = {{EG__FUSED_SUB, y, x, 0, 0}}},
         "instruction 0 (sub): input 1 reads register 0, which is not set"},
        {{.length = 1, .operands = 2, .code = {{EG__FUSED_FMA, y, x, x, EG__OPERAND(2)}}},
         "instruction 0 (fma): input 2 reads register 10, which is not set"},
        {{.length = 1, .operands = 2, .code = {{EG__FUSED_EXP, y, 255, 0, 0}}}, "register 255"},
        {{.length = 1, .operands = 2, .code = {{EG__FUSED_ADD, 0, 0, x, 0}}},
         "reads register 0, which is not set"}, /* not even by the instruction that writes it */
        {{.length = 2,
          .operands = 2,
          .code = {{EG__FUSED_NEG, 0, x, 0, 0}, {EG__FUSED_NEG, EG__OPERAND(2), 0, 0, 0}}},
         "instruction 1 (neg): writes register 10, which is not a full operand"},
        {{.length = 1,
          .operands = 2,
          .kind = {EG__FULL, EG__ROW},
          .code = {{EG__FUSED_NEG, y, x, 0, 0}}},
         "writes register 9, which is not a full operand"},
        {{.length = 1,
          .operands = 2,
          .kind = {EG__FULL, EG__COLUMN},
          .code = {{EG__FUSED_NEG, y, x, 0, 0}}},
         "not a full operand"},
        {{.length = 1,
          .operands = 2,
          .kind = {EG__FULL, EG__SCALAR},
          .code = {{EG__FUSED_NEG, y, x, 0, 0}}},
         "not a full operand"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_error error = {0};
        if (rows[i].part)
            CHECK_FAILS(eg__fused_check(&rows[i].program, &error), error, EG_ERR_ARGUMENT,
                        rows[i].part);
        else CHECK_OK(eg__fused_check(&rows[i].program, &error), error);
    }
}

TEST(fused_code, flat_only_without_gaps) {
    static const struct {
        uint8_t kind[2];
        size_t stride[2];
        bool flat;
    } rows[] = {{{EG__FULL, EG__FULL}, {7, 7}, true},    {{EG__FULL, EG__SCALAR}, {7, 0}, true},
                {{EG__FULL, EG__FULL}, {7, 8}, false},   {{EG__FULL, EG__ROW}, {7, 1}, false},
                {{EG__FULL, EG__COLUMN}, {7, 0}, false}, {{EG__FULL, EG__FULL}, {0, 7}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__fused_program program = {.operands = 2, .kind = {rows[i].kind[0], rows[i].kind[1]}};
        eg__fused_f32_args args = {
            &program, 3, 7, {{NULL, rows[i].stride[0]}, {NULL, rows[i].stride[1]}}};
        CHECK(eg__fused_is_flat(&args) == rows[i].flat, "row %zu", i);
    }
}

/* Allowed, though nobody sees what they compute: a row is much longer than a register. */
TEST(fused_code, programs_without_an_output) {
    static const eg__fused_program programs[] = {
        {.length = 0, .operands = 1},
        {.length = 1, .operands = 1, .code = {{EG__FUSED_NEG, 7, EG__OPERAND(0), 0, 0}}},
        {.length = 2,
         .operands = 1,
         .code = {{EG__FUSED_EXP, 7, EG__OPERAND(0), 0, 0}, {EG__FUSED_NEG, 7, 7, 0, 0}}}};
    enum { COLUMNS = 100000 };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            float *x = kernel_walled(0, COLUMNS * sizeof *x);
            kernel_fill(COLUMNS, x, 3);
            const eg__fused_f32_args args = {&programs[i], 1, COLUMNS, {{x, COLUMNS}}};
            row->function.fused_f32(&args);
            CHECK(x[0] == 3 && x[COLUMNS - 1] == 3, "%s, program %zu: wrote its input", row->isa,
                  i);
        }
}

/* ---- random programs */
static unsigned below(uint64_t *state, unsigned limit) {
    return (unsigned)((test_random(state) + 1) / 2 * (float)limit);
}

/* Operations with one right answer in any order of evaluation, for comparison with the reference. */
static const uint8_t exact_operations[] = {
    EG__FUSED_COPY, EG__FUSED_ADD, EG__FUSED_SUB, EG__FUSED_MUL, EG__FUSED_DIV,   EG__FUSED_MIN,
    EG__FUSED_MAX,  EG__FUSED_FMA, EG__FUSED_NEG, EG__FUSED_ABS, EG__FUSED_SQRT,  EG__FUSED_RELU,
    EG__FUSED_LT,   EG__FUSED_LE,  EG__FUSED_EQ,  EG__FUSED_NE,  EG__FUSED_SELECT};

static uint8_t place_pick(const eg__fused_program *program, unsigned written, uint64_t *state) {
    for (int attempt = 0; attempt < 4; attempt++) { /* registers are what programs are made of */
        unsigned place = below(state, EG__FUSED_REGISTERS);
        if (written >> place & 1) return (uint8_t)place;
    }
    return EG__OPERAND(below(state, program->operands));
}

/* Operand 0 and, often, others are full; those may be written. */
static void program_make(eg__fused_program *program, bool exact, uint64_t *state) {
    unsigned written = 0;
    memset(program, 0, sizeof *program);
    program->operands = (uint8_t)(1 + below(state, EG__FUSED_OPERANDS));
    program->length = (uint8_t)(1 + below(state, EG__FUSED_INSTRUCTIONS));
    for (unsigned i = 1; i < program->operands; i++)
        program->kind[i] = below(state, 2) ? EG__FULL : (uint8_t)below(state, 4);
    for (unsigned i = 0; i < program->length; i++) {
        eg__fused_instruction *code = &program->code[i];
        code->op = exact ? exact_operations[below(state, sizeof exact_operations)]
                         : (uint8_t)below(state, EG__FUSED_COUNT);
        const unsigned inputs = eg__fused_op_inputs(code->op);
        code->a = place_pick(program, written, state);
        code->b = inputs > 1 ? place_pick(program, written, state) : 0;
        code->c = inputs > 2 ? place_pick(program, written, state) : 0;
        const unsigned operand = below(state, program->operands);
        if (i + 1 == program->length) code->out = EG__OPERAND(0);
        else if (program->kind[operand] == EG__FULL && below(state, 3) == 0)
            code->out = EG__OPERAND(operand);
        else {
            code->out = (uint8_t)below(state, EG__FUSED_REGISTERS);
            written |= 1u << code->out;
        }
    }
}

/* Memory of all operands in one block, so that two runs are compared by one comparison. */
typedef struct setting {
    eg__fused_f32_args args;
    size_t size;
    size_t offset[EG__FUSED_OPERANDS];
    float *memory;
} setting;

/* Full operands may share the memory of an earlier one. */
static setting setting_make(const eg__fused_program *program, uint64_t *state) {
    static const size_t columns[] = {1,  2,  3,  5,   8,   13,  16,  17,
                                     31, 33, 64, 100, 255, 256, 260, 520};
    setting s = {.args = {.program = program}};
    s.args.columns = columns[below(state, sizeof columns / sizeof *columns)];
    s.args.rows = 1 + below(state, s.args.columns < 20 ? 70 : 5);
    const size_t gap = below(state, 2) ? 0 : 1 + below(state, 4);
    for (unsigned i = 0; i < program->operands; i++) {
        const unsigned kind = program->kind[i], other = i ? below(state, i) : 0;
        const size_t width = kind == EG__FULL ? s.args.columns : 1, stride = width + gap;
        s.offset[i] = s.size;
        s.args.operand[i].stride = stride;
        if (i && kind == EG__FULL && program->kind[other] == EG__FULL && !below(state, 4)) {
            s.offset[i] = s.offset[other];
            continue;
        }
        s.size += kind == EG__COLUMN   ? s.args.columns
                  : kind == EG__SCALAR ? 1
                                       : kernel_extent(s.args.rows, width, stride);
    }
    s.memory = test_alloc(s.size * sizeof *s.memory);
    for (size_t i = 0; i < s.size; i++) s.memory[i] = test_random(state) * (float)(1 + i % 40);
    return s;
}

/* A copy of the memory in front of a wall, and the arguments in it. */
static eg__fused_f32_args setting_place(const setting *s, unsigned slot) {
    eg__fused_f32_args args = s->args;
    float *memory = kernel_walled_copy(slot, s->memory, s->size * sizeof *memory);
    for (unsigned i = 0; i < args.program->operands; i++)
        args.operand[i].data = memory + s->offset[i];
    return args;
}

static void programs_compare(const char *what, const setting *s, size_t number, unsigned slot) {
    const float *got = kernel_walled(0, s->size * sizeof *got);
    const float *want = kernel_walled(slot, s->size * sizeof *got);
    const size_t at = kernel_difference(s->size, got, want);
    if (at == SIZE_MAX) return;
    CHECK(false, "%s, program %zu of %u instructions, %zu x %zu: float %zu is %a, not %a", what,
          number, s->args.program->length, s->args.rows, s->args.columns, at, (double)got[at],
          (double)want[at]);
}

TEST(fused_code, exact_programs_equal_the_reference) {
    uint64_t state = 1;
    const size_t count = kernel_times(3000);
    for (size_t number = 0; number < count; number++) {
        eg__fused_program program;
        eg_error error = {0};
        program_make(&program, true, &state);
        CHECK_OK(eg__fused_check(&program, &error), error);
        setting s = setting_make(&program, &state);
        eg__fused_f32_args want = setting_place(&s, 1);
        eg__fused_f32_ref(&want);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            eg__fused_f32_args args = setting_place(&s, 0);
            row->function.fused_f32(&args);
            programs_compare(row->isa, &s, number, 1);
        }
        free(s.memory);
    }
}

/* Runs the program an instruction at a time, with its registers in memory. */
static void run_slowly(const eg__kernel *row, const eg__fused_f32_args *args) {
    const eg__fused_program *program = args->program;
    const size_t size = args->rows * args->columns;
    float *registers = kernel_walled(2, size * EG__FUSED_REGISTERS * sizeof *registers);
    for (unsigned i = 0; i < program->length; i++) {
        const eg__fused_instruction code = program->code[i];
        const uint8_t places[4] = {code.a, code.b, code.c, code.out};
        eg__fused_program one = {.length = 1, .operands = 4};
        eg__fused_f32_args step = {.program = &one, .rows = args->rows, .columns = args->columns};
        one.code[0] = (eg__fused_instruction){code.op, EG__OPERAND(3), EG__OPERAND(0),
                                              EG__OPERAND(1), EG__OPERAND(2)};
        for (unsigned k = 0; k < 4; k++) {
            const unsigned operand = places[k] - (unsigned)EG__FUSED_REGISTERS;
            if (places[k] < EG__FUSED_REGISTERS)
                step.operand[k] = (eg__fused_operand){registers + places[k] * size, args->columns};
            else step.operand[k] = args->operand[operand], one.kind[k] = program->kind[operand];
        }
        row->function.fused_f32(&step);
    }
}

TEST(fused_code, programs_equal_their_instructions) {
    uint64_t state = 2;
    const size_t count = kernel_times(1500);
    for (size_t number = 0; number < count; number++) {
        eg__fused_program program;
        program_make(&program, false, &state);
        setting s = setting_make(&program, &state);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
            eg__fused_f32_args args = setting_place(&s, 0), slow = setting_place(&s, 1);
            row->function.fused_f32(&args);
            run_slowly(row, &slow);
            programs_compare(row->isa, &s, number, 1);
        }
        free(s.memory);
    }
    test_claim("%zu random programs against the reference and their instructions, %s",
               kernel_times(3000) + count, kernel_isas(EG__OP_fused_f32));
}

/* ---- programs with a kernel of their own: the very bits of the interpreter of that instruction set */
enum { IN = 5, OUT = 5, GATES = 32 }; /* operands that are read, and that are written */
static eg__fused_program gate_make(unsigned variant) {
    const uint8_t ta = EG__OPERAND(2), tb = EG__OPERAND(3), ts = EG__OPERAND(4);
    const bool timed = variant & 1, swapped = variant & 2, copies = variant & 4;
    const bool plain = variant & 8, keeps = variant & 16;
    eg__fused_program p = {.length = copies ? 5 : 4,
                           .operands = IN + OUT,
                           .kind = {[4] = EG__ROW},
                           .code = {{EG__FUSED_TANH, 0, EG__OPERAND(0), 0, 0},
                                    {EG__FUSED_TANH, 1, EG__OPERAND(1), 0, 0},
                                    {EG__FUSED_ADD_SIGMOID, 2, ta, tb, 0},
                                    {EG__FUSED_LERP, EG__OPERAND(5), 0, 1, 2},
                                    {EG__FUSED_COPY, EG__OPERAND(6), EG__OPERAND(5), 0, 0}}};
    if (timed)
        p.code[2] = (eg__fused_instruction){EG__FUSED_FMA_SIGMOID, 2, swapped ? ts : ta,
                                            swapped ? ta : ts, tb};
    if (plain) p.code[2] = (eg__fused_instruction){EG__FUSED_SIGMOID, 2, ta, 0, 0};
    for (unsigned i = 0; keeps && i < 3; i++) p.code[i].out = EG__OPERAND(7 + i);
    if (keeps)
        p.code[3].a = p.code[0].out, p.code[3].b = p.code[1].out, p.code[3].c = p.code[2].out;
    return p;
}

/* (a + b) / (c + d), then nothing, an fma either way round, or a choice; some operands per column. */
enum { UPDATES = 8 };
static eg__fused_program update_make(unsigned variant) {
    const uint8_t e = EG__OPERAND(4), v = EG__OPERAND(5), next = EG__OPERAND(6);
    eg__fused_program p = {.length = 3 + (variant > 1),
                           .operands = IN + OUT,
                           .code = {{EG__FUSED_ADD, 0, EG__OPERAND(0), EG__OPERAND(1), 0},
                                    {EG__FUSED_ADD, 1, EG__OPERAND(2), EG__OPERAND(3), 0},
                                    {EG__FUSED_DIV, v, 0, 1, 0},
                                    {EG__FUSED_FMA, next, e, v, EG__OPERAND(1)}}};
    if (variant & 1) p.kind[1] = p.kind[2] = EG__COLUMN;
    if (variant / 2 == 2) p.code[3] = (eg__fused_instruction){EG__FUSED_FMA, next, v, e, e};
    if (variant / 2 == 3) { /* the quotient stays in a register */
        p.code[2].out = 0;
        p.code[3] = (eg__fused_instruction){EG__FUSED_SELECT, next, e, EG__OPERAND(1), 0};
        p.kind[4] = EG__ROW;
    }
    return p;
}

/* The gradient of a gate as the graph gives it: in another order, of one value or a sum, some of the results
 * stored twice. Operands: d, d2, f, g, t, then the results; `one` is the last. */
enum { BACKS = 8 };
static eg__fused_program gate_back_make(unsigned variant) {
    const bool sum = variant & 1, late = variant & 2, copies = variant & 4;
    const uint8_t x = EG__OPERAND(0), f = EG__OPERAND(2), g = EG__OPERAND(3), t = EG__OPERAND(4),
                  one = EG__OPERAND(10), d = sum ? 0 : x;
    eg__fused_program p = {.operands = 11, .kind = {[10] = EG__SCALAR}};
#define DO(...) \
    p.code[p.length++] = (eg__fused_instruction) { __VA_ARGS__ }
    if (late) DO(EG__FUSED_SUB, 1, g, f, 0);
    if (sum) DO(EG__FUSED_ADD, 0, x, EG__OPERAND(1), 0);
    if (!late) DO(EG__FUSED_SUB, 1, g, f, 0);
    DO(EG__FUSED_MUL, 1, d, 1, 0);
    DO(EG__FUSED_MUL, 2, d, t, 0);
    DO(EG__FUSED_SUB, 0, d, 2, 0);
    DO(EG__FUSED_SUB, 3, one, t, 0);
    DO(EG__FUSED_MUL, 3, t, 3, 0);
    DO(EG__FUSED_MUL, EG__OPERAND(5), 1, 3, 0);
    DO(EG__FUSED_MUL, 1, g, g, 0);
    DO(EG__FUSED_SUB, 1, one, 1, 0);
    DO(EG__FUSED_MUL, EG__OPERAND(6), 2, 1, 0);
    DO(EG__FUSED_MUL, 1, f, f, 0);
    DO(EG__FUSED_SUB, 1, one, 1, 0);
    DO(EG__FUSED_MUL, EG__OPERAND(7), 0, 1, 0);
    if (copies) DO(EG__FUSED_COPY, EG__OPERAND(8), EG__OPERAND(5), 0, 0);
    if (copies) DO(EG__FUSED_COPY, EG__OPERAND(9), EG__OPERAND(7), 0, 0);
#undef DO
    return p;
}

static void arranged_check(const eg__kernels *kernels, const eg__fused_program *program,
                           size_t columns, uint64_t *state) {
    enum { ROWS = 3, WIDE = 80, SIZE = ROWS * WIDE, ALL = 11 };
    float memory[ALL + OUT][SIZE], one = 1;
    eg__fused_program arranged = *program;
    eg_error error;
    eg__fused_arrange(&arranged);
    CHECK_OK(eg__fused_check(&arranged, &error), error);
    eg__fused_f32_args args = {.program = program, .rows = ROWS, .columns = columns};
    CHECK(eg__fused_operation(program) == EG__OP_fused_f32, "%s: compiled", kernels->isa);
    CHECK(eg__fused_operation(&arranged) == EG__OP_cfc_gate_back_f32, "%s: not compiled",
          kernels->isa);
    for (unsigned i = 0; i < IN; i++) kernel_random(SIZE, memory[i], state);
    for (unsigned i = IN; i < ALL + OUT; i++) kernel_fill(SIZE, memory[i], KERNEL_GUARD);
    for (unsigned i = 0; i < 10; i++) args.operand[i] = (eg__fused_operand){memory[i], WIDE};
    args.operand[10] = (eg__fused_operand){&one, 0};
    kernels->fused_f32(&args);
    for (int compiled = 0; compiled <= 1; compiled++) {
        args.program = &arranged;
        for (unsigned i = 0; i < OUT; i++) args.operand[IN + i].data = memory[ALL + i];
        (compiled ? kernels->cfc_gate_back_f32 : kernels->fused_f32)(&args);
        CHECK(kernel_difference(OUT * SIZE, memory[IN], memory[ALL]) == SIZE_MAX,
              "%s, %s: %zu columns, %u instructions", kernels->isa,
              compiled ? "compiled" : "arranged", columns, program->length);
    }
}

/* What is not the gradient of a gate stays as it is. */
TEST(fused_code, arrange_leaves_others_alone) {
    for (unsigned variant = 0; variant < BACKS; variant++) {
        const eg__fused_program good = gate_back_make(variant);
        for (unsigned i = 0; i < good.length; i++) {
            eg__fused_program bad = good, same;
            if (bad.code[i].op == EG__FUSED_COPY) continue;
            bad.code[i].op = bad.code[i].op == EG__FUSED_MUL ? EG__FUSED_DIV : EG__FUSED_MUL;
            same = bad;
            eg__fused_arrange(&bad);
            CHECK(memcmp(&bad, &same, sizeof bad) == 0, "variant %u, instruction %u", variant, i);
        }
        eg__fused_program more = good;
        more.code[more.length++] =
            (eg__fused_instruction){EG__FUSED_NEG, EG__OPERAND(9), EG__OPERAND(0), 0, 0};
        eg__fused_program same = more;
        eg__fused_arrange(&more);
        CHECK(memcmp(&more, &same, sizeof more) == 0, "variant %u with one more", variant);
    }
}

static void compiled_check(const eg__kernels *kernels, const eg__fused_program *program,
                           size_t columns, uint64_t *state) {
    enum { ROWS = 3, WIDE = 80, SIZE = ROWS * WIDE };
    float memory[IN + 2 * OUT][SIZE];
    eg__fused_f32_args args = {.program = program, .rows = ROWS, .columns = columns};
    eg__fused_f32_function *compiled =
        kernels->row[eg__fused_operation(program)]->function.fused_f32;
    CHECK(compiled != kernels->fused_f32, "%s: not compiled", kernels->isa);
    for (unsigned i = 0; i < IN; i++) kernel_random(SIZE, memory[i], state);
    for (unsigned i = IN; i < IN + 2 * OUT; i++) kernel_fill(SIZE, memory[i], KERNEL_GUARD);
    memory[4][WIDE] = 0; /* a row in which no time has passed */
    for (unsigned i = 0; i < IN + OUT; i++) args.operand[i] = (eg__fused_operand){memory[i], WIDE};
    kernels->fused_f32(&args);
    for (unsigned i = IN; i < IN + OUT; i++) args.operand[i].data = memory[OUT + i];
    compiled(&args);
    CHECK(kernel_difference(OUT * SIZE, memory[IN], memory[IN + OUT]) == SIZE_MAX,
          "%s: %zu columns, %u instructions, the last %s", kernels->isa, columns, program->length,
          eg__fused_op_name(program->code[program->length - 1].op));
}

TEST(fused_code, compiled_programs_equal_the_interpreter) {
    uint64_t state = 11;
    eg__kernels kernels;
    eg_error error;
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_fused_f32, row));) {
        CHECK_OK(eg__kernels_select(kernel_features(), row->isa, &kernels, &error), error);
        for (size_t columns = 1; columns <= 80 && !kernel_is_ref(row); columns++) {
            for (unsigned variant = 0; variant < GATES; variant++) {
                const eg__fused_program p = gate_make(variant);
                compiled_check(&kernels, &p, columns, &state);
            }
            for (unsigned variant = 0; variant < BACKS; variant++) {
                const eg__fused_program p = gate_back_make(variant);
                arranged_check(&kernels, &p, columns, &state);
            }
            for (unsigned variant = 0; variant < UPDATES; variant++) {
                const eg__fused_program p = update_make(variant);
                compiled_check(&kernels, &p, columns, &state);
            }
        }
    }
}
