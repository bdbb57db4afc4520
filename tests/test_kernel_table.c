/* The kernel table and the choice of kernels from it. */
#include "test_kernels.h"

AREA(kernels, "the kernel table and the choice from it")

TEST(kernels, every_operation_ends_with_ref) {
    size_t rows = 0;
    for (int op = 0; op < EG__OP_COUNT; op++) {
        const eg__kernel *last = NULL;
        for (size_t i = 0; i < eg__kernel_count(); i++)
            if ((int)eg__kernel_row(i)->operation == op) last = eg__kernel_row(i), rows++;
        CHECK(last && kernel_is_ref(last) && last->features == 0, "%s does not end with ref",
              eg__operation_name(op));
    }
    CHECK(rows == eg__kernel_count(), "%zu of %zu rows have an operation", rows,
          eg__kernel_count());
    CHECK(!eg__kernel_row(eg__kernel_count()), "a row past the end");
}

TEST(kernels, rows_are_unique) {
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        CHECK(row->function.gemm_f32, "%s_%s has no function", eg__operation_name(row->operation),
              row->isa);
        CHECK(kernel_is_ref(row) == (row->features == 0), "%s_%s: features %x",
              eg__operation_name(row->operation), row->isa, row->features);
        for (size_t j = 0; j < i; j++) {
            const eg__kernel *other = eg__kernel_row(j);
            CHECK(other->operation != row->operation || strcmp(other->isa, row->isa) != 0,
                  "%s_%s stands there twice", eg__operation_name(row->operation), row->isa);
            CHECK(memcmp(&other->function, &row->function, sizeof row->function) != 0,
                  "%s_%s and %s_%s are one function", eg__operation_name(row->operation), row->isa,
                  eg__operation_name(other->operation), other->isa);
        }
    }
}

TEST(kernels, operations_have_names) {
    for (int op = 0; op < EG__OP_COUNT; op++) {
        CHECK(eg__operation_name(op)[0] && eg__operation_text(op)[0], "operation %d", op);
        for (int other = 0; other < op; other++)
            CHECK(strcmp(eg__operation_name(op), eg__operation_name(other)) != 0,
                  "two operations are called '%s'", eg__operation_name(op));
    }
    CHECK(strcmp(eg__operation_name(EG__OP_gemm_f32), "gemm_f32") == 0, "name");
    CHECK(strcmp(eg__operation_name(EG__OP_COUNT), "unknown") == 0, "name of none");
    CHECK(strcmp(eg__operation_text(EG__OP_COUNT), "unknown") == 0, "text of none");
}

/* The first row that fits, for every operation. */
static void choice_check(unsigned features, const char *isa) {
    eg__kernels chosen;
    eg_error error = {0};
    CHECK_OK(eg__kernels_select(features, isa, &chosen, &error), error);
    for (int op = 0; op < EG__OP_COUNT; op++) {
        const eg__kernel *want = NULL;
        for (size_t i = 0; i < eg__kernel_count() && !want; i++) {
            const eg__kernel *row = eg__kernel_row(i);
            const unsigned set = isa ? eg__isa_named(isa)->features : ~0u;
            const bool any = !row->least.m && !row->least.n && !row->least.k;
            if ((int)row->operation == op && any && !(row->features & ~(features & set)))
                want = row;
        }
        CHECK(chosen.row[op] == want, "features %x isa %s: %s is %s, not %s", features,
              isa ? isa : "any", eg__operation_name(op),
              chosen.row[op] ? chosen.row[op]->isa : "none", want ? want->isa : "none");
    }
    CHECK(chosen.isa == chosen.row[EG__OP_gemm_f32]->isa, "isa '%s'", chosen.isa);
    /* the struct of functions says the same as its rows */
#define OPERATION(name, ...) \
    CHECK(chosen.name == chosen.row[EG__OP_##name]->function.name, "%s", #name);
#include "kernels/kernels.def"
}

TEST(kernels, choice) {
    const unsigned here = kernel_features();
    choice_check(here, NULL);
    choice_check(~0u, NULL);
    choice_check(0, NULL);
    choice_check(here, "ref");
    choice_check(0, "ref");
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        if (eg__kernel_row(i)->whole) continue; /* a library is no instruction set */
        choice_check(~0u, eg__kernel_row(i)->isa);
        choice_check(eg__kernel_row(i)->features, NULL); /* exactly enough */
        choice_check(eg__kernel_row(i)->features, eg__kernel_row(i)->isa);
    }
    eg__kernels chosen;
    eg_error error = {0};
    CHECK_OK(eg__kernels_select(0, NULL, &chosen, &error), error);
    for (int op = 0; op < EG__OP_COUNT; op++)
        CHECK(kernel_is_ref(chosen.row[op]), "%s without any feature", eg__operation_name(op));
    test_claim("%zu rows for %d operations, choices by feature and by name; here %s",
               eg__kernel_count(), EG__OP_COUNT, kernel_isas(EG__OP_gemm_f32));
}

/* Each set has a row, which allows all that its kernels need; a wider one comes before. */
TEST(kernels, instruction_sets) {
    unsigned lanes = ~0u;
    for (size_t i = 0; eg__isa_row(i); i++) {
        const eg__isa *isa = eg__isa_row(i);
        CHECK(isa->lanes <= lanes && isa->lanes > 0 && eg__isa_named(isa->name) == isa, "%s",
              isa->name);
        lanes = isa->lanes;
    }
    CHECK(lanes == 1 && !eg__isa_named("avx7"), "the last one has %u lanes", lanes);
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        const eg__isa *isa = eg__isa_named(row->isa);
        if (row->whole) continue;
        CHECK(isa && !(row->features & ~isa->features), "%s of %s needs more than its set",
              row->isa, eg__operation_name(row->operation));
    }
    /* a set brings along what it implies: conversions have no kernel of 512 bits */
    eg__kernels chosen;
    eg_error error = {0};
    if (!eg__isa_named("avx512")) return;
    CHECK_OK(eg__kernels_select(~0u, "avx512", &chosen, &error), error);
    CHECK(strcmp(chosen.row[EG__OP_transpose_f32]->isa, "avx2") == 0 &&
              strcmp(chosen.row[EG__OP_f16_to_f32]->isa, "avx2") == 0,
          "transpose %s, f16 %s", chosen.row[EG__OP_transpose_f32]->isa,
          chosen.row[EG__OP_f16_to_f32]->isa);
}

TEST(kernels, impossible_choices) {
    eg__kernels chosen;
    eg_error error = {0};
    CHECK_FAILS(eg__kernels_select(~0u, "avx7", &chosen, &error), error, EG_ERR_UNSUPPORTED,
                "no kernels for isa 'avx7' in this build");
    CHECK_FAILS(eg__kernels_select(~0u, "", &chosen, &error), error, EG_ERR_UNSUPPORTED, "''");
    CHECK_FAILS(eg__kernels_select(~0u, "REF", &chosen, &error), error, EG_ERR_UNSUPPORTED,
                "'REF'");
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        char part[80];
        snprintf(part, sizeof part, "this machine cannot run isa '%s'", row->isa);
        if (!kernel_is_ref(row) && !row->whole)
            CHECK_FAILS(eg__kernels_select(0, row->isa, &chosen, &error), error, EG_ERR_UNSUPPORTED,
                        part);
    }
}

/* ---- rows for large shapes only, and rows with columns of their own */
static void no_kernel(const eg__gemm_f32_args *args) { (void)args; }
static size_t some_scratch(const eg__kernel_shape *shape) { return 64 * shape->m; }

TEST(kernels, pick_by_shape) {
    enum { FAST = 1, LARGE = 2 }; /* features */
    const eg__kernel table[] = {
        {.operation = EG__OP_gemm_f32,
         .isa = "unit",
         .features = FAST | LARGE,
         .least = {32, 48, 64},
         .scratch = some_scratch,
         .units = 1,
         .function = {.gemm_f32 = no_kernel}},
        {.operation = EG__OP_gemm_f32,
         .isa = "wide",
         .features = FAST,
         .least = {.n = 16},
         .function = {.gemm_f32 = no_kernel}},
        {.operation = EG__OP_gemv_f32, .isa = "ref"},
        {.operation = EG__OP_gemm_f32, .isa = "ref", .function = {.gemm_f32 = no_kernel}},
    };
    static const struct {
        unsigned features;
        size_t m, n, k, row;
    } cases[] = {
        {FAST | LARGE, 32, 48, 64, 0}, {FAST | LARGE, 999, 999, 999, 0},
        {FAST | LARGE, 31, 48, 64, 1}, {FAST | LARGE, 32, 47, 64, 1},
        {FAST | LARGE, 32, 48, 63, 1}, {FAST | LARGE, 999, 15, 999, 3},
        {FAST, 999, 999, 999, 1},      {FAST, 1, 16, 1, 1},
        {LARGE, 999, 999, 999, 3},     {0, 999, 999, 999, 3},
        {FAST | LARGE, 0, 0, 0, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg__kernels kernels = {.table = table, .rows = 4, .features = cases[i].features};
        const eg__kernel_shape shape = {.m = cases[i].m, .n = cases[i].n, .k = cases[i].k};
        const eg__kernel *row = eg__kernels_pick(&kernels, EG__OP_gemm_f32, &shape);
        CHECK(row == &table[cases[i].row], "case %zu: %s", i, row ? row->isa : "none");
        CHECK(eg__kernels_pick(&kernels, EG__OP_gemv_f32, &shape) == &table[2], "case %zu", i);
        CHECK(eg__kernels_pick(&kernels, EG__OP_gemm_f32, NULL) == &table[3],
              "without a shape, a row for any");
    }
    const eg__kernel_shape shape = {.m = 500, .n = 500, .k = 500};
    CHECK(eg__kernel_scratch(&table[0], &shape) == 64 * 500, "scratch of its own");
    CHECK(eg__kernel_scratch(&table[1], &shape) == eg__scratch_gemm(&shape) &&
              eg__scratch_gemm(&shape) > 0,
          "scratch of its operation");
    CHECK(!eg__kernel_scratch(&table[2], &shape), "none");
}

TEST(kernels, rows_have_names_and_lanes) {
    for (size_t i = 0; i < eg__kernel_count(); i++) {
        const eg__kernel *row = eg__kernel_row(i);
        char name[64];
        snprintf(name, sizeof name, "%s_%s", eg__operation_name(row->operation), row->isa);
        CHECK(strcmp(row->name, name) == 0, "'%s' is '%s'", name, row->name);
        CHECK(row->lanes == (row->whole ? 1 : eg__isa_named(row->isa)->lanes), "%s: %u lanes", name,
              row->lanes);
    }
}
