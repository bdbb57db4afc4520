/* The accesses of gemm_f32 and gemv_f32: tiles, panels and blocks as gemm_f32_body.h cuts them. */
#include "profile/cache/cache_steps.h"

/* as in gemm_f32_body.h */
enum { EPILOGUE_BYTES = 24576, DEPTH_STEP = 4 };

/* ---- how each kernel cuts: see MAX_ROWS, WIDTH_UNIT, TILE_WIDTH and row_limit of its file */
static size_t max_rows(size_t lanes) { return lanes == 16 ? 8 : 6; }
static size_t width_unit(size_t lanes) { return lanes == 4 ? 4 : 1; }
static size_t tile_width(size_t lanes, size_t rows) {
    if (lanes == 16) return rows > 6 ? 3 : rows > 4 ? 4 : 6;
    if (lanes == 8) return rows > 4 ? 2 : rows > 3 ? 3 : 4;
    return rows > 3 ? 4 : 8;
}
static size_t row_limit(size_t lanes, size_t m, size_t n) {
    if (lanes != 8) return max_rows(lanes);
    if (m <= 4 || (n > 16 && n <= 24)) return 4;
    if (m < 24 && n > 24 && n <= 32) return 3;
    if (m == 7 || (m % 4 == 0 && m < 24 && m != 12)) return 4;
    return m == 9 ? 3 : max_rows(lanes);
}

/* A product, with addresses for pointers; strides in floats. */
typedef struct product {
    const eg__cache_walk *w;
    size_t lanes, m, n, k;
    uint64_t a, b, c;
    uint64_t add; /* what is added at the end; 0 = nothing */
    size_t a_stride, c_stride, add_stride;
    const eg__cache_fused *epilogue; /* of all of C; NULL = none */
    bool halves;                     /* an element is a pair of them */
} product;

static void epilogue_run(const product *p, size_t row, size_t rows, size_t column, size_t columns) {
    if (!p->epilogue) return;
    eg__cache_fused part = *p->epilogue;
    part.rows = rows;
    part.columns = columns;
    for (unsigned i = 0; i < part.program->operands; i++) {
        const unsigned kind = part.program->kind[i];
        if (kind == EG__FULL || kind == EG__ROW) part.at[i] += sizeof(float) * row * part.stride[i];
        if (kind == EG__FULL || kind == EG__COLUMN) part.at[i] += sizeof(float) * column;
    }
    eg__cache_fused_run(p->w, &part);
}

/* ---- one row */
static void strip_run(const product *p, size_t panels, size_t first, size_t left) {
    const uint64_t b = p->b + sizeof(float) * first * p->k;
    for (size_t i = 0; i < p->k; i++) {
        eg__cache_read(p->w, p->a + sizeof(float) * i, 1);
        for (size_t v = 0; v < panels; v++)
            eg__cache_read_row(p->w, b + sizeof(float) * (v * p->k + i) * EG__PANEL, EG__PANEL,
                               p->lanes);
    }
    const size_t width = eg__min(left, panels * EG__PANEL);
    const uint64_t c = p->c + sizeof(float) * first;
    if (p->add) eg__cache_copy_row(p->w, p->add + sizeof(float) * first, c, width, p->lanes);
    else eg__cache_write_row(p->w, c, width, p->lanes);
}

/* The definition: column by column, number by number. */
static void row_ref(const product *p, size_t row) {
    for (size_t j = 0; j < p->n; j++) {
        const uint64_t panel =
            p->b + sizeof(float) * (j / EG__PANEL * EG__PANEL * p->k + j % EG__PANEL);
        for (size_t i = 0; i < p->k; i++) {
            eg__cache_read(p->w, p->a + sizeof(float) * (row * p->a_stride + i), 1);
            eg__cache_read(p->w, panel + sizeof(float) * i * EG__PANEL, 1);
        }
        if (p->add) eg__cache_read(p->w, p->add + sizeof(float) * (row * p->add_stride + j), 1);
        eg__cache_write(p->w, p->c + sizeof(float) * (row * p->c_stride + j), 1);
    }
}

static void row_run(const product *p) {
    size_t first = 0;
    for (size_t panels = 4; panels; panels--)
        while (p->n > first && p->n - first > (panels - 1) * EG__PANEL) {
            strip_run(p, panels, first, p->n - first);
            first += panels * EG__PANEL;
        }
}

/* ---- many rows */
typedef struct tile {
    size_t rows, vectors, start; /* start: vector of its panel */
    uint64_t a, b, c, add;       /* add 0 = nothing */
    size_t k, a_stride, add_stride, width;
} tile;

static void tile_run(const product *p, const tile *t) {
    const eg__cache_walk *w = p->w;
    const size_t per_panel = EG__PANEL / p->lanes, panel = EG__PANEL * p->k;
    const bool left_first = t->rows < t->vectors;
    for (size_t i = 0; i < t->k; i++)
        for (int side = 0; side < 2; side++) {
            if ((side == 0) == left_first) {
                for (size_t r = 0; r < t->rows; r++)
                    eg__cache_read(w, t->a + sizeof(float) * (r * t->a_stride + i), 1);
                continue;
            }
            for (size_t v = t->start; v < t->start + t->vectors; v++)
                eg__cache_read(w,
                               t->b + sizeof(float) * (v / per_panel * panel + i * EG__PANEL +
                                                       v % per_panel * p->lanes),
                               p->lanes);
        }
    const size_t width = eg__min(t->width, t->vectors * p->lanes);
    for (size_t r = 0; r < t->rows; r++) {
        const uint64_t c = t->c + sizeof(float) * r * p->c_stride;
        const uint64_t add = t->add + sizeof(float) * r * t->add_stride;
        if (t->add) eg__cache_copy_row(w, add, c, width, p->lanes);
        else eg__cache_write_row(w, c, width, p->lanes);
    }
}

typedef struct split {
    size_t count, size, large;
} split;
static split split_evenly(size_t n, size_t limit) {
    const size_t count = eg__max(1, eg__ceil_div(n, limit));
    return (split){count, n / count, n % count};
}
static size_t split_size(const split *s, size_t part) { return s->size + (part < s->large); }

/* `m` rows from `row` on; `t` has what is the same for all tiles of the block. */
static void block_run(const product *p, tile t, size_t row, size_t m, bool last) {
    const size_t unit = width_unit(p->lanes), vectors = eg__ceil_div(p->n, p->lanes);
    const size_t per_panel = EG__PANEL / p->lanes;
    const split rows = split_evenly(m, row_limit(p->lanes, m, p->n));
    const split columns = split_evenly(eg__ceil_div(vectors, unit),
                                       tile_width(p->lanes, split_size(&rows, 0)) / unit);
    const uint64_t a = t.a, b = t.b, add = t.add;
    size_t handed = 0;
    for (size_t part = 0, v = 0; part < columns.count; part++) {
        t.vectors = eg__min(split_size(&columns, part) * unit, vectors - v);
        t.start = v % per_panel;
        t.width = p->n - v * p->lanes;
        t.b = b + sizeof(float) * (v / per_panel) * EG__PANEL * p->k;
        t.a = a;
        t.c = p->c + sizeof(float) * (row * p->c_stride + v * p->lanes);
        if (add) t.add = add + sizeof(float) * (row * t.add_stride + v * p->lanes);
        for (size_t i = 0; i < rows.count; i++) {
            t.rows = split_size(&rows, i);
            tile_run(p, &t);
            t.a += sizeof(float) * t.rows * t.a_stride;
            t.c += sizeof(float) * t.rows * p->c_stride;
            if (add) t.add += sizeof(float) * t.rows * t.add_stride;
        }
        v += t.vectors;
        const size_t done = eg__min(v * p->lanes, p->n), columns_done = done - handed;
        if (!last || (done < p->n && columns_done * m * sizeof(float) < EPILOGUE_BYTES)) continue;
        epilogue_run(p, row, m, handed, columns_done);
        handed = done;
    }
}

static void blocks_run(const product *p) {
    const bool copies = (p->halves ? eg__gemm_copies_pairs : eg__gemm_copies_a)(p->m, p->n, p->k);
    const eg__gemm_blocks blocks = eg__gemm_blocks_or(p->w->step->blocks);
    const size_t copy_stride = blocks.depth + EG__PANEL;
    const split depths = split_evenly(p->k, blocks.depth);
    const split heights = split_evenly(p->m, eg__gemm_band(p->m, p->n, p->k, &blocks));
    const size_t depth = eg__max(DEPTH_STEP, eg__round_up(split_size(&depths, 0), DEPTH_STEP));
    const size_t height = eg__round_up(split_size(&heights, 0), max_rows(p->lanes));
    size_t k = 0;
    do {
        tile t = {.k = eg__min(depth, p->k - k),
                  .a_stride = p->a_stride,
                  .add = k ? p->c : p->add,
                  .add_stride = k ? p->c_stride : p->add_stride};
        for (size_t row = 0, m; row < p->m; row += m) {
            m = eg__min(height, p->m - row);
            m += p->m - row - m == 1;
            t.a = p->a + sizeof(float) * (row * p->a_stride + k);
            t.b = p->b + sizeof(float) * k * EG__PANEL;
            for (size_t i = 0; copies && i < m; i++)
                eg__cache_copy_row(p->w, t.a + sizeof(float) * i * p->a_stride,
                                   p->w->scratch + sizeof(float) * i * copy_stride, t.k,
                                   eg__cache_copy_lanes(p->w));
            if (copies) t.a = p->w->scratch, t.a_stride = copy_stride;
            block_run(p, t, row, m, k + depth >= p->k);
        }
        k += depth;
    } while (k < p->k);
}

static void product_run(product *p) {
    if (!p->m || !p->n) return;
    if (p->lanes == 1) {
        for (size_t i = 0; i < p->m; i++) row_ref(p, i);
        epilogue_run(p, 0, p->m, 0, p->n);
    } else if (p->m == 1) {
        row_run(p);
        epilogue_run(p, 0, 1, 0, p->n);
    } else {
        /* half of such a vector would be idle: the kernel takes the narrower one */
        if (p->lanes == 16 && p->n <= 24 && p->n % 16 > 0 && p->n % 16 <= 8) p->lanes = 8;
        blocks_run(p);
    }
}

void eg__cache_product_run(const eg__cache_walk *w, size_t lanes, const eg__cache_product *from) {
    product p = {.w = w,
                 .lanes = lanes,
                 .m = from->m,
                 .n = from->n,
                 .k = from->k,
                 .a = from->a,
                 .b = from->b,
                 .c = from->c,
                 .add = from->accumulate ? from->c : 0,
                 .add_stride = from->c_stride,
                 .a_stride = from->a_stride,
                 .c_stride = from->c_stride};
    product_run(&p);
}

/* ---- steps */
/* The product of a step, its first one if there are several; `fused` is for its epilogue. */
static product product_of(const eg__cache_walk *w, const eg__step *step, size_t lanes,
                          eg__cache_fused *fused) {
    const eg__step_gemm *g = &step->u.gemm;
    const eg__operand *o = step->operand;
    *fused = eg__cache_chain(w, step, 3, &g->epilogue, 0, 0);
    product p = {.w = w,
                 .lanes = lanes,
                 .m = g->products ? step->rows : w->count * step->rows,
                 .n = g->n,
                 .k = eg__cache_timed(w, g->k, g->k_timed),
                 .a = eg__cache_at(w, &o[0]),
                 .b = eg__cache_at(w, &o[1]),
                 .c = eg__cache_at(w, &o[2]),
                 .a_stride = o[0].stride,
                 .c_stride = o[2].stride,
                 .epilogue = g->has_epilogue ? fused : NULL};
    if (g->add) { /* which the kernel does itself */
        p.add = eg__cache_at(w, &o[g->add]);
        p.add_stride = o[g->add].stride;
        p.c = eg__cache_at(w, &o[g->sum]);
        p.c_stride = o[g->sum].stride;
        fused->program = &g->rest;
        if (!g->rest.length) p.epilogue = NULL;
    }
    return p;
}
static size_t products_of(const eg__cache_walk *w, const eg__step *step) {
    return step->u.gemm.products ? w->count * step->u.gemm.products : 1;
}

void eg__cache_step_gemm(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_gemm *g = &step->u.gemm;
    eg__cache_fused fused;
    const product p = product_of(w, step, eg__cache_lanes(w, EG__OP_gemm_f32), &fused);
    for (size_t i = 0; i < products_of(w, step); i++) {
        product one = p;
        one.a += sizeof(float) * i * g->a_step;
        one.b += sizeof(float) * i * g->b_step;
        one.c += sizeof(float) * i * g->c_step;
        product_run(&one);
    }
}

/* The rows of a chain from `row` on. */
static eg__cache_fused fused_from(const eg__cache_fused *all, size_t row) {
    eg__cache_fused part = *all;
    for (unsigned i = 0; i < part.program->operands; i++)
        if (part.program->kind[i] == EG__FULL || part.program->kind[i] == EG__ROW)
            part.at[i] += sizeof(float) * row * part.stride[i];
    return part;
}

/* A product of halves: a pair of them is as large as a float. Rows of the left side that are not pairs of halves are made so, a
 * band at a time (steps_halves.c). */
static void halves_run(const product *all, const eg__step *step, size_t k) {
    const eg__operand *left = &step->operand[0];
    const size_t size = eg__element_size(left->type), even = 2 * all->k, lanes = all->lanes;
    product p = *all;
    if (left->type != EG_F32 && even == k && left->stride % 2 == 0 && all->a % 4 == 0) {
        p.a_stride = left->stride / 2;
        product_run(&p);
        return;
    }
    eg__cache_walk inner = *all->w;
    inner.scratch += sizeof(float) * eg__halves_band_floats(even);
    for (size_t row = 0; row < all->m; row += p.m) {
        p = *all;
        p.w = &inner;
        p.m = eg__min(eg__halves_band(even), all->m - row);
        p.m += all->m - row - p.m == 1;
        for (size_t i = 0; i < p.m; i++)
            for (size_t j = 0; j < k; j += lanes) {
                const size_t n = eg__min(lanes, k - j);
                eg__cache_access(inner.cache, all->a + ((row + i) * left->stride + j) * size,
                                 (unsigned)(n * size), false);
                eg__cache_access(inner.cache, all->w->scratch + (i * even + j) * sizeof(uint16_t),
                                 (unsigned)(n * sizeof(uint16_t)), true);
            }
        p.a = all->w->scratch;
        p.a_stride = all->k;
        p.c += sizeof(float) * row * p.c_stride;
        if (p.add) p.add += sizeof(float) * row * p.add_stride;
        eg__cache_fused part;
        if (p.epilogue) {
            part = fused_from(p.epilogue, row);
            p.epilogue = &part;
        }
        product_run(&p);
    }
}

void eg__cache_step_gemm_halves(const eg__cache_walk *w, const eg__step *step) {
    const size_t k = eg__cache_timed(w, step->u.gemm.k, step->u.gemm.k_timed);
    const size_t size = eg__element_size(step->operand[0].type);
    eg__cache_fused fused;
    const product p = product_of(w, step, step->kernel[0]->lanes, &fused);
    for (size_t i = 0; i < products_of(w, step); i++) {
        product one = p;
        one.k = eg__gemm_pairs(k);
        one.halves = true;
        one.a += size * i * step->u.gemm.a_step;
        one.b += sizeof(uint16_t) * i * step->u.gemm.b_step;
        one.c += sizeof(float) * i * step->u.gemm.c_step;
        halves_run(&one, step, k);
    }
}

/* A line of pairs for every two rows. */
void eg__cache_step_pack_halves(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_pack *p = &step->u.pack;
    const size_t k = eg__cache_timed(w, p->k, p->k_timed);
    const size_t size = eg__element_size(step->operand[0].type), panels = eg__gemm_panels(p->n);
    const uint64_t from = eg__cache_at(w, &step->operand[0]);
    uint64_t to = eg__cache_at(w, &step->operand[1]);
    for (size_t m = 0; m < (p->panels ? 1 : w->count * p->products); m++)
        for (size_t panel = 0; panel < (p->panels ? eg__min(panels, w->count) : panels); panel++) {
            const size_t column = panel * EG__PANEL, width = eg__min(EG__PANEL, p->n - column);
            for (size_t i = 0; i < k; i++) {
                for (size_t j = 0; j < width; j++)
                    eg__cache_access(w->cache,
                                     from + size * (m * p->from_step + i * p->row_stride +
                                                    (column + j) * p->column_stride),
                                     (unsigned)size, false);
                if (i % 2) continue;
                eg__cache_write(w, to, EG__PANEL);
                to += sizeof(float) * EG__PANEL;
            }
        }
}

/* Rows by memcpy or number by number, the padding of the last panel by memset. */
static void pack_one(const eg__cache_walk *w, const eg__step_pack *p, size_t k, size_t all,
                     uint64_t from, uint64_t to) {
    const size_t lanes = p->column_stride == 1 ? eg__cache_copy_lanes(w) : 1;
    for (size_t column = 0; column < all; column += EG__PANEL) {
        const size_t width = eg__min(EG__PANEL, all - column);
        for (size_t i = 0; i < k; i++, to += sizeof(float) * EG__PANEL) {
            const uint64_t row =
                from + sizeof(float) * (i * p->row_stride + column * p->column_stride);
            for (size_t j = 0; j < width; j += lanes) {
                const size_t n = eg__min(lanes, width - j);
                eg__cache_read(w, row + sizeof(float) * j * p->column_stride, n);
                eg__cache_write(w, to + sizeof(float) * j, n);
            }
            eg__cache_write_row(w, to + sizeof(float) * width, EG__PANEL - width,
                                eg__cache_copy_lanes(w));
        }
    }
}

void eg__cache_step_pack(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_pack *p = &step->u.pack;
    const size_t k = eg__cache_timed(w, p->k, p->k_timed);
    const uint64_t from = eg__cache_at(w, &step->operand[0]),
                   to = eg__cache_at(w, &step->operand[1]);
    if (p->panels) {
        pack_one(w, p, k, eg__min(p->n, w->count * EG__PANEL), from, to);
        return;
    }
    for (size_t i = 0; i < w->count * p->products; i++)
        pack_one(w, p, k, p->n, from + sizeof(float) * i * p->from_step,
                 to + sizeof(float) * i * eg__gemm_packed_size(k, p->n));
}
