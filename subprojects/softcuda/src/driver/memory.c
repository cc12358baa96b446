/* Allocation and free of device, managed and pinned memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "capture.h"
#include "driver.h"
#include "graph.h"
#include "neighbours.h"
#include "pool.h"
#include "queue.h"
#include "races.h"

#define DEVICE_ALIGN 512
#define HOST_ALIGN 4096
#define PITCH_ALIGN 512

static uint64_t round_up(uint64_t bytes, uint64_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

uint64_t sc_memory_free_bytes(const struct sc_device *device)
{
    uint64_t total = sc_options()->memory_bytes, others = sc_neighbours_bytes(device->physical);
    uint64_t left = device->charged_bytes < total ? total - device->charged_bytes : 0;
    return others < left ? left - others : 0;
}

static void give_back(struct sc_device *device, uint64_t bytes)
{
    device->charged_bytes -= bytes;
    sc_neighbours_say(device->physical, device->charged_bytes);
}

/* Publishes the new amount before it checks the others': if two processes take the last bytes at the same
 * time, they never both succeed. */
static bool take_once(struct sc_device *device, uint64_t bytes)
{
    uint64_t total = sc_options()->memory_bytes;
    if (device->charged_bytes > total || bytes > total - device->charged_bytes) return false;
    device->charged_bytes += bytes;
    sc_neighbours_say(device->physical, device->charged_bytes);
    if (sc_neighbours_bytes(device->physical) <= total - device->charged_bytes) return true;
    give_back(device, bytes);
    return false;
}

static bool take(struct sc_device *device, uint64_t bytes)
{
    if (take_once(device, bytes)) return true;
    sc_neighbours_bury();
    return take_once(device, bytes);
}

struct sc_device *sc_device_of(const struct sc_allocation *allocation)
{
    return sc_device_at(allocation->ordinal);
}

/* Logs for the timing that device memory is allocated or freed. false: no memory for the entry. */
static bool log_charge(struct sc_device *device, int64_t bytes)
{
    struct sc_op *op = sc_op_new(SC_OP_CHARGE, NULL);
    if (!op) return false;
    op->device = device;
    op->charge_bytes = bytes;
    sc_queue_host(op);
    return true;
}

static bool log_managed(enum sc_op_kind kind, uint64_t address, uint64_t bytes)
{
    struct sc_op *op = sc_op_new(kind, NULL);
    if (!op) return false;
    op->span = (struct sc_span){.address = address, .bytes = bytes};
    sc_queue_host(op);
    return true;
}

bool sc_device_charge(struct sc_device *device, uint64_t bytes)
{
    if (!take(device, bytes)) return false;
    if (log_charge(device, (int64_t)bytes)) return true;
    give_back(device, bytes);
    return false;
}

void sc_memory_launched(struct sc_device *device)
{
    static uint64_t launches;
    const struct sc_options *options = sc_options();
    if (!options->others_bytes || launches++ != options->others_after) return;
    if (!sc_device_charge(device, options->others_bytes))
        sc_log("another process finds no memory (SOFTCUDA_OTHERS)");
}

void sc_device_discharge(struct sc_device *device, uint64_t bytes)
{
    give_back(device, bytes);
    log_charge(device, -(int64_t)bytes);
}

struct sc_allocation *sc_device_allocate_on(struct sc_device *device, struct sc_context *context,
                                            uint64_t bytes, uint64_t align)
{
    uint64_t total = sc_options()->memory_bytes;
    if (bytes > total) return NULL;
    if (align < DEVICE_ALIGN) align = DEVICE_ALIGN;
    uint64_t charge = round_up(bytes, DEVICE_ALIGN);
    if (!take(device, charge)) return NULL;
    struct sc_allocation *allocation = sc_space_allocate(SC_MEMORY_DEVICE, bytes, align);
    if (!allocation || !log_charge(device, (int64_t)charge)) {
        if (allocation) sc_space_release(allocation);
        give_back(device, charge);
        return NULL;
    }
    sc_races_fresh(allocation->begin, allocation->span);
    allocation->owner = context;
    allocation->ordinal = device->ordinal;
    sc_space_set_access(allocation, 1u << device->ordinal);
    allocation->charged_bytes = charge;
    return allocation;
}

struct sc_allocation *sc_device_allocate(struct sc_context *context, uint64_t bytes, uint64_t align)
{
    return sc_device_allocate_on(context->device, context, bytes, align);
}

struct sc_allocation *sc_managed_memory(struct sc_context *context, uint64_t bytes, unsigned flags)
{
    struct sc_allocation *allocation = sc_space_allocate(SC_MEMORY_MANAGED, bytes, SC_BLOCK_BYTES);
    if (!allocation) return NULL;
    if (!log_managed(SC_OP_MANAGED_ALLOCATE, allocation->begin, bytes)) {
        sc_space_release(allocation);
        return NULL;
    }
    sc_races_fresh(allocation->begin, allocation->span);
    allocation->owner = context;
    if (context) allocation->ordinal = context->device->ordinal;
    allocation->flags = flags;
    return allocation;
}

void sc_memory_release(struct sc_allocation *allocation)
{
    if (allocation->charged_bytes) give_back(sc_device_of(allocation), allocation->charged_bytes);
    if (allocation->kind == SC_MEMORY_MANAGED) sc_trap_forget(allocation->begin, allocation->span);
    sc_space_release(allocation);
}

void sc_memory_log_free(const struct sc_allocation *allocation)
{
    /* If there is no memory for the entry, only the statistics are wrong. */
    if (allocation->charged_bytes) log_charge(sc_device_of(allocation), -(int64_t)allocation->charged_bytes);
    if (allocation->kind == SC_MEMORY_MANAGED)
        log_managed(SC_OP_MANAGED_FREE, allocation->begin, allocation->bytes);
}

static void end(struct sc_allocation *allocation)
{
    if (allocation->block) {
        sc_pool_drop(allocation);
        return;
    }
    sc_memory_log_free(allocation);
    sc_memory_release(allocation);
}

struct owned {
    struct sc_context *context;
    struct sc_allocation **list;
    size_t count, capacity;
};

static void collect(void *argument, struct sc_allocation *allocation)
{
    struct owned *owned = argument;
    if (allocation->owner != owned->context || allocation->internal) return;
    if (owned->count == owned->capacity) {
        size_t capacity = owned->capacity ? 2 * owned->capacity : 64;
        struct sc_allocation **list = realloc(owned->list, capacity * sizeof *list);
        if (!list) return;
        owned->list = list;
        owned->capacity = capacity;
    }
    owned->list[owned->count++] = allocation;
}

void sc_memory_release_all(struct sc_context *context)
{
    sc_graph_memory_teardown(context);
    struct owned owned = {.context = context};
    sc_space_each(collect, &owned);
    for (size_t i = 0; i < owned.count; i++) end(owned.list[i]);
    free(owned.list);
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    if (!out || !bytes) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_allocation *allocation = sc_device_allocate(sc_current(), bytes, DEVICE_ALIGN);
    if (allocation) *out = allocation->begin;
    return sc_leave(allocation ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                                    unsigned int element_bytes)
{
    bool element_ok = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
    if (!out || !pitch || !width || !height || !element_ok) return CUDA_ERROR_INVALID_VALUE;
    size_t row, total;
    if (width > SIZE_MAX - PITCH_ALIGN) return CUDA_ERROR_INVALID_VALUE;
    row = round_up(width, PITCH_ALIGN);
    if (__builtin_mul_overflow(row, height, &total)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = cuMemAlloc_v2(out, total);
    if (!result) *pitch = row;
    return result;
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
    if (!out || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_allocation *allocation = sc_managed_memory(sc_current(), bytes, flags);
    if (allocation) *out = allocation->begin;
    return sc_leave(allocation ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Frees the allocation that begins at `address` and is of a kind in `mask`, after all work of its context. */
static CUresult free_at(uint64_t address, unsigned mask, CUresult wrong)
{
    struct sc_allocation *allocation = sc_space_find(address);
    if (!allocation || allocation->begin != address || !(mask >> allocation->kind & 1) ||
        allocation->internal || allocation->freeing)
        return wrong;
    struct sc_context *owner = allocation->owner;
    uint64_t id = allocation->id;
    CUresult result = sc_handle_is(owner, SC_HANDLE_CONTEXT) ? sc_queue_wait_context(owner) : CUDA_SUCCESS;
    /* Work of another context may use it too. */
    struct sc_context *current = sc_current();
    if (current && current != owner) sc_queue_wait_context(current);
    allocation = sc_space_find(address);
    if (!allocation || allocation->id != id) return wrong; /* another thread has freed it */
    end(allocation);
    return result;
}

/* On success the lock is held. The vendor's driver is reported to free with any context current, or none. */
static CUresult enter_free(void)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    const struct sc_context *current = sc_current();
    result = current ? current->sticky : CUDA_SUCCESS;
    if (!result) result = sc_capture_unsafe();
    return result ? sc_leave(result) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address)
{
    if (!address) return CUDA_SUCCESS;
    CUresult result = enter_free();
    if (result) return result;
    bool of_graph;
    result = sc_graph_memory_free(address, NULL, &of_graph);
    if (of_graph) return sc_leave(result);
    unsigned mask = 1u << SC_MEMORY_DEVICE | 1u << SC_MEMORY_MANAGED;
    return sc_leave(free_at(address, mask, CUDA_ERROR_INVALID_VALUE));
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Pinned memory has all its pages from the start. An older kernel gives them at the first access. */
static void populate(uint64_t address, uint64_t bytes)
{
    uint64_t begin = address & ~(uint64_t)(HOST_ALIGN - 1);
    madvise((void *)begin, round_up(address + bytes - begin, HOST_ALIGN), MADV_POPULATE_WRITE);
}

CUresult CUDAAPI cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!out || flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    if (!bytes) {
        *out = NULL;
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sc_allocation *allocation = sc_space_allocate(SC_MEMORY_PINNED, bytes, HOST_ALIGN);
    if (!allocation) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    populate(allocation->begin, bytes);
    sc_races_fresh(allocation->begin, allocation->span);
    allocation->owner = sc_current();
    allocation->ordinal = sc_current()->device->ordinal;
    allocation->flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
    *out = (void *)allocation->begin;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocHost_v2(void **out, size_t bytes)
{
    return cuMemHostAlloc(out, bytes, 0);
}

CUresult CUDAAPI cuMemFreeHost(void *pointer)
{
    if (!pointer) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    return sc_leave(free_at((uint64_t)pointer, 1u << SC_MEMORY_PINNED, CUDA_ERROR_INVALID_VALUE));
}

CUresult CUDAAPI cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned int flags)
{
    unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY) return sc_refuse("cuMemHostRegister_v2", "IO memory");
    if (!pointer || !bytes || flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct sc_allocation *allocation = sc_space_find((uint64_t)pointer);
    if (allocation && allocation->kind != SC_MEMORY_PINNED && allocation->kind != SC_MEMORY_REGISTERED)
        return sc_leave(CUDA_ERROR_INVALID_VALUE); /* it is not host memory */
    allocation = sc_space_register((uint64_t)pointer, bytes);
    if (!allocation) return sc_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    populate(allocation->begin, bytes);
    sc_races_fresh(allocation->begin, allocation->bytes);
    allocation->owner = sc_current();
    allocation->ordinal = sc_current()->device->ordinal;
    allocation->flags = flags;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostUnregister(void *pointer)
{
    if (!pointer) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    CUresult wrong = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return sc_leave(free_at((uint64_t)pointer, 1u << SC_MEMORY_REGISTERED, wrong));
}

static struct sc_allocation *find_host(const void *pointer)
{
    struct sc_allocation *allocation = sc_space_find((uint64_t)pointer);
    bool host =
        allocation && (allocation->kind == SC_MEMORY_PINNED || allocation->kind == SC_MEMORY_REGISTERED);
    return host ? allocation : NULL;
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *pointer, unsigned int flags)
{
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    if (!find_host(pointer)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *out = (CUdeviceptr)pointer;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *flags, void *pointer)
{
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_allocation *allocation = find_host(pointer);
    if (allocation) *flags = allocation->flags;
    return sc_leave(allocation ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Either pointer may be NULL, as with the vendor's driver. */
CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    /* Managed memory can be evicted, and how much of it is resident depends on what was executed so far: it
     * is counted only if the option asks for it. */
    const struct sc_device *device = sc_current()->device;
    uint64_t there = 0;
    sc_neighbours_bury();
    if (sc_options()->managed_counts) {
        sc_queue_settle(NULL);
        there = device->timing.managed.resident_bytes;
        uint64_t others = sc_neighbours_resident(device->physical);
        there = there + others < there ? UINT64_MAX : there + others;
    }
    uint64_t left = sc_memory_free_bytes(device);
    if (free_bytes) *free_bytes = left - (there < left ? there : left);
    if (total) *total = sc_options()->memory_bytes;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    struct sc_allocation *allocation = sc_space_find(address);
    if (!allocation || allocation->kind == SC_MEMORY_REGISTERED) return sc_leave(CUDA_ERROR_NOT_FOUND);
    if (base) *base = allocation->begin;
    if (bytes) *bytes = allocation->bytes;
    return sc_leave(CUDA_SUCCESS);
}
