/* A build without oneDNN. */
#include "peers.h"

void onednn_open(void) {}
void onednn_versions(peer_versions *out) { (void)out; }
void onednn_gemm(bench *b, race *r, const gemm_problem *problem) {
    (void)b, (void)r, (void)problem;
}
void onednn_bytes(bench *b, race *r, const bytes_problem *problem) {
    (void)b, (void)r, (void)problem;
}
void onednn_halves(bench *b, race *r, const halves_problem *problem) {
    (void)b, (void)r, (void)problem;
}
void onednn_layernorm(bench *b, race *r, const rows_problem *problem) {
    (void)b, (void)r, (void)problem;
}
void onednn_softmax(bench *b, race *r, const rows_problem *problem) {
    (void)b, (void)r, (void)problem;
}
void onednn_mlp(bench *b, race *r, const mlp_problem *problem) { (void)b, (void)r, (void)problem; }
void onednn_gru(bench *b, race *r, const gru_problem *problem) { (void)b, (void)r, (void)problem; }
