/* Addresses of sixteen lanes, and checks on all of them at once. Included by files that are built once per
 * instruction set; with AVX-512 the addresses stay in two registers. */
#ifndef SOFTCUDA_ENGINE_CHUNK_H
#define SOFTCUDA_ENGINE_CHUNK_H

#include "group.h"
#include "lane.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

SC_INLINE uint32_t mask_bits(const uint32_t *mask)
{
#if defined(__AVX512F__)
    __m512i words = _mm512_loadu_si512(mask);
    return _mm512_test_epi32_mask(words, words);
#else
    uint32_t bits = 0;
    for (unsigned i = 0; i < SC_CHUNK; i++) bits |= (mask[i] & 1u) << i;
    return bits;
#endif
}

SC_INLINE bool inside(const struct sc_window *window, uint64_t address, uint64_t bytes)
{
    return address >= window->begin && address <= window->end && window->end - address >= bytes;
}

SC_INLINE uint64_t first_address(const unsigned char *at, unsigned address_bytes, uint64_t base,
                                 int64_t offset)
{
    if (address_bytes == 4) return base + (uint32_t)(*(const sc_lane32 *)at + (uint32_t)offset);
    return base + (uint64_t)offset + *(const sc_lane64 *)at;
}

#if defined(__AVX512F__)

/* For 32-bit addresses, `low` holds all sixteen, without the base. */
struct chunk {
    __m512i low, high;
};

/* 32-bit addresses wrap around before the base is added. */
SC_INLINE struct chunk addresses(const unsigned char *at, unsigned address_bytes, uint64_t base,
                                 int64_t offset)
{
    struct chunk chunk = {_mm512_loadu_si512(at), _mm512_setzero_si512()};
    if (address_bytes == 4) {
        chunk.low = _mm512_add_epi32(chunk.low, _mm512_set1_epi32((int32_t)offset));
    } else {
        __m512i start = _mm512_set1_epi64((int64_t)(base + (uint64_t)offset));
        chunk.low = _mm512_add_epi64(chunk.low, start);
        chunk.high = _mm512_add_epi64(_mm512_loadu_si512(at + 64), start);
    }
    return chunk;
}

/* Converts 32-bit addresses to 64-bit ones */
SC_INLINE struct chunk widen(const struct chunk *chunk, unsigned address_bytes, uint64_t base)
{
    if (address_bytes == 8) return *chunk;
    __m512i start = _mm512_set1_epi64((int64_t)base);
    struct chunk wide = {
        _mm512_add_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(chunk->low)), start),
        _mm512_add_epi64(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(chunk->low, 1)), start)};
    return wide;
}

/* Whether lane i is at first + i * step, for all lanes. `step` is a constant when this is inlined. */
SC_INLINE bool follows(const struct chunk *chunk, unsigned address_bytes, uint64_t base, uint64_t first,
                       uint64_t step)
{
    if (address_bytes == 4) {
        int32_t s = (int32_t)step;
        __m512i expected =
            _mm512_add_epi32(_mm512_set1_epi32((int32_t)(first - base)),
                             _mm512_setr_epi32(0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s, 8 * s, 9 * s,
                                               10 * s, 11 * s, 12 * s, 13 * s, 14 * s, 15 * s));
        return _mm512_cmpneq_epi32_mask(expected, chunk->low) == 0;
    }
    int64_t s = (int64_t)step;
    __m512i start = _mm512_set1_epi64((int64_t)first);
    __m512i low = _mm512_add_epi64(start, _mm512_setr_epi64(0, s, 2 * s, 3 * s, 4 * s, 5 * s, 6 * s, 7 * s));
    __m512i high = _mm512_add_epi64(
        start, _mm512_setr_epi64(8 * s, 9 * s, 10 * s, 11 * s, 12 * s, 13 * s, 14 * s, 15 * s));
    return (_mm512_cmpneq_epi64_mask(low, chunk->low) | _mm512_cmpneq_epi64_mask(high, chunk->high)) == 0;
}

/* Whether all lanes are aligned to `step` and inside the window. pre: a widened chunk. */
SC_INLINE bool all_inside(const struct chunk *chunk, const struct sc_window *window, uint64_t step)
{
    uint64_t room = window->end - window->begin;
    if (room < step) return false;
    __m512i begin = _mm512_set1_epi64((int64_t)window->begin),
            last = _mm512_set1_epi64((int64_t)(room - step));
    __m512i bits = _mm512_set1_epi64((int64_t)(step - 1));
    return (_mm512_cmpgt_epu64_mask(_mm512_sub_epi64(chunk->low, begin), last) |
            _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(chunk->high, begin), last) |
            _mm512_test_epi64_mask(_mm512_or_si512(chunk->low, chunk->high), bits)) == 0;
}

SC_INLINE void spread(const struct chunk *chunk, uint64_t *address)
{
    _mm512_storeu_si512(address, chunk->low);
    _mm512_storeu_si512(address + 8, chunk->high);
}

#else

/* `at` points to the lanes in the register file; `address` is set by widen. */
struct chunk {
    const unsigned char *at;
    uint64_t address[SC_CHUNK];
    int64_t offset;
};

SC_INLINE struct chunk addresses(const unsigned char *at, unsigned address_bytes, uint64_t base,
                                 int64_t offset)
{
    struct chunk chunk;
    (void)address_bytes, (void)base;
    chunk.at = at;
    chunk.offset = offset;
    return chunk;
}

SC_INLINE struct chunk widen(const struct chunk *chunk, unsigned address_bytes, uint64_t base)
{
    struct chunk wide;
    wide.at = chunk->at;
    wide.offset = chunk->offset;
    _Pragma("GCC unroll 1") for (unsigned i = 0; i < SC_CHUNK; i++) wide.address[i] =
        address_bytes == 4 ? base + (uint32_t)(((const sc_lane32 *)chunk->at)[i] + (uint32_t)chunk->offset)
                           : base + (uint64_t)chunk->offset + ((const sc_lane64 *)chunk->at)[i];
    return wide;
}

SC_INLINE bool follows(const struct chunk *chunk, unsigned address_bytes, uint64_t base, uint64_t first,
                       uint64_t step)
{
    (void)base, (void)first;
    if (address_bytes == 4) {
        const sc_lane32 *lane = (const sc_lane32 *)chunk->at;
        uint32_t start = lane[0], different = 0;
        _Pragma("GCC unroll 1") for (uint32_t i = 0; i < SC_CHUNK; i++) different |=
            lane[i] ^ (start + i * (uint32_t)step);
        return different == 0;
    }
    const sc_lane64 *lane = (const sc_lane64 *)chunk->at;
    uint64_t start = lane[0], different = 0;
    _Pragma("GCC unroll 1") for (uint32_t i = 0; i < SC_CHUNK; i++) different |= lane[i] ^ (start + i * step);
    return different == 0;
}

SC_INLINE bool all_inside(const struct chunk *chunk, const struct sc_window *window, uint64_t step)
{
    uint64_t room = window->end - window->begin, outside = 0, bits = 0;
    if (room < step) return false;
    for (unsigned i = 0; i < SC_CHUNK; i++) {
        outside |= chunk->address[i] - window->begin > room - step;
        bits |= chunk->address[i];
    }
    return !outside && !(bits & (step - 1));
}

SC_INLINE void spread(const struct chunk *chunk, uint64_t *address)
{
    memcpy(address, chunk->address, sizeof chunk->address);
}

#endif

/* Whether the 32-bit values of a chunk equal those of another one */
SC_INLINE bool equal_lanes(const unsigned char *a, const uint32_t *b)
{
    uint32_t different = 0;
    _Pragma("GCC unroll 1") for (unsigned i = 0; i < SC_CHUNK; i++) different |=
        ((const sc_lane32 *)a)[i] ^ b[i];
    return different == 0;
}

/* Gathers elements of 4 bytes, at `offset` from their addresses; all must be accessible. (On processors with
 * the fix for gather data sampling, the gather instructions are several times slower than this.) */
SC_INLINE void gather32(uint32_t *out, const uint64_t *address, unsigned offset)
{
    _Pragma("GCC unroll 16") for (unsigned i = 0; i < SC_CHUNK; i++) out[i] =
        *(const sc_lane32 *)(uintptr_t)(address[i] + offset);
}

/* Copies `chunks` chunks of elements; the ranges do not overlap. */
SC_INLINE void copy_chunks(void *to, const void *from, uint32_t chunks, unsigned element)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    for (; chunks; chunks--, out += SC_CHUNK * element, in += SC_CHUNK * element)
        memcpy(out, in, SC_CHUNK * (size_t)element);
}

#endif
