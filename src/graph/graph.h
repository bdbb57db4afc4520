/* Graphs, as the library's own files see them. */
#ifndef EG__GRAPH_H
#define EG__GRAPH_H

#include "base/base.h"
#include "base/dropout.h"
#include "elegans/graph.h"
#include "memory/memory.h"

/* ---- operations: one table row and one file each */
typedef enum eg__op_id {
#define OP(name, least, most, attributes) EG__GRAPH_##name,
#include "graph/ops/ops.def"
    EG__GRAPH_COUNT
} eg__op_id;

/* ---- attributes: the constants of a node, as the row of its operation in ops.def lists them. A
 * slice node has node->attributes.slice, an eg__slice_attributes. */
#define FLAG(name)             bool name;
#define UNSIGNED(name)         unsigned name;
#define UNSIGNEDS(name, count) unsigned name[count];
#define COUNT(name)            uint64_t name;
#define INTEGER(name)          int64_t name;
#define INTEGERS(name, count)  int64_t name[count];
#define NUMBER(name)           double name;
#define NONE                   char none;
#define OP(name, least, most, attributes)    \
    typedef struct eg__##name##_attributes { \
        attributes                           \
    } eg__##name##_attributes;
#include "graph/ops/ops.def"

typedef union eg__attributes {
#define OP(name, least, most, attributes) eg__##name##_attributes name;
#include "graph/ops/ops.def"
} eg__attributes;

/* The same list as data, for code that walks over all attributes: files, comparison. */
typedef enum eg__attribute_kind {
    EG__ATTRIBUTE_FLAG,
    EG__ATTRIBUTE_UNSIGNED,
    EG__ATTRIBUTE_COUNT,
    EG__ATTRIBUTE_INTEGER,
    EG__ATTRIBUTE_NUMBER
} eg__attribute_kind;
typedef struct eg__attribute {
    const char *name;
    eg__attribute_kind kind;
    unsigned count; /* 1, or the length of a list */
    size_t offset;  /* in eg__attributes */
} eg__attribute;
const eg__attribute *eg__op_attributes(eg__op_id op); /* ends with name NULL */
bool eg__attributes_equal(eg__op_id op, const eg__attributes *a, const eg__attributes *b);
/* Element i of an attribute of any kind but NUMBER. set returns false for values out of the kind's
 * range. */
int64_t eg__attribute_integer(const eg__attributes *from, const eg__attribute *which, unsigned i);
bool eg__attribute_set(eg__attributes *to, const eg__attribute *which, unsigned i, int64_t value);
double *eg__attribute_number(eg__attributes *of, const eg__attribute *which);

/* The kind of a parameter: any values, or values that the model has already multiplied by a
 * mask. */
enum { EG__PARAMETER_PLAIN, EG__PARAMETER_MASKED };
/* The kind of an input. TIMED: its first axis is time although no scan in its graph says so (see
 * eg__device_task). */
enum { EG__INPUT_PLAIN, EG__INPUT_TIMED };

typedef struct eg__node {
    eg__op_id op;
    unsigned kind; /* member of an operation's family: tanh, exp, ... of unary */
    eg_type type;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    uint32_t scan;                     /* the scan it is inside; 0 = none */
    uint32_t first_input, input_count; /* in graph->inputs */
    eg__attributes attributes;
    char *name;        /* leaves */
    void *data;        /* constants */
    bool data_is_lent; /* the program owns it; else freed by eg__numbers_give */
    uint32_t next;     /* a carry: its value after a step; a state: its last update */
} eg__node;

struct eg_graph {
    eg__memory *memory;
    eg__node *nodes; /* [0] is unused */
    uint32_t size, room;
    eg_node *inputs;
    size_t inputs_size, inputs_room;
    eg_error mistake; /* the first mistake; its status is EG_OK while there is none */
};

/* The data of constants: immutable, reference-counted, shared by graphs that are rewritten from
 * each other. */
void *eg__numbers_take(eg__memory *memory, size_t bytes, eg_error *error);
void *eg__numbers_keep(void *data);
void eg__numbers_give(eg__memory *memory, void *data); /* NULL is fine */
/* A place for what an operation found out about these numbers, so that it is found once and not
 * whenever a pass rewrites the graph: 0 at first. Atomic; the same whoever stores it. */
int64_t *eg__numbers_memo(void *data);
/* A constant whose data came from eg__numbers_take; the graph owns them from now on, even on
 * failure. */
eg_node eg__graph_constant(eg_graph *graph, const eg_tensor *tensor);

/* eg_graph_create, on memory instead of a context. */
eg_status eg__graph_new(eg__memory *memory, eg_graph **out, eg_error *error);

static inline eg__node *eg__node_at(const eg_graph *graph, eg_node node) {
    return &graph->nodes[node.id];
}
static inline eg_node eg__node_input(const eg_graph *graph, const eg__node *node, unsigned i) {
    return graph->inputs[node->first_input + i];
}
/* inputs that are read; later ones only order the execution */
unsigned eg__read_count(const eg__node *node);
uint64_t eg__node_elements(const eg__node *node);
bool eg__same_shape(const eg__node *a, const eg__node *b);
/* "[3, 4]" for messages; `out` holds 160 bytes. */
const char *eg__shape_text(const eg__node *node, char out[160]);

/* Types that only parameters and inputs are kept in; see op_widen.c. */
static inline bool eg__is_quantized(eg_type type) {
    return type == EG_F16 || type == EG_BF16 || type == EG_I8 || type == EG_I4;
}
static inline bool eg__is_half(eg_type type) { return type == EG_F16 || type == EG_BF16; }
float eg__half_to_f32(eg_type type, uint16_t half);
uint16_t eg__half_from_f32(eg_type type, float value); /* rounded to nearest, ties to even */
/* A leaf that must be widened before use. An f16 or bf16 input without quantization attributes is
 * an ordinary value. */
static inline bool eg__is_quantized_leaf(const eg__node *node) {
    return (node->op == EG__GRAPH_parameter || node->op == EG__GRAPH_input) &&
           eg__is_quantized(node->type) && node->attributes.parameter.block;
}
eg_node eg__graph_leaf(eg_graph *graph, eg__op_id op, const char *name, eg_type type, unsigned rank,
                       const uint64_t *shape);

/* Remembers the first mistake and returns the node {0}. */
eg_node eg__graph_mistake(eg_graph *graph, eg_status status, const char *format, ...)
    EG_PRINTF(3, 4);

/* A new node. Its operation infers type and shape from the inputs and attributes; leaves take them
 * from `like`. Returns {0} if one of the inputs is {0}. */
eg_node eg__graph_add(eg_graph *graph, eg__op_id op, unsigned kind, size_t count,
                      const eg_node *inputs, const eg__attributes *attributes,
                      const eg__node *like);
static inline eg_node eg__graph_add1(eg_graph *graph, eg__op_id op, unsigned kind, eg_node a,
                                     const eg__attributes *attributes) {
    return eg__graph_add(graph, op, kind, 1, &a, attributes, NULL);
}
static inline eg_node eg__graph_add2(eg_graph *graph, eg__op_id op, unsigned kind, eg_node a,
                                     eg_node b, const eg__attributes *attributes) {
    eg_node inputs[] = {a, b};
    return eg__graph_add(graph, op, kind, 2, inputs, attributes, NULL);
}

/* ---- what an operation is */
typedef struct eg__backward eg__backward;
struct eg__lowering;
struct eg__view;
/* The random state of dropout: bits are a function of seed, time and the node's key. */
typedef struct eg__chance {
    bool training; /* else nothing is dropped */
    uint64_t seed, time;
} eg__chance;
/* Which nodes outside of scans have time as an axis; see time.c. */
typedef struct eg__clock {
    const eg_graph *graph;
    unsigned char *axis; /* per node: 0 = time is no axis of it, else 1 + the axis */
    uint64_t length;     /* steps */
} eg__clock;
enum { EG__TIME_ENDS = -1, EG__TIME_MIXED = -2 };
/* Whether an operation enters or leaves a scan; if it does, the scan is its first input. */
typedef enum eg__scan_side { EG__SCAN_NONE, EG__SCAN_ENTERS, EG__SCAN_LEAVES } eg__scan_side;
typedef struct eg__op {
    const char *name;
    /* A family: how many kinds node->kind tells apart, and what each is called. */
    unsigned kinds;
    const char *(*kind_name)(unsigned kind);
    eg__scan_side scan_side;
    unsigned waited; /* number of trailing inputs that only order the execution and are not read */
    bool is_unique;  /* never merged with an equal node */
    bool moves;      /* its inputs may be f16 or bf16: it computes nothing */
    bool takes_halves; /* the same, and it computes with them */
    /* Whether the gradient should keep the value because recomputing costs more; NULL =
     * recompute. */
    bool (*is_kept)(const eg__node *node);
    /* Makes a node that was read from a file, for operations that need more than eg__graph_add:
     * `like` has its type, shape, attributes and data. */
    eg_node (*make)(eg_graph *graph, const char *name, const eg__node *like, const eg_node *inputs);
    /* Reads the unnamed attributes of version 1 files where their order differs from that of
     * ops.def. */
    void (*from_index)(const int64_t index[EG_RANK_MAX], eg__attributes *out);
    /* Sets type, rank and shape of `node` from its inputs and attributes, or fails. */
    eg_status (*infer)(const eg_graph *graph, eg__node *node, eg_error *error);
    /* Floating-point operations of one evaluation; NULL = none. */
    double (*flops)(const eg_graph *graph, const eg__node *node);
    /* Elements of input i that one evaluation reads; NULL = all of them. */
    double (*reads)(const eg_graph *graph, const eg__node *node, unsigned i);
    /* Passes d loss / d input to eg__backward_give for every input that needs it; NULL = not
     * differentiable. */
    void (*gradient)(eg__backward *backward, eg_node node, eg_node d);
    /* The definition: in double, for checks. `in` and `out` are contiguous. */
    void (*evaluate)(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out);
    /* The same for operations that are random in training; NULL = not random. */
    void (*draw)(const eg_graph *graph, const eg__node *node, const double *const *in, double *out,
                 const eg__chance *chance);
    /* Lowering: one of the next three. A view aliases the memory of the first input, which lies at
     * `in`; false = no strides describe it, so that the input is copied first. */
    bool (*view)(const eg_graph *graph, const eg__node *node, const struct eg__view *in,
                 struct eg__view *out);
    /* Elementwise: its instruction in a fused program. */
    unsigned (*fused)(const eg__node *node);
    /* Anything else: emits its steps. */
    void (*lower)(struct eg__lowering *lowering, uint32_t id);
    /* Runs with fewer time steps: given that axis `axis` of input `input` is time, returns which
     * axis of the node is. EG__TIME_ENDS = none, the node sums over the steps; EG__TIME_MIXED = the
     * node mixes steps, so that a shorter run would be wrong; NULL = always mixed. */
    int (*time)(const eg__clock *clock, const eg__node *node, unsigned input, int axis);
    bool time_is_forward; /* a time axis of the value implies none of the inputs */
    /* Inside a scan: whether each of the `items` along the first axis (the batch) depends on the
     * same item of the inputs alone; NULL = no. */
    bool (*keeps_items)(const eg_graph *graph, const eg__node *node, uint64_t items);
    /* Whether it can be done for all steps of a scan at once, with time as a first axis; NULL = no. */
    bool (*lifts)(const eg_graph *graph, const eg__node *node);
    /* Builds that node: inputs from inside the scan have time as a first axis, `shape` is the shape
     * of the result; NULL = the same operation, inputs reshaped to the rank of the result. */
    eg_node (*lift)(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape);
    bool lifts_any_rank; /* inputs of lower rank are not padded with axes of 1 after time */
} eg__op;

#define OP(name, least, most, attributes) extern const eg__op eg__op_##name;
#include "graph/ops/ops.def"
const eg__op *eg__op_row(eg__op_id op);
bool eg__op_takes(eg__op_id op, size_t inputs);       /* whether a node may have that many inputs */
const char *eg__node_operation(const eg__node *node); /* "tanh", where the op is unary; static */

/* ---- rules that many operations share */
void eg__shape_copy(eg__node *to, const eg__node *from); /* type, rank and extents */
/* f32 of the shape of the first input. */
eg_status eg__infer_like(const eg_graph *graph, eg__node *node, eg_error *error);
double eg__flops_per_element(const eg_graph *graph, const eg__node *node); /* one FLOP */
/* Gathers: as many elements of the first input as the result has, and all elements of the
 * others. */
double eg__reads_picked(const eg_graph *graph, const eg__node *node, unsigned i);
bool eg__always_kept(const eg__node *node);               /* always true */
bool eg__has_items(const eg__node *node, uint64_t items); /* its first axis has `items` elements */
/* keeps_items: for elementwise operations; for those that work along the last axis; for products with rows of the
 * first input; and for rows of the first input that the second one picks. */
bool eg__keeps_aligned(const eg_graph *graph, const eg__node *node, uint64_t items);
bool eg__keeps_rows(const eg_graph *graph, const eg__node *node, uint64_t items);
bool eg__keeps_first_rows(const eg_graph *graph, const eg__node *node, uint64_t items);
bool eg__keeps_picked(const eg_graph *graph, const eg__node *node, uint64_t items);
/* lifts: always; or only if no other input than the first comes from inside the scan. */
bool eg__lifts_always(const eg_graph *graph, const eg__node *node);
bool eg__lifts_first(const eg_graph *graph, const eg__node *node);
/* time: for the same four. */
int eg__time_aligned(const eg__clock *clock, const eg__node *node, unsigned input, int axis);
int eg__time_rows(const eg__clock *clock, const eg__node *node, unsigned input, int axis);
int eg__time_first_rows(const eg__clock *clock, const eg__node *node, unsigned input, int axis);
int eg__time_picked(const eg__clock *clock, const eg__node *node, unsigned input, int axis);

/* ---- elementwise kinds, in the order of the public lists */
typedef enum eg__unary {
#define UNARY(name) EG__UNARY_##name,
    EG_UNARY_MAP(UNARY)
#undef UNARY
        EG__UNARY_COUNT
} eg__unary;
typedef enum eg__binary {
#define BINARY(name) EG__BINARY_##name,
    EG_BINARY_MAP(BINARY)
#undef BINARY
        EG__BINARY_COUNT
} eg__binary;

/* ---- broadcasting, as in numpy */
eg_status eg__broadcast_shape(const eg__node *a, const eg__node *b, eg__node *out, eg_error *error);
/* Where element `at` (in the order of `out`) of a broadcast input lies in the input. */
uint64_t eg__broadcast_index(const eg__node *out, const eg__node *in, uint64_t at);

/* x behind a recompute barrier: its users run after `after`; see op_barrier.c. */
eg_node eg__barrier(eg_graph *graph, eg_node x, eg_node after);

/* A stack with one slot per `every` steps: each slot keeps the value of its last step. */
eg_node eg__scan_stack_every(eg_graph *graph, eg_node scan, eg_node value, uint64_t every);

/* ---- the reverse pass */
bool eg__backward_wants(const eg__backward *backward, eg_node node);
/* Adds d to the gradient of node, summed over the axes along which node was broadcast. */
void eg__backward_give(eg__backward *backward, eg_node node, eg_node d);
eg_graph *eg__backward_graph(const eg__backward *backward);
/* The node that has the forward value of `node` in the backward pass: inside a reversed scan it is
 * a different node. */
eg_node eg__backward_value(eg__backward *backward, eg_node node);
/* A function of a forward value that only the gradient needs. Inside a scan it is computed by the
 * forward scan and stacked, where it shares work with the forward value. */
eg_node eg__backward_unary(eg__backward *backward, unsigned kind, eg_node x);

/* Whether an attention node applies dropout to its weights in training. */
bool eg__attention_is_random(const eg__node *node);

/* ---- evaluation in double */
typedef struct eg__binding {
    eg_node leaf; /* input, parameter or state */
    double *data; /* read; of a state also written */
} eg__binding;
/* Evaluates `outputs` into out[i], each as large as its node. `training` makes dropout drop, with
 * `seed`. */
eg_status eg__graph_evaluate(eg_graph *graph, size_t bindings, const eg__binding *bound,
                             size_t count, const eg_node *outputs, double *const *out,
                             bool training, uint64_t seed, eg_error *error);

/* The first node on the way to the outputs that gives a non-finite value when every value is
 * rounded to f32. Constants may be infinite. */
typedef struct eg__culprit {
    uint32_t node; /* 0 = there is none */
    uint64_t element;
    uint64_t time; /* time step, if the node is inside a scan */
    double value;
} eg__culprit;
eg_status eg__graph_hunt(eg_graph *graph, size_t bindings, const eg__binding *bound, size_t count,
                         const eg_node *outputs, bool training, uint64_t seed, eg__culprit *out,
                         eg_error *error);

#endif
