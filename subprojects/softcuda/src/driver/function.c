/* Queries about functions, and the number of their blocks that fit on a multiprocessor. */
#include <stdlib.h>

#include "image.h"
#include "module.h"
#include "work.h"

#define WARP 32
#define THREADS_PER_PROCESSOR 2048
#define BLOCKS_PER_PROCESSOR 32
#define REGISTERS_PER_PROCESSOR 65536
#define SHARED_PER_PROCESSOR 233472
#define SHARED_RESERVED 1024

CUresult sc_function_parameter(const struct sc_func *func, size_t index, size_t *offset, size_t *bytes)
{
    if (index >= func->info.parameter_count) return CUDA_ERROR_INVALID_VALUE;
    *offset = func->info.parameters[index].offset_bytes;
    if (bytes) *bytes = func->info.parameters[index].size_bytes;
    return CUDA_SUCCESS;
}

CUresult sc_function_attribute(struct sc_func *func, CUfunction_attribute attribute, int *value)
{
    int version = (int)(sc_options()->capability * 10 + 0.5);
    CUresult result = sc_function_compiled(func, NULL);
    if (result) return result;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)func->info.max_threads;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)func->info.static_shared_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)func->info.constant_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)func->info.local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)func->info.registers;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = func->ptx_version;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = version;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = func->max_dynamic_shared;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = func->carveout;
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult sc_function_set_attribute(struct sc_func *func, CUfunction_attribute attribute, int value)
{
    CUresult result = sc_function_compiled(func, NULL);
    if (result) return result;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > SC_SHARED_OPTIN_BYTES - (int)func->info.static_shared_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        func->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        func->carveout = value;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* A vendor's driver dereferences the handle without a check. */
void sc_function_misnamed(const void *handle, const char *wanted)
{
    if (!handle || !sc_options()->strict_handles) return;
    const char *kind = sc_handle_is(handle, SC_HANDLE_KERNEL)     ? "a CUkernel"
                       : sc_handle_is(handle, SC_HANDLE_FUNCTION) ? "a CUfunction"
                                                                  : "no handle";
    sc_log("%p is asked about as a %s and is %s: the process ends (SOFTCUDA_STRICT_HANDLES)", handle, wanted,
           kind);
    abort();
}

/* For calls that accept only a CUfunction: a CUkernel is an error. pre: like sc_enter. */
static CUresult enter_function(CUfunction handle, struct sc_func **out)
{
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_FUNCTION)) {
        sc_function_misnamed(handle, "CUfunction");
        return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *out = (struct sc_func *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    return result ? result : sc_leave(sc_function_attribute(func, attribute, value));
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    return result ? result : sc_leave(sc_function_set_attribute(func, attribute, value));
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    return result ? result : sc_leave(CUDA_SUCCESS); /* a preference, which has no effect here */
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction handle)
{
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    if (result) return result;
    *name = func->info.name;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    if (result) return result;
    *module = (CUmodule)func->loaded;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes)
{
    if (!offset) return CUDA_ERROR_INVALID_VALUE;
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    return result ? result : sc_leave(sc_function_parameter(func, index, offset, bytes));
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    if (result) return result;
    *state = func->ready ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncLoad(CUfunction handle)
{
    struct sc_func *func;
    CUresult result = enter_function(handle, &func);
    return result ? result : sc_leave(sc_function_compiled(func, NULL));
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

int sc_blocks_that_fit(const struct sc_func *func, int threads, size_t dynamic_shared)
{
    int warps = (threads + WARP - 1) / WARP;
    int blocks = smaller(BLOCKS_PER_PROCESSOR, THREADS_PER_PROCESSOR / (warps * WARP));
    int registers = (int)func->info.registers ? (int)func->info.registers : 16;
    registers = (registers + 7) / 8 * 8;
    blocks = smaller(blocks, REGISTERS_PER_PROCESSOR / (registers * warps * WARP));
    size_t shared = func->info.static_shared_bytes + dynamic_shared + SHARED_RESERVED;
    return smaller(blocks, (int)(SHARED_PER_PROCESSOR / shared));
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle,
                                                                      int threads, size_t dynamic_shared,
                                                                      unsigned int flags)
{
    if (!blocks || threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_func *func;
    result = sc_function_resolve(handle, &func);
    if (result) return sc_leave(result);
    bool fits = threads <= (int)func->info.max_threads && dynamic_shared <= (size_t)func->max_dynamic_shared;
    *blocks = fits ? sc_blocks_that_fit(func, threads, dynamic_shared) : 0;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                             size_t dynamic_shared)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic_shared, 0);
}

/* Returns the largest of the block sizes that keep the most threads resident. `shared_of` may be NULL. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
                                                           CUoccupancyB2DSize shared_of,
                                                           size_t dynamic_shared, int limit,
                                                           unsigned int flags)
{
    if (!grid || !block || limit < 0) return CUDA_ERROR_INVALID_VALUE;
    int best = 0, best_blocks = 0;
    if (limit == 0 || limit > 1024) limit = 1024;
    for (int threads = limit; threads > 0;
         threads = threads % WARP ? threads - threads % WARP : threads - WARP) {
        int blocks;
        size_t shared = shared_of ? shared_of(threads) : dynamic_shared;
        CUresult result =
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, handle, threads, shared, flags);
        if (result) return result;
        if (blocks * threads > best * best_blocks) {
            best = threads;
            best_blocks = blocks;
        }
    }
    *block = best;
    *grid = best_blocks * (int)sc_options()->processors;
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle,
                                                  CUoccupancyB2DSize shared_of, size_t dynamic_shared,
                                                  int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of, dynamic_shared, limit,
                                                     0);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks,
                                                         int threads)
{
    if (!bytes || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_func *func;
    result = sc_function_resolve(handle, &func);
    if (result) return sc_leave(result);
    long room = SHARED_PER_PROCESSOR / blocks - SHARED_RESERVED - (long)func->info.static_shared_bytes;
    *bytes = room > 0 ? (size_t)room : 0;
    return sc_leave(CUDA_SUCCESS);
}
