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
/* Forgets that mistake, so that building can go on with the nodes made before it: for callers that look after every
 * call, an interactive one for instance. NULL is fine. */
EG_API void eg_graph_forgive(eg_graph *graph);

/* ---- inputs, parameters, constants and states, whose names are unique within a graph */
EG_API eg_node eg_input(eg_graph *graph, const char *name, eg_type type, unsigned rank,
                        const uint64_t *shape);
EG_API eg_node eg_parameter(eg_graph *graph, const char *name, unsigned rank,
                            const uint64_t *shape);
/* A quantized parameter. The node has the dequantized values (f32); matrix products dequantize it block by block, never
 * as a whole. It has no gradient. */
EG_API eg_node eg_parameter_quantized(eg_graph *graph, const char *name,
                                      const eg_quantization *quantization, unsigned rank,
                                      const uint64_t *shape);
/* An input in the format of a weight file, used where it lies (a mapped file, for instance) and never copied: f32, f16,
 * bf16, or the blocks Q8_0 and Q4_0 of GGUF, which are described as EG_LAYOUT_BLOCKS of EG_I8 and of EG_I4 (alone, these
 * types are int8 and int4 with their scales elsewhere), and whose last axis is a multiple of 32. The node has the
 * dequantized values (f32). It is bound by eg_instance_bind: a tensor of quantization->type and this shape, eg_infile_bytes
 * long, aligned to 4 bytes for f32 and else to 2. Products x W' (also with a slice of its rows) and eg_gather read it
 * in place; any other operation dequantizes all of it in every run. With quantization->integers, the left side of a product with
 * blocks is quantized to int8, with a scale per 32 elements. It has no gradient. */
EG_API eg_node eg_input_infile(eg_graph *graph, const char *name,
                               const eg_quantization *quantization, unsigned rank,
                               const uint64_t *shape);
/* Bytes of such a tensor; fails where eg_input_infile would. */
EG_API eg_status eg_infile_bytes(const eg_quantization *quantization, unsigned rank,
                                 const uint64_t *shape, uint64_t *out, eg_error *error);
/* Copies the data (f32, i32, f16 or bf16). */
EG_API eg_node eg_constant(eg_graph *graph, const eg_tensor *tensor);
EG_API eg_node eg_scalar(eg_graph *graph, double value);
/* A buffer that each instance of a program keeps between runs, zero at first; eg_update gives it a
 * new value, which is read from the next run (or the next use of the returned node) on. An input of f32 may have
 * an update, too: the memory that is bound becomes the new value. */
EG_API eg_node eg_state(eg_graph *graph, const char *name, unsigned rank, const uint64_t *shape);
/* The same of f32, f16 or bf16. The value of its update has the same type: see eg_cast. */
EG_API eg_node eg_state_typed(eg_graph *graph, const char *name, eg_type type, unsigned rank,
                              const uint64_t *shape);
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

/* x with the rows from `at` on replaced by those of value; and `rows` rows of x from `at` on. `at` is one i32, a
 * run-time value; an `at` whose rows would reach beyond the end is reduced. A state that is updated to
 * eg_slice_update(state, at, rows) grows in place, with its valid length as an input. */
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
 * bf16 take half the memory: inputs, outputs, constants, states (eg_state_typed), carries of scans, and what is reshaped, transposed,
 * sliced, joined, broadcast, gathered by rows or stacked by a scan may be such; whatever computes wants f32 and names the input that must be cast. Gradients are f32
 * and pass through as they are. */
EG_API eg_node eg_cast(eg_graph *graph, eg_node x, eg_type type);
/* In training, elements are 0 with probability `rate` and scaled by 1/(1-rate) otherwise: a function
 * of the seed of the run, this node, the time step and the element. Elsewhere it is x. */
EG_API eg_node eg_dropout(eg_graph *graph, eg_node x, double rate);

/* ---- reductions over the axes whose bits are set in `axes`; `keep` leaves them as extents of 1 */
EG_API eg_node eg_sum(eg_graph *graph, eg_node x, unsigned axes, int keep);
EG_API eg_node eg_mean(eg_graph *graph, eg_node x, unsigned axes, int keep);
EG_API eg_node eg_reduce_max(eg_graph *graph, eg_node x, unsigned axes, int keep);
/* The sum s of the squares of all elements, added in double in an order that their number alone decides. It has all the
 * digits and the range of a double, in four floats y: s = (y[0] + y[1] + y[2]) 2^y[3]. Where an element is not finite, y[0] is
 * not. No gradient. */
EG_API eg_node eg_sum_squares(eg_graph *graph, eg_node x);
/* What such four floats stand for. */
EG_API double eg_sum_squares_value(const float y[4]);
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
    /* i32 constants [count]: sources below 65536, targets below 32640; a target below 0 is padding */
    eg_node source, target;
} eg_synapse_nodes;
EG_API eg_node eg_synapses(eg_graph *graph, const eg_synapse_nodes *nodes, uint64_t targets);

/* ---- convolution as in torch's conv1d and conv2d: cross-correlation, the filter is not flipped */
typedef struct eg_conv_options { /* all zero = defaults; [0] is L or H, [1] is W */
    size_t size;                 /* sizeof(eg_conv_options); 0 = the fields of version 0.1 */
    uint32_t stride[2];          /* 0 = 1 */
    uint32_t before[2];          /* zero padding before the first element, */
    uint32_t after[2];           /* and after the last one */
    uint32_t dilation[2];        /* distance of the taps; 0 = 1 */
    uint32_t groups;             /* each has its own channels and filters; 0 = 1 */
} eg_conv_options;
/* x [B, C, L] and w [O, C/groups, K] give [B, O, L'], x [B, C, H, W] and w [O, C/groups, KH, KW] give
 * [B, O, H', W'], where L' = (L + before + after - dilation (K - 1) - 1) / stride + 1. `options` may be NULL.
 * Add a bias [O, 1, 1] with eg_add. x is unfolded (im2col) block by block, never as a whole. */
EG_API eg_node eg_conv(eg_graph *graph, const eg_conv_options *options, eg_node x, eg_node w);

/* ---- attention: softmax(scale q k' + mask) v for each of the heads, which lie side by side in the
 * columns. The matrix of scores is never in memory as a whole. */
typedef struct eg_attention_options { /* all zero but heads = defaults */
    size_t size;              /* sizeof(eg_attention_options); 0 = the fields of version 0.1 */
    uint32_t heads, kv_heads; /* grouped queries: kv_heads divides heads; 0 = heads */
    double scale;             /* 0 = 1 / sqrt(D) */
    int causal; /* a query sees the keys up to its own position; the last query sees the last key */
    uint64_t window; /* it sees this many keys up to its own, and none after it; 0 = all */
    double dropout;  /* of the weights, in training */
} eg_attention_options;
/* q [B, Tq, heads D], k [B, Tk, kv_heads D], v [B, Tk, kv_heads Dv] give [B, Tq, heads Dv]. `mask` is
 * {0} or added to the scores of all heads: [Tq, Tk], [B, 1, Tk] or [B, Tq, Tk] (axes of one element
 * broadcast); -1e30 and below masks a key out. It has no gradient. `lengths` is {0} or [B], i32 or
 * f32: the number of valid keys of each sample, the first ones; with `causal`, the last query sees the last
 * of these. A query that sees no key gives zeros. */
EG_API eg_node eg_attention(eg_graph *graph, const eg_attention_options *options, eg_node q,
                            eg_node k, eg_node v, eg_node mask, eg_node lengths);

/* ---- KV caches: keys and values of earlier runs, for decoders. A cache is a state (of an instance, zero at
 * first, eg_update) of `slots` rows of heads*d values, kept as EG_F32, EG_F16 or EG_I8; with EG_I8 every slot and
 * head has a scale, its largest magnitude / 127. In memory a row is its values followed (at the next multiple of four
 * bytes) by its scales; eg_instance_state gives all rows as a tensor of that type. The node has the
 * dequantized values, f32 [slots, heads d]; only eg_append, eg_update and eg_attention_cached take it. */
EG_API eg_node eg_cache(eg_graph *graph, const char *name, eg_type type, uint64_t slots,
                        uint32_t heads, uint32_t d);
/* The cache with rows [B, T, heads d] written to slots, i32 [B, T]; a row whose slot does not exist is dropped,
 * and of several rows for one slot the last stays. It is done in place: pass the result to eg_update of the cache, and
 * build what reads the old contents before. */
EG_API eg_node eg_append(eg_graph *graph, eg_node cache, eg_node rows, eg_node slots);
/* eg_attention whose keys and values are in caches, in pages of `page` slots that may be shared. q is [B, Tq,
 * heads D], k and v are caches (what eg_append made of them) of kv_heads heads. pages is i32 [B,
 * P]: the keys of positions i*page .. of sample b are in the slots pages[b][i]*page .. ; the keys of a page that does
 * not exist are masked out. lengths is i32 [B]: the number of valid keys of each sample, new ones included; with
 * `causal`, the last query sees the last of them. A query that sees no key gives zeros. Pages before the
 * window of all queries are not read. No mask, no dropout, no gradient. */
EG_API eg_node eg_attention_cached(eg_graph *graph, const eg_attention_options *options, eg_node q,
                                   eg_node k, eg_node v, eg_node pages, eg_node lengths,
                                   uint64_t page);

/* Rotary position embeddings: pair i of the columns of a head is rotated by the angle position base^(-2 i / D). */
typedef struct eg_rotary_options {
    size_t size;     /* sizeof(eg_rotary_options); 0 = the fields of version 0.1 */
    uint64_t d;      /* columns of a head, even */
    double base;     /* 0 = 10000 */
    int interleaved; /* pairs are columns (2i, 2i + 1), else (i, i + D/2) */
} eg_rotary_options;
/* x [B, T, heads D]. `positions` is i32: [T], [B, T], one value (the position of the first row; the others follow), or
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

/* ---- scan: a body that runs `length` times. eg_scan creates it; eg_scan_carry and eg_scan_step give
 * nodes of values inside the body; whatever is computed from them is inside, everything else
 * outside. eg_scan_update sets the carry after a step; eg_scan_stack, eg_scan_sum and
 * eg_scan_last bring values out. */
EG_API eg_node eg_scan(eg_graph *graph, uint64_t length, int reverse);
EG_API eg_node eg_scan_carry(eg_graph *graph, eg_node scan, eg_node initial);
/* Element t of the first axis of `sequence`, from the end on in a reverse scan. */
EG_API eg_node eg_scan_step(eg_graph *graph, eg_node scan, eg_node sequence);
EG_API void eg_scan_update(eg_graph *graph, eg_node carry, eg_node next);
/* Samples of a batch that end early: `lengths` is f32 [batch], the steps of each. After its last step the
 * carries of a sample (whose first axis is the batch) stay as they are, as if it had run alone. Call it
 * before eg_scan_update. */
EG_API void eg_scan_lengths(eg_graph *graph, eg_node scan, eg_node lengths);
EG_API eg_node eg_scan_stack(eg_graph *graph, eg_node scan, eg_node value); /* [length, ..] */
EG_API eg_node eg_scan_sum(eg_graph *graph, eg_node scan, eg_node value);   /* over all steps */
EG_API eg_node eg_scan_last(eg_graph *graph, eg_node carry); /* after the last step */

/* ---- queries */
EG_API size_t eg_graph_size(const eg_graph *graph); /* nodes; their ids are 1 .. size */
typedef struct eg_node_info {
    size_t size;           /* sizeof(eg_node_info); 0 = the fields of version 0.1 */
    const char *operation; /* "matmul"; static */
    const char *name; /* of an input, parameter or state, else NULL; lives as long as the graph */
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
/* Gradient checkpointing. Inside scans: only every k-th carry is kept, and the steps between are recomputed in the
 * backward pass. With `memory`, k is chosen so that what is kept of each scan fits into that many bytes
 * (EG_ERR_BUDGET when even the minimum does not).
 * Outside scans: activations upstream of the nodes of `keep` (most often the output of each layer) are discarded after
 * the forward pass, and the backward pass recomputes them from the nearest kept node. Inputs, states and results of
 * scans are kept, and so is whatever is not upstream of `keep`: the last layers are not computed twice. Recomputed
 * dropout drops the same elements. */
typedef struct eg_gradient_options { /* all zero = no checkpointing: everything is kept */
    size_t size;    /* sizeof(eg_gradient_options); 0 = the fields of version 0.1 */
    uint64_t every; /* k */
    uint64_t memory;
    size_t keep_count; /* 0 = every value outside scans is kept */
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
