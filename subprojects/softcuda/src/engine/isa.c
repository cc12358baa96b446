#include "ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct sc_isa *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
    const char *wish = getenv("SOFTCUDA_ISA");
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("bmi2");
    chosen = avx512 ? &sc_isa_avx512 : avx2 ? &sc_isa_avx2 : &sc_isa_baseline;
    if (wish && strcmp(wish, "baseline") == 0) chosen = &sc_isa_baseline;
    if (wish && strcmp(wish, "avx2") == 0 && avx2) chosen = &sc_isa_avx2;
}

const struct sc_isa *sc_isa(void)
{
    pthread_once(&once, choose);
    return chosen;
}
