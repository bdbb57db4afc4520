/* Lent parameters: in memory while steps of a prologue read them, or permanently for programs. */
#include "engine/parts.h"

static const eg__step *prologue(const eg__derived *derived) {
    return derived->program->steps + derived->program->main_count;
}

static eg_status fetch(eg_weights *w, size_t index, eg__holding as, eg_error *error) {
    const eg__leaf *leaf = &w->program->parameters.list[index];
    if (w->holds[index]) {
        w->holds[index] = eg__max(w->holds[index], as);
        return EG_OK;
    }
    if (!w->lender.fill)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "these weights were prepared for one program");
    eg_status status =
        eg__space_use(w->program->memory, &w->space, leaf->offset, eg__leaf_bytes(leaf), error);
    if (status) return status;
    status = w->lender.fill(w->lender.user, leaf, 0, leaf->elements, w->data + leaf->offset, error);
    if (status) eg__space_drop(w->program->memory, &w->space, leaf->offset, eg__leaf_bytes(leaf));
    else w->holds[index] = as;
    return status;
}

static void drop_passing(eg_weights *w, size_t index) {
    const eg__leaf *leaf = &w->program->parameters.list[index];
    if (w->holds[index] != EG__PASSING) return;
    eg__space_drop(w->program->memory, &w->space, leaf->offset, eg__leaf_bytes(leaf));
    w->holds[index] = EG__ABSENT;
}

eg_status eg__weights_fetch(eg_weights *w, const eg_program *program, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; i < program->parameters.count && !status; i++)
        if (!program->parameters.list[i].settled) status = fetch(w, i, EG__STAYING, error);
    return status;
}

/* ---- pieces: a large matrix that is only packed or gathered is loaded in pieces; as a whole it
 * would need its memory twice */
enum { PIECE = 1 << 20, LARGE = 3 * PIECE, PIECES = 8 };

static bool reads(const eg__step *step, const eg__leaf *leaf) {
    for (unsigned i = 0; i < step->operands; i++) {
        const eg__operand *o = &step->operand[i];
        if (o->space == EG__SPACE_PARAMETERS && o->offset >= leaf->offset &&
            o->offset < leaf->offset + eg__leaf_bytes(leaf))
            return true;
    }
    return false;
}

/* Elements `first` .. `first + count`, and the index of the piece. */
typedef struct part {
    size_t first, count;
    bool begins, ends;
} part;

/* Loads the piece while `step` runs. A page shared by two pieces is released with the second. */
static eg_status run_part(eg_weights *w, const eg__derived *d, const eg__leaf *leaf,
                          const eg__step *step, const part *p, eg_error *error) {
    enum { PAGE = 1 << 16 }; /* a multiple of any system's */
    eg__memory *memory = w->program->memory;
    const size_t bits = eg_type_bits(leaf->type), begin = leaf->offset;
    const size_t at = begin + p->first * bits / 8;
    const size_t from = p->begins ? at : eg__max(begin, at / PAGE * PAGE);
    size_t end = begin + eg__ceil_div((p->first + p->count) * bits, 8);
    if (!p->ends) end = eg__max(from, end / PAGE * PAGE);
    eg_status status = eg__space_use(memory, &w->space, from, end - from, error);
    if (status) return status;
    status = w->lender.fill(w->lender.user, leaf, p->first, p->count, w->data + at, error);
    if (!status) status = eg__weights_run(w, d, step, 1, error);
    eg__space_drop(memory, &w->space, from, end - from);
    return status;
}

/* -- pieces of panels */
static bool packs_by_pieces(const eg__step *step) {
    eg__step piece;
    eg__operand operands[2];
    size_t from, end;
    return eg__pack_piece(step, 0, 1, &piece, operands, &from, &end);
}

static eg_status pack_pieces(eg_weights *w, const eg__derived *d, const eg__leaf *leaf,
                             const eg__step *step, eg_error *error) {
    const size_t panels = eg__max(PIECE / (eg__leaf_bytes(leaf) / step->items + 1), 1);
    eg_status status = EG_OK;
    for (size_t at = 0; at < step->items && !status; at += panels) {
        eg__step piece;
        eg__operand operands[2];
        size_t from, end;
        eg__pack_piece(step, at, eg__min(panels, step->items - at), &piece, operands, &from, &end);
        const part p = {(from - leaf->offset) / sizeof(float), (end - from) / sizeof(float),
                        at == 0, at + panels >= step->items};
        status = run_part(w, d, leaf, &piece, &p, error);
    }
    return status;
}

/* -- pieces of a matrix whose synapses are gathered: each walks the whole list, so there are few */
static bool gathers_by_pieces(const eg__step *step) {
    eg__step piece;
    return eg__gather_piece(step, 0, 1, &piece);
}

static eg_status gather_pieces(eg_weights *w, const eg__derived *d, const eg__leaf *leaf,
                               const eg__step *step, eg_error *error) {
    const size_t all = leaf->elements, some = eg__ceil_div(all, PIECES);
    eg_status status = EG_OK;
    for (size_t from = 0; from < all && !status; from += some) {
        eg__step piece;
        const size_t end = eg__min(from + some, all);
        eg__gather_piece(step, from, end, &piece);
        const part p = {from, end - from, from == 0, end == all};
        status = run_part(w, d, leaf, &piece, &p, error);
    }
    return status;
}

/* -- pieces of rows of quantized values, while their scales stay in memory */
static bool shrinks_by_pieces(const eg__step *step) {
    eg__step piece;
    return eg__pack_quantized_piece(step, 0, 1, &piece);
}

static eg_status shrink_pieces(eg_weights *w, const eg__derived *d, const eg__leaf *leaf,
                               const eg__step *step, eg_error *error) {
    eg__memory *memory = w->program->memory;
    const size_t all = leaf->quantized.rows, columns = leaf->quantized.columns;
    /* even, so that int4 pieces are whole bytes */
    const size_t some = eg__round_up(eg__ceil_div(all, PIECES), 2);
    const size_t values = eg__ceil_div(leaf->elements * eg_type_bits(leaf->type), 8);
    const size_t scales = leaf->offset + values, size = eg__leaf_bytes(leaf) - values;
    eg_status status = eg__space_use(memory, &w->space, scales, size, error);
    if (status) return status;
    for (size_t from = 0; from < all && !status; from += some) {
        eg__step piece;
        const size_t end = eg__min(from + some, all);
        eg__pack_quantized_piece(step, from, end, &piece);
        const part p = {from * columns, (end - from) * columns, from == 0, end == all};
        status = run_part(w, d, leaf, &piece, &p, error);
    }
    eg__space_drop(memory, &w->space, scales, size);
    return status;
}

/* -- which of them */
typedef struct way {
    bool (*can)(const eg__step *step);
    eg_status (*run)(eg_weights *w, const eg__derived *d, const eg__leaf *leaf,
                     const eg__step *step, eg_error *error);
    bool is_quantized;
    size_t least; /* parameters of at least so many bytes are loaded in pieces */
} way;
static const way ways[] = {{packs_by_pieces, pack_pieces, false, LARGE},
                           {gathers_by_pieces, gather_pieces, false, LARGE},
                           {shrinks_by_pieces, shrink_pieces, true, PIECE}};

/* The parameter that `step` reads, if all its readers can work in pieces; NULL = none. */
static const eg__leaf *in_pieces(const eg_weights *w, const eg__derived *d, const eg__step *step,
                                 const way *by) {
    const eg__leaves *leaves = &d->program->parameters;
    const eg__leaf *leaf = NULL;
    if (!w->space.mapped || !w->lender.fill || !by->can(step)) return NULL;
    for (size_t i = 0; i < leaves->count && !leaf; i++)
        if (w->holds[i] == EG__ABSENT && reads(step, &leaves->list[i])) leaf = &leaves->list[i];
    if (!leaf || (leaf->type != EG_F32) != by->is_quantized || eg__leaf_bytes(leaf) < by->least)
        return NULL;
    for (uint32_t s = leaf->first_read; s <= leaf->last_read; s++)
        if (reads(prologue(d) + s, leaf) && !by->can(prologue(d) + s)) return NULL;
    return leaf;
}

/* ---- a prologue, step by step */
static eg_status prepare_step(eg_weights *w, const eg__derived *d, uint32_t s, eg_error *error) {
    const eg__leaves *leaves = &d->program->parameters;
    const eg__step *step = prologue(d) + s;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const eg__leaf *leaf = in_pieces(w, d, step, &ways[i]);
        if (leaf) return ways[i].run(w, d, leaf, step, error);
    }
    eg_status status = EG_OK;
    for (size_t i = 0; i < leaves->count && !status; i++)
        if (reads(step, &leaves->list[i])) status = fetch(w, i, EG__PASSING, error);
    if (!status) status = eg__weights_run(w, d, step, 1, error);
    /* a large one is released and loaded again for the next step that reads it */
    for (size_t i = 0; i < leaves->count; i++)
        if (leaves->list[i].last_read == s || eg__leaf_bytes(&leaves->list[i]) >= LARGE)
            drop_passing(w, i);
    return status;
}

/* The last step that uses the prologue's temporaries; 0 = the first, or none. */
static uint32_t last_at_work(const eg__derived *d) {
    uint32_t last = 0;
    for (uint32_t s = 0; s < d->program->prologue_count; s++)
        for (unsigned i = 0; i < prologue(d)[s].operands; i++)
            if (prologue(d)[s].operand[i].space == EG__SPACE_ARENA) last = s;
    return last;
}

eg_status eg__weights_prepare(eg_weights *w, eg__derived *d, eg_error *error) {
    const eg__leaves *leaves = &d->program->parameters;
    const uint32_t last = last_at_work(d);
    const size_t work = d->program->prologue_size;
    eg__memory *memory = w->program->memory;
    /* memory that compiling left in the pool is released first: lending is for models that barely
     * fit */
    eg__memory_cache_empty(memory);
    eg_status status = eg__weights_fetch(w, d->program, error);
    for (uint32_t s = 0; s < d->program->prologue_count && !status; s++) {
        status = prepare_step(w, d, s, error);
        if (s != last || status) continue;
        eg__space_drop(memory, &d->work, 0, work); /* the rest is scratch */
        status = eg__space_use(memory, &d->work, 0, work, error);
    }
    for (size_t i = 0; i < leaves->count && status; i++) drop_passing(w, i);
    return status;
}

eg_status eg__weights_upload(eg_weights *w, const eg__derived *d, eg_error *error) {
    const eg_program *p = d->program;
    eg_status status = EG_OK;
    for (size_t i = 0; d->parts && i < p->parameters.count && !status; i++) {
        if (!eg__part_weights_reads(p, i)) continue;
        if (w->is_lent) status = fetch(w, i, EG__PASSING, error);
        if (!status)
            status = eg__part_weights_write(p, d->parts, i, w->data + p->parameters.list[i].offset,
                                            error);
        if (w->is_lent) drop_passing(w, i);
    }
    return status ? status : eg__part_weights_end(p, d->parts, error);
}
