/* Features of this x86, against the compiler's own run-time test, which asks cpuid and the system. */
#include "test_chip.h"

TEST(chip, features_as_the_compiler_sees_them) {
    eg_chip chip = {0};
    CHECK(eg__processor_ask(0, 0, &chip), "the processor does not answer");
    const struct {
        unsigned feature;
        bool there;
    } rows[] = {{EG_CPU_SSE42, __builtin_cpu_supports("sse4.2")},
                {EG_CPU_AVX, __builtin_cpu_supports("avx")},
                {EG_CPU_AVX2, __builtin_cpu_supports("avx2")},
                {EG_CPU_FMA, __builtin_cpu_supports("fma")},
                {EG_CPU_AVX512,
                 __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")},
                {EG_CPU_AVX512_VNNI, __builtin_cpu_supports("avx512vnni")}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(!(chip.features & rows[i].feature) == !rows[i].there, "%s: we say %s",
              eg_cpu_feature_name(rows[i].feature), chip.features & rows[i].feature ? "yes" : "no");
    CHECK(strcmp(chip.arch, "x86_64") == 0 && chip.vendor[0], "'%s'", chip.vendor);
}
