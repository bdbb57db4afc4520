/* Quantized parameters, and products with them. */
#ifndef EG__GRAPH_SMALL_H
#define EG__GRAPH_SMALL_H

#include "graph/graph.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/infile.h"

/* How a quantized parameter lies in the memory of the weights: values, scales, zero points. Or an
 * input as files have it: see kernels/quantized/infile.h. */
typedef struct eg__quantized_parameter {
    eg_type type;
    bool one_scale, has_zeros;
    bool in_place;            /* an input; of `layout` only the bytes count */
    eg__infile_format format; /* of such an input */
    size_t rows, columns, block, scales;
    eg__quantized_matrix_layout layout;
} eg__quantized_parameter;
/* The leaf that eg_parameter_quantized or eg_input_infile makes, without what stands for its values. */
eg_node eg__quantized_leaf(eg_graph *graph, eg__op_id op, const char *name,
                           const eg_quantization *quantization, unsigned rank,
                           const uint64_t *shape);
/* Of such a leaf; false = too large. */
bool eg__quantized_parameter_of(const eg__node *node, eg__quantized_parameter *out);
eg_quantization eg__leaf_quantization(const eg__node *node);
/* Of an input that can be read in its file; false = it cannot, or it is no input. */
bool eg__leaf_format(const eg__node *node, eg__infile_format *out);
eg__quantized_matrix eg__quantized_parameter_matrix(const eg__quantized_parameter *parameter,
                                                    const void *memory);

/* The right side of a product, as a constant of i32 beside the parameters it comes from: where groups of
 * rows that share scales end, then the pieces it is put together of. */
typedef struct eg__quantized_side {
    uint32_t k, n, groups, pieces;
    const int32_t *ends;  /* [groups] */
    const int32_t *piece; /* [pieces][EG__PIECE_WORDS] */
} eg__quantized_side;
enum { EG__SIDE_WORDS = 4 }; /* k, n, groups, pieces */
enum {
    EG__PIECE_WORDS = 12
}; /* eg__quantized_piece, then: parameter, rows, columns, block, flags */
eg__quantized_side eg__quantized_side_of(const int32_t *table);
/* Piece `index`, and what of its parameter is needed to read it, which lies at `memory`. */
uint32_t eg__quantized_side_piece(const eg__quantized_side *side, size_t index,
                                  eg__quantized_piece *out);
void eg__quantized_side_matrix(const eg__quantized_side *side, size_t index, eg_type type,
                               const void *memory, eg__quantized_matrix *out);

/* x W' of rows first .. first + n of `leaf`, a stored input; and rows of it picked by an index that counts
 * from the first of `rows` rows on. */
eg_node eg__infile_matmul(eg_graph *graph, eg_node x, eg_node leaf, uint64_t first, uint64_t n);
eg_node eg__infile_gather(eg_graph *graph, eg_node leaf, eg_node index, uint64_t first,
                          uint64_t rows);

/* x W of a right side whose table is `table`; `parameters` are what its pieces come from. */
eg_node eg__quantized_matmul(eg_graph *graph, eg_node x, eg_node table, size_t count,
                             const eg_node *parameters, bool integers);

#endif
