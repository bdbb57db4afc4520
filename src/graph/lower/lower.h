/* Lowering: from the nodes of a graph to steps on memory. */
#ifndef EG__LOWER_H
#define EG__LOWER_H

#include "graph/device.h"
#include "graph/passes/passes.h"

/* ---- where a value lies: element (i, j, ..) is at offset + time*t bytes plus i*stride[0] +
 * j*stride[1] ... elements of a buffer. Slices, transposes and broadcasts are views of their
 * input. */
typedef struct eg__view {
    uint32_t buffer;            /* 0 = none */
    eg_type type;               /* of its elements */
    size_t offset, time;        /* bytes */
    size_t stride[EG_RANK_MAX]; /* elements */
} eg__view;
static inline size_t eg__view_bytes(const eg__view *view, size_t elements) {
    return elements * eg__element_size(view->type);
}

enum { EG__NEVER = UINT32_MAX };
typedef struct eg__buffer {
    uint32_t space, region;
    size_t size;          /* bytes; per item in a body that is split by items */
    size_t bound;         /* of the memory of a body: the most that is live at once */
    size_t offset;        /* in its space; per item in such a body */
    uint32_t first, last; /* the steps of its region that use it; first EG__NEVER = none */
    uint32_t owner;       /* the only node that uses it, 0 = shared */
    bool kept;            /* never reused: results of the prologue */
    bool used_by_body;    /* the body being lowered uses it */
} eg__buffer;

/* ---- a list of steps: the program's, the prologue's, the body of a scan */
enum { EG__REGION_MAIN, EG__REGION_PROLOGUE, EG__REGION_BODIES };
typedef struct eg__region {
    uint32_t scan; /* node, 0 = none */
    eg__step *steps;
    size_t count, room;
    size_t batch_items; /* the items (the batch) it can be split into; 0 = not at all */
    uint32_t memory;    /* split bodies: the buffer of the main region that is their memory */
    uint32_t first;     /* where its steps begin in the program */
    uint32_t *units;    /* in the order they run */
    size_t unit_count;
} eg__region;

/* A unit of scheduling, one step or a few: a node, a chain of elementwise nodes, or a scan. */
typedef struct eg__unit {
    uint32_t region;
    uint32_t first, last; /* members, in order, linked by eg__lowering.next_member */
    uint32_t position;    /* in its region */
    uint32_t host;        /* the matmul that runs it as its epilogue, 0 = none */
    uint32_t guest;       /* of a matmul: the unit it runs as its epilogue */
    bool is_fused;
} eg__unit;

typedef enum eg__layout { EG__PACKED, EG__PACKED_TRANSPOSED, EG__TRANSPOSED } eg__layout;
typedef struct eg__packed {
    uint32_t node;
    eg__layout layout;
    eg_type type;
    eg__view view;
} eg__packed;

/* A part: consecutive units of the main region that run on one device. */
typedef struct eg__lower_part {
    eg__device *device;
    size_t first, end; /* positions */
    uint32_t *values;  /* nodes: values read from outside, then values read by others */
    size_t inputs, outputs;
    size_t step;  /* the step that submits it */
    bool is_open; /* submitted, no step has waited for it yet */
} eg__lower_part;

typedef struct eg__lowering {
    const eg_graph *graph;
    eg__memory *memory;
    const eg__kernels *kernels;
    const eg__compile_options *options;
    struct eg_program *program;
    size_t output_count;
    const eg_node *outputs;

    /* per node */
    uint32_t *region, *unit, *next_member;
    uint32_t *user_first, *users;    /* users[user_first[n] .. user_first[n + 1]) are its users */
    uint32_t *inside_first, *inside; /* the nodes of a region, in the same way */
    /* node -> first carry whose update it is; carry -> the next such carry */
    uint32_t *becomes, *becomes_next;
    unsigned char *reachable, *timed, *located;
    unsigned char *written_directly; /* per stack or update: written in place, no copy is needed */
    uint32_t *part_of;               /* the concat that the step of a value also wrote it into */
    eg__view *value;

    eg__buffer *buffers; /* [0] is none */
    size_t buffer_count, buffer_room;
    eg__region *regions;
    size_t region_count;
    eg__unit *units; /* [0] is none */
    size_t unit_count;
    eg__operand *operands;
    size_t operand_count, operand_room;
    eg__packed *packed;
    size_t packed_count, packed_room;
    size_t length; /* of the scans, if it may vary from run to run; else 0 */
    char *constants;
    size_t constants_size, constants_room; /* bytes */
    eg__lower_part *parts;                 /* in the order they run */
    size_t part_count;
    uint32_t *part_of_unit;  /* 1 + index; 0 = the cores. NULL = there are no parts */
    uint32_t *part_of_state; /* per node, the same: the part that holds the state */

    eg_status status; /* the first failure; later calls return at once */
    eg_error *error;
} eg__lowering;

static inline const eg__node *eg__lower_node(const eg__lowering *l, uint32_t id) {
    return &l->graph->nodes[id];
}
static inline uint32_t eg__lower_input(const eg__lowering *l, uint32_t id, unsigned i) {
    return l->graph->inputs[l->graph->nodes[id].first_input + i].id;
}
void eg__lower_fail(eg__lowering *l, eg_status status, const char *format, ...) EG_PRINTF(3, 4);
void *eg__lower_array(eg__lowering *l, size_t count, size_t size); /* zeroed */
bool eg__lower_grow(eg__lowering *l, void **array, size_t used, size_t *room, size_t size);

/* ---- analysis.c: which nodes are needed, the region of each, its users */
void eg__lower_analyse(eg__lowering *l);
bool eg__is_view(const eg__lowering *l, uint32_t id); /* its value is part of its input's memory */
bool eg__is_fusable(const eg__lowering *l, uint32_t id);
/* The node that computes what `id` is a view of. */
uint32_t eg__lower_origin(const eg__lowering *l, uint32_t id);

/* ---- time.c: which nodes have time as their first axis, so that a shorter run computes fewer of
 * their rows; sets l->length if runs may have fewer steps than the graph was built for */
void eg__lower_time(eg__lowering *l);

/* ---- schedule.c: units and their order */
void eg__lower_schedule(eg__lowering *l);
/* Calls visit(user, needed) for each unit of the same region that `unit` needs, some twice. */
typedef void (*eg__visit)(void *user, uint32_t needed);
void eg__lower_needs(eg__lowering *l, uint32_t unit, eg__visit visit, void *user);
/* The step of `region` (a position) that is the last to read the value of `id`; EG__NEVER when it
 * outlives the region. */
uint32_t eg__lower_last_use(const eg__lowering *l, uint32_t id, uint32_t region);

/* Calls visit(user, node) for each value that the nodes of a unit read; some twice. */
void eg__lower_reads(const eg__lowering *l, uint32_t unit, eg__visit visit, void *user);
/* Calls visit for each node that the unit computes; of a scan, for its whole body. */
void eg__lower_members(const eg__lowering *l, uint32_t unit, eg__visit visit, void *user);

/* ---- partition.c: which units run on which device, after fusion */
void eg__lower_partition(eg__lowering *l);
/* The part that computes a node of the program, or holds a state: 1 + index; 0 = the cores. */
uint32_t eg__lower_part_of(const eg__lowering *l, uint32_t id);
/* ---- lower_part.c */
/* Emits waits for the parts whose results are needed at position `at` of the main region. If a part
 * begins there, lowers all its units and returns the position after them; if not, returns `at`. */
size_t eg__lower_parts(eg__lowering *l, size_t at);
void eg__lower_parts_end(eg__lowering *l);              /* emits waits for all parts */
void eg__part_free(eg__memory *memory, eg__part *part); /* frees its members */
/* Marks the units of the prologue whose values something outside of device parts needs. */
void eg__lower_prologue_needs(eg__lowering *l, unsigned char *needed);

/* ---- pass_fuse.c, pass_epilogue.c */
void eg__lower_fuse(eg__lowering *l);
void eg__lower_epilogues(eg__lowering *l);
/* lower_fused.c: whether the members of both units fit into one program. */
bool eg__lower_fits(eg__lowering *l, uint32_t unit, uint32_t other);

/* ---- lower.c: buffers and values */
eg__view eg__lower_value(eg__lowering *l, uint32_t id);
/* The value with row-major strides; copied when it lies otherwise. */
eg__view eg__lower_contiguous(eg__lowering *l, uint32_t id);
bool eg__view_is_contiguous(const eg__node *shape, const eg__view *view);
void eg__view_set_dense(const eg__node *shape, eg__view *view); /* row-major strides */
bool eg__view_same(const eg__node *shape, const eg__view *a, const eg__view *b);
/* Decides where the step that computes `id` writes. With `reuse`, the memory of that input may be
 * overwritten if this is its last use. */
eg__view eg__lower_storage(eg__lowering *l, uint32_t id, uint32_t reuse);
/* Whether the step of `id` may run in place: write to the memory of `input`, whose last use it
 * is. */
bool eg__lower_reusable(const eg__lowering *l, uint32_t id, uint32_t input);
/* The slice of the stack that `id` is written to, if its scan stacks it. */
bool eg__lower_stack_place(eg__lowering *l, uint32_t id, eg__view *view);
/* A second destination of the value of `id` beside its own storage, for `user`: its part of a
 * concat, or the output for the new value of a state. False when `user` needs no copy. */
bool eg__lower_second_place(eg__lowering *l, uint32_t id, uint32_t user, eg__view *view);
/* Contiguous storage: plain always allocates it; dense only where eg__lower_storage is not
 * contiguous. */
eg__view eg__lower_plain_storage(eg__lowering *l, uint32_t id);
eg__view eg__lower_dense_storage(eg__lowering *l, uint32_t id, uint32_t reuse);
eg__view eg__lower_new(eg__lowering *l, uint32_t region, const eg__node *shape);
uint32_t eg__lower_buffer(eg__lowering *l, uint32_t region, size_t bytes);
/* The same for `floats` floats; fails when their bytes overflow. */
uint32_t eg__lower_floats(eg__lowering *l, uint32_t region, size_t floats);
/* A buffer outside of the arena: a leaf, an output, the constants. */
uint32_t eg__lower_outside(eg__lowering *l, uint32_t space, size_t offset);
eg__view eg__lower_constant(eg__lowering *l, size_t bytes, const void *data);
/* Reserves room for all constants of the graph in one allocation. */
void eg__lower_constants_reserve(eg__lowering *l);
/* Lets the constants of the program's graph point into the program's memory, so that there is no
 * second copy. */
void eg__lower_constants_lend(eg__lowering *l);
/* `view` of a value of shape `in`, as seen from the shape `out` it is broadcast to. */
eg__view eg__view_broadcast(const eg__node *in, const eg__view *view, const eg__node *out);
eg__view eg__view_part(const eg__view *view, unsigned axis, size_t start);

/* Rows and columns of a value for kernels that want dense rows: copied when it lies otherwise. */
typedef struct eg__matrix {
    eg__view view;
    size_t rows, columns, stride;
} eg__matrix;
eg__matrix eg__lower_rows(eg__lowering *l, uint32_t id);
/* Storage of a value as dense rows. */
eg__matrix eg__lower_rows_storage(eg__lowering *l, uint32_t id, uint32_t reuse);
bool eg__view_rows(const eg__node *shape, const eg__view *view, eg__matrix *out);

/* A step of that kind for node `id`. The caller sets its items, and the kernels' operations where
 * they depend on more than the kind. */
static inline eg__step eg__lower_begin(uint32_t id, eg__step_id kind) {
    const eg__step_kind *row = &eg__step_kinds[kind];
    eg__step step = {.kind = (uint8_t)kind,
                     .run = row->run,
                     .node = id,
                     .name = row->label,
                     .traits = row->traits,
                     .rows = 1};
    for (unsigned i = 0; i < EG__STEP_KERNELS; i++) step.operation[i] = row->kernels[i];
    return step;
}
/* The same for `rows` rows: sets items, rows and timed as its region requires. */
eg__step eg__lower_step(eg__lowering *l, uint32_t region, uint32_t id, eg__step_id kind,
                        size_t rows, size_t columns);
/* Fewest items of a thread, so that no more threads divide them than its kernel has matrix units;
 * 0 = any. */
size_t eg__lower_unit_grain(const eg__lowering *l, const eg__step *step, size_t items);
/* An operand at `view`, with `stride` elements between rows; `moves` when items have their own rows. */
eg__operand eg__lower_operand(const eg__step *step, const eg__view *view, size_t stride,
                              bool moves);
void eg__lower_emit(eg__lowering *l, uint32_t region, eg__step *step, size_t count,
                    const eg__operand *operands);
/* Emits a step that maps each row of the first input to a row of the result. */
void eg__lower_rows_step(eg__lowering *l, uint32_t id, eg__step_id kind, const eg__step_rows *rows,
                         double flops);
/* Copies a value of that shape; the step is attributed to node `id`. */
void eg__lower_copy(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                    const eg__view *from, const eg__view *to);
void eg__lower_fill(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                    float value, const eg__view *to);
void eg__lower_add(eg__lowering *l, uint32_t region, uint32_t id, const eg__node *shape,
                   const eg__view *from, const eg__view *to); /* to += from */

/* lower_fused.c, lower_scan.c, op_matmul.c */
void eg__lower_fused_unit(eg__lowering *l, uint32_t unit);
void eg__lower_scan_unit(eg__lowering *l, uint32_t scan);
void eg__lower_unit(eg__lowering *l, uint32_t unit);
/* A matmul followed by the program `epilogue` (NULL = none) with `count` operands. */
void eg__lower_matmul(eg__lowering *l, uint32_t id, const eg__view *home,
                      const eg__fused_program *epilogue, size_t count, eg__operand *operands);

/* A concat of the prologue whose parts are packed one by one: it never lies in memory as a whole. */
bool eg__lower_packs_parts(const eg__lowering *l, uint32_t id);
/* Packs a value of the prologue as soon as it is computed, for the products whose right side it is,
 * so that its memory can be reused. */
void eg__lower_pack_early(eg__lowering *l, uint32_t id);

void eg__lower_quantized_matmul(eg__lowering *l, uint32_t id, const eg__view *home,
                                const eg__fused_program *epilogue, size_t count,
                                eg__operand *operands);
void eg__lower_infile_matmul(eg__lowering *l, uint32_t id, const eg__view *home,
                             const eg__fused_program *epilogue, size_t count,
                             eg__operand *operands);
/* Completes a product with one right side: adds its epilogue and emits the step. */
typedef struct eg__product_places {
    eg__matrix left, out;
    eg__view right;
    const eg__view *home;
} eg__product_places;
void eg__lower_product(eg__lowering *l, uint32_t id, eg__step *step,
                       const eg__product_places *places, const eg__fused_program *epilogue,
                       size_t count, const eg__operand *more);

/* Bytes of an operand of a fused program on rows x columns. */
double eg__fused_operand_bytes(eg__fused_kind kind, double rows, double columns);
/* How a fused operand sees (rows, columns) when `split` axes make the rows; false = it cannot. */
bool eg__view_split(const eg__node *shape, const eg__view *view, unsigned split,
                    eg__fused_kind *kind, size_t *stride);

/* ---- plan.c: offsets of the buffers of one region; buffers that are live at once do not
 * overlap */
typedef struct eg__plan {
    size_t size, bound;
} eg__plan;
eg_status eg__plan_memory(eg__memory *memory, size_t count, eg__buffer *const *buffers, bool reuse,
                          eg__plan *out, eg_error *error);

/* ---- live.c: bytes that are live at each step of the program */
void eg__lower_live(eg__lowering *l);

#endif
