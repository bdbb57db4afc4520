/* matmul: products of the last two axes; the others broadcast. Both sides are f32, or both f16 or bf16; the result is f32. The kind
 * of a node is the type that its f32 sides are rounded to (round.c); 0 = none. */
#include "graph/lower/lower.h"

eg_node eg_matmul_transposed(eg_graph *graph, eg_node a, int a_transposed, eg_node b,
                             int b_transposed) {
    eg__attributes attributes = {.matmul = {a_transposed != 0, b_transposed != 0}};
    return eg__graph_add2(graph, EG__GRAPH_matmul, 0, a, b, &attributes);
}
eg_node eg_matmul(eg_graph *graph, eg_node a, eg_node b) {
    return eg_matmul_transposed(graph, a, 0, b, 0);
}

/* Rows and columns of an operand after its transposition. */
static uint64_t rows(const eg__node *x, bool transposed) {
    return x->shape[x->rank - (transposed ? 1 : 2)];
}
static uint64_t columns(const eg__node *x, bool transposed) { return rows(x, !transposed); }

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    const bool ta = node->attributes.matmul.a_transposed, tb = node->attributes.matmul.b_transposed;
    char first[160], second[160];
    if (a->type != b->type || (a->type != EG_F32 && !eg__is_half(a->type)))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "needs f32, f16 or bf16 on both sides, got '%s' and '%s'",
                        eg_type_name(a->type), eg_type_name(b->type));
    if (a->rank < 2 || b->rank < 2 || columns(a, ta) != rows(b, tb))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cannot multiply %s%s by %s%s: needs matrices whose inner "
                        "dimensions agree",
                        eg__shape_text(a, first), ta ? " transposed" : "",
                        eg__shape_text(b, second), tb ? " transposed" : "");
    eg__node left = *a, right = *b;
    left.rank -= 2;
    right.rank -= 2;
    eg_status status = eg__broadcast_shape(&left, &right, node, error);
    if (status) return status;
    node->type = EG_F32;
    node->shape[node->rank++] = rows(a, ta);
    node->shape[node->rank++] = columns(b, tb);
    return EG_OK;
}

static double flops(const eg_graph *graph, const eg__node *node) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    return 2.0 * (double)eg__node_elements(node) *
           (double)columns(a, node->attributes.matmul.a_transposed);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node a = eg__node_input(g, &n, 0), b = eg__node_input(g, &n, 1);
    const int ta = n.attributes.matmul.a_transposed, tb = n.attributes.matmul.b_transposed;
    const eg_type type = eg__node_at(g, a)->type;
    if (eg__is_half(type)) d = eg_cast(g, d, type); /* its products are of halves, too */
    if (eg__backward_wants(backward, a)) {          /* dA = D B', or its transpose */
        eg_node value = eg__backward_value(backward, b);
        eg__backward_give(backward, a,
                          ta ? eg_matmul_transposed(g, value, tb, d, 1)
                             : eg_matmul_transposed(g, d, 0, value, !tb));
    }
    if (eg__backward_wants(backward, b)) { /* dB = A' D, or its transpose */
        eg_node value = eg__backward_value(backward, a);
        eg__backward_give(backward, b,
                          tb ? eg_matmul_transposed(g, d, 1, value, ta)
                             : eg_matmul_transposed(g, value, !ta, d, 0));
    }
}

/* What the product multiplies: halves, or f32. */
static eg_type product_type(const eg__node *node, const eg__node *a) {
    return node->kind ? (eg_type)node->kind : a->type;
}

static double side(const eg__node *node, double x) {
    if (!node->kind) return x;
    const eg_type type = (eg_type)node->kind;
    return eg__half_to_f32(type, eg__half_from_f32(type, (float)x));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    const bool ta = node->attributes.matmul.a_transposed, tb = node->attributes.matmul.b_transposed;
    const uint64_t m = rows(a, ta), k = columns(a, ta), n = columns(b, tb);
    eg__node batch = *node, left = *a, right = *b;
    batch.rank -= 2;
    left.rank -= 2;
    right.rank -= 2;
    for (uint64_t at = 0; at < eg__node_elements(&batch); at++, out += m * n) {
        const double *x = in[0] + eg__broadcast_index(&batch, &left, at) * m * k;
        const double *y = in[1] + eg__broadcast_index(&batch, &right, at) * k * n;
        for (uint64_t i = 0; i < m; i++)
            for (uint64_t j = 0; j < n; j++) {
                double sum = 0;
                for (uint64_t p = 0; p < k; p++)
                    sum += side(node, x[ta ? p * m + i : i * k + p]) *
                           side(node, y[tb ? j * k + p : p * n + j]);
                out[i * n + j] = sum;
            }
    }
}

/* ---- steps. One product for all rows if the right side has no leading axes, else one small
 * product per leading index. The right side is packed in the region that computes it: in the
 * prologue, if it depends on parameters alone. */
static uint64_t leading(const eg__node *x) {
    uint64_t count = 1;
    for (unsigned i = 0; i + 2 < x->rank; i++) count *= x->shape[i];
    return count;
}

/* A contiguous matrix operand, broadcast to the leading axes of the result, transposed if asked. */
static eg__view dense(eg__lowering *l, uint32_t id, uint32_t input, bool transposed) {
    const eg__node *node = eg__lower_node(l, id), *x = eg__lower_node(l, input);
    eg__node shape = *node;
    shape.type = x->type;
    shape.shape[node->rank - 2] = rows(x, transposed);
    shape.shape[node->rank - 1] = columns(x, transposed);
    eg__view view = eg__lower_value(l, input);
    if (transposed) {
        const size_t stride = view.stride[x->rank - 1];
        view.stride[x->rank - 1] = view.stride[x->rank - 2];
        view.stride[x->rank - 2] = stride;
    }
    eg__node turned = *x;
    turned.shape[x->rank - 2] = rows(x, transposed);
    turned.shape[x->rank - 1] = columns(x, transposed);
    view = eg__view_broadcast(&turned, &view, &shape);
    if (l->status || eg__view_is_contiguous(&shape, &view)) return view;
    const eg__view to = eg__lower_new(l, l->region[id], &shape);
    eg__lower_copy(l, l->region[id], id, &shape, &view, &to);
    return to;
}

/* Looks for an operand that was packed or transposed already: several products may share it. */
static bool find_packed(const eg__lowering *l, uint32_t node, eg__layout layout, eg_type type,
                        eg__view *view) {
    for (size_t i = 0; i < l->packed_count; i++)
        if (l->packed[i].node == node && l->packed[i].layout == layout &&
            l->packed[i].type == type) {
            *view = l->packed[i].view;
            return true;
        }
    return false;
}

static void keep_packed(eg__lowering *l, uint32_t node, eg__layout layout, eg_type type,
                        eg__view view) {
    void *packed = l->packed;
    if (!eg__lower_grow(l, &packed, l->packed_count, &l->packed_room, sizeof *l->packed)) return;
    l->packed = packed;
    l->packed[l->packed_count++] = (eg__packed){node, layout, type, view};
}

/* A step that packs a right side of that many numbers of `from` for products of `type`. */
static eg__step pack_step(eg__step step, eg_type from, eg_type type, double numbers) {
    if (eg__is_half(type)) step.operation[0] = eg__narrow_operation(type);
    step.bytes = numbers * (double)(eg__element_size(from) + eg__element_size(type));
    return step;
}
static eg__step_id pack_kind(eg_type type) {
    return eg__is_half(type) ? EG__STEP_pack_halves : EG__STEP_pack;
}
/* Bytes of a packed right side, and of a column of it. */
static size_t packed_bytes(eg_type type, size_t k, size_t n) {
    return sizeof(float) * eg__gemm_packed_size(eg__is_half(type) ? eg__gemm_pairs(k) : k, n);
}
static size_t column_bytes(eg_type type, size_t k) {
    return sizeof(float) * (eg__is_half(type) ? eg__gemm_pairs(k) : k);
}

/* Packs the right side `b`, or its part `x`, into `to` from column `first` on. */
static void pack_part(eg__lowering *l, uint32_t b, uint32_t x, bool transposed, size_t first,
                      const eg__view *to) {
    const eg__node *node = eg__lower_node(l, x);
    const size_t k = (size_t)rows(node, transposed), n = (size_t)columns(node, transposed);
    const eg__view from = eg__lower_value(l, x);
    const uint32_t region = l->region[b];
    const size_t row = from.stride[node->rank - 2], column = from.stride[node->rank - 1];
    const bool k_timed = l->timed[b] && !transposed && node->rank == 2 && l->length;
    eg__step step = pack_step(eg__lower_begin(b, pack_kind(to->type)), node->type, to->type,
                              (double)k * (double)n);
    step.items = 1;
    const bool panels = !l->regions[region].batch_items;
    const size_t lane = first % EG__PANEL;
    if (panels) step.items = eg__ceil_div(lane + n, EG__PANEL);
    step.columns = n;
    step.u.pack = (eg__step_pack){.n = n,
                                  .k = k_timed ? k / l->length : k,
                                  .row_stride = transposed ? column : row,
                                  .column_stride = transposed ? row : column,
                                  .k_timed = k_timed,
                                  .panels = panels,
                                  .lane = lane,
                                  .products = 1};
    eg__operand operands[] = {eg__lower_operand(&step, &from, 0, false),
                              eg__lower_operand(&step, to, 0, false)};
    operands[1].offset += column_bytes(to->type, k) * (first - lane);
    eg__lower_emit(l, region, &step, 2, operands);
}

static eg__view pack(eg__lowering *l, uint32_t b, bool transposed, eg_type type) {
    const eg__node *node = eg__lower_node(l, b);
    const size_t k = (size_t)rows(node, transposed), n = (size_t)columns(node, transposed);
    const eg__layout layout = transposed ? EG__PACKED_TRANSPOSED : EG__PACKED;
    eg__view view = {0};
    if (l->status || find_packed(l, b, layout, type, &view)) return view;
    view = (eg__view){
        .buffer = eg__lower_floats(l, l->region[b], packed_bytes(type, k, n) / sizeof(float)),
        .type = type};
    size_t first = 0;
    if (!eg__lower_packs_parts(l, b)) pack_part(l, b, b, transposed, 0, &view);
    else
        for (unsigned i = 0; i < node->input_count && !l->status; i++) {
            const uint32_t part = eg__lower_input(l, b, i);
            pack_part(l, b, part, transposed, first, &view);
            first += (size_t)columns(eg__lower_node(l, part), transposed);
        }
    keep_packed(l, b, layout, type, view);
    return view;
}

/* Whether `id` is the right side of that product and is packed whatever the left side is. */
static bool is_packed_for(const eg__lowering *l, uint32_t id, uint32_t user) {
    const eg__node *product = eg__lower_node(l, user);
    return product->op == EG__GRAPH_matmul && !product->attributes.matmul.a_transposed &&
           eg__lower_input(l, user, 0) != id && eg__lower_node(l, id)->rank == 2 &&
           eg__node_elements(product) && !eg__lower_part_of(l, user);
}

bool eg__lower_packs_parts(const eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    if (node->op != EG__GRAPH_concat || node->rank != 2 || l->region[id] != EG__REGION_PROLOGUE)
        return false;
    for (size_t i = 0; i < l->output_count; i++)
        if (l->outputs[i].id == id) return false;
    const bool transposed =
        node->attributes.concat.axis == 0; /* the concat's inputs are columns of the right side */
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++)
        if (!is_packed_for(l, id, l->users[k]) ||
            eg__lower_node(l, l->users[k])->attributes.matmul.b_transposed != transposed)
            return false;
    return l->user_first[id] < l->user_first[id + 1];
}

void eg__lower_pack_early(eg__lowering *l, uint32_t id) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1] && !l->status; k++) {
        const eg__node *user = eg__lower_node(l, l->users[k]);
        if (is_packed_for(l, id, l->users[k]))
            pack(l, id, user->attributes.matmul.b_transposed,
                 product_type(user, eg__lower_node(l, id)));
    }
}

/* The rows of the left side; leading axes are merged into them where possible. */
static eg__matrix left_rows(eg__lowering *l, uint32_t a, bool transposed) {
    if (!transposed) return eg__lower_rows(l, a);
    const eg__node *node = eg__lower_node(l, a); /* of rank 2 */
    const size_t k = (size_t)node->shape[0], m = (size_t)node->shape[1];
    const eg__view from = eg__lower_value(l, a);
    eg__view to = {0};
    if (!find_packed(l, a, EG__TRANSPOSED, node->type, &to)) {
        const uint32_t region = l->region[a];
        to = (eg__view){
            .buffer = eg__lower_floats(l, region, k * m), .type = node->type, .stride = {1, k}};
        eg__lower_copy(l, region, a, node, &from, &to);
        keep_packed(l, a, EG__TRANSPOSED, node->type, to);
    }
    return (eg__matrix){to, m, k, k};
}

static bool is_at(const eg__operand *operand, const eg__view *home) {
    return operand->space == home->buffer && operand->offset == home->offset;
}

static bool is_read(const eg__fused_program *p, unsigned from, uint8_t place) {
    for (unsigned i = from; i < p->length; i++) {
        const uint8_t inputs[] = {p->code[i].a, p->code[i].b, p->code[i].c};
        for (unsigned k = 0; k < eg__fused_op_inputs(p->code[i].op); k++)
            if (inputs[k] == place) return true;
    }
    return false;
}

/* The epilogue without its first instruction, whose sum is now in the operand or register
 * `place`. */
static eg__fused_program rest_of(const eg__fused_program *p, uint8_t place) {
    eg__fused_program rest = *p;
    const uint8_t old = p->code[0].out;
    rest.length--;
    for (unsigned i = 0; i < rest.length; i++) {
        rest.code[i] = p->code[i + 1];
        if (rest.code[i].a == old) rest.code[i].a = place;
        if (rest.code[i].b == old) rest.code[i].b = place;
        if (rest.code[i].c == old) rest.code[i].c = place;
    }
    return rest;
}

/* Whether the rest of the epilogue never overwrites the sum, neither its memory nor its
 * register. */
static bool stays(const eg__fused_program *p, const eg__view *home, const eg__operand *more) {
    for (unsigned i = 1; i < p->length; i++) {
        const uint8_t out = p->code[i].out;
        if (out == p->code[0].out) return false;
        if (out >= EG__FUSED_REGISTERS && more[out - EG__FUSED_REGISTERS].space == home->buffer)
            return false;
    }
    return true;
}

/* If the epilogue begins with adding a bias or a matrix, the gemm kernel does this addition itself,
 * unless the sum would overwrite the left side, which the kernel is still reading. */
static void find_add(const eg__view *home, const eg__view *left, const eg__operand *more,
                     eg__step_gemm *g) {
    const eg__fused_program *p = &g->epilogue;
    const eg__fused_instruction *code = &p->code[0];
    if (code->op != EG__FUSED_ADD || code->a == code->b) return;
    const uint8_t places[] = {code->a, code->b};
    for (unsigned i = 0; i < 2; i++) {
        const unsigned product = places[i] - EG__FUSED_REGISTERS;
        const unsigned other = places[1 - i] - EG__FUSED_REGISTERS;
        const bool kept = code->out >= EG__FUSED_REGISTERS;
        if (!is_at(&more[product], home)) continue;
        if (p->kind[other] != EG__FULL && p->kind[other] != EG__COLUMN) continue;
        if (is_read(p, 1, places[i]) || (!kept && !stays(p, home, more))) continue;
        if (kept && more[code->out - EG__FUSED_REGISTERS].space == left->buffer) continue;
        g->add = (uint8_t)(3 + other);
        g->sum = kept ? (uint8_t)(3 + code->out - EG__FUSED_REGISTERS) : 2;
        g->rest = rest_of(p, kept ? code->out : places[i]);
        return;
    }
}

/* Bytes that an epilogue reads and writes besides the product. A product whose kernel adds is not
 * written separately. */
static double epilogue_bytes(const eg__step_gemm *g, const eg__view *home, const eg__operand *more,
                             double rows, double columns) {
    const eg__fused_program *p = &g->epilogue;
    double bytes = 0;
    for (unsigned i = 0; i < p->operands; i++)
        if (!is_at(&more[i], home))
            bytes += eg__fused_operand_bytes((eg__fused_kind)p->kind[i], rows, columns);
    if (g->add && g->sum > 2 && !is_at(&more[g->sum - 3], home)) bytes -= 4 * rows * columns;
    return bytes;
}

/* Items are chunks of columns: full and per-column operands advance with the chunk, others do
 * not. */
static void cut_columns(const eg__step *step, eg__operand *operands, size_t count) {
    const eg__step_gemm *g = &step->u.gemm;
    operands[0].item = 0;
    operands[2].item = g->chunk * sizeof(float);
    for (size_t i = 3; i < count; i++) {
        const unsigned kind = g->epilogue.kind[i - 3];
        operands[i].item = kind == EG__FULL || kind == EG__COLUMN ? g->chunk * sizeof(float) : 0;
    }
}

void eg__lower_product(eg__lowering *l, uint32_t id, eg__step *step,
                       const eg__product_places *places, const eg__fused_program *epilogue,
                       size_t count, const eg__operand *more) {
    const eg__node *node = eg__lower_node(l, id);
    const double rows = (double)places->left.rows, columns = (double)places->out.columns;
    if (epilogue) {
        eg__step_gemm *g = &step->u.gemm;
        g->has_epilogue = true;
        g->epilogue = *epilogue;
        find_add(places->home, &places->left.view, more, g);
        step->flops += (double)epilogue->operations * (double)eg__node_elements(node);
        step->bytes += epilogue_bytes(g, places->home, more, rows, columns);
    }
    eg__operand operands[3 + EG__FUSED_OPERANDS] = {
        eg__lower_operand(step, &places->left.view, places->left.stride, true),
        eg__lower_operand(step, &places->right, 0, false),
        eg__lower_operand(step, places->home, places->out.stride, true)};
    for (size_t i = 0; i < count; i++) {
        operands[3 + i] = more[i];
        operands[3 + i].item *= step->rows; /* its stride was computed for items of one row */
    }
    if (step->u.gemm.chunk) cut_columns(step, operands, 3 + count);
    eg__lower_emit(l, l->region[id], step, 3 + count, operands);
}

/* A' B without transposing or packing a side that is used once. With longer rows, walking down a
 * column touches too many pages, so that packing pays. */
static bool is_transposed(eg__lowering *l, uint32_t id) {
    enum { LONGEST = 256 };
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t a = eg__lower_input(l, id, 0), b = eg__lower_input(l, id, 1);
    if (!node->attributes.matmul.a_transposed || node->attributes.matmul.b_transposed ||
        product_type(node, eg__lower_node(l, a)) != EG_F32 || l->regions[l->region[id]].batch_items)
        return false;
    const eg__view left = eg__lower_value(l, a), right = eg__lower_value(l, b);
    return left.stride[1] == 1 && left.stride[0] <= LONGEST && right.stride[1] == 1 &&
           right.stride[0] <= LONGEST;
}

static void lower_transposed(eg__lowering *l, uint32_t id, const eg__view *home,
                             const eg__fused_program *epilogue, size_t count,
                             const eg__operand *more) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t a = eg__lower_input(l, id, 0), b = eg__lower_input(l, id, 1);
    const size_t m = (size_t)node->shape[0], n = (size_t)node->shape[1];
    const size_t k = (size_t)eg__lower_node(l, a)->shape[0];
    const eg__view left = eg__lower_value(l, a), right = eg__lower_value(l, b);
    if (l->status) return;
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_gemm_tn, m, n);
    const bool k_timed = l->timed[a] && l->length;
    step.u.gemm = (eg__step_gemm){.n = n,
                                  .k = k_timed ? k / l->length : k,
                                  .k_timed = k_timed,
                                  .has_epilogue = epilogue != NULL};
    if (epilogue) step.u.gemm.epilogue = *epilogue;
    step.flops = flops(l->graph, node) +
                 (epilogue ? (double)epilogue->operations * (double)eg__node_elements(node) : 0);
    step.bytes = 4.0 * (double)(m * k + k * n + m * n);
    if (epilogue) step.bytes += epilogue_bytes(&step.u.gemm, home, more, (double)m, (double)n);
    if (l->region[id] == EG__REGION_MAIN) eg__step_slice(&step, k);
    eg__operand operands[3 + EG__FUSED_OPERANDS] = {
        eg__lower_operand(&step, &left, left.stride[0], false),
        eg__lower_operand(&step, &right, right.stride[0], false),
        eg__lower_operand(&step, home, home->stride[0], true)};
    operands[0].item = step.rows * sizeof(float); /* the items are columns of the left side */
    for (size_t i = 0; i < count; i++) operands[3 + i] = more[i]; /* an item is one row here, too */
    eg__lower_emit(l, l->region[id], &step, 3 + count, operands);
}

/* A step that multiplies halves, or f32. */
static eg__step product_step(eg__lowering *l, uint32_t id, eg_type type, size_t rows,
                             size_t columns) {
    eg__step step =
        eg__lower_step(l, l->region[id], id,
                       eg__is_half(type) ? EG__STEP_gemm_halves : EG__STEP_gemm, rows, columns);
    if (!eg__is_half(type)) return step;
    step.operation[0] = eg__halves_operation(type);
    step.operation[1] = eg__narrow_operation(type);
    step.name = eg__operation_name(step.operation[0]);
    if (!l->kernels->row[step.operation[0]]->widens) step.traits |= EG_STEP_HALVES;
    return step;
}
static double product_bytes(eg_type left, eg_type right, double m, double n, double k) {
    return m * k * (double)eg__element_size(left) + k * n * (double)eg__element_size(right) +
           m * n * 4;
}

static void lower_product(eg__lowering *l, uint32_t id, const eg__view *home,
                          const eg__fused_program *epilogue, size_t count, eg__operand *more) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t a = eg__lower_input(l, id, 0), b = eg__lower_input(l, id, 1);
    const bool ta = node->attributes.matmul.a_transposed, tb = node->attributes.matmul.b_transposed;
    const eg_type type = product_type(node, eg__lower_node(l, a));
    const eg__matrix left = left_rows(l, a, ta);
    const eg__view right = pack(l, b, tb, type);
    eg__matrix out = {{0}, 1, 1, 1};
    if (l->status) return;
    eg__view_rows(node, home, &out);
    eg__step step = product_step(l, id, type, left.rows, out.columns);
    const bool k_timed = ta && l->timed[a] && l->length;
    step.u.gemm = (eg__step_gemm){.n = out.columns,
                                  .k = k_timed ? left.columns / l->length : left.columns,
                                  .k_timed = k_timed};
    step.flops = flops(l->graph, node);
    step.bytes = product_bytes(left.view.type, type, (double)left.rows, (double)out.columns,
                               (double)left.columns);
    const eg__product_places places = {left, out, right, home};
    eg__lower_product(l, id, &step, &places, epilogue, count, more);
}

static void lower_products(eg__lowering *l, uint32_t id, const eg__view *home) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t a = eg__lower_input(l, id, 0), b = eg__lower_input(l, id, 1);
    const bool ta = node->attributes.matmul.a_transposed, tb = node->attributes.matmul.b_transposed;
    const size_t m = (size_t)rows(eg__lower_node(l, a), ta);
    const size_t k = (size_t)columns(eg__lower_node(l, a), ta);
    const size_t n = (size_t)columns(eg__lower_node(l, b), tb), batch = (size_t)leading(node);
    const uint32_t region = l->region[id];
    const eg__view left = dense(l, id, a, ta), right = dense(l, id, b, tb);
    const eg_type type = product_type(node, eg__lower_node(l, a));
    const size_t packed_size = packed_bytes(type, k, n) / eg__element_size(type);
    const eg__view packed = {
        .buffer = eg__lower_floats(l, region, batch * packed_bytes(type, k, n) / sizeof(float)),
        .type = type};
    eg__step step = pack_step(eg__lower_step(l, region, id, pack_kind(type), batch, n), right.type,
                              type, (double)batch * (double)k * (double)n);
    const size_t products = step.rows; /* per item */
    step.u.pack = (eg__step_pack){.n = n,
                                  .k = k,
                                  .row_stride = n,
                                  .column_stride = 1,
                                  .products = products,
                                  .from_step = k * n};
    eg__operand packing[] = {eg__lower_operand(&step, &right, k * n, true),
                             eg__lower_operand(&step, &packed, packed_size, true)};
    eg__lower_emit(l, region, &step, 2, packing);
    step = product_step(l, id, type, batch, n);
    eg__operand operands[] = {eg__lower_operand(&step, &left, m * k, true),
                              eg__lower_operand(&step, &packed, packed_size, true),
                              eg__lower_operand(&step, home, m * n, true)};
    operands[0].stride = k;
    operands[2].stride = n;
    step.rows = m;
    step.u.gemm = (eg__step_gemm){.n = n,
                                  .k = k,
                                  .products = products,
                                  .a_step = m * k,
                                  .b_step = packed_size,
                                  .c_step = m * n};
    step.flops = flops(l->graph, node);
    step.bytes = (double)batch * product_bytes(left.type, type, (double)m, (double)n, (double)k);
    eg__lower_emit(l, region, &step, 3, operands);
}

/* All rows share one right side. */
static bool is_plain(const eg__lowering *l, uint32_t id) {
    const eg__node *a = eg__lower_node(l, eg__lower_input(l, id, 0));
    const eg__node *b = eg__lower_node(l, eg__lower_input(l, id, 1));
    return b->rank == 2 && (a->rank == 2 || !eg__lower_node(l, id)->attributes.matmul.a_transposed);
}

void eg__lower_matmul(eg__lowering *l, uint32_t id, const eg__view *home,
                      const eg__fused_program *epilogue, size_t count, eg__operand *operands) {
    const eg__node *node = eg__lower_node(l, id);
    if (l->status || !eg__node_elements(node)) return;
    if (node->op == EG__GRAPH_quantized_matmul)
        eg__lower_quantized_matmul(l, id, home, epilogue, count, operands);
    else if (node->op == EG__GRAPH_infile_matmul)
        eg__lower_infile_matmul(l, id, home, epilogue, count, operands);
    else if (is_plain(l, id) && is_transposed(l, id))
        lower_transposed(l, id, home, epilogue, count, operands);
    else if (is_plain(l, id)) lower_product(l, id, home, epilogue, count, operands);
    else lower_products(l, id, home);
}

static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const bool plain = is_plain(l, id);
    eg__view home = eg__lower_storage(l, id, 0);
    eg__matrix out;
    if (!l->status &&
        (plain ? !eg__view_rows(node, &home, &out) : !eg__view_is_contiguous(node, &home)))
        home = eg__lower_plain_storage(l, id);
    eg__lower_matmul(l, id, &home, NULL, 0, NULL);
}

/* ---- time axes: time stays where it is among the leading axes or the rows of a. A contraction
 * over time becomes a sum over fewer rows in a shorter run, if time is the first axis of both
 * sides */
static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    const eg_graph *graph = clock->graph;
    const eg_node other_id = eg__node_input(graph, node, !input);
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, input));
    const eg__node *other = eg__node_at(graph, other_id);
    const eg__matmul_attributes *sides = &node->attributes.matmul;
    const bool transposed = input ? sides->b_transposed : sides->a_transposed;
    if (axis < (int)x->rank - 2) return eg__time_aligned(clock, node, input, axis);
    const bool is_row = (axis == (int)x->rank - 2) != transposed;
    if (input == 0 && is_row) return (int)node->rank - 2;
    if (input == 1 && !is_row) return (int)node->rank - 1;
    const bool both = sides->a_transposed && !sides->b_transposed && x->rank == 2 &&
                      other->rank == 2 && axis == 0 && clock->axis[other_id.id] == 1;
    return both ? EG__TIME_ENDS : EG__TIME_MIXED;
}

static bool keeps_items(const eg_graph *graph, const eg__node *node, uint64_t items) {
    const eg__node *a = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *b = eg__node_at(graph, eg__node_input(graph, node, 1));
    if (!eg__has_items(a, items) || !a->scan) return false;
    if (b->rank > 2) return a->rank == b->rank && eg__has_items(b, items);
    return !b->scan && (a->rank > 2 || !node->attributes.matmul.a_transposed);
}

/* Rows of all steps share one right side. */
static bool lifts(const eg_graph *graph, const eg__node *node) {
    return !node->attributes.matmul.a_transposed && eg__lifts_first(graph, node);
}

const eg__op eg__op_matmul = {.name = "matmul",
                              .takes_halves = true,
                              .is_kept = eg__always_kept,
                              .infer = infer,
                              .flops = flops,
                              .gradient = gradient,
                              .evaluate = evaluate,
                              .lower = lower,
                              .time = time_axis,
                              .keeps_items = keeps_items,
                              .lifts = lifts};
