/* The scheduler's loops over all lanes of a group, built once per instruction set (SC_ISA). */
#include "ops_mask.h"

#include "chunk.h"

#define SC_JOIN2(a, b) a##b
#define SC_JOIN(a, b) SC_JOIN2(a, b)

static uint32_t guard(uint32_t *out, const uint32_t *mask, const uint32_t *predicate, uint32_t flip,
                      uint32_t count)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lane = mask[i] & (predicate[i] ^ flip);
        out[i] = lane;
        held -= lane;
    }
    return held;
}

static void split(uint32_t *lane_at, const uint32_t *chosen, const uint32_t *mask, uint32_t yes, uint32_t no,
                  uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) lane_at[i] = chosen[i] ? yes : mask[i] ? no : lane_at[i];
}

#if defined(__AVX512F__)
static void scan(const uint32_t *lane_at, uint32_t *mask, uint32_t count, struct sc_scan *out)
{
    const __m512i exit = _mm512_set1_epi32((int32_t)SC_AT_EXIT);
    __m512i least = exit, next = exit;
    uint32_t gone = 0, active = 0, first = UINT32_MAX, last = 0;
    for (uint32_t i = 0; i < count; i += SC_CHUNK)
        least = _mm512_min_epu32(least, _mm512_loadu_si512(lane_at + i));
    out->lowest = _mm512_reduce_min_epu32(least);
    const __m512i lowest = _mm512_set1_epi32((int32_t)out->lowest);
    for (uint32_t chunk = 0; chunk < count / SC_CHUNK; chunk++) {
        const __m512i at = _mm512_loadu_si512(lane_at + chunk * SC_CHUNK);
        const __mmask16 here = _mm512_cmpeq_epi32_mask(at, lowest);
        _mm512_storeu_si512(mask + chunk * SC_CHUNK, _mm512_maskz_set1_epi32(here, -1));
        next = _mm512_mask_min_epu32(next, (__mmask16)~here, next, at);
        gone += (uint32_t)__builtin_popcount(_mm512_cmpeq_epi32_mask(at, exit));
        active += (uint32_t)__builtin_popcount(here);
        first = here && first == UINT32_MAX ? chunk : first;
        last = here ? chunk : last;
    }
    out->others = _mm512_reduce_min_epu32(next);
    out->active = active;
    out->live = count - gone;
    out->first_chunk = first;
    out->chunks = last - first + 1;
}
#else
static void scan(const uint32_t *lane_at, uint32_t *mask, uint32_t count, struct sc_scan *out)
{
    uint32_t lowest = SC_AT_EXIT, others = SC_AT_EXIT, gone = 0, active = 0, first = UINT32_MAX, last = 0;
    for (uint32_t i = 0; i < count; i++) lowest = lane_at[i] < lowest ? lane_at[i] : lowest;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = lane_at[i], here = at == lowest, other = here ? SC_AT_EXIT : at;
        mask[i] = -here;
        gone += at == SC_AT_EXIT;
        others = other < others ? other : others;
    }
    for (uint32_t chunk = 0; chunk < count / SC_CHUNK; chunk++) {
        uint32_t bits = mask_bits(mask + chunk * SC_CHUNK);
        if (!bits) continue;
        active += (uint32_t)__builtin_popcount(bits);
        first = first < chunk ? first : chunk;
        last = chunk;
    }
    out->lowest = lowest;
    out->others = others;
    out->active = active;
    out->live = count - gone;
    out->first_chunk = first;
    out->chunks = last - first + 1;
}
#endif

static void blend(uint32_t *into, const uint32_t *from, const uint32_t *mask, uint32_t chunks, unsigned bytes)
{
    if (bytes == 4) {
        for (uint32_t i = 0; i < chunks * SC_CHUNK; i++) into[i] = mask[i] ? from[i] : into[i];
        return;
    }
    sc_lane64 *to = (sc_lane64 *)(void *)into;
    const sc_lane64 *source = (const sc_lane64 *)(const void *)from;
    for (uint32_t i = 0; i < chunks * SC_CHUNK; i++) to[i] = mask[i] ? source[i] : to[i];
}

const struct sc_mask_functions SC_JOIN(sc_mask_, SC_ISA) = {guard, split, scan, blend};
