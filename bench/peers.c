/* Every peer in turn. */
#include "peers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void peer_versions_add(peer_versions *versions, const char *name, const char *format, ...) {
    if (versions->count == VERSIONS_MAX) return;
    peer_version *to = &versions->list[versions->count++];
    to->name = name;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(to->text, sizeof to->text, format, arguments);
    va_end(arguments);
}

void peers_open(bench *b) {
    if (b->options.no_peers) return;
    gomp_open(); /* first: oneDNN and BLIS take the number of threads from it */
    gomp_threads_set(1);
    blas_open();
    onednn_open();
    xsmm_open();
    math_open();
}

void peers_versions(peer_versions *out) {
    memset(out, 0, sizeof *out);
    blas_versions(out);
    onednn_versions(out);
    xsmm_versions(out);
    math_versions(out);
}

void peers_gemm(bench *b, race *r, const gemm_problem *problem) {
    if (b->options.no_peers) return;
    gomp_threads_set(problem->threads);
    blas_gemm(b, r, problem);
    onednn_gemm(b, r, problem);
    xsmm_gemm(b, r, problem);
}

void peers_bytes(bench *b, race *r, const bytes_problem *problem) {
    if (b->options.no_peers) return;
    gomp_threads_set(1);
    onednn_bytes(b, r, problem);
}

void peers_halves(bench *b, race *r, const halves_problem *problem) {
    if (b->options.no_peers) return;
    gomp_threads_set(1);
    onednn_halves(b, r, problem);
}

void peers_layernorm(bench *b, race *r, const rows_problem *problem) {
    if (!b->options.no_peers) onednn_layernorm(b, r, problem);
}

void peers_softmax(bench *b, race *r, const rows_problem *problem) {
    if (!b->options.no_peers) onednn_softmax(b, r, problem);
}

void peers_mlp(bench *b, race *r, const mlp_problem *problem) {
    if (!b->options.no_peers) onednn_mlp(b, r, problem);
}

void peers_gru(bench *b, race *r, const gru_problem *problem) {
    if (!b->options.no_peers) onednn_gru(b, r, problem);
}

void peers_math(bench *b, race *r, const math_problem *problem) {
    if (!b->options.no_peers) math_add(b, r, problem);
}

void peers_launch(bench *b, race *r, const launch_problem *problem) {
    if (b->options.no_peers) return;
    gomp_threads_set(2);
    gomp_launch(b, r, problem);
}
