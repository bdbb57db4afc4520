/* Each pass on a graph that it is for: what was there before, what is there afterwards. */
#include "test.h"
#include "graph/lower/lower.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

AREA(passes, "each pass alone: the graph or the steps before and after")

/* "matmul(x,W) [5,4]; ..." for the nodes that are not leaves; those inside scans begin with |. */
static const char *graph_text(const eg_graph *g) {
    static char text[4000];
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 1; i <= g->size && at + 200 < sizeof text; i++) {
        const eg__node *node = &g->nodes[i];
        if (node->name || node->op == EG__GRAPH_constant || node->op == EG__GRAPH_scan) continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s(", at ? " " : "",
                               node->scan ? "|" : "", eg__node_operation(node));
        bool first = true;
        for (unsigned k = 0; k < node->input_count; k++) {
            const uint32_t input = eg__node_input(g, node, k).id;
            if (g->nodes[input].op == EG__GRAPH_scan) continue;
            at += g->nodes[input].name ? (size_t)snprintf(text + at, sizeof text - at, "%s%s",
                                                          first ? "" : ",", g->nodes[input].name)
                  : g->nodes[input].op == EG__GRAPH_constant
                      ? (size_t)snprintf(text + at, sizeof text - at, "%sc", first ? "" : ",")
                      : (size_t)snprintf(text + at, sizeof text - at, "%s%u", first ? "" : ",",
                                         input);
            first = false;
        }
        at += (size_t)snprintf(text + at, sizeof text - at, ")=%u", i);
    }
    return text;
}

typedef eg_node (*build_function)(eg_graph *g);
typedef eg_status pass_function(const eg_graph *graph, size_t count, eg_node *outputs,
                                bool training, eg_graph **to, eg_error *error);

static void check_pass(pass_function *pass, build_function build, const char *before,
                       const char *after) {
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg_graph *g, *to, *clean;
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node y = build(g);
    CHECK_OK(eg_graph_check(g, &error), error);
    CHECK(strcmp(graph_text(g), before) == 0, "before: %s", graph_text(g));
    static const eg__rewriter plain = {.rule = NULL};
    CHECK_OK(pass(g, 1, &y, false, &to, &error), error);
    CHECK_OK(eg__graph_rewrite(to, 1, &y, false, &plain, &clean, &error), error);
    CHECK(strcmp(graph_text(clean), after) == 0, "after: %s", graph_text(clean));
    eg_graph_destroy(clean);
    eg_graph_destroy(to);
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

static eg_node input(eg_graph *g, const char *name, uint64_t rows, uint64_t columns) {
    return eg_input(g, name, EG_F32, 2, (uint64_t[]){rows, columns});
}
static eg_node parameter(eg_graph *g, const char *name, uint64_t rows, uint64_t columns) {
    return eg_parameter(g, name, 2, (uint64_t[]){rows, columns});
}

/* (x * (2 - 1) + 0) of a transpose of a transpose, and a part of a concat */
static eg_node build_fold(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4), two = eg_scalar(g, 2), zero = eg_scalar(g, 0);
    eg_node one = eg_sub(g, two, eg_scalar(g, 1));
    eg_node twice = eg_transpose(g, eg_transpose(g, x, (unsigned[]){1, 0}), (unsigned[]){1, 0});
    eg_node sum = eg_add(g, eg_mul(g, twice, one), zero);
    eg_node both[] = {sum, eg_tanh(g, x)};
    return eg_dropout(g, eg_slice(g, eg_concat(g, 1, 2, both), 1, 4, 4), 0.5);
}
TEST(passes, fold) {
    check_pass(eg__pass_fold, build_fold,
               "sub(c,c)=5 transpose(x)=6 transpose(6)=7 mul(7,5)=8 add(8,c)=9 tanh(x)=10 "
               "concat(9,10)=11 slice(11)=12 dropout(12)=13",
               "tanh(x)=2");
}

static eg_node build_cse(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4), a = eg_tanh(g, x);
    eg_sigmoid(g, a); /* nobody needs it */
    eg_node three = eg_scalar(g, 3), b = eg_mul(g, a, three), again = eg_tanh(g, x);
    eg_node also = eg_scalar(g, 3);
    return eg_add(g, b, eg_mul(g, again, also));
}
TEST(passes, cse) {
    check_pass(eg__pass_cse, build_cse,
               "tanh(x)=2 sigmoid(2)=3 mul(2,c)=5 tanh(x)=6 mul(6,c)=8 add(5,8)=9",
               "tanh(x)=3 mul(3,c)=4 add(4,4)=5");
}

/* tanh([x, h] W + b): x leaves the scan with its rows of W, and so does b */
static eg_node build_hoist(eg_graph *g) {
    eg_node xs = eg_input(g, "xs", EG_F32, 3, (uint64_t[]){7, 3, 2});
    eg_node h0 = input(g, "h0", 3, 4), w = parameter(g, "W", 6, 4), b = parameter(g, "b", 1, 4);
    eg_node scan = eg_scan(g, 7, 0), h = eg_scan_carry(g, scan, h0);
    eg_node both[] = {eg_scan_step(g, scan, xs), h};
    eg_node next = eg_tanh(g, eg_add(g, eg_matmul(g, eg_concat(g, 1, 2, both), w), b));
    eg_scan_update(g, h, next);
    return eg_scan_last(g, h);
}
TEST(passes, hoist) {
    check_pass(eg__pass_hoist, build_hoist,
               "|carry(h0)=6 |step(xs)=7 |concat(7,6)=8 |matmul(8,W)=9 |add(9,b)=10 |tanh(10)=11 "
               "last(6)=12",
               "slice(W)=3 slice(W)=4 |carry(h0)=8 matmul(xs,3)=9 add(9,b)=10 |matmul(8,4)=11 "
               "|step(10)=12 |add(11,12)=13 |tanh(13)=14 last(8)=15");
}

/* outputs h V + c of every step, and the sum of h' d: both after the scan */
static eg_node build_sink(eg_graph *g) {
    eg_node h0 = input(g, "h0", 3, 4), v = parameter(g, "V", 4, 2), c = parameter(g, "c", 1, 2);
    eg_node scan = eg_scan(g, 7, 0), h = eg_scan_carry(g, scan, h0), next = eg_tanh(g, h);
    eg_scan_update(g, h, next);
    eg_node y = eg_scan_stack(g, scan, eg_add(g, eg_matmul(g, next, v), c));
    eg_node total = eg_scan_sum(g, scan, eg_matmul_transposed(g, next, 1, h, 0));
    return eg_add(g, eg_sum(g, y, EG_ALL_AXES, 0), total);
}
TEST(passes, sink) {
    check_pass(eg__pass_sink, build_sink,
               "|carry(h0)=5 |tanh(5)=6 |matmul(6,V)=7 |add(7,c)=8 stack(8)=9 |matmul(6,5)=10 "
               "total(10)=11 sum(9)=12 add(12,11)=13",
               "|carry(h0)=5 |tanh(5)=6 stack(6)=7 matmul(7,V)=8 add(8,c)=9 stack(5)=10 "
               "reshape(10)=11 reshape(7)=12 matmul(12,11)=13 sum(9)=14 add(14,13)=15");
}

/* (x A + a) + y C + (x B + b) */
static eg_node build_factor(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4), y = input(g, "y", 3, 5);
    eg_node w[] = {parameter(g, "A", 4, 6), parameter(g, "B", 4, 6), parameter(g, "C", 5, 6)};
    eg_node bias[] = {eg_parameter(g, "a", 1, (uint64_t[]){6}),
                      eg_parameter(g, "b", 1, (uint64_t[]){6})};
    eg_node right = eg_add(g, eg_matmul(g, x, w[1]), bias[1]);
    eg_node left = eg_add(g, eg_matmul(g, x, w[0]), bias[0]);
    return eg_add(g, eg_add(g, left, eg_matmul(g, y, w[2])), right);
}
TEST(passes, factor) {
    check_pass(eg__pass_factor, build_factor,
               "matmul(x,B)=8 add(8,b)=9 matmul(x,A)=10 add(10,a)=11 matmul(y,C)=12 add(11,12)=13 "
               "add(13,9)=14",
               "add(a,b)=6 add(A,B)=7 matmul(x,7)=10 add(10,6)=11 matmul(y,C)=12 add(11,12)=13");
}

/* A product that something else needs, too, and one with the other side of a matrix stay. */
static eg_node build_no_factor(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4);
    eg_node w[] = {parameter(g, "A", 4, 4), parameter(g, "B", 4, 4), parameter(g, "C", 4, 4)};
    eg_node a = eg_matmul(g, x, w[0]), b = eg_matmul(g, x, w[1]);
    eg_node c = eg_matmul_transposed(g, x, 0, w[2], 1);
    return eg_mul(g, a, eg_add(g, eg_add(g, a, b), c));
}
TEST(passes, factor_leaves_what_it_must) {
    static const char same[] =
        "matmul(x,A)=5 matmul(x,B)=6 matmul(x,C)=7 add(5,6)=8 add(8,7)=9 mul(5,9)=10";
    check_pass(eg__pass_factor, build_no_factor, same, same);
}

/* silu(silu(h)), and the sigmoid of h: the inner one is its product with h */
static eg_node build_silu(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4), scan = eg_scan(g, 7, 0), h = eg_scan_carry(g, scan, x);
    eg_node y = eg_silu(g, h);
    eg_scan_update(g, h, eg_silu(g, y));
    eg_node s = eg_scan_sum(g, scan, eg_sigmoid(g, h));
    return eg_add(g, s, eg_scan_last(g, h));
}
TEST(passes, fold_silu) {
    check_pass(eg__pass_fold, build_silu,
               "|carry(x)=3 |silu(3)=4 |silu(4)=5 |sigmoid(3)=6 total(6)=7 last(3)=8 add(7,8)=9",
               "|carry(x)=3 |sigmoid(3)=4 |mul(3,4)=5 |silu(5)=6 |sigmoid(3)=7 total(7)=8 "
               "last(3)=9 add(8,9)=10");
}

/* x A + a and x B + b; tanh(..) P + sigmoid(..) Q */
static eg_node build_siblings(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4);
    eg_node w[] = {parameter(g, "A", 4, 5), parameter(g, "B", 4, 6)};
    eg_node bias[] = {eg_parameter(g, "a", 1, (uint64_t[]){5}),
                      eg_parameter(g, "b", 1, (uint64_t[]){6})};
    eg_node p = parameter(g, "P", 5, 2), q = parameter(g, "Q", 6, 2);
    eg_node a = eg_tanh(g, eg_add(g, eg_matmul(g, x, w[0]), bias[0]));
    eg_node b = eg_sigmoid(g, eg_add(g, eg_matmul(g, x, w[1]), bias[1]));
    eg_node left = eg_matmul(g, a, p), right = eg_matmul(g, b, q);
    return eg_add(g, left, right);
}
TEST(passes, siblings) {
    check_pass(eg__pass_siblings, build_siblings,
               "matmul(x,A)=8 add(8,a)=9 tanh(9)=10 matmul(x,B)=11 add(11,b)=12 sigmoid(12)=13 "
               "matmul(10,P)=14 matmul(13,Q)=15 add(14,15)=16",
               "concat(A,B)=7 concat(a,b)=8 concat(P,Q)=9 matmul(x,7)=11 add(11,8)=12 "
               "slice(12)=13 tanh(13)=14 slice(12)=15 sigmoid(15)=16 concat(14,16)=17 "
               "matmul(17,9)=18");
}

/* ---- passes that change how a graph becomes steps */
static const char *steps_text(const struct eg_program *p) {
    static char text[2000];
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < p->step_count && at + 100 < sizeof text; i++) {
        if (i >= p->main_count && i < p->main_count + p->prologue_count) continue;
        const eg__step *step = &p->steps[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s", at ? " " : "",
                               i >= p->main_count ? "|" : "", step->name);
        const eg__fused_program *code = step->kind == EG__STEP_fused  ? &step->u.fused.program
                                        : step->kind == EG__STEP_gemm ? &step->u.gemm.epilogue
                                                                      : NULL;
        for (unsigned k = 0; code && k < code->length; k++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", k ? "," : ":",
                                   eg__fused_op_name(code->code[k].op));
    }
    return text;
}

static void check_lowering(const char *name, build_function build, const char *before,
                           const char *after) {
    eg__memory *memory;
    eg_error error;
    eg__kernels kernels;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    CHECK_OK(eg__kernels_select(0, "ref", &kernels, &error), error);
    eg_graph *g;
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg__output output = {"y", build(g)};
    size_t arena[2];
    for (int on = 0; on <= 1; on++) {
        char passes[64];
        snprintf(passes, sizeof passes, on ? "all" : "all,-%s", name);
        eg__compile_options options = {.training = false};
        CHECK_OK(eg__passes_parse(passes, &options.passes, &error), error);
        struct eg_program *p;
        CHECK_OK(eg__program_compile(g, &kernels, 1, &output, &options, &p, &error), error);
        CHECK(strcmp(steps_text(p), on ? after : before) == 0, "%s %s: %s", name, on ? "on" : "off",
              steps_text(p));
        arena[on] = p->arena_size;
        eg__program_free(p);
    }
    if (strcmp(name, "reuse") == 0)
        CHECK(arena[1] < arena[0], "%zu floats with reuse, %zu without", arena[1], arena[0]);
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

static eg_node build_chain(eg_graph *g) {
    eg_node x = input(g, "x", 3, 4), w = parameter(g, "W", 4, 4);
    eg_node y = eg_tanh(g, eg_add(g, eg_matmul(g, x, w), parameter(g, "b", 1, 4)));
    eg_node both[] = {eg_softmax(g, eg_exp(g, y)), eg_sigmoid(g, eg_mul(g, y, x))};
    return eg_concat(g, 1, 2, both);
}
TEST(passes, fuse) {
    check_lowering("fuse", build_chain,
                   "gemm:add fused:tanh fused:exp softmax fused:mul fused:sigmoid",
                   "gemm:add+tanh,exp,mul,sigmoid softmax");
}
TEST(passes, epilogue) {
    check_lowering("epilogue", build_chain, "gemm fused:add+tanh,exp,mul,sigmoid softmax",
                   "gemm:add+tanh,exp,mul,sigmoid softmax");
}
TEST(passes, place) {
    check_lowering("in_place", build_chain, "gemm:add+tanh,exp,mul,sigmoid softmax copy copy copy",
                   "gemm:add+tanh,exp,mul,sigmoid softmax");
}
/* A state that is an output, too, and a value that is part of two concats. */
static eg_node build_second(eg_graph *g) {
    const uint64_t shape[] = {1, 4};
    eg_node x = input(g, "x", 1, 4), h = eg_state(g, "h", 2, shape), s = eg_softmax(g, x);
    eg_node y = eg_tanh(g, eg_add(g, x, h)), left[] = {y, s}, right[] = {s, y};
    eg_node sum = eg_sum(g, eg_softmax(g, eg_concat(g, 1, 2, left)), EG_ALL_AXES, 0);
    eg_node other = eg_sum(g, eg_softmax(g, eg_concat(g, 1, 2, right)), EG_ALL_AXES, 0);
    return eg_update(g, h, eg_add(g, y, eg_add(g, sum, other)));
}
TEST(passes, second_places) {
    check_lowering("in_place", build_second,
                   "softmax fused:add+tanh copy copy softmax reduce copy copy softmax reduce "
                   "fused:add fused:add copy copy",
                   "softmax fused:add+tanh,copy softmax reduce copy softmax reduce "
                   "fused:add fused:add,copy");
}
static eg_node build_long(eg_graph *g) {
    eg_node x = input(g, "x", 30, 40);
    for (int i = 0; i < 5; i++) x = eg_softmax(g, eg_layer_norm(g, x, 1e-5));
    return eg_sum(g, x, EG_ALL_AXES, 0);
}
TEST(passes, reuse) {
    const char *steps = "layer_norm softmax layer_norm softmax layer_norm softmax layer_norm "
                        "softmax layer_norm softmax reduce";
    check_lowering("reuse", build_long, steps, steps);
}

TEST(passes, names) {
    uint32_t passes;
    eg_error error;
    CHECK_OK(eg__passes_parse(NULL, &passes, &error), error);
    CHECK(passes == EG__PASSES_ALL, "NULL is %x", passes);
    CHECK_OK(eg__passes_parse("none", &passes, &error), error);
    CHECK(passes == 0, "none is %x", passes);
    CHECK_OK(eg__passes_parse("fold,cse", &passes, &error), error);
    CHECK(passes == (1 << EG__PASS_fold | 1 << EG__PASS_cse), "fold,cse is %x", passes);
    CHECK_OK(eg__passes_parse("-fuse", &passes, &error), error);
    CHECK(passes == (EG__PASSES_ALL & ~(1 << EG__PASS_fuse)), "-fuse is %x", passes);
    CHECK_FAILS(eg__passes_parse("all,fuze", &passes, &error), error, EG_ERR_ARGUMENT, "'fuze'");
}
