/* The .approx functions of PTX, within the ISA's error bounds. They use only operations whose result is
 * exactly defined (no fused multiply-add, no library call), so that every build of the engine gives the same
 * bits. */
#ifndef SOFTCUDA_ENGINE_APPROXIMATE_H
#define SOFTCUDA_ENGINE_APPROXIMATE_H

#include <stdint.h>

#include "half.h"

#define SC_ROUND_MAGIC 12582912.0f /* 1.5 * 2^23: adding and subtracting it rounds to an integer */

/* 2^x, at most 2 ulp. 2^f for |f| <= 1/2 by its Taylor series, then two exact scalings, so that a subnormal
 * result is rounded once. */
static inline __attribute__((always_inline)) float sc_ex2(float x)
{
    float bounded = x > 130.0f ? 130.0f : x;
    bounded = bounded < -160.0f ? -160.0f : bounded;
    bounded = x == x ? bounded : 0.0f;
    float whole = (bounded + SC_ROUND_MAGIC) - SC_ROUND_MAGIC;
    float f = bounded - whole;
    float p = 1.5252733804059841e-5f;
    p = p * f + 1.5403530393381608e-4f;
    p = p * f + 1.3333558146428443e-3f;
    p = p * f + 9.6181291076284772e-3f;
    p = p * f + 5.5504108664821580e-2f;
    p = p * f + 2.4022650695910071e-1f;
    p = p * f + 6.9314718055994531e-1f;
    p = p * f + 1.0f;
    int32_t i = (int32_t)whole;
    int32_t first = i >> 1, second = i - first;
    float result =
        p * sc_float_of((uint32_t)(first + 127) << 23) * sc_float_of((uint32_t)(second + 127) << 23);
    return x == x ? result : sc_float_of(0x7fffffffu);
}

/* log2(x), relative error at most 2^-22. With m in [sqrt(1/2), sqrt(2)) and s = (m-1)/(m+1), log(m) = 2(s +
 * s^3/3 + s^5/5 + ...). */
static inline __attribute__((always_inline)) float sc_lg2(float x)
{
    int tiny = x < 0x1p-126f;
    float scaled = tiny ? x * 0x1p24f : x;
    uint32_t bits = sc_bits_of(scaled);
    int32_t e = (int32_t)(bits - 0x3f3504f3u) >> 23;
    float m = sc_float_of(bits - ((uint32_t)e << 23));
    float f = m - 1.0f;
    float s = f / (2.0f + f), z = s * s;
    float p = 2.6230346e-1f; /* 2/11 log2(e) */
    p = p * z + 3.2059890e-1f;
    p = p * z + 4.1219859e-1f;
    p = p * z + 5.7707802e-1f;
    p = p * z + 9.6179669e-1f;
    p = p * z;
    /* 2 log2(e) is split in two; the first part has so few digits that its product with s is nearly exact */
    float result = (float)(e - (tiny ? 24 : 0)) + (s * 2.8853900817779268f + s * p);
    result = x == sc_float_of(0x7f800000u) ? x : result;
    result = x == 0.0f ? sc_float_of(0xff800000u) : result;
    return x >= 0.0f ? result : sc_float_of(0x7fffffffu);
}

/* sin (quarter = 0) and cos (quarter = 1), absolute error below 2^-23 while |x| < 2^20. */
static inline __attribute__((always_inline)) float sc_sin(float x, int quarter)
{
    const double magic = 6755399441055744.0;                          /* 1.5 * 2^52 */
    double wide = sc_bits_of(x) << 1 < 0x9d800000u ? (double)x : 0.0; /* |x| < 2^30 */
    double turns = wide * 0.63661977236758134308;
    double shifted = turns + magic;
    double whole = shifted - magic;
    uint32_t quadrant = (uint32_t)sc_bits_of_double(shifted) + (uint32_t)quarter;
    double r = (wide - whole * 1.57079632673412561417) - whole * 6.07710050650619224932e-11;
    float t = (float)r, z = t * t;
    float sine = t + t * z * (((2.7183114e-6f * z - 1.9839334e-4f) * z + 8.3333293e-3f) * z - 1.6666667e-1f);
    float cosine = 1.0f - 0.5f * z + z * z * ((2.4433157e-5f * z - 1.3887316e-3f) * z + 4.1666646e-2f);
    uint32_t bits = sc_bits_of((quadrant & 1) ? cosine : sine) ^ ((quadrant & 2) << 30);
    bits = quarter == 0 && x == 0.0f ? sc_bits_of(x) : bits; /* keeps the sign of zero */
    return x - x == 0.0f ? sc_float_of(bits) : sc_float_of(0x7fffffffu);
}

/* tanh(x), relative error below 2^-11 (here about 2^-21): series near zero, 1 - 2/(e^2x + 1) elsewhere. */
static inline __attribute__((always_inline)) float sc_tanh(float x)
{
    float a = sc_float_of(sc_bits_of(x) & 0x7fffffffu), z = x * x;
    float near = a + a * z *
                         (-0.33333333f +
                          z * (0.13333333f + z * (-0.053968254f + z * (0.021869489f - z * 0.0088632355f))));
    float far = 1.0f - 2.0f / (sc_ex2(a * 2.8853900817779268f) + 1.0f);
    float result = a < 0.45f ? near : far;
    uint32_t bits = sc_bits_of(result) | (sc_bits_of(x) & 0x80000000u);
    return x == x ? sc_float_of(bits) : sc_float_of(0x7fffffffu);
}

/* div.approx: exact, except for 2^126 < |b| < 2^128, where the ISA specifies 0, or NaN for an infinite
 * dividend. */
static inline __attribute__((always_inline)) float sc_divide_roughly(float a, float b)
{
    uint32_t size = sc_bits_of(b) & 0x7fffffffu;
    float small = sc_float_of((sc_bits_of(a) ^ sc_bits_of(b)) & 0x80000000u);
    float zero = a - a == 0.0f ? small : sc_float_of(0x7fffffffu);
    return size > 0x7e800000u && size < 0x7f800000u ? zero : a / b;
}

#endif
