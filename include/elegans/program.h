/* Programs: graphs compiled for given shapes into steps that do nothing but compute.
 *
 * Three objects, never mixed: the program (immutable, shared by any number of threads), the weights
 * (the parameters and whatever depends on them alone, shared by all programs of a model) and the
 * instance (memory, states and bindings of one user, used by one thread at a time). Running takes no
 * memory and no lock.
 * Stable. */
#ifndef ELEGANS_PROGRAM_H
#define ELEGANS_PROGRAM_H

#include "elegans/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_program eg_program;
typedef struct eg_weights eg_weights;
typedef struct eg_instance eg_instance;

/* ---- compiling */
typedef struct eg_output {
    const char *name; /* copied */
    eg_node node;     /* a value outside of scans */
} eg_output;

typedef struct eg_compile_options { /* all zero = defaults */
    size_t size;                    /* sizeof(eg_compile_options); 0 = the fields of version 0.1 */
    int training;                   /* dropout is active */
    const char *passes;             /* NULL = all; "none", "all,-fuse", "fold,cse": for debugging */
    /* Activations in EG_F16 or EG_BF16, or mixed precision of a training: both sides of every matmul are rounded to that type;
     * accumulation and all else stay f32. Kernels that multiply halves do so (avx512bf16: twice as fast). Products with
     * quantized parameters do not change. 0 = EG_F32. */
    eg_type products;
} eg_compile_options;

/* The graph is only read and may go away afterwards. Updates of states are part of the program whether
 * or not an output needs them. `options` may be NULL. You own *out. */
EG_API eg_status eg_compile(eg_context *context, const eg_graph *graph, size_t count,
                            const eg_output *outputs, const eg_compile_options *options,
                            eg_program **out, eg_error *error);
/* The same as two programs, for a forward and a backward pass that are called apart. *second has the outputs that need one of
 * the inputs `late` (gradients that come from elsewhere); *first has all others, and "kept.0", "kept.1" ..: what the second needs
 * of it, which are inputs of the second. Both have all parameters of the graph, so that they can share weights, and of its inputs
 * those that they read. Dropout is the same in both when their runs have the same seed. Not for graphs with states. On failure
 * both are NULL. */
EG_API eg_status eg_compile_split(eg_context *context, const eg_graph *graph, size_t late_count,
                                  const eg_node *late, size_t count, const eg_output *outputs,
                                  const eg_compile_options *options, eg_program **first,
                                  eg_program **second, eg_error *error);
/* Weights and instances made of it keep it alive. NULL is fine. */
EG_API void eg_program_release(eg_program *program);

/* The passes there are, in the order they run; NULL past the end. Static. */
EG_API const char *eg_pass_name(size_t index);
EG_API const char *eg_pass_text(size_t index);

/* ---- queries. Figures are counted. */
typedef struct eg_program_info {
    size_t size;           /* sizeof(eg_program_info); 0 = the fields of version 0.1 */
    size_t steps;          /* all: those of a run, then the prologue, then bodies of scans */
    size_t run_steps;      /* of these, the steps of a run */
    size_t prologue_steps; /* steps that run when the parameters change */
    size_t inputs, outputs, parameters, states;
    uint64_t arena_bytes;       /* of an instance */
    uint64_t arena_bound_bytes; /* lower bound of any plan: the most bytes that are live at once */
    uint64_t scratch_bytes;     /* of each thread */
    uint64_t parameter_bytes, derived_bytes, state_bytes, constant_bytes;
    uint64_t held_bytes;    /* of the parameters, what weights of eg_model_lend keep in memory */
    uint64_t cache_bytes;   /* KV caches (eg_cache), not included in state_bytes */
    uint64_t length;        /* steps of its scans; a run may do fewer. 0 = they cannot vary */
    double flops, bytes;    /* of one run */
    double compile_seconds; /* measured */
} eg_program_info;
EG_API void eg_program_info_get(const eg_program *program, eg_program_info *out);

typedef enum eg_leaf_kind {
    EG_LEAF_INPUT,
    EG_LEAF_OUTPUT,
    EG_LEAF_PARAMETER,
    EG_LEAF_STATE
} eg_leaf_kind;
/* Name, type and shape of an input, output, parameter or state; .data is NULL. The name lives as long
 * as the program; NULL past the end. */
EG_API const char *eg_program_leaf(const eg_program *program, eg_leaf_kind kind, size_t index,
                                   eg_tensor *out);

/* ---- steps */

/* The kind of work of a step, which decides what bounds its time. */
#define EG_WORK_MAP(X)                                                            \
    X(EG_WORK_GEMM, "gemm") /* products of more than one row */                   \
    X(EG_WORK_GEMV, "gemv") /* of one row */                                      \
    X(EG_WORK_FUSED, "fused")                                                     \
    X(EG_WORK_SYNAPSES, "synapses")      /* of more than one sample */            \
    X(EG_WORK_SYNAPSES_ONE, "synapses1") /* of one sample: a kernel of its own */ \
    X(EG_WORK_SUMS, "sums")              /* and other reductions */               \
    X(EG_WORK_NORMS, "norms")            /* and softmax */                        \
    X(EG_WORK_MOVE, "move")              /* copies, gathers, packing */           \
    X(EG_WORK_SCAN, "scan")              /* the loop itself; rows = its length */
typedef enum eg_work {
#define EG_WORK_ENUM(name, text) name,
    EG_WORK_MAP(EG_WORK_ENUM)
#undef EG_WORK_ENUM
        EG_WORK_COUNT
} eg_work;
EG_API const char *eg_work_name(eg_work work); /* "gemm"; static, NULL past the last */

/* Further properties of a step, as bits. */
typedef enum eg_step_trait {
    EG_STEP_NONE = 0,
    EG_STEP_PRODUCT = 1,     /* a matrix product */
    EG_STEP_INTEGERS = 2,    /* integer arithmetic on both sides */
    EG_STEP_ELEMENTWISE = 4, /* a chain of elementwise operations */
    EG_STEP_COPY = 8,        /* moves values, computes nothing */
    EG_STEP_INDEXED = 16,    /* rows by index: gather, scatter, argmax */
    EG_STEP_LATE = 32,       /* addresses are run-time values: caches, slice_update, slice_at */
    EG_STEP_FUNCTIONS = 64,  /* computes exp, tanh and the like: one FLOP each, many instructions */
    EG_STEP_HALVES = 128,    /* multiplies f16 or bf16, two products in the time of one of f32 */
    EG_STEP_CONVERTED = 256  /* a product whose right side is quantized or as a file has it */
} eg_step_trait;

typedef struct eg_step_info {
    size_t size;                   /* sizeof(eg_step_info); 0 = the fields of version 0.1 */
    const char *kernel;            /* "gemm", "fused", ...; static */
    const char *operation;         /* of the last node it computes; static */
    const char *part;              /* "run", "prologue" or "scan"; static */
    uint32_t scan;                 /* inside a scan: the index of the scan's step */
    uint64_t rows, columns, depth; /* of its output; depth: k of a product, else 0 */
    uint32_t operands;
    double flops, bytes;       /* of one call; of a scan, all its steps */
    uint64_t body, body_steps; /* of a scan: index and number of its steps */
    char text[160];            /* a fused program: "tanh add mul"; a product: its epilogue */
    /* Bytes of the arena (of the prologue: of derived weights) that are live at this step: needed by it or a later one.
     * Of a scan, the maximum over its steps; the maximum over a run is arena_bound_bytes. */
    uint64_t live_bytes;
    eg_work work;
    uint32_t traits; /* eg_step_trait */
    const char
        *function;   /* its kernel: a row of `elegans info`, "gemm_f32_avx2"; "" = none; static */
    const char *isa; /* and the instruction set of that; "" = none; static */
} eg_step_info;
EG_API eg_status eg_program_step(const eg_program *program, size_t index, eg_step_info *out,
                                 eg_error *error);

/* Cost of a step, for projections and schedules. */
typedef struct eg_step_cost {
    eg_work work;
    uint32_t traits; /* eg_step_trait */
    double calls;    /* per run; the other fields are per call */
    double flops;    /* for reporting TFLOP/s */
    double bytes;
    /* For predicting the time. All three 0 = use flops, as a product if it is one. */
    double product;   /* FLOPs of products, columns padded to whole panels */
    double simple;    /* elementwise operations of few instructions (add, fma, max), rows
                       * padded to whole vectors, as for functions */
    double functions; /* elementwise functions, in equivalent FLOPs: tanh 18 */
    double rows;      /* of its output: each has a start-up cost */
    double footprint; /* bytes touched between two calls; 0 = bytes */
    int in_scan;      /* 1: threads divide the scan, not the step */
} eg_step_cost;
/* Of every step of a run, without the prologue. `out` has eg_program_info.steps elements. */
EG_API eg_status eg_program_costs(const eg_program *program, eg_step_cost *out, size_t *count,
                                  eg_error *error);
typedef struct eg_operand_info {
    size_t size; /* sizeof(eg_operand_info); 0 = the fields of version 0.1 */
    const char
        *space; /* "arena", "parameters", "derived", ...; or the name of an input or output */
    uint64_t offset, row_stride, time_stride; /* bytes */
} eg_operand_info;
EG_API eg_status eg_program_operand(const eg_program *program, size_t step, size_t index,
                                    eg_operand_info *out, eg_error *error);
/* The graph as the passes left it; lives as long as the program. */
EG_API const eg_graph *eg_program_graph(const eg_program *program);

/* ---- weights: all parameters in one contiguous buffer, in the order they were created, each aligned to 64
 * bytes */
EG_API eg_status eg_weights_create(eg_program *program, eg_weights **out,
                                   eg_error *error); /* zeros */
EG_API void eg_weights_destroy(eg_weights *weights); /* NULL is fine; no instance may be left */
/* The memory of a parameter. Write to it only between eg_weights_begin and eg_weights_end. */
EG_API eg_status eg_weights_tensor(const eg_weights *weights, const char *name, eg_tensor *out,
                                   eg_error *error);
/* All parameters as one f32 vector, with zeros between them where they are aligned. */
EG_API eg_tensor eg_weights_all(const eg_weights *weights);
/* Exclusive access: until eg_weights_end, runs return EG_ERR_BUSY. While a program runs, this returns EG_ERR_BUSY or,
 * with `wait`, waits. */
EG_API eg_status eg_weights_begin(eg_weights *weights, int wait, eg_error *error);
/* Runs the prologue of every program that has an instance, and gives the parameters to devices. Should that fail (a device
 * may), runs are refused with the reason until the parameters are changed again. */
EG_API void eg_weights_end(eg_weights *weights);
/* begin, copy, end; refused while something runs. Type and shape must be those of the parameter. */
EG_API eg_status eg_weights_set(eg_weights *weights, const char *name, const eg_tensor *tensor,
                                eg_error *error);
/* The same for a quantized parameter, quantized as the graph says. */
EG_API eg_status eg_weights_set_quantized(eg_weights *weights, const char *name,
                                          const eg_quantized *quantized, eg_error *error);

/* ---- instances */

/* `weights` may be of another program with the same parameters, and NULL when there are none. States
 * are zero. EG_ERR_BUDGET when it does not fit the context's memory budget. */
EG_API eg_status eg_instance_create(eg_program *program, eg_weights *weights, eg_instance **out,
                                    eg_error *error);
/* The same with the states of another instance, which both keep alive: no memory is taken for them. For example, prompt
 * processing and decoding are two programs that share one KV cache. The programs' states must be the same: names,
 * types, shapes and order. Instances that share states are used by one thread at a time. */
EG_API eg_status eg_instance_create_with(eg_program *program, eg_weights *weights,
                                         const eg_instance *with, eg_instance **out,
                                         eg_error *error);
EG_API void eg_instance_destroy(eg_instance *instance); /* NULL is fine */
/* From now on runs read the input, or write the output, there: no copy is made. Contiguous memory of
 * the same type and shape; where the first axis is time it may be shorter, which limits the length of runs. */
EG_API eg_status eg_instance_bind(eg_instance *instance, const char *name, const eg_tensor *tensor,
                                  eg_error *error);
/* Where an output is after a run. One that was not bound gets memory of the instance's at the first
 * call, so ask before the first run. */
EG_API eg_status eg_instance_output(eg_instance *instance, const char *name, eg_tensor *out,
                                    eg_error *error);
/* The memory of a state. Read and write it between eg_instance_state_begin, which brings back what a device has, and
 * eg_instance_state_end. */
EG_API eg_status eg_instance_state(eg_instance *instance, const char *name, eg_tensor *out,
                                   eg_error *error);
/* While this lasts, runs of all instances that share the states are refused (EG_ERR_BUSY). No memory moves. */
EG_API eg_status eg_instance_state_begin(eg_instance *instance, eg_error *error);
EG_API void eg_instance_state_end(eg_instance *instance); /* NULL is fine */
EG_API void eg_instance_reset(eg_instance *instance);     /* all states to zero */

typedef struct eg_run_options { /* all zero = defaults */
    size_t size;                /* sizeof(eg_run_options); 0 = the fields of version 0.1 */
    uint64_t length;            /* steps of the scans; 0 = as many as they were built with */
    uint64_t seed;              /* of dropout */
    /* Asked every 20 ms or so, between steps and between the time steps of scans, in the thread that called eg_run:
     * anything but 0 ends the run, EG_ERR_STOPPED. NULL = never. */
    int (*stop)(void *user);
    void *stop_user;
} eg_run_options;
/* Runs the program once. EG_ERR_ARGUMENT names an input or output that has no memory; EG_ERR_BUSY:
 * the weights are being changed. A step that fails (a device may) ends the run with its status and its number; outputs and
 * states are then partly those of this run: reset the instance before the next. Takes no memory. `options` may be NULL. */
EG_API eg_status eg_run(eg_instance *instance, const eg_run_options *options, eg_error *error);
/* Runs several instances of one context: parts of a batch, for instance. With as many instances as threads or more, each is
 * run by one thread from its first step to its last, so that threads wait for each other only once, at the end, and
 * what an instance computes stays in the caches of one core. Results do not depend on that. No two may be the same, or share
 * states; they may share weights. Instance i takes `seed` + i. If several fail, the error is that of the first of them; what
 * eg_run says of failures holds for each. Takes no memory. `options` may be NULL. */
EG_API eg_status eg_run_all(size_t count, eg_instance *const *instances,
                            const eg_run_options *options, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
