/* A compiled program: steps that do nothing but compute, and where their operands lie. */
#ifndef EG__PROGRAM_H
#define EG__PROGRAM_H

#include "elegans/program.h"
#include "graph/steps/record.h"
#include "base/threads.h"
#include "graph/device.h"
#include "graph/graph.h"
#include "graph/ops/quantized.h"
#include "graph/ops/synapses.h"
#include "kernels/kernels.h"

/* ---- memory a step reads and writes: every operand lies in a space, whose address is known when
 * the program runs */
enum {
    EG__SPACE_ARENA, /* in the prologue: its temporaries */
    EG__SPACE_PARAMETERS,
    EG__SPACE_DERIVED, /* results of the prologue */
    EG__SPACE_CONSTANTS,
    EG__SPACE_STATES,
    EG__SPACE_CACHES,
    EG__SPACE_BOUND /* inputs, then outputs, one space each */
};

/* Bytes per element of a value: f16 and bf16 have two, all others four. Quantized parameters have a
 * layout of their own. */
static inline size_t eg__element_size(eg_type type) {
    return type == EG_F16 || type == EG_BF16 ? 2 : 4;
}

/* Where an operand begins, in bytes: space + offset + time*time_stride + first*item + count*scale.
 * `time` is the step of the scan that is running and, outside, the number of steps of this run.
 * first and count are the items that a thread works on. */
typedef struct eg__operand {
    uint32_t space;
    eg_type type; /* of its elements */
    size_t offset, time, item, scale;
    size_t stride; /* between rows, in elements */
} eg__operand;

/* Split-K: phase SLICES computes partial results in parallel (one work item per slice and item of the step), phase SUM
 * adds them in a fixed order. */
typedef enum eg__phase { EG__PHASE_WHOLE, EG__PHASE_SLICES, EG__PHASE_SUM } eg__phase;

/* What a step needs to know about the run it is part of. */
typedef struct eg__frame {
    const struct eg__run *run;
    char *const *base; /* per space */
    size_t time, first, count;
    float *scratch;  /* of this thread */
    eg__ring *ring;  /* of this thread; NULL = nothing is recorded */
    eg_error *error; /* the message of a step that fails; never NULL */
    eg__phase phase;
} eg__frame;

typedef struct eg__run {
    const struct eg_program *program;
    eg__threads *threads; /* NULL = this thread alone */
    char *const *base;
    float *scratch;                  /* scratch of all threads */
    size_t scratch_size;             /* floats per thread */
    size_t length;                   /* steps of its scans */
    uint64_t seed;                   /* for dropout */
    eg__record *record;              /* NULL = nothing is recorded */
    struct eg__part_instance *parts; /* one per part of the program */
    struct eg__stop *stop;           /* NULL = nothing stops it */
} eg__run;

bool eg__stop_asked(struct eg__stop *stop); /* stop.h */
static inline bool eg__run_stopped(const eg__run *run) {
    return run->stop && eg__stop_asked(run->stop);
}

/* An empty space has an address, too: steps of no elements add offsets to it, and read nothing. */
static inline char *eg__space_or_nothing(void *data) {
    static char nothing[64];
    return data ? data : nothing;
}

static inline void *eg__operand_at(const eg__frame *frame, const eg__operand *operand) {
    /* as a number: an empty space has no address, and nothing of it is read */
    return (void *)((uintptr_t)frame->base[operand->space] + operand->offset +
                    frame->time * operand->time + frame->first * operand->item +
                    frame->count * operand->scale);
}

static inline float *eg__operand_f32(const eg__frame *frame, const eg__operand *operand) {
    return eg__operand_at(frame, operand);
}

/* `n`, or `n` per time step of the run. */
static inline size_t eg__frame_timed(const eg__frame *frame, size_t n, bool per_step) {
    return per_step ? n * frame->run->length : n;
}

/* ---- steps */
typedef struct eg__step eg__step;
/* Kernels cannot fail, but steps that do more than call one can: such a step writes frame->error
 * and the run ends. */
typedef eg_status eg__step_function(const eg__step *step, const eg__frame *frame);

typedef struct eg__step_fused {
    eg__fused_program program;
    size_t flat; /* one row of so many elements, split into items of EG__FLAT; 0 = items are rows */
} eg__step_fused;
enum { EG__FLAT = 1024 };

/* operands: a, packed b, c, then those of the epilogue; transposed (gemm_tn): a is k x m, b is k x
 * n */
typedef struct eg__step_gemm {
    size_t n, k;
    bool k_timed;    /* k is per time step */
    size_t products; /* of an item, each of `rows` rows with a right side of its own; 0 = all rows
                        have the same right side */
    size_t a_step, b_step, c_step; /* from product to product */
    /* quantized right sides: how they are packed */
    struct eg__step_quantized_side {
        eg__quantized_layout layout;
        eg_type type;
        uint32_t groups;
        bool integers;
    } quantized;
    /* right sides in file layout */
    struct eg__step_infile_side {
        size_t row_bytes, skip; /* bytes per row; bytes before the first one */
        eg__infile_format format;
        bool integers;
    } infile;
    size_t chunk; /* columns per item, for all rows; 0 = items are rows */
    bool has_epilogue;
    /* If the epilogue begins with sum = c + add, the gemm kernel computes that: add and sum are
     * operand indices (add 0 = no such addition), and `rest` is the remaining epilogue. */
    uint8_t add, sum;
    eg__fused_program epilogue, rest;
} eg__step_gemm;

/* operands: from, to */
typedef struct eg__step_pack {
    size_t n, k, row_stride, column_stride;
    bool k_timed;
    bool panels;                /* items are the panels of one matrix; else: */
    size_t lane;                /* columns of its first panel that another part fills */
    size_t products, from_step; /* matrices per item, and elements from one to the next */
} eg__step_pack;

/* operands: from, to */
typedef struct eg__step_widen {
    eg__quantized_parameter from;
} eg__step_widen;

/* operands: to, the table (see quantized.h), a parameter. A right side has one such step per
 * parameter; the first one also clears the padding. */
typedef struct eg__step_pack_quantized {
    size_t k, n;
    eg__quantized_layout layout;
    eg_type type;
    uint32_t groups, pieces;
    uint32_t parameter, parameters; /* index of this parameter, and how many there are */
    bool by_rows;                   /* the parameter may be read in pieces of rows */
    size_t first, end;              /* the rows of this piece; end 0 = all rows */
} eg__step_pack_quantized;

/* operands: from, to. A strided copy; items are along axis 0. */
typedef struct eg__step_copy {
    unsigned rank;
    size_t shape[EG_RANK_MAX], from[EG_RANK_MAX], to[EG_RANK_MAX];
    /* checkpoints: a stack with one slot per `every` steps of a scan of `length`; 0 = not one */
    size_t every, length, place;
    bool reverse;
    bool is_row; /* an item is contiguous on both sides */
} eg__step_copy;

/* operands: x, y */
typedef struct eg__step_rows {
    eg__reduction reduction;
    float number; /* epsilon */
    bool logarithm;
    size_t height; /* rows that a sum over leading axes adds per item */
    bool height_timed;
} eg__step_rows;

/* operands: x, index, y */
typedef struct eg__step_gather {
    size_t limit;   /* rows of x (gather) or y (scatter) */
    size_t columns; /* picks matrix elements, see eg__gather_row; 0 = picks rows */
    /* input in file layout or quantized parameter: bytes per row, and its first row; other gathers:
     * the first row of this piece, earlier rows were gathered already */
    size_t row_bytes, first;
    bool plain; /* rows in file layout, in this format; else: */
    eg__infile_format format;
    eg__quantized_parameter quantized;
} eg__step_gather;

/* operands: q, k, v, out, for gradients y and d, the mask, the lengths; the frame's items are kernel
 * items */
typedef struct eg__step_attention {
    eg__attention_f32_args args; /* a run fills in pointers, items, seed and time */
    size_t samples;
    bool has_mask, has_lengths, in_scan;
    uint64_t first; /* number of the first step of its scan */
} eg__step_attention;

/* operands: q, k, v, out, pages, lengths; the frame's items are kernel items */
typedef struct eg__step_attention_cached {
    eg__attention_cached_f32_args args; /* a run fills in pointers and items */
    size_t samples;
} eg__step_attention_cached;

/* operands: the rows, their slots (i32), the cache */
typedef struct eg__step_append {
    eg__kv_rows rows;
} eg__step_append;

/* operands: x, the filters (or the gradient of the result), out; the frame's items are those of the kernels */
typedef struct eg__step_conv {
    eg__conv_shape shape;
    size_t samples;
} eg__step_conv;

typedef struct eg__step_scan {
    uint32_t region, first, count; /* steps of the body */
    size_t length;                 /* 0 = that of the run */
    bool reverse;
    size_t block; /* items that go through all time steps together, at least */
} eg__step_scan;

/* parameters that are plain numbers: a row of steps.def each */
#define FLAG(name)   bool name;
#define SIZE(name)   size_t name;
#define COUNT(name)  uint64_t name;
#define NUMBER(name) double name;
#define PARAMETERS(kind, fields)     \
    typedef struct eg__step_##kind { \
        fields                       \
    } eg__step_##kind;
#include "graph/steps/steps.def"
#undef FLAG
#undef SIZE
#undef COUNT
#undef NUMBER

/* The most kernels of a step. */
enum { EG__STEP_KERNELS = 4 };

/* The fields that a run reads come first, in few cache lines: a step that runs rarely finds all of
 * them cold. */
struct eg__step {
    uint8_t kind;   /* EG__STEP_... */
    bool timed;     /* items are per time step */
    uint8_t slices; /* split-K: number of slices; 0 = not split */
    uint32_t operands;
    eg__step_function *run; /* that of its kind, or eg__run_entered */
    const eg__operand *operand;
    size_t items, rows, columns; /* items of `rows` rows each */
    size_t grain;                /* fewest items worth a thread; 0 = never split */
    eg__kernel_function function[EG__STEP_KERNELS]; /* its kernels */
    const eg__gemm_blocks *blocks;                  /* of gemm kernels */
    union {
        eg__step_fused fused;
        eg__step_gemm gemm;
        eg__step_pack pack;
        eg__step_widen widen;
        eg__step_pack_quantized pack_quantized;
        eg__step_copy copy;
        eg__step_rows row;
        eg__step_gather gather;
        eg__step_attention attention;
        eg__step_attention_cached attention_cached;
        eg__step_append append;
        eg__step_conv conv;
        eg__step_scan scan;
#define PARAMETERS(kind, fields) eg__step_##kind kind;
#include "graph/steps/steps.def"
    } u;
    uint8_t operation[EG__STEP_KERNELS]; /* the operations of its kernels; EG__OP_COUNT = none */
    const eg__kernel *kernel[EG__STEP_KERNELS]; /* picked for those operations and its shape */
    uint32_t first_operand;
    uint32_t traits;     /* EG_STEP_... of elegans/program.h */
    uint32_t node;       /* what it computes, in the optimised graph */
    const char *name;    /* the label of its kind, or a more exact one: "gemm_i8"; static */
    double flops, bytes; /* of all items, once */
    size_t live;         /* bytes that the plan keeps for values needed now or later */
};

/* ---- kinds of steps: a row of steps.def each */
typedef enum eg__step_id {
#define STEP(kind, ...) EG__STEP_##kind,
#include "graph/steps/steps.def"
    EG__STEP_COUNT
} eg__step_id;

#define STEP(kind, ...) eg__step_function eg__run_##kind;
#include "graph/steps/steps.def"

/* How threads share the items of a step. */
typedef enum eg__cut {
    EG__CUT_NEVER,
    EG__CUT_EVENLY,  /* few FLOPs per byte */
    EG__CUT_FAST,    /* many FLOPs per byte */
    EG__CUT_PRODUCT, /* the same, in blocks of rows */
    EG__CUT_SLICES,  /* only as split-K */
    EG__CUT_BODY     /* a scan: by the items of its body */
} eg__cut;

/* The shape of a step's result as a matrix; depth is k of a product, else 0. */
typedef struct eg__step_shape {
    size_t rows, columns, depth;
    const eg__fused_program *program; /* the chain, or the epilogue of a product; NULL = none */
} eg__step_shape;

typedef size_t eg__step_scratch_function(const eg__step *step, size_t length);
typedef void eg__step_shape_function(const eg__step *step, size_t length, eg__step_shape *out);
typedef void eg__step_cost_function(const eg__step_shape *shape, eg_step_cost *cost);

typedef struct eg__step_kind {
    const char *label;
    eg__step_function *run;
    eg_work work, work_of_one;
    uint32_t traits;
    eg__cut cut;
    eg__step_scratch_function *scratch; /* NULL = none */
    eg__step_shape_function *shape;
    eg__step_cost_function *cost;
    uint8_t kernels[EG__STEP_KERNELS]; /* operations; EG__OP_COUNT = none */
} eg__step_kind;
extern const eg__step_kind eg__step_kinds[EG__STEP_COUNT];
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, ...) \
    eg__step_cost_function eg__cost_##cost; /* cost.c */
#include "graph/steps/steps.def"
/* split-K needs scratch beside that of its kernel */
eg__step_scratch_function eg__step_scratch_slices;

static inline const eg__step_kind *eg__step_kind_of(const eg__step *step) {
    return &eg__step_kinds[step->kind];
}
/* The loop that a step runs; NULL = it is no scan. */
static inline const eg__step_scan *eg__step_body(const eg__step *step) {
    return step->kind == EG__STEP_scan ? &step->u.scan : NULL;
}

/* Runs a step in one thread for the items of `frame`. */
static inline eg_status eg__step_one(const eg__step *step, const eg__frame *frame) {
    /* direct calls for the most frequent kinds: an indirect one costs as much as a small kernel */
    if (step->run == eg__run_fused) return eg__run_fused(step, frame);
    if (step->run == eg__run_gemm) return eg__run_gemm(step, frame);
    if (step->run == eg__run_copy) return eg__run_copy(step, frame);
    return step->run(step, frame);
}
/* What the kind does between `enter` and `leave` of the kernel that has them. */
eg__step_function eg__run_entered;
/* Prefixes the message with the step that failed. */
void eg__step_failed(const struct eg_program *program, const eg__step *step, eg_status status,
                     eg_error *error);
static inline size_t eg__step_items(const eg__step *step, size_t length) {
    return step->timed ? step->items * length : step->items;
}
/* Products of halves: how many rows of k halves of the left side are rounded at a time, and the scratch memory of these. */
size_t eg__halves_band(size_t k);
static inline size_t eg__halves_band_floats(size_t k) {
    return eg__round_up((eg__halves_band(k) + 1) * eg__ceil_div(k, 2), 16);
}
/* The arguments of a product's epilogue for `rows` rows. */
void eg__epilogue_fill(const eg__step *step, const eg__frame *frame, eg__fused_f32_function *fused,
                       size_t rows, const eg__fused_program *program, eg__fused_epilogue *out);
/* Floats of scratch memory that one thread needs for `step`. */
size_t eg__step_scratch(const eg__step *step, size_t length);
/* The shape of its result in a run of `length` time steps. */
eg__step_shape eg__step_shape_of(const eg__step *step, size_t length);
static inline eg_work eg__step_work(const eg__step *step, const eg__step_shape *shape) {
    return shape->rows == 1 ? eg__step_kind_of(step)->work_of_one : eg__step_kind_of(step)->work;
}
/* Makes a transposed product or a column sum over `all` rows split-K, if that pays. Not for steps
 * inside scans. */
void eg__step_slice(eg__step *step, size_t all);
/* For a step that packs a column-major matrix (weights as PyTorch stores them): makes `piece`,
 * which packs `count` panels from `first` on and reads the bytes `from` to `end` of the space of
 * its first operand. `operands` holds the operands of `piece`. False = not such a step. */
bool eg__pack_piece(const eg__step *step, size_t first, size_t count, eg__step *piece,
                    eg__operand operands[2], size_t *from, size_t *end);
/* The same for a step that gathers the synapses of a matrix, for elements `first` to `end` (pieces
 * must be run in order), and for one that packs quantized values, for rows `first` to `end`. */
bool eg__gather_piece(const eg__step *step, size_t first, size_t end, eg__step *piece);
bool eg__pack_quantized_piece(const eg__step *step, size_t first, size_t end, eg__step *piece);

/* ---- programs */
typedef struct eg__leaf {
    char *name;
    eg_type type;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    size_t offset;   /* parameters and states: in their buffer, in bytes */
    size_t elements; /* product of the shape */
    bool timed;      /* axis 0 is time: a shorter run uses fewer rows */
    bool cached;     /* a state in the space of caches */
    bool updated;    /* an input that a run writes to */
    /* parameters: whether only the prologue reads it, and the first and last of the prologue's
     * steps that do; EG__NO_STEP = none */
    bool settled;
    uint32_t first_read, last_read;
    bool masked; /* its values are already multiplied by the mask (EG__PARAMETER_MASKED) */
    /* quantized parameters */
    eg_quantization quantization;
    eg__quantized_parameter quantized;
} eg__leaf;

enum { EG__NO_STEP = UINT32_MAX };

/* Bytes of its memory. */
static inline size_t eg__leaf_bytes(const eg__leaf *leaf) {
    return leaf->quantized.layout.bytes ? eg__round_up(leaf->quantized.layout.bytes, sizeof(float))
                                        : leaf->elements * eg__element_size(leaf->type);
}

typedef struct eg__leaves {
    eg__leaf *list;
    size_t count;
} eg__leaves;

/* A part of a program that runs on a device: a step that submits it, and one that waits for it. The operands of both are
 * `values`: inputs first, then outputs. */
typedef struct eg__part_value {
    size_t bytes;
    bool timed; /* a shorter run has fewer bytes */
} eg__part_value;
typedef struct eg__part {
    eg__device *device;
    eg__device_program *program;
    size_t inputs, outputs, parameter_count, state_count;
    eg__part_value *values;
    uint32_t *parameters; /* the program's indices, in the order of the device's graph */
    uint32_t *states;     /* the same */
} eg__part;

/* A part in an instance: each value has a buffer of the device and, where host memory is shared, an
 * imported one. */
typedef struct eg__part_bound {
    eg__device_buffer *own, *imported; /* imported NULL = values are copied */
    void *host;                        /* the host memory of the last import, successful or not */
    size_t bytes;
} eg__part_bound;
typedef struct eg__part_instance {
    const eg__part *part;
    eg__device_instance *instance;
    eg__part_bound *bound; /* per value */
    eg__device_fence fence;
    bool is_open; /* submitted, not yet waited for */
} eg__part_instance;
/* Releases the imported buffer of a value, which is copied from now on. */
eg_status eg__part_copies(eg__part_instance *part, size_t value, eg_error *error);

struct eg_program {
    eg__memory *memory;
    const eg__kernels *kernels;
    eg_context *context; /* the engine's */
    int64_t references;  /* atomic */
    eg__step *steps;     /* main steps, prologue, then the bodies of scans */
    size_t step_count, main_count, prologue_count;
    eg__operand *operands;
    size_t operand_count;
    eg__leaves inputs, outputs, parameters, states;
    char *constants;
    size_t constants_size, parameters_size, states_size, derived_size; /* bytes */
    size_t caches_size;
    size_t arena_size, arena_bound; /* bytes; the bound is the most that is live at once */
    size_t prologue_size;           /* bytes that the prologue needs while it runs */
    size_t scratch_size;            /* floats per thread */
    size_t length;                  /* maximum time steps; 0 = no scans */
    bool length_fixed;              /* a node mixes time steps, so runs cannot be shorter */
    uint32_t length_node;           /* that node */
    bool training;
    eg__part *parts;
    size_t part_count;
    double compile_seconds;
    eg_graph *graph; /* as the passes left it */
};

typedef struct eg__compile_options {
    bool training;
    uint32_t passes;  /* bits, in the order of passes.def */
    eg_type products; /* type that both sides of products are rounded to; EG_F32 = no rounding */
    size_t length;    /* time steps of EG__INPUT_TIMED inputs; 0 = the length of the scans */
    const eg__placement *placement; /* NULL = all on the cores */
} eg__compile_options;

typedef struct eg__output {
    const char *name;
    eg_node node;
} eg__output;

/* The graph is only read. */
eg_status eg__program_compile(const eg_graph *graph, const eg__kernels *kernels, size_t count,
                              const eg__output *outputs, const eg__compile_options *options,
                              struct eg_program **out, eg_error *error);
void eg__program_free(struct eg_program *program); /* NULL is fine */

#endif
