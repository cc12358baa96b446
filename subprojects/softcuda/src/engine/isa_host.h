/* What the machine that this runs on can do. */
#ifndef SC_ENGINE_ISA_HOST_H
#define SC_ENGINE_ISA_HOST_H

#include <stdbool.h>

static inline bool sc_host_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline bool sc_host_has_avx512(void)
{
    return sc_host_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi2");
}

#endif
