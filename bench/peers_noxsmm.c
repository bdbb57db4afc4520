/* A build without libxsmm. */
#include "peers.h"

void xsmm_open(void) {}
void xsmm_versions(peer_versions *out) { (void)out; }
void xsmm_gemm(bench *b, race *r, const gemm_problem *problem) { (void)b, (void)r, (void)problem; }
