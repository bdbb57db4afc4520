/* Every kernel of the table on one typical size. */
#include "profile/measure/burst.h"
#include "profile/measure/ceilings.h"

#include <string.h>

enum { SPACE = 1 << 20 }; /* floats of memory that the cases share */

/* Inputs in the first half, outputs in the second. */
typedef struct bench {
    const eg__kernel *row;
    float *in, *out;
    union {
        eg__gemm_f32_args gemm;
        eg__gemm_tn_f32_args turned;
        eg__gemv_f32_args gemv;
        eg__fused_f32_args fused;
        eg__reduce_f32_args reduce;
        eg__column_sum_f32_args column_sum;
        eg__squares_f32_args squares;
        eg__softmax_f32_args softmax;
        eg__norm_f32_args norm;
        eg__move_f32_args move;
        eg__gather_f32_args gather;
        eg__synapses_f32_args synapses;
        eg__synapses_back_f32_args synapses_back;
        eg__attention_f32_args attention;
        eg__attention_cached_f32_args cached;
        eg__rotary_f32_args rotary;
        eg__unfold_f32_args unfold;
        eg__depthwise_f32_args depthwise;
        eg__depthwise_dw_f32_args depthwise_dw;
        eg__gemm_quantized_args quantized;
        eg__gemm_halves_args halves;
        eg__infile_args stored;
    } args;
    eg__fused_program program; /* of cfc_gate_back_f32 */
    size_t n;
    const char *shape;
    double flops, bytes; /* of one call; flops 0 = it moves data */
} bench;

/* 48 targets with 14 synapses each, in lanes. */
enum { CELLS = 48, FAN = 14, SYNAPSES = CELLS * FAN, SAMPLES = 32 };
static eg__synapse_list synapse_list(int32_t *memory) {
    for (uint32_t i = 0; i < SYNAPSES; i++)
        memory[i] =
            eg__synapse_ends(i * 7 % CELLS, i / (FAN * EG__LANES) * EG__LANES + i % EG__LANES);
    return (eg__synapse_list){CELLS, CELLS, SYNAPSES, memory, true};
}

static const eg__fused_program gate_program = {
    .length = 4,
    .operands = 6,
    .kind = {EG__FULL, EG__FULL, EG__FULL, EG__FULL, EG__ROW, EG__FULL},
    .code = {{EG__FUSED_TANH, 0, EG__OPERAND(0), 0, 0},
             {EG__FUSED_TANH, 1, EG__OPERAND(1), 0, 0},
             {EG__FUSED_FMA_SIGMOID, 2, EG__OPERAND(2), EG__OPERAND(4), EG__OPERAND(3)},
             {EG__FUSED_LERP, EG__OPERAND(5), 0, 1, 2}}};
static const eg__fused_gate_back gate_back = {.d1 = EG__OPERAND(0),
                                              .f = EG__OPERAND(1),
                                              .g = EG__OPERAND(2),
                                              .t = EG__OPERAND(3),
                                              .one = EG__OPERAND(4),
                                              .dt = EG__OPERAND(5),
                                              .dg = EG__OPERAND(6),
                                              .df = EG__OPERAND(7)};
static const eg__fused_program update_program = {
    .length = 3,
    .operands = 5,
    .code = {{EG__FUSED_ADD, 0, EG__OPERAND(0), EG__OPERAND(1), 0},
             {EG__FUSED_ADD, 1, EG__OPERAND(2), EG__OPERAND(3), 0},
             {EG__FUSED_DIV, EG__OPERAND(4), 0, 1, 0}}};
static const eg__fused_program tanh_program = {
    .length = 1,
    .operands = 2,
    .kind = {EG__FULL, EG__FULL},
    .code = {{EG__FUSED_TANH, EG__OPERAND(1), EG__OPERAND(0), 0, 0}}};

/* Four heads of 64 columns, 128 queries and as many keys. */
static void prepare_attention(bench *b) {
    enum { T = 128, HEADS = 4, D = 64, WIDE = HEADS * D, PIECE = T * (WIDE + HEADS) };
    const bool by_keys = b->row->operation == EG__OP_attention_dkv_f32;
    const bool forward = b->row->operation == EG__OP_attention_f32;
    const double products = forward ? 2 : by_keys ? 4 : 3;
    eg__attention_f32_args a = {.queries = T,
                                .keys = T,
                                .heads = HEADS,
                                .kv_heads = HEADS,
                                .d = D,
                                .dv = D,
                                .scale = 0.125f,
                                .q = b->in,
                                .k = b->in + PIECE,
                                .v = b->in + 2 * PIECE,
                                .q_stride = WIDE,
                                .k_stride = WIDE,
                                .v_stride = WIDE,
                                .out = b->out,
                                .out_stride = by_keys ? 2 * WIDE : WIDE + HEADS,
                                .y = b->in + 3 * PIECE,
                                .dy = b->in + 4 * PIECE,
                                .y_stride = WIDE + HEADS,
                                .dy_stride = WIDE + HEADS,
                                .scratch = b->out + SPACE / 8};
    a.count = HEADS * eg__attention_blocks(&a, by_keys);
    b->args.attention = a;
    b->shape = "128 x 128, 4 heads of 64";
    b->flops = products * 2.0 * HEADS * T * T * D;
    b->bytes = 4.0 * T * WIDE * (forward ? 4 : by_keys ? 7 : 6);
}

/* One query of four heads that share two key heads, 1024 keys of 64 columns in f16: one token of a
 * decoder. */
static void prepare_cached(bench *b) {
    enum { KEYS = 1024, HEADS = 4, KV = 2, D = 64, PAGE = 64 };
    static const int32_t pages[KEYS / PAGE] = {3,  1,  0, 2, 7,  6,  5,  4,
                                               11, 10, 9, 8, 12, 13, 15, 14};
    static const int32_t length = KEYS;
    eg__attention_cached_f32_args a = {.pages = pages, .pages_row = KEYS / PAGE, .page = PAGE};
    eg__kv_rows_make(EG_F16, KEYS, KV, D, &a.k.rows);
    a.v.rows = a.k.rows;
    a.k.data = (const char *)(b->in + SPACE / 4);
    a.v.data = a.k.data;
    a.f32 = (eg__attention_f32_args){.queries = 1,
                                     .keys = KEYS,
                                     .heads = HEADS,
                                     .kv_heads = KV,
                                     .d = D,
                                     .dv = D,
                                     .scale = 0.125f,
                                     .causal = true,
                                     .q = b->in,
                                     .q_stride = HEADS * D,
                                     .lengths = &length,
                                     .lengths_are_i32 = true,
                                     .out = b->out,
                                     .out_stride = HEADS * D,
                                     .count = KV,
                                     .scratch = b->out + SPACE / 8};
    b->args.cached = a;
    b->shape = "1 x 1024, 4 heads of 64, f16";
    b->flops = 4.0 * HEADS * KEYS * D;
    b->bytes = 2.0 * KEYS * (double)a.k.rows.size;
}

/* Planes of 56 x 56 and filters of 3 x 3: of 8 channels a block, of one plane all. */
static void prepare_conv(bench *b) {
    enum { SIDE = 56, TAPS = 9, CHANNELS = 8, BLOCK = 192 };
    static const eg__conv_shape shape = {
        .axis = {{SIDE, SIDE, 3, 1, 1, 1, 1}, {SIDE, SIDE, 3, 1, 1, 1, 1}},
        .channels = 1,
        .filters = 1,
        .groups = 1};
    float *scratch = b->out + SPACE / 8;
    if (b->row->operation == EG__OP_unfold_f32) {
        b->args.unfold = (eg__unfold_f32_args){
            &shape, b->in, CHANNELS, SIDE, BLOCK, b->out, EG__PANEL, EG__PANEL * CHANNELS * TAPS};
        b->shape = "192 of 56x56, 8 channels, 3x3";
        b->bytes = 8.0 * CHANNELS * TAPS * BLOCK;
        return;
    }
    if (b->row->operation == EG__OP_depthwise_f32)
        b->args.depthwise =
            (eg__depthwise_f32_args){&shape, b->in, b->in + SIDE * SIDE, b->out, scratch};
    else
        b->args.depthwise_dw =
            (eg__depthwise_dw_f32_args){&shape, b->in, b->in + SIDE * SIDE, b->out, scratch};
    b->shape = "56x56, 3x3";
    b->flops = 2.0 * TAPS * SIDE * SIDE;
    b->bytes = 8.0 * SIDE * SIDE;
}

/* Quantized weights: 256 x 256 zeros in groups of 128, because no kernel's time depends on
 * values. */
static eg_type small_type(eg__operation operation) {
    switch (operation) {
    case EG__OP_gemm_f16: return EG_F16;
    case EG__OP_gemm_bf16: return EG_BF16;
    case EG__OP_gemm_i8:
    case EG__OP_gemm_i8i8: return EG_I8;
    default: return EG_I4;
    }
}
static void prepare_small(bench *b) {
    enum { M = 128, N = 256, K = 256, GROUP = 128 };
    static const uint32_t ends[] = {GROUP, K};
    const eg_type type = small_type(b->row->operation);
    const bool half = eg__quantized_unit(type) == 1;
    const uint32_t *end = half ? ends + 1 : ends;
    float *right = b->in + M * K, *scratch = b->out + M * N;
    eg__quantized_layout layout;
    if (!eg__quantized_measure(type, K, N, half ? 1 : 2, end, false, true, &layout)) return;
    const eg__packed_quantized packed = eg__quantized_at(type, K, N, half ? 1 : 2, right, &layout);
    eg__quantized_begin(&packed, end);
    b->args.quantized = (eg__gemm_quantized_args){.m = M,
                                                  .a = b->in,
                                                  .a_stride = K,
                                                  .b = packed,
                                                  .c = b->out,
                                                  .c_stride = N,
                                                  .scratch = scratch};
    b->shape = "128x256x256";
    b->flops = 2.0 * M * N * K;
    b->bytes = 4.0 * (M * K + M * N) + (double)layout.bytes;
}

/* One row, as a decoder has it: 256 x 256 zeros. */
static void prepare_infile(bench *b) {
    enum { N = 256, K = 256 };
    float *right = b->in + K, *scratch = b->out + N;
    eg__infile_format format;
    if (!eg__infile_format_read_by(b->row->operation, &format)) return;
    const size_t bytes = N * eg__infile_bytes(format, K);
    memset(right, 0, bytes);
    b->args.stored = (eg__infile_args){.m = 1,
                                       .n = N,
                                       .k = K,
                                       .a = b->in,
                                       .a_stride = K,
                                       .w = (const uint8_t *)right,
                                       .c = b->out,
                                       .c_stride = N,
                                       .scratch = scratch};
    b->shape = "1x256x256";
    b->flops = 2.0 * N * K;
    b->bytes = 4.0 * (K + N) + (double)bytes;
}

/* The typical case of each operation; what it counts as work is in flops and bytes. */
static void prepare(bench *b) {
    enum { M = 128, N = 256, K = 256, ROWS = 128, WIDE = 384, LONG = 4096 };
    float *in = b->in, *out = b->out;
    b->flops = 0;
    b->n = 1 << 16;
    switch (b->row->operation) {
    case EG__OP_gemm_f32:
        b->args.gemm = (eg__gemm_f32_args){.m = M,
                                           .n = N,
                                           .k = K,
                                           .a = in,
                                           .a_stride = K,
                                           .b = in + M * K,
                                           .c = out,
                                           .c_stride = N,
                                           .scratch = out + M * N};
        b->shape = "128x256x256";
        b->flops = 2.0 * M * N * K;
        b->bytes = 4.0 * (M * K + K * N + M * N);
        break;
    case EG__OP_gemm_f16f16:
    case EG__OP_gemm_bf16bf16:
        b->args.halves = (eg__gemm_halves_args){.m = M,
                                                .n = N,
                                                .k = K,
                                                .a = (const uint16_t *)in,
                                                .a_stride = K,
                                                .b = (const uint16_t *)(in + M * K),
                                                .c = out,
                                                .c_stride = N,
                                                .scratch = out + SPACE / 8};
        b->shape = "128x256x256";
        b->flops = 2.0 * M * N * K;
        b->bytes = 2.0 * (M * K + K * N) + 4.0 * M * N;
        break;
    case EG__OP_gemm_tn_f32:
        b->args.turned = (eg__gemm_tn_f32_args){M, N, K, in, M, in + M * K, N, out, N, false, NULL};
        b->shape = "128x256x256";
        b->flops = 2.0 * M * N * K;
        b->bytes = 4.0 * (M * K + K * N + M * N);
        break;
    case EG__OP_gemv_f32:
        b->args.gemv = (eg__gemv_f32_args){N, K, in, in + EG__PANEL * K, out, NULL};
        b->shape = "1x256x256";
        b->flops = 2.0 * N * K;
        b->bytes = 4.0 * (K + K * N + N);
        break;
    case EG__OP_fused_f32:
        b->args.fused = (eg__fused_f32_args){&tanh_program, 1, LONG, {{in, LONG}, {out, LONG}}};
        b->shape = "4096 tanh";
        b->bytes = 8.0 * LONG;
        break;
    case EG__OP_cfc_gate_f32:
        b->args.fused = (eg__fused_f32_args){
            &gate_program,
            64,
            64,
            {{in, 64}, {in + LONG, 64}, {in, 64}, {in + LONG, 64}, {in, 1}, {out, 64}}};
        b->shape = "64x64";
        b->bytes = 20.0 * LONG;
        break;
    case EG__OP_cfc_gate_back_f32:
        b->program = (eg__fused_program){.operands = 8, .kind = {[4] = EG__SCALAR}};
        eg__fused_gate_back_write(&gate_back, &b->program);
        b->args.fused = (eg__fused_f32_args){&b->program, 64, 64, {{in, 64}, {in + LONG, 64}}};
        for (unsigned i = 2; i < 8; i++)
            b->args.fused.operand[i] =
                (eg__fused_operand){i > 4 ? out + (i - 5) * LONG : in + i * LONG, 64};
        b->shape = "64x64";
        b->bytes = 28.0 * LONG;
        break;
    case EG__OP_ltc_update_f32:
        b->args.fused =
            (eg__fused_f32_args){&update_program,
                                 64,
                                 64,
                                 {{in, 64}, {in + LONG, 64}, {in, 64}, {in + LONG, 64}, {out, 64}}};
        b->shape = "64x64";
        b->bytes = 20.0 * LONG;
        break;
    case EG__OP_reduce_f32:
        b->args.reduce = (eg__reduce_f32_args){EG__REDUCE_SUM, ROWS, WIDE, in, WIDE, out, NULL};
        b->shape = "128x384 sum";
        b->bytes = 4.0 * ROWS * WIDE;
        break;
    case EG__OP_column_sum_f32:
        b->args.column_sum = (eg__column_sum_f32_args){ROWS, WIDE, in, WIDE, out, false};
        b->shape = "128x384";
        b->bytes = 4.0 * ROWS * WIDE;
        break;
    case EG__OP_softmax_f32:
        b->args.softmax = (eg__softmax_f32_args){ROWS, WIDE, in, WIDE, out, WIDE, false};
        b->shape = "128x384";
        b->bytes = 8.0 * ROWS * WIDE;
        break;
    case EG__OP_squares_f32:
        b->args.squares = (eg__squares_f32_args){ROWS * WIDE, in, (double *)(void *)out};
        b->shape = "128x384";
        b->bytes = 4.0 * ROWS * WIDE;
        break;
    case EG__OP_layernorm_f32:
    case EG__OP_rmsnorm_f32:
        b->args.norm = (eg__norm_f32_args){ROWS, WIDE, in, WIDE, out, WIDE, in, in, 1e-5f};
        b->shape = "128x384";
        b->bytes = 8.0 * ROWS * WIDE;
        break;
    case EG__OP_copy_f32:
    case EG__OP_transpose_f32:
        b->args.move = (eg__move_f32_args){
            ROWS, WIDE, in, WIDE, out, b->row->operation == EG__OP_copy_f32 ? WIDE : ROWS};
        b->shape = "128x384";
        b->bytes = 8.0 * ROWS * WIDE;
        break;
    case EG__OP_gather_f32:
        b->args.gather = (eg__gather_f32_args){
            ROWS, WIDE, in, WIDE, (int32_t *)(in + SPACE / 2 - ROWS), out, WIDE};
        b->shape = "128x384";
        b->bytes = 8.0 * ROWS * WIDE;
        break;
    case EG__OP_synapses_f32:
    case EG__OP_synapses_dv_f32:
    case EG__OP_synapses_dp_f32: {
        const eg__synapses_f32_args forward = {synapse_list((int32_t *)(out + SPACE / 4)),
                                               SAMPLES,
                                               in,
                                               CELLS,
                                               in,
                                               in,
                                               in,
                                               in,
                                               out,
                                               2 * CELLS,
                                               out + SPACE / 8};
        if (b->row->operation == EG__OP_synapses_f32) b->args.synapses = forward;
        else
            b->args.synapses_back = (eg__synapses_back_f32_args){
                forward, in, 2 * CELLS, out,
                b->row->operation == EG__OP_synapses_dp_f32 ? SYNAPSES : CELLS};
        b->shape = "32 samples, 672 synapses";
        b->bytes = 4.0 * (SAMPLES * CELLS * 3 + SYNAPSES * 5);
        break;
    }
    case EG__OP_attention_f32:
    case EG__OP_attention_dq_f32:
    case EG__OP_attention_dkv_f32: prepare_attention(b); break;
    case EG__OP_attention_cached_f32: prepare_cached(b); break;
    case EG__OP_unfold_f32:
    case EG__OP_depthwise_f32:
    case EG__OP_depthwise_dw_f32: prepare_conv(b); break;
    case EG__OP_rotary_f32:
        b->args.rotary = (eg__rotary_f32_args){.rows = ROWS,
                                               .heads = WIDE / 64,
                                               .d = 64,
                                               .x = in,
                                               .x_stride = WIDE,
                                               .y = out,
                                               .y_stride = WIDE,
                                               .frequency = in,
                                               .period = ROWS,
                                               .scratch = out + SPACE / 8};
        b->shape = "128x384, heads of 64";
        b->bytes = 8.0 * ROWS * WIDE;
        break;
    case EG__OP_gemm_f16:
    case EG__OP_gemm_bf16:
    case EG__OP_gemm_i8:
    case EG__OP_gemm_i4:
    case EG__OP_gemm_i8i8:
    case EG__OP_gemm_i4i8: prepare_small(b); break;
    case EG__OP_infile_f32:
    case EG__OP_infile_f16:
    case EG__OP_infile_bf16:
    case EG__OP_infile_q8:
    case EG__OP_infile_q4:
    case EG__OP_infile_q8i8:
    case EG__OP_infile_q4i8: prepare_infile(b); break;
    case EG__OP_f16_to_f32:
    case EG__OP_f32_to_f16:
    case EG__OP_bf16_to_f32:
    case EG__OP_f32_to_bf16:
        b->shape = "65536";
        b->bytes = 6.0 * (double)b->n;
        break;
    case EG__OP_burn_f32:
        b->n = 2000;
        b->shape = "2000 turns";
        b->flops = 2.0 * EG__BURN_LANES * (double)b->n;
        b->bytes = 0;
        break;
    case EG__OP_read_f32:
        b->n = 1 << 12;
        b->shape = "4096";
        b->bytes = 4.0 * (double)b->n;
        break;
    case EG__OP_COUNT: break;
    }
}

static void run(void *job) {
    bench *b = job;
    const eg__kernel_function *f = &b->row->function;
    switch (b->row->operation) {
    case EG__OP_gemm_f32: f->gemm_f32(&b->args.gemm); break;
    case EG__OP_gemm_tn_f32: f->gemm_tn_f32(&b->args.turned); break;
    case EG__OP_gemv_f32: f->gemv_f32(&b->args.gemv); break;
    case EG__OP_fused_f32: f->fused_f32(&b->args.fused); break;
    case EG__OP_cfc_gate_f32: f->cfc_gate_f32(&b->args.fused); break;
    case EG__OP_cfc_gate_back_f32: f->cfc_gate_back_f32(&b->args.fused); break;
    case EG__OP_ltc_update_f32: f->ltc_update_f32(&b->args.fused); break;
    case EG__OP_reduce_f32: f->reduce_f32(&b->args.reduce); break;
    case EG__OP_column_sum_f32: f->column_sum_f32(&b->args.column_sum); break;
    case EG__OP_squares_f32: f->squares_f32(&b->args.squares); break;
    case EG__OP_softmax_f32: f->softmax_f32(&b->args.softmax); break;
    case EG__OP_layernorm_f32: f->layernorm_f32(&b->args.norm); break;
    case EG__OP_rmsnorm_f32: f->rmsnorm_f32(&b->args.norm); break;
    case EG__OP_copy_f32: f->copy_f32(&b->args.move); break;
    case EG__OP_transpose_f32: f->transpose_f32(&b->args.move); break;
    case EG__OP_gather_f32: f->gather_f32(&b->args.gather); break;
    case EG__OP_synapses_f32: f->synapses_f32(&b->args.synapses); break;
    case EG__OP_synapses_dv_f32: f->synapses_dv_f32(&b->args.synapses_back); break;
    case EG__OP_synapses_dp_f32: f->synapses_dp_f32(&b->args.synapses_back); break;
    case EG__OP_attention_f32: f->attention_f32(&b->args.attention); break;
    case EG__OP_attention_dq_f32: f->attention_dq_f32(&b->args.attention); break;
    case EG__OP_attention_dkv_f32: f->attention_dkv_f32(&b->args.attention); break;
    case EG__OP_attention_cached_f32: f->attention_cached_f32(&b->args.cached); break;
    case EG__OP_rotary_f32: f->rotary_f32(&b->args.rotary); break;
    case EG__OP_unfold_f32: f->unfold_f32(&b->args.unfold); break;
    case EG__OP_depthwise_f32: f->depthwise_f32(&b->args.depthwise); break;
    case EG__OP_depthwise_dw_f32: f->depthwise_dw_f32(&b->args.depthwise_dw); break;
    case EG__OP_gemm_f16: f->gemm_f16(&b->args.quantized); break;
    case EG__OP_gemm_bf16: f->gemm_bf16(&b->args.quantized); break;
    case EG__OP_gemm_f16f16: f->gemm_f16f16(&b->args.halves); break;
    case EG__OP_gemm_bf16bf16: f->gemm_bf16bf16(&b->args.halves); break;
    case EG__OP_gemm_i8: f->gemm_i8(&b->args.quantized); break;
    case EG__OP_gemm_i4: f->gemm_i4(&b->args.quantized); break;
    case EG__OP_gemm_i8i8: f->gemm_i8i8(&b->args.quantized); break;
    case EG__OP_gemm_i4i8: f->gemm_i4i8(&b->args.quantized); break;
    case EG__OP_infile_f32: f->infile_f32(&b->args.stored); break;
    case EG__OP_infile_f16: f->infile_f16(&b->args.stored); break;
    case EG__OP_infile_bf16: f->infile_bf16(&b->args.stored); break;
    case EG__OP_infile_q8: f->infile_q8(&b->args.stored); break;
    case EG__OP_infile_q4: f->infile_q4(&b->args.stored); break;
    case EG__OP_infile_q8i8: f->infile_q8i8(&b->args.stored); break;
    case EG__OP_infile_q4i8: f->infile_q4i8(&b->args.stored); break;
    case EG__OP_f16_to_f32: f->f16_to_f32(b->n, (const uint16_t *)b->in, b->out); break;
    case EG__OP_f32_to_f16: f->f32_to_f16(b->n, b->in, (uint16_t *)b->out); break;
    case EG__OP_bf16_to_f32: f->bf16_to_f32(b->n, (const uint16_t *)b->in, b->out); break;
    case EG__OP_f32_to_bf16: f->f32_to_bf16(b->n, b->in, (uint16_t *)b->out); break;
    case EG__OP_burn_f32: f->burn_f32(b->n, b->out); break;
    case EG__OP_read_f32: b->out[0] = f->read_f32(b->n, b->in); break;
    case EG__OP_COUNT: break;
    }
}

static void measure(eg_context *context, bench *b, eg_bench_kernel *result) {
    prepare(b);
    const char *unit = b->flops > 0 ? "GFLOP/s" : "GB/s";
    *result = (eg_bench_kernel){.operation = eg__operation_name(b->row->operation),
                                .isa = b->row->isa,
                                .shape = b->shape,
                                .selected = context->kernels.row[b->row->operation] == b->row,
                                .flops = b->flops,
                                .bytes = b->bytes};
    if (b->row->features & ~context->features) {
        result->speed = eg__metric_unavailable(unit, "this machine cannot run it");
        return;
    }
    eg__kernel_enter(b->row);
    double best = eg__burst_measure(run, b, 0.03).best;
    eg__kernel_leave(b->row);
    result->nanoseconds = best * 1e9;
    result->speed = eg__metric((b->flops > 0 ? b->flops : b->bytes) / best * 1e-9, unit,
                               EG_MEASURED, "best of many bursts");
}

eg_status eg_bench_kernels(eg_context *context, const char *filter,
                           eg_bench_kernel_function function, void *user, eg_error *error) {
    if (!context || !function)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no function for the results");
    eg_error reason = {EG_ERR_MEMORY, ""};
    float *space =
        eg__memory_take_zeroed(context->memory, EG_TAG_MEASURE, SPACE * sizeof *space, &reason);
    if (!space) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < SPACE / 4; i++) space[i] = (float)(i % 31) / 16 - 1;
    size_t matches = 0;
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        bench b = {.row = eg__kernel_row(i), .in = space, .out = space + SPACE / 2};
        if (filter && !strstr(eg__operation_name(b.row->operation), filter)) continue;
        matches++;
        eg_bench_kernel result;
        measure(context, &b, &result);
        if (function(user, &result)) break;
    }
    eg__memory_give(context->memory, space);
    if (!matches) return eg__fail(error, EG_ERR_NOT_FOUND, "no operation contains '%s'", filter);
    return EG_OK;
}
