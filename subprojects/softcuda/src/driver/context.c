/* Contexts: each device's primary context, other contexts, and each thread's stack of current ones. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "driver.h"
#include "module.h"
#include "pool.h"
#include "queue.h"

static struct {
    struct sc_context *all;
    unsigned long long next_id;
} contexts = {.next_id = 1};

#define CONTEXT_FLAGS (CU_CTX_FLAGS_MASK | CU_CTX_SCHED_MASK)

struct sc_context *sc_contexts(void)
{
    return contexts.all;
}

struct sc_context *sc_current(void)
{
    struct sc_thread *thread = sc_self();
    if (!thread || !thread->depth) return NULL;
    struct sc_context *context = thread->stack[thread->depth - 1];
    return sc_handle_is(context, SC_HANDLE_CONTEXT) ? context : NULL;
}

bool sc_context_push(struct sc_context *context)
{
    struct sc_thread *thread = sc_self();
    if (thread->depth == thread->capacity) {
        size_t capacity = thread->capacity ? 2 * thread->capacity : 4;
        struct sc_context **stack = realloc(thread->stack, capacity * sizeof *stack);
        if (!stack) return false;
        thread->stack = stack;
        thread->capacity = capacity;
    }
    thread->stack[thread->depth++] = context;
    return true;
}

void sc_context_unref(struct sc_context *context)
{
    if (--context->refs) return;
    free(context->left_behind);
    sc_past_clear(&context->left_past);
    sc_clock_unref(context->reached);
    free(context);
}

static void set_default_limits(struct sc_context *context)
{
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

static void unlist(struct sc_context *context)
{
    struct sc_context **at = &contexts.all;
    while (*at && *at != context) at = &(*at)->next;
    if (*at) *at = context->next;
    sc_handle_remove(context);
}

static CUresult create(struct sc_device *device, unsigned flags, unsigned api_version,
                       struct sc_context **out)
{
    struct sc_context *context = calloc(1, sizeof *context);
    if (!context) return CUDA_ERROR_OUT_OF_MEMORY;
    context->refs = 1;
    context->device = device;
    context->flags = flags;
    context->api_version = api_version;
    context->id = contexts.next_id++;
    set_default_limits(context);
    context->legacy = sc_stream_create(context, CU_STREAM_DEFAULT, 0);
    uint64_t bytes = sc_options()->context_bytes;
    if (context->legacy && bytes) context->state = sc_device_allocate(context, bytes, 512);
    if (context->state) context->state->internal = true;
    if (!context->legacy || (bytes && !context->state) || !sc_handle_add(context, SC_HANDLE_CONTEXT)) {
        sc_context_teardown(context);
        sc_context_unref(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->next = contexts.all;
    contexts.all = context;
    device->used = true;
    *out = context;
    return CUDA_SUCCESS;
}

static void release_own(struct sc_allocation **allocation)
{
    if (!*allocation) return;
    sc_memory_log_free(*allocation);
    sc_memory_release(*allocation);
    *allocation = NULL;
}

void sc_context_teardown(struct sc_context *context)
{
    sc_loaded_unload_all(context);
    while (context->streams) sc_stream_destroy(context->streams);
    context->legacy = NULL;
    for (size_t i = 0; i < context->left_count; i++) sc_op_unref(context->left_behind[i]);
    context->left_count = 0;
    sc_memory_release_all(context);
    release_own(&context->state);
    release_own(&context->heap);
}

/* Waits for the context's work, whether or not it faulted, and destroys the context. */
static void destroy(struct sc_context *context)
{
    sc_queue_wait_context(context);
    if (!sc_handle_is(context, SC_HANDLE_CONTEXT)) return; /* another thread has destroyed it */
    if (context->device->primary == context) context->device->primary = NULL;
    unlist(context);
    sc_context_teardown(context);
    sc_context_unref(context);
}

static bool valid_flags(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    bool one = !schedule || schedule == CU_CTX_SCHED_SPIN || schedule == CU_CTX_SCHED_YIELD ||
               schedule == CU_CTX_SCHED_BLOCKING_SYNC;
    return !(flags & ~CONTEXT_FLAGS) && one;
}

/* On success the lock is held. */
static CUresult enter_device(CUdevice ordinal, CUresult (*enter)(enum sc_need need), struct sc_device **out)
{
    CUresult result = enter(SC_NEED_INIT);
    if (result) return result;
    *out = sc_device_at(ordinal);
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_DEVICE);
}

static CUresult create_current(CUcontext *out, unsigned flags, CUdevice device, unsigned api_version)
{
    if (!out || !valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    struct sc_device *on;
    CUresult result = enter_device(device, sc_enter, &on);
    if (result) return result;
    struct sc_context *context;
    result = create(on, flags, api_version, &context);
    if (!result && !sc_context_push(context)) {
        destroy(context);
        result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!result) *out = (CUcontext)context;
    return sc_leave(result);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
    return create_current(out, flags, device, 3020);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count, unsigned int flags,
                                CUdevice device)
{
    if (affinity || count) return sc_refuse("cuCtxCreate_v3", "an execution affinity");
    return create_current(out, flags, device, 3030);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *parameters, unsigned int flags,
                                CUdevice device)
{
    if (parameters && (parameters->execAffinityParams || parameters->cigParams))
        return sc_refuse("cuCtxCreate_v4", "an execution affinity or a graphics context");
    return create_current(out, flags, device, 4010);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext handle)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_context *context = (struct sc_context *)handle;
    if (!sc_handle_is(context, SC_HANDLE_CONTEXT) || context->primary)
        return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    struct sc_thread *thread = sc_self();
    destroy(context);
    if (thread->depth && thread->stack[thread->depth - 1] == context) thread->depth--;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext handle)
{
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    if (!sc_handle_is(handle, SC_HANDLE_CONTEXT)) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    return sc_leave(sc_context_push((struct sc_context *)handle) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *out)
{
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    struct sc_thread *thread = sc_self();
    if (!thread->depth) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    thread->depth--;
    if (out) *out = (CUcontext)thread->stack[thread->depth];
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext handle)
{
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    struct sc_thread *thread = sc_self();
    if (!handle) {
        if (thread->depth) thread->depth--;
        return sc_leave(CUDA_SUCCESS);
    }
    if (!sc_handle_is(handle, SC_HANDLE_CONTEXT)) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (thread->depth)
        thread->stack[thread->depth - 1] = (struct sc_context *)handle;
    else if (!sc_context_push((struct sc_context *)handle))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    return sc_leave(result);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    struct sc_thread *thread = sc_self();
    *out = thread->depth ? (CUcontext)thread->stack[thread->depth - 1] : NULL;
    return sc_leave(CUDA_SUCCESS);
}

/* The context of a function with an explicit handle; NULL means the current one. */
static CUresult pick(CUcontext handle, struct sc_context **out)
{
    struct sc_context *context = handle ? (struct sc_context *)handle : sc_current();
    if (!context) return sc_self()->depth ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    if (!sc_handle_is(context, SC_HANDLE_CONTEXT)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *out, CUcontext handle)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    struct sc_context *context;
    result = pick(handle, &context);
    if (!result) *out = context->device->ordinal;
    return sc_leave(result);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *out)
{
    return cuCtxGetDevice_v2(out, NULL);
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext handle)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_context *context;
    result = pick(handle, &context);
    if (!result) result = sc_capture_wait_context(context);
    if (!result) result = sc_queue_wait_context(context);
    if (!result) sc_pools_relax();
    return sc_leave(result);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    struct sc_context *context;
    result = pick(handle, &context);
    if (!result) *version = context->api_version;
    return sc_leave(result);
}

CUresult CUDAAPI cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_INIT);
    if (result) return result;
    struct sc_context *context;
    result = pick(handle, &context);
    if (!result) *id = context->id;
    return sc_leave(result);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    *flags = sc_current()->flags;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    if (!valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    sc_current()->flags = flags;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    if ((unsigned)limit >= SC_LIMITS || !sc_current()->limits[limit])
        return sc_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && sc_current()->heap) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    sc_current()->limits[limit] = value ? value : 1;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    if ((unsigned)limit >= SC_LIMITS || !sc_current()->limits[limit])
        return sc_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = sc_current()->limits[limit];
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *config)
{
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    *config = sc_current()->cache_config;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    sc_current()->cache_config = config;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    CUresult result = sc_enter_query(SC_NEED_CONTEXT);
    if (result) return result;
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice ordinal)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    struct sc_device *device;
    CUresult result = enter_device(ordinal, sc_enter, &device);
    if (result) return result;
    if (!device->primary) {
        result = create(device, device->primary_flags, 3020, &device->primary);
        if (result) return sc_leave(result);
        device->primary->primary = true;
    }
    device->primary->retains++;
    *out = (CUcontext)device->primary;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
    struct sc_device *device;
    CUresult result = enter_device(ordinal, sc_enter, &device);
    if (result) return result;
    if (!device->primary) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--device->primary->retains == 0) destroy(device->primary);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
    struct sc_device *device;
    CUresult result = enter_device(ordinal, sc_enter, &device);
    if (result) return result;
    if (device->primary) destroy(device->primary);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
    if (!valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    struct sc_device *device;
    CUresult result = enter_device(ordinal, sc_enter, &device);
    if (result) return result;
    device->primary_flags = flags;
    if (device->primary) device->primary->flags = flags;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *flags, int *active)
{
    struct sc_device *device;
    CUresult result = enter_device(ordinal, sc_enter_query, &device);
    if (result) return result;
    if (flags) *flags = device->primary_flags;
    if (active) *active = device->primary != NULL;
    return sc_leave(CUDA_SUCCESS);
}
