#include "element.h"

#include <string.h>

#include "engine/small.h"

#define PIECE 512 /* elements per iteration */

/* e5m2 is the upper half of binary16. */
static float float_of(uint8_t type, const void *from)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    switch (type) {
    case ncclFloat8e4m3:
        memcpy(&byte, from, sizeof byte);
        return sc_e4m3_to_float(byte);
    case ncclFloat8e5m2:
        memcpy(&byte, from, sizeof byte);
        return sc_half_to_float((uint32_t)byte << 8);
    case ncclFloat16:
        memcpy(&half, from, sizeof half);
        return sc_half_to_float(half);
    case ncclBfloat16:
        memcpy(&half, from, sizeof half);
        return sc_bfloat_to_float(half);
    default:
        memcpy(&word, from, sizeof word);
        return sc_float_of(word);
    }
}

static void load_floats(uint8_t type, const void *from, float *to, size_t count)
{
    const char *at = from;
    if (type == ncclFloat32)
        memcpy(to, from, count * sizeof *to);
    else
        for (size_t i = 0; i < count; i++) to[i] = float_of(type, at + i * sc_type_bytes(type));
}

static void store_floats(uint8_t type, const float *from, void *to, size_t count)
{
    uint8_t bytes[PIECE];
    uint16_t halves[PIECE];
    if (type == ncclFloat32) {
        memcpy(to, from, count * sizeof *from);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (type == ncclFloat8e4m3)
            bytes[i] = (uint8_t)sc_e4m3_of(from[i]);
        else if (type == ncclFloat8e5m2)
            bytes[i] = (uint8_t)sc_e5m2_of(from[i]);
        else
            halves[i] =
                (uint16_t)(type == ncclFloat16 ? sc_half_from_float(from[i]) : sc_bfloat_from_float(from[i]));
    }
    if (sc_type_bytes(type) == 1)
        memcpy(to, bytes, count);
    else
        memcpy(to, halves, count * sizeof *halves);
}

static float float_load(uint8_t type, const void *from)
{
    return float_of(type, from);
}

static double double_load(uint8_t type, const void *from)
{
    double value;
    (void)type;
    memcpy(&value, from, sizeof value);
    return value;
}

static void load_doubles(uint8_t type, const void *from, double *to, size_t count)
{
    (void)type;
    memcpy(to, from, count * sizeof *to);
}

static void store_doubles(uint8_t type, const double *from, void *to, size_t count)
{
    (void)type;
    memcpy(to, from, count * sizeof *from);
}

/* Defines a function reduce_NAME that computes in TYPE. Sums and products are computed in WRAPPING, in which
 * integer overflow wraps around. */
#define REDUCE(name, TYPE, WRAPPING, LOAD_ONE, LOAD, STORE)                                                  \
    static void combine_##name(uint8_t op, TYPE *sums, const TYPE *terms, size_t count)                      \
    {                                                                                                        \
        if (op == ncclProd)                                                                                  \
            for (size_t i = 0; i < count; i++) sums[i] = (TYPE)((WRAPPING)sums[i] * (WRAPPING)terms[i]);     \
        else if (op == ncclMax)                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                sums[i] = sums[i] >= terms[i] || terms[i] != terms[i] ? sums[i] : terms[i];                  \
        else if (op == ncclMin)                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                sums[i] = sums[i] <= terms[i] || terms[i] != terms[i] ? sums[i] : terms[i];                  \
        else                                                                                                 \
            for (size_t i = 0; i < count; i++) sums[i] = (TYPE)((WRAPPING)sums[i] + (WRAPPING)terms[i]);     \
    }                                                                                                        \
    static void reduce_##name(uint8_t type, uint8_t op, const void *const *arrays, const uint64_t *factors,  \
                              unsigned count_of_terms, size_t first, size_t count, void *out)                \
    {                                                                                                        \
        TYPE sums[PIECE], terms[PIECE];                                                                      \
        size_t offset = first * sc_type_bytes(type);                                                         \
        for (unsigned rank = 0; rank < count_of_terms; rank++) {                                             \
            TYPE *to = rank ? terms : sums;                                                                  \
            LOAD(type, (const char *)arrays[rank] + offset, to, count);                                      \
            if (op == SC_OP_FACTOR) {                                                                        \
                WRAPPING factor = (WRAPPING)LOAD_ONE(type, &factors[rank]);                                  \
                for (size_t i = 0; i < count; i++) to[i] = (TYPE)((WRAPPING)to[i] * factor);                 \
            }                                                                                                \
            if (rank) combine_##name(op, sums, terms, count);                                                \
        }                                                                                                    \
        if (op == ncclAvg)                                                                                   \
            for (size_t i = 0; i < count; i++) sums[i] = (TYPE)(sums[i] / (long)count_of_terms);             \
        STORE(type, sums, (char *)out + offset, count);                                                      \
    }

#define INTEGER(name, TYPE, WRAPPING)                                                                        \
    static TYPE load_one_##name(uint8_t type, const void *from)                                              \
    {                                                                                                        \
        TYPE value;                                                                                          \
        (void)type;                                                                                          \
        memcpy(&value, from, sizeof value);                                                                  \
        return value;                                                                                        \
    }                                                                                                        \
    static void load_##name(uint8_t type, const void *from, TYPE *to, size_t count)                          \
    {                                                                                                        \
        (void)type;                                                                                          \
        memcpy(to, from, count * sizeof *to);                                                                \
    }                                                                                                        \
    static void store_##name(uint8_t type, const TYPE *from, void *to, size_t count)                         \
    {                                                                                                        \
        (void)type;                                                                                          \
        memcpy(to, from, count * sizeof *from);                                                              \
    }                                                                                                        \
    REDUCE(name, TYPE, WRAPPING, load_one_##name, load_##name, store_##name)

REDUCE(float, float, float, float_load, load_floats, store_floats)
REDUCE(double, double, double, double_load, load_doubles, store_doubles)
INTEGER(s8, int8_t, uint32_t)
INTEGER(u8, uint8_t, uint32_t)
INTEGER(s32, int32_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(s64, int64_t, uint64_t)
INTEGER(u64, uint64_t, uint64_t)

typedef void reduce_piece(uint8_t type, uint8_t op, const void *const *arrays, const uint64_t *factors,
                          unsigned count_of_terms, size_t first, size_t count, void *out);

static reduce_piece *const by_type[ncclNumTypes] = {
    [ncclInt8] = reduce_s8,        [ncclUint8] = reduce_u8,         [ncclInt32] = reduce_s32,
    [ncclUint32] = reduce_u32,     [ncclInt64] = reduce_s64,        [ncclUint64] = reduce_u64,
    [ncclFloat16] = reduce_float,  [ncclFloat32] = reduce_float,    [ncclFloat64] = reduce_double,
    [ncclBfloat16] = reduce_float, [ncclFloat8e4m3] = reduce_float, [ncclFloat8e5m2] = reduce_float,
};

void sc_reduce(uint8_t type, uint8_t op, const void *const *arrays, const uint64_t *factors, unsigned terms,
               void *out, size_t count)
{
    for (size_t first = 0; first < count; first += PIECE)
        by_type[type](type, op, arrays, factors, terms, first, count - first < PIECE ? count - first : PIECE,
                      out);
}
