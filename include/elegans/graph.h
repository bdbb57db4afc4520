/* Graphs: what is to be computed, described without computing it.
 *
 * A graph is a list of nodes, each an operation on earlier nodes, with its shape known from the
 * moment it is made. Building computes nothing. A call that cannot be right (shapes that do not fit,
 * an axis that is not there) returns the node {0}, which every later call passes on; the graph
 * remembers the first such mistake with its message, and eg_graph_check tells it. So a network can
 * be written down without a test after every line.
 * Stable. */
#ifndef ELEGANS_GRAPH_H
#define ELEGANS_GRAPH_H

#include "elegans/base.h"
#include "elegans/quantize.h"
#include "elegans/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_graph eg_graph; /* opaque; used by one thread at a time */
typedef struct eg_node {
    uint32_t id; /* 0 = no node */
} eg_node;

/* You own *out; its memory is the context's (EG_TAG_GRAPH). */
EG_API eg_status eg_graph_create(eg_context *context, eg_graph **out, eg_error *error);
EG_API void eg_graph_destroy(eg_graph *graph); /* NULL is fine */
/* EG_OK, or the first mistake made while building, with its message. */
EG_API eg_status eg_graph_check(const eg_graph *graph, eg_error *error);

/* ---- leaves: names are unique within a graph and its inputs, parameters and states */
EG_API eg_node eg_input(eg_graph *graph, const char *name, eg_type type, unsigned rank,
                        const uint64_t *shape);
EG_API eg_node eg_parameter(eg_graph *graph, const char *name, unsigned rank,
                            const uint64_t *shape);
/* A quantized parameter; the node stands for what they mean, in f32. Products with it
 * widen them on the way and never as a whole; it has no gradient. */
EG_API eg_node eg_parameter_quantized(eg_graph *graph, const char *name, const eg_quantization *how,
                                      unsigned rank, const uint64_t *shape);
/* An input that lies in memory as files have it and is never copied, such as a weight in a mapped file: f32,
 * f16, bf16, or int8 and int4 in blocks (EG_LAYOUT_BLOCKS); the node stands for what it means, in f32. The
 * last axis of blocks is a multiple of 32. It is bound by eg_instance_bind: a tensor of how->type and this
 * shape, eg_stored_bytes long, aligned to 4 bytes for f32 and else to 2. Products x W' with it (or some of
 * its rows) read it where it is, and eg_gather widens the rows it picks; for anything else it is widened by
 * every run. With how->integers, rows that meet blocks become int8, each 32 numbers with a scale of their
 * own. It has no gradient. */
EG_API eg_node eg_input_stored(eg_graph *graph, const char *name, const eg_quantization *how,
                               unsigned rank, const uint64_t *shape);
/* Bytes of such a tensor; what eg_input_stored would not take is an error. */
EG_API eg_status eg_stored_bytes(const eg_quantization *how, unsigned rank, const uint64_t *shape,
                                 uint64_t *out, eg_error *error);
/* Copies the data (f32 or i32). */
EG_API eg_node eg_constant(eg_graph *graph, const eg_tensor *tensor);
EG_API eg_node eg_scalar(eg_graph *graph, double value);
/* A buffer that each instance of a program keeps between runs, zero at first; eg_update gives it a
 * new value, which is read from the next run (or the next use of the returned node) on. */
EG_API eg_node eg_state(eg_graph *graph, const char *name, unsigned rank, const uint64_t *shape);
EG_API eg_node eg_update(eg_graph *graph, eg_node state, eg_node value);

/* ---- movement */
EG_API eg_node eg_reshape(eg_graph *graph, eg_node x, unsigned rank, const uint64_t *shape);
/* Axis i of the result is axis order[i] of x. */
EG_API eg_node eg_transpose(eg_graph *graph, eg_node x, const unsigned *order);
EG_API eg_node eg_slice(eg_graph *graph, eg_node x, unsigned axis, uint64_t start, uint64_t size);
EG_API eg_node eg_concat(eg_graph *graph, unsigned axis, size_t count, const eg_node *parts);
EG_API eg_node eg_broadcast(eg_graph *graph, eg_node x, unsigned rank, const uint64_t *shape);
/* `before` and `after` elements of `value` around an axis. */
EG_API eg_node eg_pad(eg_graph *graph, eg_node x, unsigned axis, uint64_t before, uint64_t after,
                      double value);
/* Rows (along the first axis) of x, picked by an i32 tensor of any shape. */
EG_API eg_node eg_gather(eg_graph *graph, eg_node x, eg_node index);
/* The reverse: zeros of `rows` rows, to which the rows of x are added where the index says, in the
 * order they come. */
EG_API eg_node eg_scatter_add(eg_graph *graph, eg_node x, eg_node index, uint64_t rows);

/* x with the rows from `at` on replaced by those of value, and the reverse: rows of x from `at` on. `at` is
 * one i32 that is known when the program runs; rows that would reach beyond the end are moved back. A
 * state that becomes place(state, at, rows) grows without being copied: its valid length is an input. */
EG_API eg_node eg_slice_update(eg_graph *graph, eg_node x, eg_node at, eg_node value);
EG_API eg_node eg_slice_at(eg_graph *graph, eg_node x, eg_node at, uint64_t rows);

/* ---- elementwise. Two inputs broadcast as in numpy; comparisons give 1 or 0. round_f16 and round_bf16 give
 * the nearest value of that type, ties to even, as f32 again; their gradient is that of a copy. */
#define EG_UNARY_MAP(X) \
    X(neg)              \
    X(abs)              \
    X(sqrt)             \
    X(rsqrt)            \
    X(exp)              \
    X(log)              \
    X(tanh)             \
    X(sigmoid) X(softplus) X(erf) X(gelu) X(silu) X(relu) X(sin) X(cos) X(round_f16) X(round_bf16)
#define EG_BINARY_MAP(X)        X(add) X(sub) X(mul) X(div) X(min) X(max) X(pow) X(lt) X(le) X(eq) X(ne)
#define EG_UNARY_DECLARE(name)  EG_API eg_node eg_##name(eg_graph *graph, eg_node x);
#define EG_BINARY_DECLARE(name) EG_API eg_node eg_##name(eg_graph *graph, eg_node a, eg_node b);
EG_UNARY_MAP(EG_UNARY_DECLARE)
EG_BINARY_MAP(EG_BINARY_DECLARE)
#undef EG_UNARY_DECLARE
#undef EG_BINARY_DECLARE
/* yes where condition is not 0, else no. */
EG_API eg_node eg_select(eg_graph *graph, eg_node condition, eg_node yes, eg_node no);
/* The same numbers in another type: f32 to f16 or bf16 (rounded to nearest, ties to even), or one of these to f32. Values of f16 and
 * bf16 take half the memory: inputs, outputs and what is reshaped, transposed, sliced, joined, broadcast, gathered by rows or
 * stacked by a scan may be such; whatever computes wants f32 and names the input that must be cast. Gradients are f32
 * and pass through as they are. */
EG_API eg_node eg_cast(eg_graph *graph, eg_node x, eg_type type);
/* In training, elements are 0 with probability `rate` and scaled by 1/(1-rate) otherwise: a function
 * of the seed of the run, this node, the time step and the element. Elsewhere it is x. */
EG_API eg_node eg_dropout(eg_graph *graph, eg_node x, double rate);

/* ---- reductions over the axes whose bits are set in `axes`; `keep` leaves them as extents of 1 */
EG_API eg_node eg_sum(eg_graph *graph, eg_node x, unsigned axes, int keep);
EG_API eg_node eg_mean(eg_graph *graph, eg_node x, unsigned axes, int keep);
EG_API eg_node eg_reduce_max(eg_graph *graph, eg_node x, unsigned axes, int keep);
/* Index of the first largest element along the last axis, as i32. */
EG_API eg_node eg_argmax(eg_graph *graph, eg_node x);
#define EG_ALL_AXES 0x3fu

/* ---- contraction: [.., m, k] x [.., k, n]; leading axes broadcast. The flags transpose the last two
 * axes of a or b first. */
EG_API eg_node eg_matmul(eg_graph *graph, eg_node a, eg_node b);
EG_API eg_node eg_matmul_transposed(eg_graph *graph, eg_node a, int a_transposed, eg_node b,
                                    int b_transposed);

/* ---- synapses: for each of the targets t, the sums of a*reversal and of a over a list of synapses, with
 * a = weight sigmoid(slope (v[source] - middle)). The result is [.., 2 targets]: first the currents,
 * then the conductances. */
typedef struct eg_synapse_nodes {
    eg_node v;                               /* [.., sources] */
    eg_node weight, middle, slope, reversal; /* [count] */
    eg_node source, target; /* i32 constants [count]; a target below 0 is padding */
} eg_synapse_nodes;
EG_API eg_node eg_synapses(eg_graph *graph, const eg_synapse_nodes *nodes, uint64_t targets);

/* ---- convolution, as torch's conv1d and conv2d have it (no filter is turned round) */
typedef struct eg_conv_options { /* all zero = defaults; [0] is L or H, [1] is W */
    size_t size;                 /* sizeof(eg_conv_options); 0 = the fields of version 0.1 */
    uint32_t stride[2];          /* 0 = 1 */
    uint32_t before[2];          /* zeros around x: in front of the first element, */
    uint32_t after[2];           /* and behind the last one */
    uint32_t dilation[2];        /* from tap to tap; 0 = 1 */
    uint32_t groups;             /* each has its own channels and filters; 0 = 1 */
} eg_conv_options;
/* x [B, C, L] and w [O, C/groups, K] give [B, O, L'], x [B, C, H, W] and w [O, C/groups, KH, KW] give
 * [B, O, H', W'], where L' = (L + before + after - dilation (K - 1) - 1) / stride + 1. `options` may be NULL.
 * A bias [O, 1, 1] is an eg_add. What of x the results need is never in memory as a whole. */
EG_API eg_node eg_conv(eg_graph *graph, const eg_conv_options *options, eg_node x, eg_node w);

/* ---- attention: softmax(scale q k' + mask) v for each of the heads, which lie side by side in the
 * columns. The scores are never in memory as a whole. */
typedef struct eg_attention_options { /* all zero but heads = defaults */
    size_t size;              /* sizeof(eg_attention_options); 0 = the fields of version 0.1 */
    uint32_t heads, kv_heads; /* kv_heads divides heads, which share keys in turn; 0 = heads */
    double scale;             /* 0 = 1 / sqrt(D) */
    int causal;      /* a query sees the keys up to its own; the last query sees the last key */
    uint64_t window; /* it sees so many keys up to its own, and none after it; 0 = all */
    double dropout;  /* of the weights, in training */
} eg_attention_options;
/* q [B, Tq, heads D], k [B, Tk, kv_heads D], v [B, Tk, kv_heads Dv] give [B, Tq, heads Dv]. `mask` is
 * {0} or added to the scores of all heads: [Tq, Tk], [B, 1, Tk] or [B, Tq, Tk] (axes of one element
 * broadcast); at -1e30 and below it hides a key. It has no gradient. `lengths` is {0} or [B], i32 or
 * f32: the keys of each sample that count, the first ones; with `causal`, the last query sees the last
 * of these. A query that sees no key gives zeros. */
EG_API eg_node eg_attention(eg_graph *graph, const eg_attention_options *options, eg_node q,
                            eg_node k, eg_node v, eg_node mask, eg_node lengths);

/* ---- caches: keys and values of earlier runs, for decoders. A cache is a state (of an instance, zero at
 * first, eg_update) of `slots` rows of heads*d numbers, kept as EG_F32, EG_F16 or EG_I8: then every slot and
 * head has a scale, its largest magnitude / 127. A row of memory is complete: its numbers, then (from
 * the next multiple of four bytes on) its scales; eg_instance_state gives all rows as a tensor of
 * that type. The node stands for what the numbers mean, in f32 [slots, heads d]; only eg_append,
 * eg_update and eg_attention_cached take it. */
EG_API eg_node eg_cache(eg_graph *graph, const char *name, eg_type type, uint64_t slots,
                        uint32_t heads, uint32_t d);
/* The cache with rows [B, T, heads d] written to slots, i32 [B, T]; a slot that is not there drops its row,
 * the last of several for one slot stays. It happens in place: the cache (or what an earlier append made
 * of it) must become this by eg_update, and what reads it as it was must be built before. */
EG_API eg_node eg_append(eg_graph *graph, eg_node cache, eg_node rows, eg_node slots);
/* eg_attention whose keys and values are in caches, in pages of `page` slots that may be shared. q is [B, Tq,
 * heads D], k and v are caches (what eg_append made of them) of kv_heads heads. pages is i32 [B,
 * P]: the keys of positions i*page .. of sample b are in the slots pages[b][i]*page .. ; a page that is not
 * there hides its keys. lengths is i32 [B]: the keys of each sample that count, new ones included; with
 * `causal`, the last query sees the last of them. A query that sees no key gives zeros. Pages before the
 * window of all queries are not looked at. No mask, no dropout, no gradient. */
EG_API eg_node eg_attention_cached(eg_graph *graph, const eg_attention_options *options, eg_node q,
                                   eg_node k, eg_node v, eg_node pages, eg_node lengths,
                                   uint64_t page);

/* Rotary positions: every pair of columns of a head is turned by the angle position base^(-2 i / D), i
 * being the number of the pair. */
typedef struct eg_rotary_options {
    size_t size;     /* sizeof(eg_rotary_options); 0 = the fields of version 0.1 */
    uint64_t d;      /* columns of a head, even */
    double base;     /* 0 = 10000 */
    int interleaved; /* pairs are columns (2i, 2i + 1), else (i, i + D/2) */
} eg_rotary_options;
/* x [B, T, heads D]. `positions` is i32: [T], [B, T], one number (of the first row; the others follow), or
 * {0}: 0, 1, 2 ... */
EG_API eg_node eg_rotary(eg_graph *graph, const eg_rotary_options *options, eg_node x,
                         eg_node positions);

/* ---- over the last axis */
EG_API eg_node eg_softmax(eg_graph *graph, eg_node x);
EG_API eg_node eg_log_softmax(eg_graph *graph, eg_node x);
/* (x - mean) / sqrt(variance + epsilon), and x / sqrt(mean(x^2) + epsilon); scale and shift with
 * eg_mul and eg_add. */
EG_API eg_node eg_layer_norm(eg_graph *graph, eg_node x, double epsilon);
EG_API eg_node eg_rms_norm(eg_graph *graph, eg_node x, double epsilon);

/* ---- scan: a body that is run `length` times. eg_scan makes it; eg_scan_carry and eg_scan_step give
 * nodes that stand for values inside; whatever is computed from them is inside, everything else
 * outside. eg_scan_update says what a carry becomes after a step; eg_scan_stack, eg_scan_sum and
 * eg_scan_last bring values out. */
EG_API eg_node eg_scan(eg_graph *graph, uint64_t length, int reverse);
EG_API eg_node eg_scan_carry(eg_graph *graph, eg_node scan, eg_node initial);
/* Element t of the first axis of `sequence`, from the end on in a reverse scan. */
EG_API eg_node eg_scan_step(eg_graph *graph, eg_node scan, eg_node sequence);
EG_API void eg_scan_update(eg_graph *graph, eg_node carry, eg_node next);
/* Samples of a batch that end early: `lengths` is f32 [batch], the steps of each. From then on the
 * carries of a sample (whose first axis is the batch) stay as they are, as if it had run alone. Call it
 * before eg_scan_update. */
EG_API void eg_scan_lengths(eg_graph *graph, eg_node scan, eg_node lengths);
EG_API eg_node eg_scan_stack(eg_graph *graph, eg_node scan, eg_node value); /* [length, ..] */
EG_API eg_node eg_scan_sum(eg_graph *graph, eg_node scan, eg_node value);   /* over all steps */
EG_API eg_node eg_scan_last(eg_graph *graph, eg_node carry); /* after the last step */

/* ---- questions */
EG_API size_t eg_graph_size(const eg_graph *graph); /* nodes; their ids are 1 .. size */
typedef struct eg_node_info {
    size_t size;           /* sizeof(eg_node_info); 0 = the fields of version 0.1 */
    const char *operation; /* "matmul"; static */
    const char *name;      /* of a leaf, else NULL; lives as long as the graph */
    eg_type type;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX];
    uint32_t scan;         /* id of the scan it is inside, 0 = none */
    size_t input_count;    /* and its inputs: */
    const eg_node *inputs; /* valid until the next node is made */
    double flops, bytes;   /* counted: one evaluation; bytes read and written */
} eg_node_info;
EG_API eg_status eg_graph_node(const eg_graph *graph, eg_node node, eg_node_info *out,
                               eg_error *error);

/* ---- JSON: for looking, for tests and for bug reports. What is written reads back as the same graph,
 * node for node. Files are written beside and renamed. */
EG_API eg_status eg_graph_save(const eg_graph *graph, const char *path, eg_error *error);
/* Every node is checked as if it were built anew; a shape that does not follow is EG_ERR_FORMAT. */
EG_API eg_status eg_graph_load(eg_context *context, const char *path, eg_graph **out,
                               eg_error *error);

/* ---- gradient: more graph. Adds nodes for d loss / d wrt[i]; `loss` has one element. A node that
 * the loss does not depend on gets zeros. On failure (also kept by the graph) out is untouched. */
/* Memory for time: of a scan, only every k-th carry is kept, and the steps between are computed again in
 * the backward pass. With `memory`, k is chosen so that what is kept of each scan fits into that many
 * bytes, if need be as little as possible (EG_ERR_BUDGET when that is still too much).
 * Outside of scans: of all that the nodes of `keep` are computed from only those among it are kept, most
 * often the output of each layer, and what lies between is computed again from the nearest. Inputs,
 * states and results of scans are kept, too, and so is whatever no node of `keep` needs: the last layers
 * are not computed twice. Dropout drops the same elements again. */
typedef struct eg_gradient_options { /* all zero = everything is kept */
    size_t size;    /* sizeof(eg_gradient_options); 0 = the fields of version 0.1 */
    uint64_t every; /* k */
    uint64_t memory;
    size_t keep_count; /* 0 = every value outside of scans is kept */
    const eg_node *keep;
} eg_gradient_options;
EG_API eg_status eg_gradient_with(eg_graph *graph, const eg_gradient_options *options, eg_node loss,
                                  size_t count, const eg_node *wrt, eg_node *out, eg_error *error);
EG_API eg_status eg_gradient(eg_graph *graph, eg_node loss, size_t count, const eg_node *wrt,
                             eg_node *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
