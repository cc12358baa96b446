#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "machine_code.h"
#include "module.h"
#include "program_time.h"
#include "queue.h"
#include "stats.h"
#include "work.h"

static CUresult check_shape(const struct sc_shape *shape, const struct sc_func *func)
{
    static const uint64_t grid_limits[3] = {INT32_MAX, 65535, 65535};
    static const uint32_t block_limits[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!shape->grid[i] || !shape->block[i]) return CUDA_ERROR_INVALID_VALUE;
        if (shape->grid[i] > grid_limits[i] || shape->block[i] > block_limits[i])
            return CUDA_ERROR_INVALID_VALUE;
        threads *= shape->block[i];
    }
    if (threads > 1024) return CUDA_ERROR_INVALID_VALUE;
    if (threads > func->info.max_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return shape->dynamic_shared > (uint32_t)func->max_dynamic_shared ? CUDA_ERROR_INVALID_VALUE
                                                                      : CUDA_SUCCESS;
}

/* Packs the parameters in the kernel's layout, from an array of pointers or from one buffer. */
static CUresult pack(const struct sc_func *func, void **pointers, void **extra, void **out)
{
    const struct sc_function_info *info = &func->info;
    size_t bytes = info->parameter_bytes;
    char *block = calloc(1, bytes ? bytes : 1);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_SUCCESS;
    if (pointers) {
        for (uint32_t i = 0; i < info->parameter_count && !result; i++) {
            const struct sc_parameter *parameter = &info->parameters[i];
            if (pointers[i])
                memcpy(block + parameter->offset_bytes, pointers[i], parameter->size_bytes);
            else
                result = CUDA_ERROR_INVALID_VALUE;
        }
    } else if (extra) {
        const void *buffer = NULL;
        size_t given = 0;
        for (void **at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
            if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
            if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) given = *(const size_t *)at[1];
        }
        if (buffer && given >= bytes)
            memcpy(block, buffer, bytes);
        else if (bytes)
            result = CUDA_ERROR_INVALID_VALUE;
    } else if (bytes) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result)
        free(block);
    else
        *out = block;
    return result;
}

/* Allocates the heap at the first launch of a kernel that calls malloc. */
static CUresult need_heap(struct sc_context *context, const struct sc_func *func)
{
    if (!func->info.uses_heap || context->heap) return CUDA_SUCCESS;
    context->heap = sc_device_allocate(context, context->limits[CU_LIMIT_MALLOC_HEAP_SIZE], 512);
    if (!context->heap) return CUDA_ERROR_OUT_OF_MEMORY;
    context->heap->internal = true;
    return CUDA_SUCCESS;
}

/* All blocks of a cooperative launch must be resident at once. */
CUresult sc_launch_cooperate(bool cooperative, struct sc_launch_work *launch)
{
    launch->cooperative = false;
    if (!cooperative) return CUDA_SUCCESS;
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    int fit = sc_blocks_that_fit(launch->func, threads, launch->dynamic_shared_bytes);
    if (blocks > (uint64_t)fit * sc_options()->processors) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    launch->cooperative = true;
    return CUDA_SUCCESS;
}

CUresult sc_launch_describe(struct sc_context *context, CUfunction handle, const struct sc_shape *shape,
                            void **pointers, void **extra, struct sc_launch_work *out)
{
    struct sc_func *func;
    CUresult result = sc_function_resolve(handle, &func);
    if (!result && func->loaded->context != context) result = CUDA_ERROR_INVALID_HANDLE;
    if (!result) result = check_shape(shape, func);
    if (!result) result = need_heap(context, func);
    void *parameters = NULL;
    if (!result) result = pack(func, pointers, extra, &parameters);
    if (result) return result;
    sc_machine_code_launched(func);
    func->loaded->refs++;
    *out = (struct sc_launch_work){
        .loaded = func->loaded,
        .func = func,
        .function = func->function,
        .native = func->native,
        .name = func->info.name,
        .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .dynamic_shared_bytes = shape->dynamic_shared,
        .parameters = parameters,
        .heap = func->info.uses_heap ? context->heap->begin : 0,
        .heap_bytes = func->info.uses_heap ? context->heap->bytes : 0,
    };
    result = sc_launch_cooperate(shape->cooperative, out);
    if (result) sc_launch_drop(out);
    return result;
}

bool sc_launch_copy(const struct sc_launch_work *from, struct sc_launch_work *out)
{
    size_t bytes = from->func->info.parameter_bytes;
    void *parameters = malloc(bytes ? bytes : 1);
    if (!parameters) return false;
    memcpy(parameters, from->parameters, bytes);
    *out = *from;
    out->parameters = parameters;
    out->loaded->refs++;
    return true;
}

void sc_launch_drop(struct sc_launch_work *launch)
{
    free(launch->parameters);
    launch->parameters = NULL;
    sc_loaded_unref(launch->loaded);
    launch->loaded = NULL;
}

/* pre: the lock is held. */
static CUresult launch(CUfunction handle, const struct sc_shape *shape, CUstream stream_handle,
                       void **pointers, void **extra)
{
    struct sc_stream *stream = sc_stream_find(stream_handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    struct sc_launch_work work;
    CUresult result = sc_launch_describe(stream->context, handle, shape, pointers, extra, &work);
    if (result) return result;
    struct sc_op *op = sc_op_new(SC_OP_KERNEL, stream->context);
    if (!op) {
        sc_launch_drop(&work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->launch = work;
    sc_memory_launched(stream->context->device);
    sc_program_time_launched();
    sc_stats_go_on();
    return sc_queue_submit(stream, op);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                           unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                           unsigned int block_z, unsigned int dynamic_shared, CUstream stream,
                                           void **parameters)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, true};
    return sc_leave(launch(function, &shape, stream, parameters, NULL));
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int dynamic_shared, CUstream stream,
                                void **parameters, void **extra)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_shape shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, false};
    return sc_leave(launch(function, &shape, stream, parameters, extra));
}

/* Whether an attribute has no effect on a single device that runs kernels one after the other. */
static bool harmless(const CUlaunchAttribute *attribute)
{
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: /* handled by the caller */
        return true;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return attribute->value.clusterDim.x <= 1 && attribute->value.clusterDim.y <= 1 &&
               attribute->value.clusterDim.z <= 1;
    default:
        return false;
    }
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                                  void **extra)
{
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    bool cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (!harmless(&config->attrs[i]))
            return sc_refuse("cuLaunchKernelEx", "one of the launch attributes");
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            cooperative = config->attrs[i].value.cooperative != 0;
    }
    if (cooperative && parameters)
        return cuLaunchCooperativeKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                                         config->blockDimX, config->blockDimY, config->blockDimZ,
                                         config->sharedMemBytes, config->hStream, parameters);
    if (cooperative) return sc_refuse("cuLaunchKernelEx", "a cooperative launch with packed parameters");
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                          config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                          parameters, extra);
}
