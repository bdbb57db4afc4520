/* libxsmm: code generated for one shape. It is column-major, so C^T = B^T A^T. */
#include "peers.h"

#include <libxsmm.h>

typedef struct xsmm_state {
    libxsmm_smmfunction function;
    const float *a, *b;
    float *c;
} xsmm_state;

void xsmm_open(void) { libxsmm_init(); }

void xsmm_versions(peer_versions *out) {
    peer_versions_add(out, "libxsmm", "libxsmm %s, code for %s", LIBXSMM_VERSION,
                      libxsmm_get_target_arch());
}

static void run_function(void *state) {
    const xsmm_state *s = state;
    s->function(s->b, s->a, s->c);
}

void xsmm_gemm(bench *b, race *r, const gemm_problem *p) {
    const int m = (int)p->n, n = (int)p->m, k = (int)p->k;
    const float one = 1, zero = 0;
    if (p->threads > 1) return;
    libxsmm_smmfunction function =
        libxsmm_smmdispatch(m, n, k, &m, &k, &m, &one, &zero, NULL, NULL);
    if (!function) return;
    xsmm_state *state = bench_take(b, sizeof *state);
    *state = (xsmm_state){function, p->a, p->b, p->c};
    race_add(r, (contestant){.role = ROLE_PEER,
                             .name = "libxsmm",
                             .variant = "",
                             .run = run_function,
                             .state = state});
}
