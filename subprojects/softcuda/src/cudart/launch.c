/* Launches, function attributes and occupancy. Kernels are passed to the driver as a CUkernel cast to a
 * CUfunction. */
#include "module.h"
#include "registration.h"
#include "state.h"

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "handed on as they are");

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream)
{
    struct sc_thread *thread = sc_thread();
    if (thread->pending_count == SC_MAX_PENDING_LAUNCHES)
        return (unsigned)sc_finish(cudaErrorLaunchOutOfResources);
    thread->pending[thread->pending_count++] =
        (struct sc_launch_configuration){grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    struct sc_thread *thread = sc_thread();
    if (thread->pending_count == 0) return sc_finish(cudaErrorMissingConfiguration);
    const struct sc_launch_configuration *pending = &thread->pending[--thread->pending_count];
    *grid = pending->grid;
    *block = pending->block;
    *shared_bytes = pending->shared_bytes;
    *(cudaStream_t *)stream = pending->stream;
    return cudaSuccess;
}

/* The driver returns an invalid value for these, the runtime an invalid configuration. */
static cudaError_t check_shape(dim3 grid, dim3 block)
{
    const bool empty = !grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z;
    const bool too_large = block.x > 1024 || block.y > 1024 || block.z > 1024 ||
                           (unsigned long long)block.x * block.y * block.z > 1024 || grid.x > 0x7fffffffu ||
                           grid.y > 65535 || grid.z > 65535;
    return empty || too_large ? cudaErrorInvalidConfiguration : cudaSuccess;
}

static cudaError_t launch(const struct sc_driver *driver, const void *function, dim3 grid, dim3 block,
                          void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    CUkernel kernel = NULL;
    cudaError_t status = check_shape(grid, block);
    if (status == cudaSuccess) status = sc_kernel_find(driver, function, &kernel);
    if (status != cudaSuccess) return status;
    if (shared_bytes > UINT32_MAX) return cudaErrorInvalidValue;
    return CALL(cuLaunchKernel, (CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                (unsigned)shared_bytes, stream, arguments, NULL);
}

static cudaError_t launch_cooperative(const struct sc_driver *driver, const void *function, dim3 grid,
                                      dim3 block, void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    CUkernel kernel = NULL;
    cudaError_t status = check_shape(grid, block);
    if (status == cudaSuccess) status = sc_kernel_find(driver, function, &kernel);
    if (status != cudaSuccess) return status;
    if (shared_bytes > UINT32_MAX) return cudaErrorInvalidValue;
    return CALL(cuLaunchCooperativeKernel, (CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y,
                block.z, (unsigned)shared_bytes, stream, arguments);
}

static cudaError_t to_driver_config(const cudaLaunchConfig_t *config, CUlaunchConfig *out)
{
    if (!config || config->dynamicSmemBytes > UINT32_MAX) return cudaErrorInvalidValue;
    *out = (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = (CUlaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
    return check_shape(config->gridDim, config->blockDim);
}

static cudaError_t launch_config(const struct sc_driver *driver, const cudaLaunchConfig_t *config,
                                 const void *function, void **arguments)
{
    CUlaunchConfig converted;
    CUkernel kernel = NULL;
    cudaError_t status = to_driver_config(config, &converted);
    if (status == cudaSuccess) status = sc_kernel_find(driver, function, &kernel);
    return status == cudaSuccess ? CALL(cuLaunchKernelEx, &converted, (CUfunction)kernel, arguments, NULL)
                                 : status;
}

SC_STREAM_API(cudaLaunchKernel, _ptsz,
              (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
               cudaStream_t stream),
              launch(driver, function, grid, block, arguments, shared_bytes, stream))
SC_STREAM_API(__cudaLaunchKernel, _ptsz,
              (cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
               cudaStream_t stream),
              launch(driver, kernel, grid, block, arguments, shared_bytes, stream))
SC_STREAM_API(cudaLaunchCooperativeKernel, _ptsz,
              (const void *function, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
               cudaStream_t stream),
              launch_cooperative(driver, function, grid, block, arguments, shared_bytes, stream))
SC_STREAM_API(cudaLaunchKernelExC, _ptsz,
              (const cudaLaunchConfig_t *config, const void *function, void **arguments),
              launch_config(driver, config, function, arguments))
SC_STREAM_API(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void *data),
              CALL(cuLaunchHostFunc, stream, function, data))

/* Evaluates `work` with `kernel`, the driver's handle of `function`. */
#define WITH_KERNEL(function, work)                                                                          \
    CUkernel kernel = NULL;                                                                                  \
    const cudaError_t found = sc_kernel_find(driver, function, &kernel);                                     \
    return found == cudaSuccess ? (work) : found

static cudaError_t set_attribute(const struct sc_driver *driver, CUkernel kernel,
                                 enum cudaFuncAttribute attribute, int value)
{
    int device = 0;
    const cudaError_t status = sc_current_device(driver, &device);
    return status == cudaSuccess
               ? CALL(cuKernelSetAttribute, (CUfunction_attribute)attribute, value, kernel, device)
               : status;
}

static cudaError_t function_set_attribute(const struct sc_driver *driver, const void *function,
                                          enum cudaFuncAttribute attribute, int value)
{
    WITH_KERNEL(function, set_attribute(driver, kernel, attribute, value));
}

static cudaError_t set_cache(const struct sc_driver *driver, CUkernel kernel, enum cudaFuncCache cache)
{
    int device = 0;
    const cudaError_t status = sc_current_device(driver, &device);
    return status == cudaSuccess ? CALL(cuKernelSetCacheConfig, kernel, (CUfunc_cache)cache, device) : status;
}

static cudaError_t function_set_cache(const struct sc_driver *driver, const void *function,
                                      enum cudaFuncCache cache)
{
    WITH_KERNEL(function, set_cache(driver, kernel, cache));
}

static cudaError_t kernel_attributes(const struct sc_driver *driver, CUkernel kernel,
                                     struct cudaFuncAttributes *out)
{
    int device = 0;
    cudaError_t status = sc_current_device(driver, &device);
    struct cudaFuncAttributes got = {0};
    int value = 0;
#define ATTRIBUTE(field, name)                                                                               \
    if (status == cudaSuccess)                                                                               \
        status = CALL(cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_##name, kernel, device);               \
    if (status == cudaErrorInvalidValue)                                                                     \
        status = cudaSuccess, value = 0; /* newer than the driver: stays 0 */                                \
    got.field = value;
    ATTRIBUTE(sharedSizeBytes, SHARED_SIZE_BYTES)
    ATTRIBUTE(constSizeBytes, CONST_SIZE_BYTES)
    ATTRIBUTE(localSizeBytes, LOCAL_SIZE_BYTES)
    ATTRIBUTE(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)
    ATTRIBUTE(numRegs, NUM_REGS)
    ATTRIBUTE(ptxVersion, PTX_VERSION)
    ATTRIBUTE(binaryVersion, BINARY_VERSION)
    ATTRIBUTE(cacheModeCA, CACHE_MODE_CA)
    ATTRIBUTE(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES)
    ATTRIBUTE(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT)
    ATTRIBUTE(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET)
    ATTRIBUTE(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH)
    ATTRIBUTE(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT)
    ATTRIBUTE(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH)
    ATTRIBUTE(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
    ATTRIBUTE(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE)
#undef ATTRIBUTE
    if (status == cudaSuccess) *out = got;
    return status;
}

static cudaError_t function_attributes(const struct sc_driver *driver, struct cudaFuncAttributes *out,
                                       const void *function)
{
    if (!out) return cudaErrorInvalidValue;
    WITH_KERNEL(function, kernel_attributes(driver, kernel, out));
}

static cudaError_t function_name(const struct sc_driver *driver, const char **name, const void *function)
{
    WITH_KERNEL(function, CALL(cuKernelGetName, name, kernel));
}

static cudaError_t parameter_info(const struct sc_driver *driver, const void *function, size_t index,
                                  size_t *offset, size_t *bytes)
{
    WITH_KERNEL(function, CALL(cuKernelGetParamInfo, kernel, index, offset, bytes));
}

static cudaError_t max_blocks(const struct sc_driver *driver, int *blocks, const void *function,
                              int block_threads, size_t shared_bytes, unsigned flags)
{
    WITH_KERNEL(function, CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks,
                               (CUfunction)kernel, block_threads, shared_bytes, flags));
}

static cudaError_t available_shared(const struct sc_driver *driver, size_t *bytes, const void *function,
                                    int blocks, int block_threads)
{
    WITH_KERNEL(function, CALL(cuOccupancyAvailableDynamicSMemPerBlock, bytes, (CUfunction)kernel, blocks,
                               block_threads));
}

static cudaError_t cluster_size(const struct sc_driver *driver, int *size, const void *function,
                                const cudaLaunchConfig_t *config)
{
    CUlaunchConfig converted;
    const cudaError_t status = to_driver_config(config, &converted);
    if (status != cudaSuccess) return status;
    WITH_KERNEL(function, CALL(cuOccupancyMaxPotentialClusterSize, size, (CUfunction)kernel, &converted));
}

static cudaError_t active_clusters(const struct sc_driver *driver, int *count, const void *function,
                                   const cudaLaunchConfig_t *config)
{
    CUlaunchConfig converted;
    const cudaError_t status = to_driver_config(config, &converted);
    if (status != cudaSuccess) return status;
    WITH_KERNEL(function, CALL(cuOccupancyMaxActiveClusters, count, (CUfunction)kernel, &converted));
}

static cudaError_t function_by_symbol(const struct sc_driver *driver, cudaFunction_t *out, const void *symbol)
{
    WITH_KERNEL(symbol, CALL(cuKernelGetFunction, out, kernel));
}

static cudaError_t kernel_by_symbol(const struct sc_driver *driver, cudaKernel_t *out, const void *symbol)
{
    return out ? sc_kernel_find(driver, symbol, out) : cudaErrorInvalidValue;
}

SC_API(cudaFuncGetAttributes, (struct cudaFuncAttributes * attributes, const void *function),
       function_attributes(driver, attributes, function))
SC_API(cudaFuncSetAttribute, (const void *function, enum cudaFuncAttribute attribute, int value),
       function_set_attribute(driver, function, attribute, value))
SC_API(cudaFuncSetCacheConfig, (const void *function, enum cudaFuncCache cache),
       function_set_cache(driver, function, cache))
SC_API(cudaFuncGetName, (const char **name, const void *function), function_name(driver, name, function))
SC_API(cudaFuncGetParamInfo, (const void *function, size_t index, size_t *offset, size_t *bytes),
       parameter_info(driver, function, index, offset, bytes))
SC_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
       (int *blocks, const void *function, int block_threads, size_t shared_bytes),
       max_blocks(driver, blocks, function, block_threads, shared_bytes, 0))
SC_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
       (int *blocks, const void *function, int block_threads, size_t shared_bytes, unsigned int flags),
       max_blocks(driver, blocks, function, block_threads, shared_bytes, flags))
SC_API(cudaOccupancyAvailableDynamicSMemPerBlock,
       (size_t * bytes, const void *function, int blocks, int block_threads),
       available_shared(driver, bytes, function, blocks, block_threads))
SC_API(cudaOccupancyMaxPotentialClusterSize,
       (int *size, const void *function, const cudaLaunchConfig_t *config),
       cluster_size(driver, size, function, config))
SC_API(cudaOccupancyMaxActiveClusters, (int *count, const void *function, const cudaLaunchConfig_t *config),
       active_clusters(driver, count, function, config))
SC_API(cudaGetFuncBySymbol, (cudaFunction_t * function, const void *symbol),
       function_by_symbol(driver, function, symbol))
SC_API(cudaGetKernel, (cudaKernel_t * kernel, const void *symbol), kernel_by_symbol(driver, kernel, symbol))
SC_API(cudaKernelSetAttributeForDevice,
       (cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value, int device),
       CALL(cuKernelSetAttribute, (CUfunction_attribute)attribute, value, kernel, device))
