/* Bit casts of numbers; conversions of binary16 and bfloat16 to and from single precision. */
#ifndef SOFTCUDA_ENGINE_HALF_H
#define SOFTCUDA_ENGINE_HALF_H

#include <stdint.h>

static inline __attribute__((always_inline)) uint32_t sc_bits_of(float x)
{
    union {
        float f;
        uint32_t u;
    } view = {.f = x};
    return view.u;
}

static inline __attribute__((always_inline)) float sc_float_of(uint32_t x)
{
    union {
        uint32_t u;
        float f;
    } view = {.u = x};
    return view.f;
}

static inline __attribute__((always_inline)) uint64_t sc_bits_of_double(double x)
{
    union {
        double f;
        uint64_t u;
    } view = {.f = x};
    return view.u;
}

static inline __attribute__((always_inline)) double sc_double_of(uint64_t x)
{
    union {
        uint64_t u;
        double f;
    } view = {.u = x};
    return view.f;
}

static inline __attribute__((always_inline)) float sc_half_to_float(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    uint32_t normal = (rest << 13) + (112u << 23);
    uint32_t special = (rest << 13) | 0x7f800000u;
    uint32_t small = sc_bits_of((float)(int32_t)rest * 0x1p-24f);
    uint32_t bits = rest >= 0x7c00u ? special : rest < 0x400u ? small : normal;
    return sc_float_of(sign | bits);
}

/* Rounds to nearest even; overflow gives infinity, NaN gives the canonical 0x7fff. */
static inline __attribute__((always_inline)) uint32_t sc_half_from_float(float x)
{
    uint32_t bits = sc_bits_of(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t normal = (rest - (112u << 23) + 0xfffu + ((rest >> 13) & 1)) >> 13;
    /* Adding 0.5 aligns the last bit of a subnormal half with that of the sum, so the addition rounds it. */
    uint32_t small = sc_bits_of(sc_float_of(rest < 0x38800000u ? rest : 0) + 0.5f) - 0x3f000000u;
    uint32_t value = rest < 0x38800000u ? small : normal;
    value = rest >= 0x477ff000u ? 0x7c00u : value;
    return rest > 0x7f800000u ? 0x7fffu : sign | value;
}

/* Flushes a subnormal half to zero of the same sign */
static inline __attribute__((always_inline)) uint32_t sc_flush_half(uint32_t h)
{
    return (h & 0x7c00u) ? h : h & 0x8000u;
}

static inline __attribute__((always_inline)) uint32_t sc_half_toward_zero(float x)
{
    uint32_t bits = sc_bits_of(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t normal = (rest - (112u << 23)) >> 13;
    uint32_t small = (uint32_t)(int32_t)(sc_float_of(rest < 0x38800000u ? rest : 0) * 0x1p24f);
    uint32_t value = rest < 0x38800000u ? small : normal;
    value = rest >= 0x47800000u ? (rest == 0x7f800000u ? 0x7c00u : 0x7bffu) : value;
    return rest > 0x7f800000u ? 0x7fffu : sign | value;
}

static inline __attribute__((always_inline)) float sc_bfloat_to_float(uint32_t h)
{
    return sc_float_of(h << 16);
}

static inline __attribute__((always_inline)) uint32_t sc_bfloat_from_float(float x)
{
    uint32_t bits = sc_bits_of(x);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded;
}

static inline __attribute__((always_inline)) uint32_t sc_bfloat_toward_zero(float x)
{
    uint32_t bits = sc_bits_of(x);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : bits >> 16;
}

#endif
