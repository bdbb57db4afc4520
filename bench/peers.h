/* The other libraries: each adds itself, in its best configuration, to a race. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench.h"

/* C = A*B, all row-major and contiguous; `bt` is B transposed. */
typedef struct gemm_problem {
    size_t m, n, k;
    float *a, *b, *bt, *c;
    unsigned threads;
} gemm_problem;

/* C = A*B, A floats that are integers within 0 .. 127, B bytes, exact sums as floats. */
typedef struct bytes_problem {
    size_t m, n, k;
    float *a;
    int8_t *b;
    float *c;
} bytes_problem;

/* C = A*B of bf16, row-major and contiguous; C is f32. */
typedef struct halves_problem {
    size_t m, n, k;
    uint16_t *a, *b;
    float *c;
} halves_problem;

/* y = f(x) of rows x columns; gain and bias per column for a layer norm. */
typedef struct rows_problem {
    size_t rows, columns;
    float *x, *y, *gain, *bias;
    float epsilon;
} rows_problem;

typedef enum math_function { MATH_EXP, MATH_TANH, MATH_SIGMOID } math_function;

/* y = f(x) of n floats, n a multiple of 16. */
typedef struct math_problem {
    math_function function;
    size_t n;
    float *x, *y;
} math_problem;

/* Layers of y = tanh(x*w + bias), the last one without tanh; `wt` is w transposed. */
enum { MLP_LAYERS = 3 };
typedef struct mlp_problem {
    size_t batch, width[MLP_LAYERS + 1];
    float *value[MLP_LAYERS + 1]; /* the input, what each hidden layer gives, the output */
    const float *w[MLP_LAYERS], *wt[MLP_LAYERS], *bias[MLP_LAYERS];
} mlp_problem;

/* A GRU with linear before reset; gates are update, reset, new. */
enum { GRU_GATES = 3, GRU_BIASES = 4 };
typedef struct gru_problem {
    size_t steps, batch, input, hidden;
    float *x, *h0;   /* [steps][batch][input], [batch][hidden] */
    float *wx, *wh;  /* [input][gate][hidden], [hidden][gate][hidden] */
    float *bias;     /* of the gates, and of the new gate's part that is reset: [4][hidden] */
    float *y, *last; /* [steps][batch][hidden], [batch][hidden] */
} gru_problem;

/* Work that two threads share: function(job, block) for block 0 and 1. */
typedef struct launch_problem {
    void (*function)(void *job, size_t block);
    void *job;
} launch_problem;

enum { VERSION_SIZE = 96, VERSIONS_MAX = 8 };
typedef struct peer_version {
    const char *name;
    char text[VERSION_SIZE];
} peer_version;
typedef struct peer_versions {
    peer_version list[VERSIONS_MAX];
    size_t count;
} peer_versions;
void peer_versions_add(peer_versions *versions, const char *name, const char *format, ...)
    EG_PRINTF(3, 4);

/* ---- all of them. Each does nothing where its library is missing. */
void peers_open(bench *b);
void peers_versions(peer_versions *out);
void peers_gemm(bench *b, race *r, const gemm_problem *problem);
void peers_bytes(bench *b, race *r, const bytes_problem *problem);
void peers_halves(bench *b, race *r, const halves_problem *problem);
void peers_layernorm(bench *b, race *r, const rows_problem *problem);
void peers_softmax(bench *b, race *r, const rows_problem *problem);
void peers_mlp(bench *b, race *r, const mlp_problem *problem);
void peers_gru(bench *b, race *r, const gru_problem *problem);
void peers_math(bench *b, race *r, const math_problem *problem);
void peers_launch(bench *b, race *r, const launch_problem *problem);

/* ---- one by one, for peers.c */
void blas_open(void);
void blas_versions(peer_versions *out);
void blas_gemm(bench *b, race *r, const gemm_problem *problem);
void onednn_open(void);
void onednn_versions(peer_versions *out);
void onednn_gemm(bench *b, race *r, const gemm_problem *problem);
void onednn_bytes(bench *b, race *r, const bytes_problem *problem);
void onednn_halves(bench *b, race *r, const halves_problem *problem);
void onednn_layernorm(bench *b, race *r, const rows_problem *problem);
void onednn_softmax(bench *b, race *r, const rows_problem *problem);
void onednn_mlp(bench *b, race *r, const mlp_problem *problem);
void onednn_gru(bench *b, race *r, const gru_problem *problem);
void xsmm_open(void);
void xsmm_versions(peer_versions *out);
void xsmm_gemm(bench *b, race *r, const gemm_problem *problem);
void gomp_open(void);
void gomp_threads_set(unsigned count);
void gomp_launch(bench *b, race *r, const launch_problem *problem);
void math_open(void);
void math_versions(peer_versions *out);
void math_add(bench *b, race *r, const math_problem *problem);

#endif
