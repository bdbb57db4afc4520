/* elegans: liquid neural networks and transformers, tuned for the chip they run on. This header
 * includes all parts; each can be included alone. */
#ifndef ELEGANS_H
#define ELEGANS_H

#include "elegans/base.h"
#include "elegans/cache.h"
#include "elegans/chip.h"
#include "elegans/context.h"
#include "elegans/csv.h"
#include "elegans/data.h"
#include "elegans/entropy.h"
#include "elegans/export.h"
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
#include "elegans/preset.h"
#include "elegans/profile.h"
#include "elegans/program.h"
#include "elegans/project.h"
#include "elegans/quantize.h"
#include "elegans/safetensors.h"
#include "elegans/session.h"
#include "elegans/table.h"
#include "elegans/tensor.h"
#include "elegans/tokenizer.h"
#include "elegans/train.h"
#include "elegans/wiring.h"

#endif
