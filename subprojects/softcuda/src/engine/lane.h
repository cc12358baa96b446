/* Computation of one lane: the value types of ops.def and the functions that its rows use.
 *
 * A lane's container is 32 or 64 bits wide; 8- and 16-bit values, halves and predicates live in 32 bits.
 * SC_IN_T reads a container as the type T, SC_OUT_T converts to a container. All code is branch-free or
 * if-convertible, and uses only operations that IEEE 754 defines exactly, so that every build gives the same
 * bits.
 */
#ifndef SOFTCUDA_ENGINE_LANE_H
#define SOFTCUDA_ENGINE_LANE_H

#include <stdint.h>
#include <string.h>

#include "half.h"
#include "small.h"

typedef uint16_t b16, u16;
typedef int16_t s16;
typedef uint32_t b32, u32;
typedef int32_t s32;
typedef uint64_t b64, u64;
typedef int64_t s64;
typedef uint8_t u8;
typedef int8_t s8;
typedef float f32;
typedef double f64;
typedef float f16, bf16; /* computed in single precision and rounded once when stored */
typedef float f16z;      /* f16 with .ftz: subnormal halves are zero */

typedef uint32_t __attribute__((may_alias)) sc_lane32;
typedef uint64_t __attribute__((may_alias)) sc_lane64;
typedef float __attribute__((may_alias)) sc_lane_f32;
typedef double __attribute__((may_alias)) sc_lane_f64;

#define SC_CONTAINER_b16 sc_lane32
#define SC_CONTAINER_u16 sc_lane32
#define SC_CONTAINER_s16 sc_lane32
#define SC_CONTAINER_u8 sc_lane32
#define SC_CONTAINER_s8 sc_lane32
#define SC_CONTAINER_b32 sc_lane32
#define SC_CONTAINER_u32 sc_lane32
#define SC_CONTAINER_s32 sc_lane32
#define SC_CONTAINER_f16 sc_lane32
#define SC_CONTAINER_f16z sc_lane32
#define SC_CONTAINER_bf16 sc_lane32
#define SC_CONTAINER_f32 sc_lane_f32
#define SC_CONTAINER_b64 sc_lane64
#define SC_CONTAINER_u64 sc_lane64
#define SC_CONTAINER_s64 sc_lane64
#define SC_CONTAINER_f64 sc_lane_f64

#define SC_IN_b16(x) ((uint16_t)(x))
#define SC_IN_u16(x) ((uint16_t)(x))
#define SC_IN_s16(x) ((int16_t)(x))
#define SC_IN_u8(x) ((uint8_t)(x))
#define SC_IN_s8(x) ((int8_t)(x))
#define SC_IN_b32(x) (x)
#define SC_IN_u32(x) (x)
#define SC_IN_s32(x) ((int32_t)(x))
#define SC_IN_b64(x) (x)
#define SC_IN_u64(x) (x)
#define SC_IN_s64(x) ((int64_t)(x))
#define SC_IN_f32(x) (x)
#define SC_IN_f64(x) (x)
#define SC_IN_f16(x) sc_half_to_float(x)
#define SC_IN_f16z(x) sc_half_to_float(sc_flush_half(x))
#define SC_IN_bf16(x) sc_bfloat_to_float(x)

#define SC_OUT_b16(x) ((uint16_t)(x))
#define SC_OUT_u16(x) ((uint16_t)(x))
#define SC_OUT_s16(x) ((uint32_t)(int16_t)(x))
#define SC_OUT_u8(x) ((uint8_t)(x))
#define SC_OUT_s8(x) ((uint32_t)(int8_t)(x))
#define SC_OUT_b32(x) ((uint32_t)(x))
#define SC_OUT_u32(x) ((uint32_t)(x))
#define SC_OUT_s32(x) ((uint32_t)(int32_t)(x))
#define SC_OUT_b64(x) ((uint64_t)(x))
#define SC_OUT_u64(x) ((uint64_t)(x))
#define SC_OUT_s64(x) ((uint64_t)(int64_t)(x))
#define SC_OUT_f32(x) ((float)(x))
#define SC_OUT_f64(x) ((double)(x))
#define SC_OUT_f16(x) sc_half_from_float(x)
#define SC_OUT_f16z(x) sc_flush_half(sc_half_from_float(x))
#define SC_OUT_bf16(x) sc_bfloat_from_float(x)

#define SC_INLINE static inline __attribute__((always_inline))

/* PTX's canonical NaNs; infinity; the smallest normal number */
#define sc_nan_f32 sc_float_of(0x7fffffffu)
#define sc_nan_f64 sc_double_of(0x7fffffffffffffffull)
#define sc_nan_f16 sc_nan_f32
#define sc_nan_f16z sc_nan_f32
#define sc_nan_bf16 sc_nan_f32
#define sc_infinity_f32 __builtin_inff()
#define sc_infinity_f64 __builtin_inf()
#define sc_least_f32 0x1p-126f
#define sc_least_f64 0x1p-1022

SC_INLINE float sc_canonical(float x)
{
    return x == x ? x : sc_nan_f32;
}
SC_INLINE double sc_canonical_f64(double x)
{
    return x == x ? x : sc_nan_f64;
}
#define sc_canonical_any(x) _Generic((x), float : sc_canonical, double : sc_canonical_f64)(x)

/* Flushes subnormal numbers to zero of the same sign (.ftz) */
SC_INLINE float sc_flush(float x)
{
    uint32_t bits = sc_bits_of(x);
    return sc_float_of((bits & 0x7f800000u) ? bits : bits & 0x80000000u);
}

SC_INLINE float sc_flush_canonical(float x)
{
    return sc_flush(sc_canonical(x));
}

/* rcp/rsqrt.approx.ftz.f64 read and write the upper 32 bits only */
SC_INLINE double sc_rough_f64(double x)
{
    uint64_t bits = sc_bits_of_double(x) & 0xffffffff00000000ull;
    return sc_double_of((bits & 0x7ff0000000000000ull) ? bits : bits & (1ull << 63));
}

SC_INLINE float sc_abs_f32(float x)
{
    return sc_float_of(sc_bits_of(x) & 0x7fffffffu);
}
SC_INLINE float sc_neg_f32(float x)
{
    return sc_float_of(sc_bits_of(x) ^ 0x80000000u);
}
SC_INLINE double sc_abs_f64(double x)
{
    return sc_double_of(sc_bits_of_double(x) & ~(1ull << 63));
}
SC_INLINE double sc_neg_f64(double x)
{
    return sc_double_of(sc_bits_of_double(x) ^ (1ull << 63));
}
#define sc_abs_f16 sc_abs_f32
#define sc_neg_f16 sc_neg_f32
#define sc_abs_f16z sc_abs_f32
#define sc_neg_f16z sc_neg_f32
#define sc_abs_bf16 sc_abs_f32
#define sc_neg_bf16 sc_neg_f32

SC_INLINE float sc_fma_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
SC_INLINE double sc_fma_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
SC_INLINE float sc_sqrt_f32(float a)
{
    return __builtin_sqrtf(a);
}
SC_INLINE double sc_sqrt_f64(double a)
{
    return __builtin_sqrt(a);
}

/* a * b + c with an exact product in double, rounded to odd. Rounding the result again, to half the bits or
 * fewer, equals rounding the exact sum once (Boldo and Melquiond, 2008). Without branches, so that it
 * vectorises. */
SC_INLINE double sc_fma_odd(float a, float b, float c)
{
    double p = (double)a * (double)b, x = (double)c;
    double sum = p + x;
    double back = sum - p;
    double error = (p - (sum - back)) + (x - back);
    uint64_t bits = sc_bits_of_double(sum);
    uint64_t step = ~bits & 1; /* one step away from zero, or towards zero if the sum was rounded away from
                                  it */
    step = error != 0 ? step : 0;
    step = sum - sum == 0 ? step : 0;
    uint64_t back_down = (error < 0 ? UINT64_MAX : 0) ^ (sum < 0 ? UINT64_MAX : 0);
    return sc_double_of(bits + ((step ^ back_down) - back_down));
}

/* A product of halves plus a half is never subnormal in single precision. So bits that single precision lacks
 * are truncated and the last bit is set: rounding to odd. */
SC_INLINE float sc_fma_f16(float a, float b, float c)
{
    uint64_t bits = sc_bits_of_double(sc_fma_odd(a, b, c)), cut = bits & 0x1fffffffu;
    uint64_t odd = cut != 0 ? 1ull << 29 : 0;
    return (float)sc_double_of((bits ^ cut) | odd);
}
#define sc_fma_f16z sc_fma_f16

SC_INLINE float sc_fma_bf16(float a, float b, float c)
{
    double sum = sc_fma_odd(a, b, c);
    float single = (float)sum;
    double lost = sum - (double)single;
    uint64_t odd = sc_bits_of(single), step = ~odd & 1;
    step = lost != 0 ? step : 0;
    step = (double)single - (double)single == 0 ? step : 0;
    uint64_t back_down = (lost < 0 ? UINT64_MAX : 0) ^ (sum < 0 ? UINT64_MAX : 0);
    return sc_float_of((uint32_t)(odd + ((step ^ back_down) - back_down)));
}

/* min, max: a number wins over a NaN; -0 is less than +0 */
#define SC_MIN_MAX(T, BITS, INTEGER)                                                                         \
    SC_INLINE T sc_min_##T(T a, T b)                                                                         \
    {                                                                                                        \
        T zero = BITS(a) >> (8 * sizeof(T) - 1) ? a : b;                                                     \
        T r = a < b ? a : a == b ? zero : b;                                                                 \
        r = b != b ? a : r;                                                                                  \
        return r == r ? r : sc_nan_##T;                                                                      \
    }                                                                                                        \
    SC_INLINE T sc_max_##T(T a, T b)                                                                         \
    {                                                                                                        \
        T zero = BITS(a) >> (8 * sizeof(T) - 1) ? b : a;                                                     \
        T r = a > b ? a : a == b ? zero : b;                                                                 \
        r = b != b ? a : r;                                                                                  \
        return r == r ? r : sc_nan_##T;                                                                      \
    }
SC_MIN_MAX(f32, sc_bits_of, uint32_t)
SC_MIN_MAX(f64, sc_bits_of_double, uint64_t)
#undef SC_MIN_MAX
#define sc_min_f16 sc_min_f32
#define sc_max_f16 sc_max_f32
#define sc_min_f16z sc_min_f32
#define sc_max_f16z sc_max_f32
#define sc_min_bf16 sc_min_f32
#define sc_max_bf16 sc_max_f32

/* Converts rounded numbers to integers, with saturation. NaN gives 0 or, if either side has 64 bits, the
 * integer with only the top bit set. */
#define SC_TO_INTEGER(T, TOP)                                                                                \
    SC_INLINE uint32_t sc_to_u32_##T(T x, uint32_t high)                                                     \
    {                                                                                                        \
        uint32_t nan = TOP ? (high >> 1) + 1 : 0;                                                            \
        return x >= (T)high ? high : x > 0 ? (uint32_t)x : x == x ? 0 : nan;                                 \
    }                                                                                                        \
    SC_INLINE int32_t sc_to_s32_##T(T x, int32_t low, int32_t high)                                          \
    {                                                                                                        \
        return x >= (T)high ? high : x <= (T)low ? low : x == x ? (int32_t)x : TOP ? low : 0;                \
    }                                                                                                        \
    SC_INLINE uint64_t sc_to_u64_##T(T x)                                                                    \
    {                                                                                                        \
        return x >= (T)0x1p64 ? UINT64_MAX : x > 0 ? (uint64_t)x : x == x ? 0 : 1ull << 63;                  \
    }                                                                                                        \
    SC_INLINE int64_t sc_to_s64_##T(T x)                                                                     \
    {                                                                                                        \
        return x >= (T)0x1p63 ? INT64_MAX : x <= (T)-0x1p63 ? INT64_MIN : x == x ? (int64_t)x : INT64_MIN;   \
    }
SC_TO_INTEGER(f32, 0)
SC_TO_INTEGER(f64, 1)
#undef SC_TO_INTEGER

SC_INLINE int32_t sc_saturate_s32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

SC_INLINE uint32_t sc_reverse(uint32_t x)
{
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    return __builtin_bswap32(x);
}

SC_INLINE uint32_t sc_top_bit(uint64_t x)
{
    return x ? 63u - (uint32_t)__builtin_clzll(x | !x) : UINT32_MAX;
}

#define sc_quotient(a, b) ((a) / (b))
/* A quotient of 32-bit integers that is not an integer differs from the next integer by at least 2^-32 of its
 * value, so rounding it to double does not reach that integer. Processors have vector division of doubles but
 * not of integers. pre: b is not 0; the quotient fits. */
SC_INLINE uint32_t sc_quotient_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)((double)a / (double)b);
}
SC_INLINE int32_t sc_quotient_s32(int32_t a, int32_t b)
{
    return (int32_t)((double)a / (double)b);
}

/* bfe and bfi use the low 8 bits of position and length */
SC_INLINE uint64_t sc_ones(uint32_t length)
{
    return length > 63 ? UINT64_MAX : (1ull << (length & 63)) - 1;
}

SC_INLINE uint64_t sc_extract_u64(uint64_t a, uint32_t position, uint32_t length)
{
    position &= 255;
    return (position > 63 ? 0 : a >> (position & 63)) & sc_ones(length & 255);
}

SC_INLINE uint64_t sc_extract_s64(int64_t a, uint32_t position, uint32_t length, uint32_t top)
{
    position &= 255, length &= 255;
    uint32_t last = position + length - 1 > top ? top : position + length - 1;
    uint64_t ones = sc_ones(length);
    uint64_t sign = length == 0 ? 0 : ((uint64_t)a >> (last & 63)) & 1;
    uint64_t field = position > top ? 0 : (uint64_t)a >> (position & 63);
    if (top == 31) field &= 0xffffffffull >> (position & 31);
    uint32_t have = position > top ? 0 : top - position + 1;
    uint64_t fill = sign ? ~sc_ones(have < length ? have : length) : 0;
    return ((field & ones) | fill);
}

SC_INLINE uint64_t sc_insert(uint64_t a, uint64_t b, uint32_t position, uint32_t length, uint32_t width)
{
    position &= 255, length &= 255;
    uint64_t mask = position >= width ? 0 : sc_ones(length) << (position & 63);
    return (b & ~mask) | ((a << (position & 63)) & mask);
}

SC_INLINE uint32_t sc_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;
    for (unsigned k = 0; k < 8; k++)
        result |= ((k & 4) ? a : ~a) & ((k & 2) ? b : ~b) & ((k & 1) ? c : ~c) & -(table >> k & 1);
    return result;
}

SC_INLINE uint32_t sc_permute(uint32_t a, uint32_t b, uint32_t control)
{
    uint64_t bytes = ((uint64_t)b << 32) | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t select = control >> (4 * i);
        uint32_t byte = (uint32_t)(bytes >> ((select & 7) * 8)) & 255;
        uint32_t sign = (byte >> 7) * 255;
        result |= ((select & 8) ? sign : byte) << (8 * i);
    }
    return result;
}

SC_INLINE uint32_t sc_dot4(uint32_t a, uint32_t b, int a_signed, int b_signed)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 32; i += 8) {
        int32_t x = a_signed ? (int8_t)(a >> i) : (uint8_t)(a >> i);
        int32_t y = b_signed ? (int8_t)(b >> i) : (uint8_t)(b >> i);
        sum += (uint32_t)(x * y);
    }
    return sum;
}

SC_INLINE uint32_t sc_dot2(uint32_t a, uint32_t b, int a_signed, int b_signed)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        int32_t x = a_signed ? (int16_t)(a >> (16 * i)) : (uint16_t)(a >> (16 * i));
        int32_t y = b_signed ? (int8_t)(b >> (8 * i)) : (uint8_t)(b >> (8 * i));
        sum += (uint32_t)(x * y);
    }
    return sum;
}

/* For bmsk and szext: the caller reduces the arguments to 5 bits (.wrap); values above 31 clamp (.clamp). */
SC_INLINE uint32_t sc_mask_of(uint32_t position, uint32_t length)
{
    uint64_t ones = length > 31 ? 0xffffffffull : (1ull << (length & 31)) - 1;
    return position > 31 ? 0 : (uint32_t)(ones << (position & 31));
}

SC_INLINE uint32_t sc_sign_extend(uint32_t a, uint32_t length)
{
    uint32_t unused = 32 - (length & 31);
    return length > 31 ? a : length == 0 ? 0 : (uint32_t)((int32_t)(a << (unused & 31)) >> (unused & 31));
}

/* The position of the nth set bit of a mask from `base`: upwards for n > 0, downwards for n < 0 */
SC_INLINE uint32_t sc_nth_bit(uint32_t mask, uint32_t base, int32_t n)
{
    uint32_t found = UINT32_MAX, seen = 0, wanted = n < 0 ? 0 - (uint32_t)n : (uint32_t)n;
    if (n == 0) return base < 32 && (mask >> (base & 31) & 1) ? base : UINT32_MAX;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t at = n > 0 ? i : 31 - i;
        uint32_t counts = (n > 0 ? at >= base : at <= base) & (mask >> at) & 1;
        seen += counts;
        found = counts && seen == wanted ? at : found;
    }
    return found;
}

#include "approximate.h"

#endif
