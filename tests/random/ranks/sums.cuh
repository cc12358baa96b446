/* What collectives compute, on the host. */
#ifndef RANKS_SUMS_CUH
#define RANKS_SUMS_CUH

#include "plan.cuh"

static inline size_t type_bytes(ncclDataType_t type)
{
    return type == ncclUint8 ? 1 : type == ncclUint64 ? 8 : 4;
}

template <class T> static inline void combine(T *sum, const T *more, size_t count, ncclRedOp_t reduction)
{
    for (size_t i = 0; i < count; i++) {
        T a = sum[i], b = more[i];
        sum[i] = reduction == ncclSum    ? (T)((uint64_t)a + (uint64_t)b)
                 : reduction == ncclProd ? (T)((uint64_t)a * (uint64_t)b)
                 : reduction == ncclMax  ? (a > b ? a : b)
                                         : (a < b ? a : b);
    }
}

static inline void combine_any(const Call *call, uint8_t *sum, const uint8_t *more, size_t count)
{
    if (call->type == ncclUint8)
        combine(sum, more, count, call->reduction);
    else if (call->type == ncclUint64)
        combine((uint64_t *)sum, (const uint64_t *)more, count, call->reduction);
    else if (call->type == ncclInt32)
        combine((int32_t *)sum, (const int32_t *)more, count, call->reduction);
    else
        combine((uint32_t *)sum, (const uint32_t *)more, count, call->reduction);
}

/* The sum of all ranks' `count` elements. */
static inline uint8_t *sum_of(const Call *call, int ranks, uint8_t *const *from, size_t count)
{
    size_t bytes = count * type_bytes(call->type);
    uint8_t *sum = (uint8_t *)malloc(bytes);
    memcpy(sum, from[0], bytes);
    for (int i = 1; i < ranks; i++) combine_any(call, sum, from[i], count);
    return sum;
}

static inline void compute_reduction(const Call *call, int ranks, uint8_t *const *from, uint8_t *const *to)
{
    size_t block = call->count * type_bytes(call->type);
    bool scatters = call->function == REDUCE_SCATTER;
    uint8_t *sum = sum_of(call, ranks, from, call->count * (scatters ? ranks : 1));
    for (int i = 0; i < ranks; i++)
        if (call->function != REDUCE || i == call->peer)
            memcpy(to[i], sum + (scatters ? i * block : 0), block);
    free(sum);
}

/* Each block of each rank's result comes from one rank. All are read before any is written, as they may lie
 * in the same memory. */
static inline void compute_blocks(const Call *call, int ranks, uint8_t *const *from, uint8_t *const *to)
{
    size_t block = call->count * type_bytes(call->type);
    uint8_t *all = (uint8_t *)malloc(ranks * ranks * block);
    bool to_all = call->function == ALL_TO_ALL, scatters = call->function == SCATTER;
    for (int i = 0; i < ranks; i++)
        if (from[i]) memcpy(all + i * ranks * block, from[i], (to_all || scatters ? ranks : 1) * block);
    const uint8_t *roots = all + (size_t)call->peer * ranks * block;
    for (int i = 0; i < ranks; i++) {
        if (call->function == BROADCAST)
            memcpy(to[i], roots, block);
        else if (scatters)
            memcpy(to[i], roots + i * block, block);
        else
            for (int k = 0; k < ranks && to[i]; k++)
                memcpy(to[i] + k * block, all + k * ranks * block + (to_all ? i * block : 0), block);
    }
    free(all);
}

/* `call` is any rank's. Where a rank reads or writes nothing it has NULL. */
static inline void compute_collective(const Call *call, int ranks, uint8_t *const *from, uint8_t *const *to)
{
    if (call->function == ALL_REDUCE || call->function == REDUCE || call->function == REDUCE_SCATTER)
        compute_reduction(call, ranks, from, to);
    else
        compute_blocks(call, ranks, from, to);
}

#endif
