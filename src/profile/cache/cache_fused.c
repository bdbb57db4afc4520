/* The accesses of fused_f32, cfc_gate_f32, cfc_gate_back_f32 and ltc_update_f32: blocks, registers in memory, operands. */
#include "profile/cache/cache_steps.h"

/* as in fused_f32_body.h and cfc_gate_f32_body.h */
enum { BLOCK = 512, TOGETHER = 4, ABREAST = 2 };

/* Row r, column i is at `at` + r*stride + i; repeated: one vector per row. */
typedef struct view {
    uint64_t at;
    size_t stride;
    bool repeated;
} view;

static uint64_t view_at(const view *v, size_t row, size_t column) {
    return v->at + sizeof(float) * (row * v->stride + (v->repeated ? 0 : column));
}

typedef struct block {
    const eg__cache_walk *w;
    const eg__cache_fused *fused;
    size_t lanes;
    size_t row, rows, column, columns;
    view places[EG__FUSED_REGISTERS + EG__FUSED_OPERANDS];
} block;

static uint64_t repeated_at(const block *b, unsigned i) {
    return b->w->stack + sizeof(float) * BLOCK * (EG__FUSED_REGISTERS + i);
}

static view operand_view(const block *b, unsigned i) {
    const eg__cache_fused *f = b->fused;
    const size_t stride = f->stride[i];
    const unsigned kind = f->program->kind[i];
    if (kind == EG__FULL)
        return (view){f->at[i] + sizeof(float) * (b->row * stride + b->column), stride, false};
    if (kind == EG__COLUMN) return (view){f->at[i] + sizeof(float) * b->column, 0, false};
    const uint64_t repeated = repeated_at(b, i);
    if (kind == EG__SCALAR) return (view){repeated, 0, true};
    for (size_t r = 0; r < b->rows; r++) {
        eg__cache_read(b->w, f->at[i] + sizeof(float) * (b->row + r) * stride, 1);
        eg__cache_write(b->w, repeated + sizeof(float) * r * b->lanes, b->lanes);
    }
    return (view){repeated, b->lanes, true};
}

static bool is_dense(const view *v, size_t columns) {
    return v->repeated ? v->stride == 0 : v->stride == columns;
}

/* A few vectors of every input, then as many of the output. */
static void instruction_run(const block *b, const eg__fused_instruction *code, size_t rows,
                            size_t columns) {
    const uint8_t input[3] = {code->a, code->b, code->c};
    const unsigned inputs = eg__fused_op_inputs(code->op);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0, n; i < columns; i += n) {
            n = TOGETHER * b->lanes;
            if (i + n > columns) n = eg__min(b->lanes, columns - i);
            for (unsigned k = 0; k < inputs; k++)
                for (size_t j = 0; j < n; j += b->lanes)
                    eg__cache_read(b->w, view_at(&b->places[input[k]], r, i + j),
                                   eg__min(b->lanes, n - j));
            eg__cache_write_row(b->w, view_at(&b->places[code->out], r, i), n, b->lanes);
        }
}

static void block_run(block *b) {
    const eg__fused_program *program = b->fused->program;
    const size_t columns = b->columns;
    for (unsigned i = 0; i < program->operands; i++) b->places[EG__OPERAND(i)] = operand_view(b, i);
    for (unsigned i = 0; i < program->length; i++) {
        const eg__fused_instruction *code = &program->code[i];
        const bool joins = b->rows > 1 && is_dense(&b->places[code->out], columns) &&
                           is_dense(&b->places[code->a], columns) &&
                           is_dense(&b->places[code->b], columns) &&
                           is_dense(&b->places[code->c], columns);
        instruction_run(b, code, joins ? 1 : b->rows, joins ? b->rows * columns : columns);
    }
}

static bool is_flat(const eg__cache_fused *f) {
    for (unsigned i = 0; i < f->program->operands; i++) {
        const unsigned kind = f->program->kind[i];
        if (kind == EG__ROW || kind == EG__COLUMN) return false;
        if (kind == EG__FULL && f->stride[i] != f->columns) return false;
    }
    return true;
}

eg__cache_fused eg__cache_chain(const eg__cache_walk *w, const eg__step *step, unsigned first,
                                const eg__fused_program *program, size_t rows, size_t columns) {
    eg__cache_fused fused = {.program = program, .rows = rows, .columns = columns};
    for (unsigned i = first; i < step->operands; i++) {
        fused.at[i - first] = eg__cache_at(w, &step->operand[i]);
        fused.stride[i - first] = step->operand[i].stride;
    }
    return fused;
}

void eg__cache_fused_run(const eg__cache_walk *w, const eg__cache_fused *fused) {
    const eg__fused_program *program = fused->program;
    /* the reference goes element by element: vectors and blocks of one */
    const size_t lanes = eg__cache_lanes(w, EG__OP_fused_f32), most = lanes > 1 ? BLOCK : 1;
    size_t rows = fused->rows, columns = fused->columns;
    if (rows > 1 && is_flat(fused)) columns *= rows, rows = 1;
    block b = {.w = w, .fused = fused, .lanes = lanes};
    for (unsigned i = 0; i < program->operands; i++)
        if (program->kind[i] == EG__SCALAR) {
            eg__cache_read(w, fused->at[i], 1);
            eg__cache_write(w, repeated_at(&b, i), lanes);
        }
    const bool whole = program->length == 1 && program->code[0].out >= EG__FUSED_REGISTERS;
    const size_t wide = whole ? columns : eg__min(columns, most);
    const size_t stride = eg__round_up(eg__max(wide, 1), lanes);
    const size_t high = stride < most ? most / stride : 1;
    for (unsigned i = 0; i < EG__FUSED_REGISTERS; i++)
        b.places[i] = (view){w->stack + sizeof(float) * BLOCK * i, stride, false};
    for (b.row = 0; b.row < rows; b.row += high)
        for (b.column = 0; b.column < columns; b.column += wide) {
            b.rows = eg__min(high, rows - b.row);
            b.columns = eg__min(wide, columns - b.column);
            block_run(&b);
        }
}

/* ---- kernels of frequent programs: from the loads to the stores all is in registers */
typedef struct streams {
    size_t reads, writes;
    uint8_t read[8], written[8]; /* places */
} streams;

/* `together` vectors of each stream at a time, along row r. */
static void row_run(const eg__cache_walk *w, const eg__cache_fused *f, const streams *s, size_t r,
                    size_t lanes, size_t together) {
    for (size_t i = 0, n; i < f->columns; i += n) {
        n = together * lanes;
        if (i + n > f->columns) n = eg__min(lanes, f->columns - i);
        for (size_t k = 0; k < s->reads + s->writes; k++) {
            const bool writes = k >= s->reads;
            const unsigned operand =
                (writes ? s->written[k - s->reads] : s->read[k]) - EG__FUSED_REGISTERS;
            const size_t row = f->program->kind[operand] == EG__FULL ? r * f->stride[operand] : 0;
            const uint64_t at = f->at[operand] + sizeof(float) * (row + i);
            if (writes) eg__cache_write_row(w, at, n, lanes);
            else eg__cache_read_row(w, at, n, lanes);
        }
    }
}

/* One value per row, or one for all. */
static void value_read(const eg__cache_walk *w, const eg__cache_fused *f, uint8_t place, size_t r) {
    const unsigned i = place - EG__FUSED_REGISTERS;
    const size_t row = f->program->kind[i] == EG__ROW ? r * f->stride[i] : 0;
    eg__cache_read(w, f->at[i] + sizeof(float) * row, 1);
}

static void gate_run(const eg__cache_walk *w, const eg__cache_fused *f) {
    const eg__fused_instruction *code = f->program->code;
    const size_t lanes = eg__cache_lanes(w, EG__OP_cfc_gate_f32);
    const bool timed = code[2].op == EG__FUSED_FMA_SIGMOID;
    const bool first = f->program->kind[code[2].a - EG__FUSED_REGISTERS] != EG__FULL;
    streams s = {3, 0, {code[0].a, code[1].a, first ? code[2].b : code[2].a}, {0}};
    if (code[2].op != EG__FUSED_SIGMOID) s.read[s.reads++] = timed ? code[2].c : code[2].b;
    for (unsigned k = 0; k < f->program->length; k++)
        if (code[k].out >= EG__FUSED_REGISTERS) s.written[s.writes++] = code[k].out;
    for (size_t r = 0; r < f->rows; r++) {
        if (timed) value_read(w, f, first ? code[2].a : code[2].b, r);
        row_run(w, f, &s, r, lanes, ABREAST);
    }
}

static void gate_back_run(const eg__cache_walk *w, const eg__cache_fused *f) {
    const eg__fused_gate_back g = eg__fused_gate_back_read(f->program);
    const size_t lanes = eg__cache_lanes(w, EG__OP_cfc_gate_back_f32);
    streams s = {4, 3, {g.f, g.g, g.t, g.d1}, {g.dt, g.dg, g.df}};
    if (g.d2) s.read[s.reads++] = g.d2;
    for (unsigned i = EG__GATE_BACK; i < f->program->length; i++)
        s.written[s.writes++] = f->program->code[i].out;
    value_read(w, f, g.one, 0);
    for (size_t r = 0; r < f->rows; r++) row_run(w, f, &s, r, lanes, 1);
}

/* A select is taken to choose the computed value, as if time had passed. */
static void update_run(const eg__cache_walk *w, const eg__cache_fused *f) {
    const eg__fused_instruction *code = f->program->code, *tail = &code[3];
    const size_t lanes = eg__cache_lanes(w, EG__OP_ltc_update_f32);
    const bool has_tail = f->program->length == 4;
    streams s = {4, 0, {code[0].a, code[0].b, code[1].a, code[1].b}, {0}};
    if (has_tail && tail->op == EG__FUSED_FMA) {
        s.read[s.reads++] = tail->a == code[2].out ? tail->b : tail->a;
        s.read[s.reads++] = tail->c;
    }
    if (code[2].out >= EG__FUSED_REGISTERS) s.written[s.writes++] = code[2].out;
    if (has_tail) s.written[s.writes++] = tail->out;
    for (size_t r = 0; r < f->rows; r++) {
        if (has_tail && tail->op == EG__FUSED_SELECT) value_read(w, f, tail->a, r);
        row_run(w, f, &s, r, lanes, TOGETHER);
    }
}

void eg__cache_step_fused(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_fused *fused = &step->u.fused;
    const size_t rows = fused->flat ? 1 : w->count * step->rows;
    const size_t columns =
        fused->flat ? eg__min(fused->flat, w->count * (size_t)EG__FLAT) : step->columns;
    const eg__cache_fused f = eg__cache_chain(w, step, 0, &fused->program, rows, columns);
    if (!f.rows || !f.columns) return;
    const eg__kernel *kernel = step->kernel[0];
    if (kernel->operation == EG__OP_fused_f32 || kernel->lanes == 1) eg__cache_fused_run(w, &f);
    else if (kernel->operation == EG__OP_cfc_gate_f32) gate_run(w, &f);
    else if (kernel->operation == EG__OP_cfc_gate_back_f32) gate_back_run(w, &f);
    else update_run(w, &f);
}
