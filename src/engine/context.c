/* Creation of a context: options, chip, budget, kernels, threads. */
#include "engine/tuning.h"
#include "base/abi.h"

#include <string.h>

static eg_status options_read(const eg_context_options *from, eg_context_options *to,
                              eg_error *error) {
    const eg_status status = EG__OPTIONS(eg_context_options, to, from, error);
    if (status) return status;
    if (to->threads > EG__THREADS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "%u threads are not within 1..%d", to->threads,
                        EG__THREADS_MAX);
    if (!(to->memory_fraction >= 0 && to->memory_fraction <= 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "memory fraction %g is not within 0..1",
                        to->memory_fraction);
    if (!to->allocator.allocate != !to->allocator.release)
        return eg__fail(error, EG_ERR_ARGUMENT, "an allocator needs both of its functions");
    if (to->blocks_rows > 2048)
        return eg__fail(error, EG_ERR_ARGUMENT, "blocks of %u rows are not within 1..2048",
                        to->blocks_rows);
    if (to->blocks_depth && (to->blocks_depth < 16 || to->blocks_depth > 8192))
        return eg__fail(error, EG_ERR_ARGUMENT, "blocks of depth %u are not within 16..8192",
                        to->blocks_depth);
    return EG_OK;
}

static uint64_t budget_of(const eg_context_options *options, const eg_chip *chip) {
    if (options->memory_budget) return options->memory_budget;
    double fraction = options->memory_fraction > 0 ? options->memory_fraction : 0.8;
    return (uint64_t)((double)chip->memory_available * fraction); /* 0 = unknown: no limit */
}

/* A recorded machine has its own features; the kernels must run on this one. */
static eg_status select_kernels(eg_context *context, const eg_context_options *options,
                                eg_error *error) {
    eg_chip here = context->chip;
    eg_status status = EG_OK;
    if (options->system_root) status = eg__chip_detect(NULL, NULL, &here, error);
    if (status) return status;
    context->features = here.features;
    if (here.features & EG_CPU_APPLE_AMX && !eg__amx_allowed(eg__amx_try, context->amx_refused)) {
        context->features &= ~(unsigned)EG_CPU_APPLE_AMX;
        eg__log_write(&context->log, EG_LOG_WARNING, "AMX is not used: %s", context->amx_refused);
    }
    if (here.features & EG_CPU_AMX_TILE && !eg__tile_allowed(eg__tile_ask, context->tile_refused)) {
        context->features &= ~(unsigned)(EG_CPU_AMX_TILE | EG_CPU_AMX_BF16 | EG_CPU_AMX_INT8);
        eg__log_write(&context->log, EG_LOG_WARNING, "AMX tiles are not used: %s",
                      context->tile_refused);
    }
    status = eg__kernels_select(context->features, options->isa, &context->kernels, error);
    const eg_core_kind *core = &here.kinds[0]; /* the fastest: what threads run on by default */
    context->modelled_blocks =
        eg__gemm_blocks_for(core->l1d_bytes, core->l2_bytes / eg__max(core->l2_cores, 1));
    if (options->blocks_rows) context->modelled_blocks.rows = options->blocks_rows;
    if (options->blocks_depth) context->modelled_blocks.depth = options->blocks_depth;
    context->kernels.blocks = context->modelled_blocks;
    context->kernels.clusters = eg__ceil_div(core->cores, eg__max(core->l2_cores, 1));
    return status;
}

static void pin(void *user, unsigned thread) {
    eg_context *context = user;
    if (!eg__chip_bind_thread(thread))
        eg__log_write(&context->log, EG_LOG_WARNING, "cannot bind thread %u to a core", thread);
}

/* A program is as fast as its slowest thread, so by default only the fastest kind of core is
 * used. */
static eg_status start_threads(eg_context *context, const eg_context_options *options,
                               eg_error *error) {
    unsigned count = options->threads ? options->threads : context->chip.kinds[0].cores;
    count = (unsigned)eg__max(1, eg__min(count, EG__THREADS_MAX)); /* 0 cores: unknown */
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *memory =
        eg__memory_take(context->memory, EG_TAG_CONTEXT, eg__threads_size(count), &reason);
    if (!memory) return eg__fail(error, reason.status, "%s", reason.message);
    eg_status status = eg__threads_start(memory, count, options->pin_threads ? pin : NULL, context,
                                         &context->threads, error);
    if (status) eg__memory_give(context->memory, memory);
    else eg__threads_join(context->threads, options->team, options->team_user);
    if (!status && options->pin_threads) pin(context, 0);
    return status;
}

eg_status eg_context_create(const eg_context_options *given, eg_context **out, eg_error *error) {
    eg_context_options options;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the context");
    *out = NULL;
    eg_status status = options_read(given, &options, error);
    if (status) return status;

    eg__log log = {options.log, options.log_user, options.log_level};
    eg_chip chip;
    status = eg__chip_detect(options.system_root, &log, &chip, error);
    if (status) return status;

    eg__memory_options memory_options = {.allocator = options.allocator,
                                         .budget = budget_of(&options, &chip),
                                         .no_cache = options.memory_cache_off != 0};
    eg__memory *memory = NULL;
    status = eg__memory_create(&memory, &memory_options, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_context *context = eg__memory_take_zeroed(memory, EG_TAG_CONTEXT, sizeof *context, &reason);
    if (!context) {
        eg__memory_destroy(memory);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    context->memory = memory;
    context->log = log;
    context->chip = chip;
    context->maps_weights = !options.weights_read;
    status = select_kernels(context, &options, error);
    if (!status) status = start_threads(context, &options, error);
    const bool fixed = options.isa || options.blocks_rows || options.blocks_depth;
    if (!status && options.tuned && !options.system_root && !fixed)
        status = eg__context_tune(context, options.tuning_folder, error);
    if (status) {
        eg_context_destroy(context);
        return status;
    }
    eg__log_write(&log, EG_LOG_INFO, "%s: %u threads, %s kernels", chip.name,
                  eg__threads_count(context->threads), context->kernels.isa);
    *out = context;
    return EG_OK;
}

/* ---- devices beside the cores */

/* The peak of one core from the chip table or the clock; for unknown chips, typical values. */
static eg__host_rates host_rates(const eg_context *context) {
    const eg_chip *chip = &context->chip;
    const double threads = eg__threads_count(context->threads);
    const double clock = chip->kinds[0].max_mhz > 0 ? chip->kinds[0].max_mhz * 1e6 : 2.5e9;
    const double lanes = eg__isa_named(context->kernels.isa)->lanes;
    const bool known = chip->in_table && chip->row.fast_core_gflops > 0;
    const double core = known ? chip->row.fast_core_gflops * 1e9 : clock * lanes * 4;
    const double memory = chip->in_table && chip->row.memory_gbs > 0 ? chip->row.memory_gbs : 20;
    return (eg__host_rates){core * threads / 2, memory * 1e9 / 2, 50e-9};
}

eg_status eg__context_device_add(eg_context *context, eg__device *device, eg_error *error) {
    eg__placement *to = &context->placement;
    if (to->count == EG__DEVICES_MAX)
        return eg__fail(error, EG_ERR_BUDGET, "more than %d devices", EG__DEVICES_MAX);
    to->host = host_rates(context);
    to->devices[to->count++] = device;
    return EG_OK;
}

void eg__context_costs_set(eg_context *context, eg__measured_cost *cost, void *user) {
    context->placement.measured = cost;
    context->placement.measured_user = user;
}

void eg_context_destroy(eg_context *context) {
    if (!context) return;
    eg__memory *memory = context->memory;
    eg__threads_stop(context->threads);
    eg__memory_give(memory, context->threads);
    eg__memory_give(memory, context->cblas);
    eg__memory_give(memory, context->table);
    eg__memory_give(memory, context);
    eg__memory_destroy(memory);
}

const eg_chip *eg_context_chip(const eg_context *context) { return &context->chip; }

unsigned eg_context_threads(const eg_context *context) {
    return eg__threads_count(context->threads);
}

const char *eg_context_isa(const eg_context *context) { return context->kernels.isa; }
