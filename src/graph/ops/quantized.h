/* Quantized parameters, and products with them. */
#ifndef EG__GRAPH_SMALL_H
#define EG__GRAPH_SMALL_H

#include "graph/graph.h"
#include "kernels/quantized/quantized.h"
#include "kernels/quantized/infile.h"

/* The layout of a quantized parameter in the memory of the weights: values, scales, zero points; or
 * of an input in file layout: see kernels/quantized/infile.h. */
typedef struct eg__quantized_parameter {
    eg_type type;
    bool one_scale, has_zeros;
    bool in_place;            /* an input in file layout; only `layout.bytes` is used */
    eg__infile_format format; /* of such an input */
    size_t rows, columns, block, scales;
    eg__quantized_matrix_layout layout;
} eg__quantized_parameter;
/* The leaf that eg_parameter_quantized or eg_input_infile makes, without its widen node. */
eg_node eg__quantized_leaf(eg_graph *graph, eg__op_id op, const char *name,
                           const eg_quantization *quantization, unsigned rank,
                           const uint64_t *shape);
/* The layout of such a leaf; false = too large. */
bool eg__quantized_parameter_of(const eg__node *node, eg__quantized_parameter *out);
eg_quantization eg__leaf_quantization(const eg__node *node);
/* The format of an input in file layout; false = not such an input. */
bool eg__leaf_format(const eg__node *node, eg__infile_format *out);
eg__quantized_matrix eg__quantized_parameter_matrix(const eg__quantized_parameter *parameter,
                                                    const void *memory);

/* The right side of a product as an i32 constant, the table: the ends of the groups of rows that
 * share scales, then the pieces of parameters that it is assembled from. */
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
/* Piece `index` (returns its parameter), and that parameter at `memory` as a matrix. */
uint32_t eg__quantized_side_piece(const eg__quantized_side *side, size_t index,
                                  eg__quantized_piece *out);
void eg__quantized_side_matrix(const eg__quantized_side *side, size_t index, eg_type type,
                               const void *memory, eg__quantized_matrix *out);

/* x W' with rows first .. first + n of `leaf`, an input in file layout; and a gather from its rows
 * first .. first + rows, with indices relative to `first`. */
eg_node eg__infile_matmul(eg_graph *graph, eg_node x, eg_node leaf, uint64_t first, uint64_t n);
eg_node eg__infile_gather(eg_graph *graph, eg_node leaf, eg_node index, uint64_t first,
                          uint64_t rows);

/* x W with the right side described by `table`, assembled from `parameters`. */
eg_node eg__quantized_matmul(eg_graph *graph, eg_node x, eg_node table, size_t count,
                             const eg_node *parameters, bool integers);

#endif
