/* Default efficiencies, of one machine, for use without measuring: as `bench --group project`
 * prints them. */
#include "elegans/project.h"

static const eg_efficiency kept = {
    .work = {[EG_WORK_GEMM] = {14.3, 1.31, 1.01, 15.6, 2.16, 0, 0.013, 12},
             [EG_WORK_GEMV] = {12.7, 0, 0.269, 50.2, 5.11, 0.838, 0.145, 8},
             [EG_WORK_FUSED] = {24.4, 3.94, 0, 6.69, 1.78, 0, 0.148, 14},
             [EG_WORK_SYNAPSES] = {975, 22, 0, 3.23, 70.6, 0, 0.056, 6},
             [EG_WORK_SYNAPSES_ONE] = {27.4, 0, 0, 7.26, 29.9, 0, 0.012, 5},
             [EG_WORK_SUMS] = {357, 1.36, 0, 1.06, 0, 0, 0.185, 4},
             [EG_WORK_NORMS] = {0, 14.9, 0, 0, 1.46, 1.1, 0.127, 6},
             [EG_WORK_MOVE] = {9.31, 1.55, 0, 0, 0, 0.958, 0.102, 9},
             [EG_WORK_SCAN] = {32.6, 1.25, 0, 0, 0, 0, 0, 2}},
    .run = 10.5,
    .error = 0.079,
    .clock = 3.68,
    .level = {1.86, 1, 0.856},
    .provenance = EG_MODELLED,
    .source = "fitted to single kernels on an AMD EPYC (avx512, 3.68 GHz, 118 GFLOP/s a core)"};

void eg_efficiency_default(eg_efficiency *out) { *out = kept; }
