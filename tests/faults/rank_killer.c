/* For LD_PRELOAD: kills the process by SIGKILL at one of the places where a rank of ddp or random_ranks calls
 * CUDA or NCCL. The places are in front of each call and behind it, in their order, and numbered from 1.
 * RANK_KILLER_AT: the number; RANK_KILLER_COUNT: a file into which the process writes, when it ends, how many
 * there were. */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long places, last;
static const char *count_file;

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("RANK_KILLER_AT");
    last = at ? strtoul(at, NULL, 10) : 0;
    count_file = getenv("RANK_KILLER_COUNT");
}

__attribute__((destructor)) static void end(void)
{
    FILE *file = count_file ? fopen(count_file, "w") : NULL;
    if (!file) return;
    fprintf(file, "%lu\n", places);
    fclose(file);
}

static void pass(void)
{
    if (__atomic_add_fetch(&places, 1, __ATOMIC_SEQ_CST) == last) raise(SIGKILL);
}

#define BETWEEN(result, name, parameters, ...)                                                               \
    __attribute__((visibility("default"))) result name parameters                                            \
    {                                                                                                        \
        static result(*real) parameters;                                                                     \
        pass();                                                                                              \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                                                \
        result returned = real(__VA_ARGS__);                                                                 \
        pass();                                                                                              \
        return returned;                                                                                     \
    }

/* What nvcc has programs call for <<<...>>>. */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters, size_t shared,
                               cudaStream_t stream);

BETWEEN(cudaError_t, __cudaLaunchKernel,
        (cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters, size_t shared, cudaStream_t stream),
        kernel, grid, block, parameters, shared, stream)
BETWEEN(cudaError_t, cudaMalloc, (void **address, size_t bytes), address, bytes)
BETWEEN(cudaError_t, cudaFree, (void *address), address)
BETWEEN(cudaError_t, cudaMallocAsync, (void **address, size_t bytes, cudaStream_t stream), address, bytes,
        stream)
BETWEEN(cudaError_t, cudaFreeAsync, (void *address, cudaStream_t stream), address, stream)
BETWEEN(cudaError_t, cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind), to,
        from, bytes, kind)
BETWEEN(cudaError_t, cudaMemsetAsync, (void *to, int value, size_t bytes, cudaStream_t stream), to, value,
        bytes, stream)
BETWEEN(cudaError_t, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event, stream)
BETWEEN(cudaError_t, cudaEventSynchronize, (cudaEvent_t event), event)
BETWEEN(cudaError_t, cudaDeviceSynchronize, (void), )
BETWEEN(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank), comm,
        ranks, id, rank)
BETWEEN(ncclResult_t, ncclCommDestroy, (ncclComm_t comm), comm)
BETWEEN(ncclResult_t, ncclGroupEnd, (void), )
BETWEEN(ncclResult_t, ncclAllReduce,
        (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
         cudaStream_t stream),
        from, to, count, type, op, comm, stream)
BETWEEN(ncclResult_t, ncclReduce,
        (const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
         ncclComm_t comm, cudaStream_t stream),
        from, to, count, type, op, root, comm, stream)
BETWEEN(ncclResult_t, ncclBroadcast,
        (const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
         cudaStream_t stream),
        from, to, count, type, root, comm, stream)
