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

/* ---- attributes: what a node has beside its inputs, as the row of its operation lists it. A node of slice has
 * node->attributes.slice, an eg__slice_attributes. */
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

/* The same list for what goes over all attributes: files, comparison. */
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
    unsigned count; /* 1, or as many as a list has */
    size_t offset;  /* in eg__attributes */
} eg__attribute;
const eg__attribute *eg__op_attributes(eg__op_id op); /* ends with one that has no name */
bool eg__attributes_equal(eg__op_id op, const eg__attributes *a, const eg__attributes *b);
/* Element i of any kind but NUMBER. Setting is false for what the kind cannot hold. */
int64_t eg__attribute_integer(const eg__attributes *from, const eg__attribute *which, unsigned i);
bool eg__attribute_set(eg__attributes *to, const eg__attribute *which, unsigned i, int64_t value);
double *eg__attribute_number(eg__attributes *of, const eg__attribute *which);

/* The kind of a parameter: given as it is, or zero where the model that gives it has a mask. */
enum { EG__PARAMETER_PLAIN, EG__PARAMETER_MASKED };
/* The kind of an input: with time steps along its first axis, where its graph does not tell (see eg__device_task). */
enum { EG__INPUT_PLAIN, EG__INPUT_TIMED };

typedef struct eg__node {
    eg__op_id op;
    unsigned kind; /* which unary, binary, ...: within the operation */
    eg_type type;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    uint32_t scan;                     /* the scan it is inside; 0 = none */
    uint32_t first_input, input_count; /* in graph->inputs */
    eg__attributes attributes;
    char *name;        /* leaves */
    void *data;        /* constants */
    bool data_is_lent; /* by the program that has the graph; else eg__numbers_give */
    uint32_t next;     /* a carry: its value after a step; a state: its last update */
} eg__node;

struct eg_graph {
    eg__memory *memory;
    eg__node *nodes; /* [0] is unused */
    uint32_t size, room;
    eg_node *inputs;
    size_t inputs_size, inputs_room;
    eg_error mistake; /* the first one; EG_OK while there is none */
};

/* The numbers of constants. Graphs that come from each other share them: they never change. */
void *eg__numbers_take(eg__memory *memory, size_t bytes, eg_error *error);
void *eg__numbers_keep(void *data);
void eg__numbers_give(eg__memory *memory, void *data); /* NULL is fine */
/* A constant of data that was taken so; it is the graph's from now on, whatever happens. */
eg_node eg__graph_constant(eg_graph *graph, const eg_tensor *tensor);

/* eg_graph_create, on memory instead of a context. */
eg_status eg__graph_new(eg__memory *memory, eg_graph **out, eg_error *error);

static inline eg__node *eg__node_at(const eg_graph *graph, eg_node node) {
    return &graph->nodes[node.id];
}
static inline eg_node eg__node_input(const eg_graph *graph, const eg__node *node, unsigned i) {
    return graph->inputs[node->first_input + i];
}
unsigned eg__read_count(const eg__node *node); /* of the inputs; the others are only waited for */
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
/* A leaf in such a type; without a description of how it is quantized, an input of halves is a value like any other. */
static inline bool eg__is_quantized_leaf(const eg__node *node) {
    return (node->op == EG__GRAPH_parameter || node->op == EG__GRAPH_input) &&
           eg__is_quantized(node->type) && node->attributes.parameter.block;
}
eg_node eg__graph_leaf(eg_graph *graph, eg__op_id op, const char *name, eg_type type, unsigned rank,
                       const uint64_t *shape);

/* Remembers the first mistake and returns the node {0}. */
eg_node eg__graph_mistake(eg_graph *graph, eg_status status, const char *format, ...)
    EG_PRINTF(3, 4);

/* A new node whose type and shape its operation's rule finds out from the inputs and attributes (or
 * that come with `like`, for leaves). {0} among the inputs gives {0}. */
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
/* What dropout needs to know beside its inputs. */
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
/* What an operation has to do with a scan, which is its first input then. */
typedef enum eg__scan_side { EG__SCAN_NONE, EG__SCAN_ENTERS, EG__SCAN_LEAVES } eg__scan_side;
typedef struct eg__op {
    const char *name;
    /* A family: how many kinds node->kind tells apart, and what each is called. */
    unsigned kinds;
    const char *(*kind_name)(unsigned kind);
    eg__scan_side scan_side;
    unsigned waited; /* inputs at the end that are not read, only computed before */
    bool is_unique;  /* two nodes that look equal are not one */
    bool moves;      /* its inputs may be f16 or bf16: it computes nothing */
    /* Whether a value costs more to compute again for the gradient than to keep; NULL = it does not. */
    bool (*is_kept)(const eg__node *node);
    /* A node that a file describes, where more is to be done than eg__graph_add does: `like` has its type, shape,
     * attributes and data. */
    eg_node (*make)(eg_graph *graph, const char *name, const eg__node *like, const eg_node *inputs);
    /* Attributes of files of version 1, which are without names, where they are not in the order of the row. */
    void (*from_index)(const int64_t index[EG_RANK_MAX], eg__attributes *out);
    /* Type, rank and shape of `node` from its inputs and attributes; a mistake otherwise. */
    eg_status (*infer)(const eg_graph *graph, eg__node *node, eg_error *error);
    /* Floating-point operations of one evaluation; NULL = none. */
    double (*flops)(const eg_graph *graph, const eg__node *node);
    /* Elements of input i that one evaluation reads; NULL = all of them. */
    double (*reads)(const eg_graph *graph, const eg__node *node, unsigned i);
    /* Hands d loss / d input to eg__backward_give for every input that wants it; NULL = it has none. */
    void (*gradient)(eg__backward *backward, eg_node node, eg_node d);
    /* The definition: in double, for checks. `in` and `out` are contiguous. */
    void (*evaluate)(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out);
    /* The same for what is random in training; NULL = nothing is. */
    void (*draw)(const eg_graph *graph, const eg__node *node, const double *const *in, double *out,
                 const eg__chance *chance);
    /* How it becomes steps; one of three. A view: the value is part of the memory of the first
     * input, which lies at `in`; false when it cannot be seen so, and the input is copied first. */
    bool (*view)(const eg_graph *graph, const eg__node *node, const struct eg__view *in,
                 struct eg__view *out);
    /* Elementwise: its instruction in a fused program. */
    unsigned (*fused)(const eg__node *node);
    /* Anything else: emits its steps. */
    void (*lower)(struct eg__lowering *lowering, uint32_t id);
    /* What a run with fewer steps may leave out: the axis of a node that has time because input `input` has it as
     * `axis`, EG__TIME_ENDS = it has none (a sum over the steps there are), EG__TIME_MIXED = steps are mixed in a way
     * that nobody can follow; NULL = they always are. */
    int (*time)(const eg__clock *clock, const eg__node *node, unsigned input, int axis);
    bool time_is_forward; /* time of the value says nothing about the inputs */
    /* Inside a scan: whether items of the first axis are kept apart, of which the value has `items`; NULL = no. */
    bool (*keeps_items)(const eg_graph *graph, const eg__node *node, uint64_t items);
    /* Whether it can be done for all steps of a scan at once, with time as a first axis; NULL = no. */
    bool (*lifts)(const eg_graph *graph, const eg__node *node);
    /* And how: `in` have time if they are of the scan, `shape` is that of the result; NULL = by the same operation with
     * inputs that have as many axes as the result. */
    eg_node (*lift)(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape);
    bool lifts_any_rank; /* of inputs: they get no axes of one element after time */
} eg__op;

#define OP(name, least, most, attributes) extern const eg__op eg__op_##name;
#include "graph/ops/ops.def"
const eg__op *eg__op_row(eg__op_id op);
bool eg__op_takes(eg__op_id op, size_t inputs); /* whether a node from a file may have so many */
const char *eg__node_operation(const eg__node *node); /* "tanh", where the op is unary; static */

/* ---- rules that many operations share */
void eg__shape_copy(eg__node *to, const eg__node *from); /* type, rank and extents */
/* f32 of the shape of the first input. */
eg_status eg__infer_like(const eg_graph *graph, eg__node *node, eg_error *error);
double eg__flops_per_element(const eg_graph *graph, const eg__node *node); /* one */
/* Of the first input as many elements as the result has, of the others all: something is picked. */
double eg__reads_picked(const eg_graph *graph, const eg__node *node, unsigned i);
bool eg__always_kept(const eg__node *node);               /* true */
bool eg__has_items(const eg__node *node, uint64_t items); /* along the first axis */
/* keeps_items: elementwise; of what works along the last axis; of products with rows of the first input; and of
 * rows of the first input that the second one picks. */
bool eg__keeps_aligned(const eg_graph *graph, const eg__node *node, uint64_t items);
bool eg__keeps_rows(const eg_graph *graph, const eg__node *node, uint64_t items);
bool eg__keeps_first_rows(const eg_graph *graph, const eg__node *node, uint64_t items);
bool eg__keeps_picked(const eg_graph *graph, const eg__node *node, uint64_t items);
/* lifts: always; and where only the first input is of the scan. */
bool eg__lifts_always(const eg_graph *graph, const eg__node *node);
bool eg__lifts_first(const eg_graph *graph, const eg__node *node);
/* time: the same four. */
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

/* ---- broadcasting, as numpy has it */
eg_status eg__broadcast_shape(const eg__node *a, const eg__node *b, eg__node *out, eg_error *error);
/* Where element `at` (in the order of `out`) of a broadcast input lies in the input. */
uint64_t eg__broadcast_index(const eg__node *out, const eg__node *in, uint64_t at);

/* x, for what is computed a second time after `after`; see op_barrier.c. */
eg_node eg__barrier(eg_graph *graph, eg_node x, eg_node after);

/* A stack with one place for so many steps, which keeps the last of them. */
eg_node eg__scan_stack_every(eg_graph *graph, eg_node scan, eg_node value, uint64_t every);

/* ---- the reverse pass */
bool eg__backward_wants(const eg__backward *backward, eg_node node);
/* Adds d to the gradient of node, summed over the axes along which node was broadcast. */
void eg__backward_give(eg__backward *backward, eg_node node, eg_node d);
eg_graph *eg__backward_graph(const eg__backward *backward);
/* Inside the reverse of a scan, nodes of the forward body have another name. */
eg_node eg__backward_value(eg__backward *backward, eg_node node);
/* A function of a forward value that the forward pass did not need. It is computed there all the same, where
 * it is part of what it does need, and kept. */
eg_node eg__backward_unary(eg__backward *backward, unsigned kind, eg_node x);

/* Whether the weights of an attention node are dropped in training. */
bool eg__attention_is_random(const eg__node *node);

/* ---- evaluation in double */
typedef struct eg__binding {
    eg_node leaf; /* input, parameter or state */
    double *data; /* a state's is written, too */
} eg__binding;
/* Evaluates `outputs` into out[i], each as large as its node. `training` makes dropout drop, with
 * `seed`. */
eg_status eg__graph_evaluate(eg_graph *graph, size_t bindings, const eg__binding *bound,
                             size_t count, const eg_node *outputs, double *const *out,
                             bool training, uint64_t seed, eg_error *error);

/* The first node that gives a value that is not finite when every value is rounded to f32, on the way to
 * `output`. Constants may be infinite. */
typedef struct eg__culprit {
    uint32_t node; /* 0 = there is none */
    uint64_t element;
    uint64_t time; /* of a node inside of a scan */
    double value;
} eg__culprit;
eg_status eg__graph_hunt(eg_graph *graph, size_t bindings, const eg__binding *bound, size_t count,
                         const eg_node *outputs, bool training, uint64_t seed, eg__culprit *out,
                         eg_error *error);

#endif
