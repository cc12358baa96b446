#include "predict/confidence.h"

void sl_confidence_ended(struct sl_confidence *confidence, uint32_t length)
{
    if (length >= SL_CONFIDENCE_LEAST) confidence->runs[confidence->count++ % SL_CONFIDENCE_RUNS] = length;
}

void sl_confidence_judge(struct sl_confidence *confidence, uint64_t ahead_bytes, uint64_t unused_bytes,
                         uint64_t enough_bytes)
{
    if (confidence->doubted) { /* only prefetches after the return of trust will count */
        confidence->ahead_bytes = ahead_bytes;
        confidence->unused_bytes = unused_bytes;
        return;
    }
    uint64_t ahead = ahead_bytes - confidence->ahead_bytes, unused = unused_bytes - confidence->unused_bytes;
    if (ahead < enough_bytes) return;
    if (unused > ahead / 4) confidence->doubted = true;
    if (ahead < 2 * enough_bytes) return;
    confidence->ahead_bytes += ahead / 2;
    confidence->unused_bytes += unused / 2;
}

size_t sl_confidence_left(struct sl_confidence *confidence, uint32_t length, size_t period)
{
    uint32_t as_long[SL_CONFIDENCE_RUNS + 1], count = 0;
    uint32_t known = confidence->count < SL_CONFIDENCE_RUNS ? confidence->count : SL_CONFIDENCE_RUNS;
    if (!confidence->doubted) return SIZE_MAX;
    for (uint32_t i = 0; i <= known; i++) { /* the last one is the assumed run of twice the length */
        uint32_t run = i < known ? confidence->runs[i] : 2 * length, at = count;
        if (run < length) continue;
        for (; at > 0 && as_long[at - 1] > run; at--) as_long[at] = as_long[at - 1];
        as_long[at] = run;
        count++;
    }
    if (count > 1 || !period || length < period) return as_long[(count - 1) / 2] - length;
    confidence->doubted = false;
    return SIZE_MAX;
}
