/* Models: layers of CfC and LTC cells, their parameters, and the graphs they become; or a transformer. */
#ifndef EG__MODEL_H
#define EG__MODEL_H

#include "elegans/model.h"
#include "engine/program.h"
#include "kernels/quantized/infile.h"
#include "nn/wiring.h"

typedef enum eg__cell { EG__CFC, EG__LTC } eg__cell;
typedef enum eg__cfc_mode { EG__CFC_DEFAULT, EG__CFC_PURE, EG__CFC_NO_GATE } eg__cfc_mode;
typedef enum eg__activation {
    EG__LECUN_TANH,
    EG__SILU,
    EG__RELU,
    EG__TANH,
    EG__GELU,
    EG__ACTIVATIONS
} eg__activation;
typedef enum eg__map { EG__MAP_NONE, EG__MAP_LINEAR, EG__MAP_AFFINE } eg__map;
typedef enum eg__merge {
    EG__ONE_WAY,
    EG__MERGE_CONCAT,
    EG__MERGE_SUM,
    EG__MERGE_MUL,
    EG__MERGE_AVERAGE
} eg__merge;

enum { EG__BACKBONE_MAX = 8, EG__WIRED_MAX = 3, EG__LAYERS_MAX = 16, EG__NAME_MAX = 96 };

/* One layer of a wired CfC: a sparse cell. The synapses mask its heads, as in ncps; with a backbone
 * (which ncps does not support here) they mask the sources of its first matrix. */
typedef struct eg__wired {
    uint32_t inputs, units;
    uint8_t *mask; /* [units][inputs + units] bits */
    uint8_t *seen; /* [inputs + units] bits, 0 = no synapse into the layer; NULL = all are seen */
} eg__wired;

typedef struct eg__layer {
    eg__cell cell;
    uint32_t inputs, units, outputs; /* units: the state; outputs: before the projection */
    eg__merge merge;                 /* both ways through time */
    bool mixed;                      /* an LSTM keeps a memory beside the state */
    uint32_t projection;             /* outputs of a linear map after the cell; 0 = none */
    /* as requested; NULL = none, or unknown. A CfC forgets the synapses if they can be drawn again:
     * it has masks */
    eg__wiring *wiring;
    bool implied; /* the wiring was not requested: the masks of a file define it */
    /* CfC */
    eg__cfc_mode mode;
    bool keras; /* no tanh on the heads, the time term negated */
    eg__activation activation;
    uint32_t backbone_count, backbone[EG__BACKBONE_MAX];
    double dropout;
    uint32_t wired_count; /* 0 = fully connected */
    eg__wired wired[EG__WIRED_MAX];
    /* LTC */
    uint32_t unfolds;
    double epsilon;
    bool explicit_constraints;
    eg__map input_map, output_map;
} eg__layer;

/* A parameter or mask of the model, as a state-dict names it. */
typedef struct eg__parameter {
    char name[EG__NAME_MAX];
    unsigned rank;
    uint64_t shape[2];
    bool is_mask; /* a mask: follows from the wiring */
    float least;  /* training clamps its values to at least this; -INFINITY = no bound */
    size_t layer;
    size_t offset;          /* of its values in the model, which has none of masks */
    eg_quantized quantized; /* quantized form of the values; all zero = not quantized */
    bool borrowed;          /* the quantized values are in the model's backing (mapped file) */
    float *view;            /* the values in the model's backing; NULL = not there */
    float *own;             /* the values in their own memory; NULL = not there */
    struct {
        const void *data; /* where it is in a file; NULL = it is in memory */
        eg__infile_format format;
    } file;
} eg__parameter;

typedef struct eg__note {
    const char *key;
    size_t count;
    const char *const *texts;
} eg__note;
enum { EG__NOTES_MAX = 32 };

typedef struct eg__transformer eg__transformer;

struct eg_model {
    eg_context *context;
    eg__memory *memory;
    eg__transformer *transformer; /* NULL = a liquid network, of layers: */
    eg__layer layers[EG__LAYERS_MAX];
    size_t layer_count;
    eg__parameter *parameters; /* masks included */
    size_t parameter_count, parameter_room;
    float *values;
    size_t value_count;
    char *spec;   /* what it was made from, NULL = a file */
    bool outline; /* a spec without values */
    eg_scaling units;
    float *unit_values; /* what they point to */
    eg_link link;
    eg__note *notes[EG__NOTES_MAX];
    size_t note_count;
    void *file; /* the backing of parameters, and how it is closed */
    void (*close)(void *file);
    /* our own file, mapped: parameters stay there until they are written */
    void *backing;
    void (*backing_close)(void *backing);
    /* copies what is not needed where it lies; only while nobody has written to it */
    void (*backing_copy)(void *backing, const void *bytes, size_t size, void *to);
    bool values_exposed; /* the values were given out for writing; atomic */
};

/* ---- model.c */
eg_status eg__model_new(eg_context *context, eg_model **out, eg_error *error);
/* Checks the layers, lists the parameters (without values yet), then draws the wirings. Sizes are
 * checked first: EG_ERR_FORMAT for more than `most` parameters, EG_ERR_BUDGET as below. */
eg_status eg__model_complete(eg_model *model, uint64_t most, bool runs, eg_error *error);
eg_status eg__model_fill(eg_model *model, eg_error *error); /* values: zeros, and masks */
/* Sizes of one layer, checked; harmless when done twice. */
eg_status eg__layer_complete(eg_model *model, eg__layer *layer, eg_error *error);
/* Checks the size of a model whose parameters are listed but not allocated: EG_ERR_FORMAT for more
 * than `most` parameters; EG_ERR_BUDGET says how much memory it needs at least, with `runs` for the
 * model and the weights of a program together. A model to be run that barely fits logs a
 * warning. */
eg_status eg__model_check_most(const eg_model *model, uint64_t most, eg_error *error);
eg_status eg__model_check_memory(const eg_model *model, bool runs, eg_error *error);
/* EG_ERR_ARGUMENT: it is an outline. */
eg_status eg__model_check_values(const eg_model *model, eg_error *error);
/* What it was made from. */
eg_status eg__model_keep_spec(eg_model *model, const char *spec, eg_error *error);
const eg__parameter *eg__model_parameter(const eg_model *model, const char *name);
/* For weights that keep no copy of the model. */
eg__lender eg__model_lender(const eg_model *model);
/* NULL: quantized, or a mask that no file has, whose f32 values were not requested yet. */
static inline float *eg__parameter_values(const eg_model *model, const eg__parameter *p) {
    if (p->own) return p->own;
    if (p->view) return p->view;
    return model->values && !p->is_mask ? model->values + p->offset : NULL;
}
/* Allocates f32 values if it has none: quantized values are widened, masks come from the wiring,
 * others are zero. */
eg_status eg__parameter_own(const eg_model *model, const eg__parameter *p, eg_error *error);
/* Drops the quantized form, and frees its memory unless the backing owns it. */
void eg__parameter_quantized_drop(eg_model *model, eg__parameter *p);
size_t eg__parameter_size(const eg__parameter *p);
/* ---- numbers.c: counts over all parameters, with or without masks, in the form they are stored.
 * Widens nothing. */
typedef struct eg__numbers {
    /* the format of most bytes: "f32", "i8", "Q4_0"; static, NULL = no parameters */
    const char *most;
    uint64_t bytes, count;
} eg__numbers;
eg__numbers eg__model_numbers(const eg_model *model, bool masks);
/* A parameter outside of the graph: a dense layer for a transformer's embeddings. */
bool eg__parameter_is_of_rows(const eg__parameter *p);
/* Appends a parameter after the existing values. */
eg_status eg__parameter_add(eg_model *model, unsigned rank, uint64_t rows, uint64_t columns,
                            const char *name, bool is_mask, eg_error *error);
/* Its values, in memory or in the file. */
void eg__parameter_floats(const eg_model *model, const eg__parameter *p, float *out);
/* Where it is in a file if it can be used in place, and its format; NULL = it must be a
 * parameter. */
const void *eg__parameter_in_file(const eg__parameter *p, eg__infile_format *out);
static inline bool eg__parameter_is_quantized(const eg__parameter *p) {
    return p->borrowed || p->quantized.values.data != NULL;
}
/* Dequantizes a parameter. */
eg_status eg__parameter_widen(const eg_model *model, const eg__parameter *p, float *out,
                              eg_error *error);
/* Makes a parameter quantized; the caller then sets where the values are (borrowed).
 * EG_ERR_ARGUMENT for a mask. */
eg_status eg__parameter_shrink(eg_model *model, eg__parameter *p,
                               const eg_quantization *quantization, eg_error *error);
/* Names as files and specs have them; NULL past the last. */
const char *eg__activation_name(unsigned activation);
const char *eg__mode_name(unsigned mode);
const char *eg__map_name(unsigned map);
const char *eg__merge_name(unsigned merge);
uint32_t eg__layer_width(const eg__layer *layer); /* width of its output */
/* "layers.1.backward.": what stands before the names of a layer's parameters, if there are several. */
void eg__layer_prefix(const eg_model *model, size_t layer, int way, char out[32]);

/* The index of a layer of the backbone in torch's list, in which activations count, and dropouts after
 * all but the first. */
unsigned eg__backbone_index(const eg__layer *layer, unsigned i);

/* ---- wired.c */
void eg__layer_measure(eg__layer *layer); /* units, outputs, layers of the wiring */
/* Bytes of the wiring and its masks; with `runs` also of a program's lists of synapses. */
uint64_t eg__layer_bytes(const eg__layer *layer, bool runs);
eg_status eg__layer_wire(eg_model *model, eg__layer *layer, eg_error *error); /* once */

/* ---- masks.c */
/* A mask of synapses; bits NULL = dense. */
typedef struct eg__mask {
    const uint8_t *bits;
    size_t count; /* bits; element i of a weight has bit i % count */
} eg__mask;
static inline bool eg__mask_has(const eg__mask *mask, size_t i) {
    const size_t bit = i % mask->count;
    return mask->bits[bit / 8] >> bit % 8 & 1;
}
static inline void eg__mask_set(uint8_t *bits, size_t bit) {
    bits[bit / 8] |= (uint8_t)(1u << bit % 8);
}
eg__mask eg__parameter_mask(const eg_model *model, const eg__parameter *p);
/* The values of a mask, from its wiring. */
void eg__mask_floats(const eg_model *model, const eg__parameter *p, float *out);
/* After values were read from a file: takes the wiring from the masks if it was not given.
 * EG_ERR_FORMAT names a mask that contradicts its wiring. */
eg_status eg__model_masks_settle(eg_model *model, eg_error *error);

/* ---- cells: one step. Parameters are asked for by their names within the layer ("rnn_cell.ff1.weight",
 * with the layer's prefix put before). */
typedef struct eg__builder {
    const eg_model *model;
    eg_graph *graph;
    const eg__layer *layer;
    char prefix[32];
    eg_node *nodes; /* per parameter of the model; made on first use */
    bool lent;      /* the model lends its weights already masked: the graph needs no masks */
    eg__mask mask;  /* the last one made, and its node */
    eg_node mask_node;
} eg__builder;
eg_node eg__builder_parameter(eg__builder *b, const char *format, ...) EG_PRINTF(2, 3);
/* The same, times its mask if it has one. Quantized and lent weights are already zero where there
 * is no synapse. */
eg_node eg__builder_masked(eg__builder *b, const char *format, ...) EG_PRINTF(2, 3);
/* x W' + bias, as torch stores them: NAME.weight and NAME.bias */
eg_node eg__builder_linear(eg__builder *b, eg_node x, const char *name);

/* The state after a step: x [B, inputs], h [B, units], span [B, 1] or {0} for 1. */
eg_node eg__cfc_step(eg__builder *b, eg_node x, eg_node h, eg_node span);
eg_node eg__ltc_step(eg__builder *b, eg_node x, eg_node h, eg_node span);
/* The LSTM of a mixed memory: h and c are replaced. */
void eg__memory_step(eg__builder *b, eg_node x, eg_node *h, eg_node *c);
/* The output of the layer from its state: [.., units] to [.., width]. */
eg_node eg__layer_read(eg__builder *b, eg_node h);

/* Names for the parameters of a layer, appended to the model's list. */
void eg__layer_list(eg_model *model, size_t layer, const char *prefix, eg_status *status,
                    eg_error *error);

/* ---- units.c: conversion between the user's units and the model's normalized ones; the identity
 * without units */
eg_node eg__units_input(const eg_model *model, eg_graph *graph, eg_node x);
eg_node eg__units_span(const eg_model *model, eg_graph *graph, eg_node span);
eg_node eg__units_output(const eg_model *model, eg_graph *graph, eg_node y);
/* The default elapsed time per step, in the model's units. */
double eg__units_step(const eg_model *model);
#define EG__NOTE_SPAN "median_span"

/* ---- link.c */
eg_link eg__link_of_loss(const char *loss); /* by the name of the loss; NULL is fine */
/* EG_ERR_ARGUMENT: the model cannot have this link. */
eg_status eg__link_fits(const eg_model *model, eg_link link, eg_error *error);
/* The model's output from its last layer: link applied, in the user's units. */
eg_node eg__model_output(const eg_model *model, eg_graph *graph, eg_node y);

/* ---- init.c: the values that ncps gives with torch.manual_seed(seed) */
eg_status eg__model_initialise(eg_model *model, uint64_t seed, eg_error *error);
/* ---- stream.c */
eg_status eg__stream_graph(const eg_model *model, eg_graph *graph, eg_output *output,
                           eg_error *error);
eg_program *eg__stream_program_inner(const eg_stream_program *program, eg_weights **weights);
/* ---- spec.c */
eg_status eg__model_from_spec(eg_context *context, const char *spec, bool outline, eg_model **out,
                              eg_error *error);

#endif
