/* Number formats of 16 bits and fewer, and tf32: conversion with every rounding mode. */
#ifndef SOFTCUDA_ENGINE_SMALL_H
#define SOFTCUDA_ENGINE_SMALL_H

#include "half.h"

enum sc_rounding { SC_ROUND_NEAREST, SC_ROUND_ZERO, SC_ROUND_DOWN, SC_ROUND_UP, SC_ROUND_AWAY };

/* Rounds a number to sign, exponent and `mantissa` bits, with the format's `bias`. A number that is too large
 * becomes `infinity`, or `largest` if the rounding mode requires it; NaN becomes `nan`, without a sign. */
static inline __attribute__((always_inline)) uint32_t sc_narrow(float x, uint32_t mantissa, int32_t bias,
                                                                enum sc_rounding mode, uint32_t sign_at,
                                                                uint32_t largest, uint32_t infinity,
                                                                uint32_t nan)
{
    uint32_t bits = sc_bits_of(x), negative = bits >> 31, rest = bits & 0x7fffffffu, raw = rest >> 23;
    uint32_t significand = (rest & 0x7fffffu) | (raw ? 0x800000u : 0);
    int32_t exponent = (int32_t)(raw ? raw : 1) - 127 + bias;
    uint32_t small = exponent < 1 ? (uint32_t)(1 - exponent) : 0;
    uint32_t shift = 23 - mantissa + small;
    shift = shift > 30 ? 30 : shift;
    uint32_t kept = significand >> shift, lost = significand & ((1u << shift) - 1), half = (1u << shift) >> 1;
    uint32_t up = mode == SC_ROUND_NEAREST ? (uint32_t)(lost > half) | (uint32_t)(lost == half && (kept & 1))
                  : mode == SC_ROUND_AWAY  ? (uint32_t)(lost >= half)
                  : mode == SC_ROUND_DOWN  ? (uint32_t)(lost != 0) & negative
                  : mode == SC_ROUND_UP    ? (uint32_t)(lost != 0) & (negative ^ 1)
                                           : 0;
    if (shift == 0) up = 0;
    uint32_t value = (exponent < 1 ? 0 : (uint32_t)(exponent - 1) << mantissa) + kept + up;
    uint32_t inward = mode == SC_ROUND_ZERO   ? 1u
                      : mode == SC_ROUND_DOWN ? negative ^ 1
                      : mode == SC_ROUND_UP   ? negative
                                              : 0;
    value = value > largest ? (inward && rest != 0x7f800000u ? largest : infinity) : value;
    return rest > 0x7f800000u ? nan : value | negative << sign_at;
}

static inline __attribute__((always_inline)) uint32_t sc_f16_of(float x, enum sc_rounding mode)
{
    return sc_narrow(x, 10, 15, mode, 15, 0x7bff, 0x7c00, 0x7fff);
}
static inline __attribute__((always_inline)) uint32_t sc_bf16_of(float x, enum sc_rounding mode)
{
    return sc_narrow(x, 7, 127, mode, 15, 0x7f7f, 0x7f80, 0x7fff);
}
static inline __attribute__((always_inline)) uint32_t sc_tf32_of(float x, enum sc_rounding mode)
{
    uint32_t value = sc_narrow(x, 10, 127, mode, 18, 0x3fbff, 0x3fc00, 0x3ffff);
    return value == 0x3ffff ? 0x7fffffffu : value << 13;
}
/* These saturate: infinity becomes the largest number. */
static inline __attribute__((always_inline)) uint32_t sc_e4m3_of(float x)
{
    return sc_narrow(x, 3, 7, SC_ROUND_NEAREST, 7, 0x7e, 0x7e, 0x7f);
}
static inline __attribute__((always_inline)) uint32_t sc_e5m2_of(float x)
{
    return sc_narrow(x, 2, 15, SC_ROUND_NEAREST, 7, 0x7b, 0x7b, 0x7f);
}

static inline __attribute__((always_inline)) float sc_e4m3_to_float(uint32_t x)
{
    uint32_t rest = x & 0x7f, sign = (x & 0x80) << 24;
    uint32_t small = sc_bits_of((float)(int32_t)rest * 0x1p-9f);
    uint32_t bits = rest < 8 ? small : (rest << 20) + (120u << 23);
    return sc_float_of(sign | (rest == 0x7f ? 0x7fffffffu : bits));
}

/* Converts to single precision, rounded to odd: rounding the result again, to at most 22 bits, equals
 * rounding the original number once (Boldo and Melquiond, 2008). */
static inline __attribute__((always_inline)) float sc_odd_of_double(double x)
{
    float single = (float)x;
    double lost = x - (double)single;
    uint32_t bits = sc_bits_of(single), rest = bits & 0x7fffffffu;
    uint32_t overflow = rest == 0x7f800000u && x - x == 0;
    uint32_t adjust = lost != 0 && rest < 0x7f800000u && (bits & 1) == 0;
    uint32_t away = lost < 0 ? (bits >> 31) ^ 1 : bits >> 31; /* the rounding went away from zero */
    uint32_t moved = rest == 0 ? 1 : away ? rest - 1 : rest + 1;
    rest = overflow ? 0x7f7fffffu : adjust ? moved : rest;
    return sc_float_of((uint32_t)(sc_bits_of_double(x) >> 63) << 31 | rest);
}

/* The same for a 64-bit integer */
static inline __attribute__((always_inline)) float sc_odd_of_u64(uint64_t x)
{
    uint64_t short_of = (x >> 24) | ((x & 0xffffff) != 0); /* 40 bits: exact in double */
    return sc_odd_of_double(x >> 40 ? (double)short_of * 0x1p24 : (double)x);
}
static inline __attribute__((always_inline)) float sc_odd_of_s64(int64_t x)
{
    float size = sc_odd_of_u64(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    return x < 0 ? -size : size;
}

static inline __attribute__((always_inline)) uint32_t sc_half_from_double(double x)
{
    return sc_f16_of(sc_odd_of_double(x), SC_ROUND_NEAREST);
}

#endif
