#include "predict/trust.h"

void sl_trust_ended(struct sl_trust *trust, uint32_t length)
{
    if (length >= SL_TRUST_LEAST) trust->runs[trust->count++ % SL_TRUST_RUNS] = length;
}

void sl_trust_judge(struct sl_trust *trust, uint64_t ahead_bytes, uint64_t unused_bytes,
                    uint64_t enough_bytes)
{
    if (trust->doubted) { /* it is judged anew from when it is believed again */
        trust->ahead_bytes = ahead_bytes;
        trust->unused_bytes = unused_bytes;
        return;
    }
    uint64_t ahead = ahead_bytes - trust->ahead_bytes, unused = unused_bytes - trust->unused_bytes;
    if (ahead < enough_bytes) return;
    if (unused > ahead / 4) trust->doubted = true;
    if (ahead < 2 * enough_bytes) return;
    trust->ahead_bytes += ahead / 2;
    trust->unused_bytes += unused / 2;
}

size_t sl_trust_left(struct sl_trust *trust, uint32_t length, size_t period)
{
    uint32_t as_long[SL_TRUST_RUNS + 1], count = 0;
    uint32_t known = trust->count < SL_TRUST_RUNS ? trust->count : SL_TRUST_RUNS;
    if (!trust->doubted) return SIZE_MAX;
    for (uint32_t i = 0; i <= known; i++) { /* and one that goes on as long again */
        uint32_t run = i < known ? trust->runs[i] : 2 * length, at = count;
        if (run < length) continue;
        for (; at > 0 && as_long[at - 1] > run; at--) as_long[at] = as_long[at - 1];
        as_long[at] = run;
        count++;
    }
    if (count > 1 || !period || length < period) return as_long[(count - 1) / 2] - length;
    trust->doubted = false;
    return SIZE_MAX;
}
