#include "kernels.h"

#include "api.h"
#include "describe.h"
#include "launch.h"

/* Names of sums for each type, in the order of ncclDataType_t. */
#define SUMS(name)                                                                                           \
    "ncclDevKernel_" name "_Sum_i8_RING_LL", "ncclDevKernel_" name "_Sum_u8_RING_LL",                        \
        "ncclDevKernel_" name "_Sum_i32_RING_LL", "ncclDevKernel_" name "_Sum_u32_RING_LL",                  \
        "ncclDevKernel_" name "_Sum_i64_RING_LL", "ncclDevKernel_" name "_Sum_u64_RING_LL",                  \
        "ncclDevKernel_" name "_Sum_f16_RING_LL", "ncclDevKernel_" name "_Sum_f32_RING_LL",                  \
        "ncclDevKernel_" name "_Sum_f64_RING_LL", "ncclDevKernel_" name "_Sum_bf16_RING_LL",                 \
        "ncclDevKernel_" name "_Sum_f8e4m3_RING_LL", "ncclDevKernel_" name "_Sum_f8e5m2_RING_LL"

enum {
    GENERIC,
    SEND_RECEIVE,
    BROADCAST,
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE = ALL_REDUCE + ncclNumTypes,
    REDUCE_SCATTER = REDUCE + ncclNumTypes,
    KERNELS = REDUCE_SCATTER + ncclNumTypes,
};
_Static_assert(KERNELS <= SC_KERNELS_MOST, "gate.c has a handle for each");

static const char *const names[KERNELS] = {
    [GENERIC] = "ncclDevKernel_Generic",
    [SEND_RECEIVE] = "ncclDevKernel_SendRecv",
    [BROADCAST] = "ncclDevKernel_Broadcast_RING_LL",
    [ALL_GATHER] = "ncclDevKernel_AllGather_RING_LL",
    [ALL_REDUCE] = SUMS("AllReduce"),
    [REDUCE] = SUMS("Reduce"),
    [REDUCE_SCATTER] = SUMS("ReduceScatter"),
};

static const struct sc_parameter parameters[] = {{0, SC_PARAMETERS_BYTES}};

/* Never called: the driver calls peers->run instead. */
static bool run(struct sc_native_launch *launch)
{
    (void)launch;
    return false;
}

static struct sc_native_kernel kernels[KERNELS];
static const struct sc_native_image image = {SC_NATIVE_MAGIC, kernels, KERNELS};

const struct sc_native_image *sc_kernels_image(void)
{
    for (unsigned i = 0; i < KERNELS; i++)
        kernels[i] = (struct sc_native_kernel){
            names[i], parameters, 1, SC_PARAMETERS_BYTES, sc_describe, run, &sc_launch_peers,
        };
    return &image;
}

static unsigned kernel_of(const struct sc_work *work)
{
    switch (work->kind) {
    case SC_WORK_BROADCAST:
        return BROADCAST;
    case SC_WORK_ALL_GATHER:
        return ALL_GATHER;
    case SC_WORK_ALL_REDUCE:
        return work->op == ncclSum ? ALL_REDUCE + work->type : GENERIC;
    case SC_WORK_REDUCE:
        return work->op == ncclSum ? REDUCE + work->type : GENERIC;
    case SC_WORK_REDUCE_SCATTER:
        return work->op == ncclSum ? REDUCE_SCATTER + work->type : GENERIC;
    default:
        return SEND_RECEIVE;
    }
}

unsigned sc_kernels_for(const struct sc_work *works, uint32_t count)
{
    unsigned kernel = kernel_of(&works[0]);
    for (uint32_t i = 1; i < count; i++)
        if (kernel_of(&works[i]) != kernel) return GENERIC;
    return kernel;
}
