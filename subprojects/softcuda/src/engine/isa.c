#include "ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "isa_host.h"

static const struct sc_isa *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The best one that was built and that the machine has. The basic one is always built. */
static void choose(void)
{
    const char *wish = getenv("SOFTCUDA_ISA");
    chosen = &sc_isa_baseline;
    if (wish && strcmp(wish, "baseline") == 0) return;
#ifdef SC_HAS_AVX2
    if (sc_host_has_avx2()) chosen = &sc_isa_avx2;
    if (wish && strcmp(wish, "avx2") == 0) return;
#endif
#ifdef SC_HAS_AVX512
    if (sc_host_has_avx512()) chosen = &sc_isa_avx512;
#endif
}

const struct sc_isa *sc_isa(void)
{
    pthread_once(&once, choose);
    return chosen;
}
