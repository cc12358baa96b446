/* Device memory between processes: cuIpcGetMemHandle, and opening its handles. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc_file.h"
#include "queue.h"
#include "races.h"

#define PAGE UINT64_C(4096)

/* The contents of a CUipcMemHandle. */
struct handle {
    struct sc_ipc_name name;
    uint64_t offset, bytes; /* in the file */
    uint64_t id;            /* of the allocation */
    int32_t physical;       /* physical number of its device */
    uint32_t unused;
};
_Static_assert(sizeof(struct handle) <= sizeof(CUipcMemHandle), "it has to fit");

/* Memory of another process that is open in this process. */
struct opened {
    struct opened *next;
    struct handle handle;
    unsigned refs;
    uint64_t mapped, mapped_bytes; /* whole pages */
    struct sc_allocation *allocation;
};

static struct opened *all_opened;

/* The allocation with this base address, if a handle may refer to it. */
static struct sc_allocation *exported_at(uint64_t address)
{
    struct sc_allocation *allocation = sc_space_find(address);
    bool may = allocation && allocation->begin == address && allocation->kind == SC_MEMORY_DEVICE &&
               !allocation->block && !allocation->internal && !allocation->graph_memory;
    return may ? allocation : NULL;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr address)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    /* The pages are replaced, so no kernel may be running. */
    sc_queue_let_finish();
    struct sc_allocation *allocation = exported_at(address);
    if (!allocation) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_ipc_file *own = sc_ipc_file_own();
    uint64_t offset;
    if (!own || !sc_space_share(allocation, own, &offset)) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    struct handle handle = {.name = own->name,
                            .offset = offset,
                            .bytes = allocation->bytes,
                            .id = allocation->id,
                            .physical = sc_device_of(allocation)->physical};
    memset(out, 0, sizeof *out);
    memcpy(out, &handle, sizeof handle);
    return sc_leave(CUDA_SUCCESS);
}

static struct opened *find_opened(const struct handle *handle)
{
    struct opened *opened = all_opened;
    while (opened && memcmp(&opened->handle, handle, sizeof *handle) != 0) opened = opened->next;
    return opened;
}

/* This process's number of the device; a device that it does not see counts as the current one. */
static int ordinal_of(int physical)
{
    for (int i = 0; i < sc_device_count(); i++)
        if (sc_device_at(i)->physical == physical) return i;
    return sc_current()->device->ordinal;
}

static struct opened *open_new(const struct handle *handle)
{
    struct sc_ipc_file file;
    uint64_t begin = handle->offset & ~(PAGE - 1), end;
    if (handle->offset < SC_IPC_HEAD_BYTES || !handle->bytes ||
        __builtin_add_overflow(handle->offset, handle->bytes, &end) || end > INT64_MAX - PAGE)
        return NULL;
    end = (end + PAGE - 1) & ~(PAGE - 1);
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened || !sc_ipc_file_open(&handle->name, &file)) {
        free(opened);
        return NULL;
    }
    *opened = (struct opened){.handle = *handle, .mapped_bytes = end - begin};
    if (end <= file.bytes) opened->mapped = sc_ipc_file_map(&file, begin, end - begin);
    sc_ipc_file_close(&file);
    uint64_t address = opened->mapped + (handle->offset - begin);
    if (opened->mapped) opened->allocation = sc_space_map(address, handle->bytes);
    if (opened->allocation) return opened;
    if (opened->mapped) munmap((void *)opened->mapped, opened->mapped_bytes);
    free(opened);
    return NULL;
}

static void show(struct opened *opened)
{
    struct sc_allocation *allocation = opened->allocation;
    allocation->ordinal = ordinal_of(opened->handle.physical);
    sc_space_set_access(allocation, 1u << allocation->ordinal | 1u << sc_current()->device->ordinal);
    sc_space_show(allocation, opened->handle.bytes);
    sc_races_fresh(allocation->begin, opened->handle.bytes);
    opened->refs = 1;
    opened->next = all_opened;
    all_opened = opened;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle wanted, unsigned int flags)
{
    struct handle handle;
    if (!out || flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &wanted, sizeof handle);
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    if (handle.name.process == getpid()) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    struct opened *opened = find_opened(&handle);
    if (opened) {
        opened->refs++;
        sc_space_set_access(opened->allocation,
                            opened->allocation->access | 1u << sc_current()->device->ordinal);
    } else if ((opened = open_new(&handle))) {
        show(opened);
    } else {
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *out = opened->allocation->begin;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
    return cuIpcOpenMemHandle_v2(out, handle, flags);
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address)
{
    CUresult result = sc_enter(SC_NEED_SAFE);
    if (result) return result;
    struct opened **at = &all_opened;
    while (*at && (*at)->allocation->begin != address) at = &(*at)->next;
    struct opened *opened = *at;
    if (!opened) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    if (opened->refs > 1) {
        opened->refs--;
        return sc_leave(CUDA_SUCCESS);
    }
    *at = opened->next;
    /* Like cuMemFree: submitted work may use the memory. */
    result = sc_queue_wait_context(sc_current());
    sc_space_release(opened->allocation);
    munmap((void *)opened->mapped, opened->mapped_bytes);
    free(opened);
    return sc_leave(result);
}
