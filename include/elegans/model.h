/* Models: liquid networks (CfC, LTC on neural circuit policies) and transformers (BERT, GPT-2, Llama),
 * from specs and files, as graphs; liquid ones also as streams.
 * Stable. */
#ifndef ELEGANS_MODEL_H
#define ELEGANS_MODEL_H

#include "elegans/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_model eg_model; /* opaque; read by any number of threads, changed by one */

/* A file, or a spec of a freshly initialised model such as "cfc:autoncp:64:16,in=16,seed=1" or
 * "llama:6:384,vocab=256" (docs/liquid-networks.md and docs/transformers.md have all of them).
 * Transformers come from GGUF files, checkpoints of llama2.c and folders of Hugging Face: mapped into
 * memory, where their weights stay. EG_ERR_BUDGET: the weights of a spec do not fit the context's budget; the message
 * says how much they need. You own *out. */
EG_API eg_status eg_model_open(eg_context *context, const char *file_or_spec, eg_model **out,
                               eg_error *error);
/* The same, but a spec gets no values: its layers, tensors, sizes and costs (eg_stream_compile, eg_model_build,
 * eg_fit_check) can be queried without memory for its weights. Calls that need values fail, EG_ERR_ARGUMENT. */
EG_API eg_status eg_model_outline(eg_context *context, const char *file_or_spec, eg_model **out,
                                  eg_error *error);
/* A safetensors file, or one that ends in ".npz", with the parameters of torch's state-dict, and the
 * architecture as JSON: `config`, or NULL when the file says it in its metadata (an .npz has none).
 * EG_ERR_NOT_FOUND names what is missing; EG_ERR_FORMAT an unknown or meaningless key, a mask that
 * contradicts the wiring, and a tensor that is not part of the architecture. A safetensors file stays mapped as long
 * as the model lives: replace it (as eg_model_save does), never write into it. */
EG_API eg_status eg_model_load(eg_context *context, const char *path, const char *config,
                               eg_model **out, eg_error *error);
/* A model of an architecture as JSON (docs/model-format.md), freshly initialised as a spec with this seed is. You own
 * *out. */
EG_API eg_status eg_model_create(eg_context *context, const char *config, uint64_t seed,
                                 eg_model **out, eg_error *error);
/* The architecture of a model as JSON, which eg_model_create reads: at most `room` bytes are written, terminated;
 * *length (may be NULL) is the length of the whole text. `out` may be NULL when room is 0. */
EG_API eg_status eg_model_config(const eg_model *model, char *out, size_t room, size_t *length,
                                 eg_error *error);
EG_API void eg_model_destroy(eg_model *model); /* NULL is fine */
/* One safetensors file with the architecture in its metadata; written beside and renamed. */
EG_API eg_status eg_model_save(const eg_model *model, const char *path, eg_error *error);

typedef enum eg_model_kind { EG_MODEL_LIQUID, EG_MODEL_ENCODER, EG_MODEL_DECODER } eg_model_kind;
typedef struct eg_model_info {
    size_t size; /* sizeof(eg_model_info); 0 = the fields of version 0.1 */
    eg_model_kind kind;
    uint64_t inputs, outputs;    /* features; a transformer takes tokens and gives a row for each */
    uint64_t state;              /* of one sample, all layers */
    uint64_t layers, parameters; /* parameters: trainable values */
    int uses_time;               /* 1: outputs depend on elapsed times, as in liquid networks */
} eg_model_info;
EG_API void eg_model_info_get(const eg_model *model, eg_model_info *out);

enum { EG_LAYER_BACKBONE_MAX = 8 };
typedef struct eg_layer_info { /* texts are static; NULL and 0 where a cell has no such thing */
    size_t size;               /* sizeof(eg_layer_info); 0 = the fields of version 0.1 */
    const char *cell;          /* "cfc" or "ltc" */
    const char *mode;          /* CfC: "default", "pure", "no_gate" */
    const char *activation;    /* of the backbone: "lecun_tanh", "silu", ... */
    const char *wiring;        /* "autoncp", ...; NULL = none, or the file does not say */
    const char *merge;         /* of a bidirectional layer: "concat", ...; NULL = one direction */
    uint64_t inputs, units;
    uint64_t outputs;            /* features passed to the next layer */
    uint64_t projection;         /* outputs of a linear map after the cell */
    uint64_t synapses, possible; /* of a wired cell: existing, and of a full wiring */
    uint64_t unfolds;            /* LTC: steps of its solver */
    int mixed;                   /* mixed memory: an LSTM beside the cell */
    size_t backbone_count;
    uint64_t backbone[EG_LAYER_BACKBONE_MAX]; /* units of each */
} eg_layer_info;
/* EG_ERR_ARGUMENT past the last layer. */
EG_API eg_status eg_model_layer(const eg_model *model, size_t index, eg_layer_info *out,
                                eg_error *error);

typedef enum eg_pooling {
    EG_POOLING_MEAN,
    EG_POOLING_FIRST,
    EG_POOLING_LAST,
    EG_POOLING_MAX,       /* of each column, the largest */
    EG_POOLING_MEAN_SQRT, /* the sum divided by the square root of the count */
    EG_POOLING_WEIGHTED   /* a mean with weight n for the n-th token */
} eg_pooling;
EG_API const char *
eg_pooling_name(eg_pooling pooling); /* "mean_sqrt"; NULL past the last; static */
typedef struct eg_transformer_info {
    size_t size;        /* sizeof(eg_transformer_info); 0 = the fields of version 0.1 */
    const char *family; /* "llama", "gpt2", "bert"; static */
    uint64_t layers, width, heads, kv_heads, head, hidden; /* head: columns of one head */
    uint64_t vocabulary, context;  /* number of tokens; longest text, in tokens */
    const char *positions;         /* "rotary", "learned" or "sinusoidal"; static */
    double epsilon, rope_base;     /* rope_base: of rotary embeddings, else 0 */
    int tied;                      /* the output matrix is the embedding matrix */
    eg_pooling pooling;            /* how an embedding is made of the last layer */
    uint64_t bytes;                /* of its parameters, in their types */
    const char *numbers;           /* data type of most of them: "F16", "Q4_0", "i8"; static */
    uint64_t row_width, row_dense; /* of an embedding: its length, and dense layers after pooling */
    int row_scaled;                /* embeddings are normalized to length 1 */
} eg_transformer_info;
/* EG_ERR_ARGUMENT for a liquid network. */
EG_API eg_status eg_model_transformer(const eg_model *model, eg_transformer_info *out,
                                      eg_error *error);

/* Its tensors, named as torch's state-dict (transformers: as GGUF) names them; masks are among them.
 * Values may be written; that does not change the mapped file. Tensors of GGUF files and Hugging Face folders, and
 * tensors for which there is no memory, have no .data: see eg_model_read and eg_model_widen. Nobody may truncate the
 * file meanwhile: to replace it, write another and rename it. */
EG_API size_t eg_model_count(const eg_model *model);
/* The same without .data, and without dequantizing anything. */
EG_API const char *eg_model_shape(const eg_model *model, size_t index, eg_tensor *out,
                                  int *is_trainable); /* NULL past the end */
EG_API const char *eg_model_tensor(const eg_model *model, size_t index, eg_tensor *out,
                                   int *is_trainable); /* NULL past the end */
/* What the model demands of its values: training keeps them at or above this. -INFINITY = nothing, or past the end. */
EG_API double eg_model_least(const eg_model *model, size_t index);
/* The data type of a tensor ("f32", "i8", "Q4_0"; static), and its size in that type. */
EG_API const char *eg_model_numbers(const eg_model *model, size_t index, uint64_t *bytes);
/* The values of a tensor as f32, from memory or file. EG_ERR_ARGUMENT past the end. */
EG_API eg_status eg_model_read(const eg_model *model, size_t index, float *out, eg_error *error);
/* Converts all tensors to f32 in memory, so that they can be changed; the file is closed. */
EG_API eg_status eg_model_widen(eg_model *model, eg_error *error);

/* ---- quantized models. The values above are then the dequantized ones, and read-only. */
typedef struct eg_model_quantization {
    eg_quantization
        quantization;  /* int8 and int4: of matrices; f16 and bf16: of every trainable tensor */
    size_t keep_count; /* tensors whose name contains one of these stay f32 */
    const char *const *keep;
} eg_model_quantization;
/* From the present values, also of a model that is quantized already. Weights without a synapse become 0.
 * EG_ERR_NOT_FOUND: no tensor matches a name of `keep`; EG_ERR_ARGUMENT names the tensor that has a value that is not
 * finite. On failure the model is unchanged. */
EG_API eg_status eg_model_quantize(eg_model *model, const eg_model_quantization *quantization,
                                   eg_error *error);
/* A tensor in quantized form; NULL = it is f32. */
EG_API const eg_quantized *eg_model_quantized(const eg_model *model, size_t index);

/* ---- units: standardization of inputs and outputs, so that users work in the units of their data. Without it,
 * values are used as they are. */
typedef struct eg_scaling {
    const float *input_mean, *input_scale;   /* [inputs]: it computes with (x - mean) / scale */
    const float *output_mean, *output_scale; /* [outputs]: and gives y * scale + mean */
    float time;                              /* elapsed times are divided by this; 0 = 1 */
} eg_scaling;                                /* NULL = as they are */
/* Copied, and saved with the model. EG_ERR_ARGUMENT: a scale is not above 0, or not finite. */
EG_API eg_status eg_model_scaling_set(eg_model *model, const eg_scaling *units, eg_error *error);
EG_API void eg_model_scaling_get(const eg_model *model,
                                 eg_scaling *out); /* pointers into the model */
/* The default elapsed time, in the units of the user: before the first row of a recording, and of every step of data
 * without times. It is the median of the training data (the note "median_span"), else the unit of time, else 1. */
EG_API float eg_model_timespan(const eg_model *model);

/* ---- link: the function that turns logits into outputs. Training sets it:
 * a model that learned 0 or 1 (EG_LOSS_BINARY) or classes (EG_LOSS_CLASSES) gives probabilities. It is the
 * last operation of every graph, stream and export of the model, and is saved with it; losses take the logits
 * (eg_model_options.standard). For logits set EG_LINK_IDENTITY before you build, compile
 * or export. */
typedef enum eg_link {
    EG_LINK_IDENTITY, /* none */
    EG_LINK_SIGMOID,  /* each output is a probability */
    EG_LINK_SOFTMAX   /* outputs are probabilities of classes, in the order of the note "labels" */
} eg_link;
EG_API const char *eg_link_name(eg_link link); /* "identity"; static; NULL past the last */
/* y [.., outputs] with the link applied. */
EG_API eg_node eg_link_node(eg_graph *graph, eg_link link, eg_node y);
/* Does not affect programs that are compiled already. EG_ERR_ARGUMENT: a link other than the identity for a
 * transformer, or for a model whose outputs have units. */
EG_API eg_status eg_model_link_set(eg_model *model, eg_link link, eg_error *error);
EG_API eg_link eg_model_link(const eg_model *model);
/* What an output is: "value", "probability", or "logit" before a link; static. */
EG_API const char *eg_model_gives(const eg_model *model);
/* The class or target of an output, from the notes; NULL = unknown. */
EG_API const char *eg_model_output_name(const eg_model *model, size_t index);

/* ---- notes: lists of texts under a key, saved with the model. Those of training are "inputs", "targets",
 * "labels" (names), "time", "spans", "median_span", "loss", "window"; yours are kept as they are. */
EG_API eg_status eg_model_note_set(eg_model *model, const char *key, size_t count,
                                   const char *const *texts, eg_error *error); /* 0 = removes it */
EG_API const char *eg_model_note(const eg_model *model, const char *key,
                                 size_t index);                            /* NULL past the end */
EG_API const char *eg_model_note_key(const eg_model *model, size_t index); /* NULL past the end */

/* ---- as a graph */
typedef struct eg_model_options { /* all zero = one sample, one step, no elapsed times */
    size_t size;                  /* sizeof(eg_model_options); 0 = the fields of version 0.1 */
    uint64_t batch, time;         /* 0 = 1 */
    int batch_first;              /* x is [batch, time, inputs], else [time, batch, inputs] */
    int unbatched;                /* no batch axis at all; batch must be 0 or 1 */
    int last;                     /* only the last output, else all */
    int timespans; /* an input "timespans", shaped as x without features; else each is eg_model_timespan */
    int lengths;       /* an input "lengths" [batch]: steps of each sample */
    int state;         /* inputs "h0" (and "c0"): initial states, else zeros */
    int as_parameters; /* inputs become parameters, to get their gradients */
    int standard;      /* standardized inputs and outputs, and no link: logits */
    int lent; /* for weights that come from the model (eg_model_lend, eg_model_weights): they are zero where the wiring
                 has no synapse, so the program needs no masks. Not for training; eg_weights_set
                 refuses such weights. */
    /* transformers, whose input is "tokens": i32 [batch, time], the batch always first */
    int hidden;   /* output of the last layer, no logits */
    int in_place; /* matrices in the model's file are inputs, read in place: eg_model_bind */
} eg_model_options;

enum { EG_MODEL_STATES = 64, EG_MODEL_BOUNDARIES = 512 };
typedef struct eg_model_nodes {
    eg_node x, timespans, lengths; /* {0} where there is none; x: the tokens of a transformer */
    eg_node y;
    size_t boundaries; /* transformers: outputs of the embedding and of each layer but the last */
    eg_node boundary[EG_MODEL_BOUNDARIES];
    size_t states; /* of each layer and direction: h, and c with mixed memory */
    eg_node initial[EG_MODEL_STATES], final[EG_MODEL_STATES];
    char state_name[EG_MODEL_STATES]
                   [16]; /* of the input and, with 'n' for '0', of the output: "h0" */
} eg_model_nodes;
/* Builds the model in `graph`: inputs x, timespans, lengths, h0 ..; parameters named as in the state-dict.
 * Elapsed times are not checked here: see eg_model_check_timespans. */
EG_API eg_status eg_model_build(const eg_model *model, eg_graph *graph,
                                const eg_model_options *options, eg_model_nodes *out,
                                eg_error *error);
/* Binds the matrices that a program built with `in_place` reads from the model's file. */
EG_API eg_status eg_model_bind(const eg_model *model, eg_instance *instance, eg_error *error);
/* Copies the values of the model into the weights of a program that was built from it. */
EG_API eg_status eg_model_weights(const eg_model *model, eg_weights *weights, eg_error *error);
/* Weights for inference that hold no copy of the parameters: an instance reads what it needs from the model when it is
 * created, and intermediate results of the prologue are not kept. So a process holds the parameters once, not twice.
 * The model must exist unchanged until the last instance is created; these weights cannot be read or changed
 * (EG_ERR_UNSUPPORTED). */
EG_API eg_status eg_model_lend(const eg_model *model, eg_program *program, eg_weights **out,
                               eg_error *error);
/* EG_ERR_ARGUMENT names the sample and step of the first span that is negative, infinite or NaN. */
EG_API eg_status eg_model_check_timespans(const float *timespans, uint64_t batch, uint64_t time,
                                          int batch_first, eg_error *error);

/* ---- streams: one step in, one step out, with a state of their own. A step takes no memory and no
 * lock. */
typedef struct eg_stream_program eg_stream_program; /* compiled once, shared by all streams */
typedef struct eg_stream eg_stream; /* one per robot, used by one thread at a time */
EG_API eg_status eg_stream_compile(eg_model *model, eg_stream_program **out, eg_error *error);
EG_API void eg_stream_program_destroy(eg_stream_program *program); /* after its streams */
/* What one step computes, moves and keeps. */
EG_API void eg_stream_program_info_get(const eg_stream_program *program, eg_program_info *out);
EG_API eg_status eg_stream_create(eg_stream_program *program, eg_stream **out, eg_error *error);
EG_API void eg_stream_destroy(eg_stream *stream);
/* x: inputs floats; elapsed: time since the last step, in the unit of the training; y: outputs floats.
 * EG_ERR_ARGUMENT for an elapsed time that is negative or NaN; the state is then unchanged. Inputs are not
 * checked: a NaN or infinity spreads to outputs and state and stays there. Where a sensor may give such values, call
 * eg_stream_check before. */
EG_API eg_status eg_stream_step(eg_stream *stream, const float *x, float elapsed, float *y,
                                eg_error *error);
/* Whether the next inputs (may be NULL) and the state are finite: EG_ERR_ARGUMENT names the input,
 * EG_ERR_FORMAT says that the state is lost. A pass over both, no memory, no change. */
EG_API eg_status eg_stream_check(const eg_stream *stream, const float *x, eg_error *error);
EG_API void eg_stream_reset(eg_stream *stream);
/* The whole state, eg_model_info.state floats. */
EG_API void eg_stream_state_get(const eg_stream *stream, float *state);
EG_API void eg_stream_state_set(eg_stream *stream, const float *state);

#ifdef __cplusplus
}
#endif
#endif
