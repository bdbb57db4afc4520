/* elegans: liquid neural networks and transformers, tuned for the chip they run on. This header
 * includes all parts; each can be included alone.
 *
 * Each part says whether it is stable (within a major version it only grows: functions, fields at the end of
 * structs that begin with their size, values of enums) or experimental (it may still change).
 *
 * Options and infos begin with `size`: sizeof of the struct you compiled with, or 0 for the fields that it had in the
 * version that brought it. The library reads and writes no more than that; a field that it does not know must be 0. Set
 * it before an info is asked for: `eg_model_info info = {.size = sizeof info};` */
#ifndef ELEGANS_H
#define ELEGANS_H

#include "elegans/base.h"
#include "elegans/batch.h"
#include "elegans/cache.h"
#include "elegans/chip.h"
#include "elegans/context.h"
#include "elegans/csv.h"
#include "elegans/data.h"
#include "elegans/entropy.h"
#include "elegans/export.h"
#include "elegans/file.h"
#include "elegans/fit.h"
#include "elegans/generate.h"
#include "elegans/gguf.h"
#include "elegans/graph.h"
#include "elegans/grid.h"
#include "elegans/history.h"
#include "elegans/kernels.h"
#include "elegans/measure.h"
#include "elegans/memory.h"
#include "elegans/metrics.h"
#include "elegans/model.h"
#include "elegans/monitor.h"
#include "elegans/preset.h"
#include "elegans/profile.h"
#include "elegans/program.h"
#include "elegans/project.h"
#include "elegans/publish.h"
#include "elegans/quantize.h"
#include "elegans/report.h"
#include "elegans/safetensors.h"
#include "elegans/scope.h"
#include "elegans/sensors.h"
#include "elegans/session.h"
#include "elegans/table.h"
#include "elegans/tensor.h"
#include "elegans/tokenizer.h"
#include "elegans/train.h"
#include "elegans/tune.h"
#include "elegans/wiring.h"

#endif
