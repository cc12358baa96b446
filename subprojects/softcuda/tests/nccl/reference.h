/* A reference for what NCCL computes: numbers of all types as long double, and plain loops. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <nccl.h>
#include <stdint.h>
#include <string.h>

static inline size_t type_bytes(int type)
{
    return type <= ncclUint8 || type >= ncclFloat8e4m3                      ? 1
           : type == ncclFloat16 || type == ncclBfloat16                    ? 2
           : type == ncclInt32 || type == ncclUint32 || type == ncclFloat32 ? 4
                                                                            : 8;
}

/* A floating format: bits of the mantissa, smallest exponent, largest finite value. Formats of 8 bits
 * saturate. */
struct format {
    int mantissa, smallest;
    double largest;
    int exponent_bits;
};

static inline struct format format_of(int type)
{
    switch (type) {
    case ncclFloat16:
        return (struct format){10, -14, 65504, 5};
    case ncclBfloat16:
        return (struct format){7, -126, 0x1.fep127, 8};
    case ncclFloat8e4m3:
        return (struct format){3, -6, 448, 4};
    default:
        return (struct format){2, -14, 57344, 5};
    }
}

static inline double decode(int type, uint32_t bits)
{
    struct format f = format_of(type);
    uint32_t mantissa = bits & ((1u << f.mantissa) - 1);
    uint32_t exponent = bits >> f.mantissa & ((1u << f.exponent_bits) - 1);
    int negative = bits >> (f.mantissa + f.exponent_bits) & 1;
    double value = exponent
                       ? ldexp(mantissa + (1u << f.mantissa), (int)exponent - 1 + f.smallest - f.mantissa)
                       : ldexp(mantissa, f.smallest - f.mantissa);
    return negative ? -value : value;
}

/* To nearest, ties to even. pre: finite. */
static inline uint32_t encode(int type, double x)
{
    struct format f = format_of(type);
    int exponent;
    uint32_t sign = (signbit(x) ? 1u : 0u) << (f.mantissa + f.exponent_bits);
    double size = fabs(x);
    frexp(size, &exponent);
    exponent = size == 0 || exponent - 1 < f.smallest ? f.smallest : exponent - 1;
    double units = nearbyint(ldexp(size, f.mantissa - exponent));
    if (units >= ldexp(1, f.mantissa + 1)) units /= 2, exponent++;
    if (ldexp(units, exponent - f.mantissa) > f.largest) {
        if (type == ncclFloat16 || type == ncclBfloat16) /* infinity */
            return sign | ((1u << f.exponent_bits) - 1) << f.mantissa;
        return encode(type, signbit(x) ? -f.largest : f.largest);
    }
    /* The leading bit of a normal number raises its exponent by one. */
    return sign | (((uint32_t)(exponent - f.smallest) << f.mantissa) + (uint32_t)units);
}

static inline int is_small(int type)
{
    return type == ncclFloat16 || type == ncclBfloat16 || type >= ncclFloat8e4m3;
}

enum { FACTOR = 5 }; /* a sum of products, behind the built-in operations */

#define REFERENCE(name, TYPE, WIDE)                                                                          \
    static inline TYPE name##_reduce(int op, const TYPE *terms, const TYPE *factors, int ranks)              \
    {                                                                                                        \
        TYPE sum = op == FACTOR ? (TYPE)((WIDE)terms[0] * (WIDE)factors[0]) : terms[0];                      \
        for (int i = 1; i < ranks; i++) {                                                                    \
            TYPE term = terms[i];                                                                            \
            if (op == ncclProd)                                                                              \
                sum = (TYPE)((WIDE)sum * (WIDE)term);                                                        \
            else if (op == ncclMax)                                                                          \
                sum = term > sum ? term : sum;                                                               \
            else if (op == ncclMin)                                                                          \
                sum = term < sum ? term : sum;                                                               \
            else if (op == FACTOR)                                                                           \
                sum = (TYPE)((WIDE)sum + (WIDE)(TYPE)((WIDE)term * (WIDE)factors[i]));                       \
            else                                                                                             \
                sum = (TYPE)((WIDE)sum + (WIDE)term);                                                        \
        }                                                                                                    \
        return op == ncclAvg ? (TYPE)(sum / (TYPE)ranks) : sum;                                              \
    }
REFERENCE(s8, int8_t, uint64_t)
REFERENCE(u8, uint8_t, uint64_t)
REFERENCE(s32, int32_t, uint64_t)
REFERENCE(u32, uint32_t, uint64_t)
REFERENCE(s64, int64_t, uint64_t)
REFERENCE(u64, uint64_t, uint64_t)
REFERENCE(f32, float, float)
REFERENCE(f64, double, double)

/* One element of every rank, `terms[i]` and `factors[i]` each of the type's bytes in the low end of a word.
 */
static inline uint64_t reference_reduce(int type, int op, const uint64_t *terms, const uint64_t *factors,
                                        int ranks)
{
    uint64_t out = 0;
#define CASE(name, TYPE)                                                                                     \
    {                                                                                                        \
        TYPE values[8] = {0}, scales[8] = {0};                                                               \
        for (int i = 0; i < ranks; i++)                                                                      \
            memcpy(&values[i], &terms[i], sizeof(TYPE)), memcpy(&scales[i], &factors[i], sizeof(TYPE));      \
        TYPE result = name##_reduce(op, values, scales, ranks);                                              \
        memcpy(&out, &result, sizeof result);                                                                \
        return out;                                                                                          \
    }
    switch (type) {
    case ncclInt8:
        CASE(s8, int8_t)
    case ncclUint8:
        CASE(u8, uint8_t)
    case ncclInt32:
        CASE(s32, int32_t)
    case ncclUint32:
        CASE(u32, uint32_t)
    case ncclInt64:
        CASE(s64, int64_t)
    case ncclUint64:
        CASE(u64, uint64_t)
    case ncclFloat32:
        CASE(f32, float)
    case ncclFloat64:
        CASE(f64, double)
    default:
        break;
    }
#undef CASE
    float values[8] = {0}, scales[8] = {0};
    for (int i = 0; i < ranks; i++) {
        values[i] = (float)decode(type, (uint32_t)terms[i]);
        scales[i] = (float)decode(type, (uint32_t)factors[i]);
    }
    return encode(type, f32_reduce(op, values, scales, ranks));
}

/* A number in [-4, 4), the same for the same arguments; integers use all their bits. */
static inline uint64_t pattern(int type, uint64_t rank, uint64_t index)
{
    uint64_t x = (rank + 1) * UINT64_C(0x9e3779b97f4a7c15) + index * UINT64_C(0xd1342543de82ef95);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    double number = (double)(int64_t)(x >> 20 & 0xffff) / 8192 - 4;
    uint64_t out = 0;
    float single = (float)number;
    if (is_small(type)) return encode(type, number);
    if (type == ncclFloat32)
        memcpy(&out, &single, sizeof single);
    else if (type == ncclFloat64)
        memcpy(&out, &number, sizeof number);
    else
        memcpy(&out, &x, type_bytes(type));
    return out;
}

#endif
