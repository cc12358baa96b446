#include "device/backend_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/map.h"

/* --- handles */

/* Owners have numbers because the values of a map are small: `numbers` maps an owner's handle to its number,
 * and a handle's value holds its owner's number and its kind. Number 0 means no owner. */
static struct {
    pthread_mutex_t lock;
    struct sl_map handles; /* to owner number << 1 | whether it is a CUfunction */
    struct sl_map numbers; /* of owners */
    uint64_t *owners;      /* by number */
    uint32_t owner_count, owner_capacity;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .owner_count = 1};

#define OWNERS_MOST (UINT32_MAX >> 2)

/* If out of memory, returns 0: handles without an owner are forgotten earlier, and fewer of their launches
 * are understood. */
static uint32_t number_of(uint64_t owner)
{
    uint32_t number = owner ? sl_map_get(&table.numbers, owner) : 0;
    if (number != SL_NONE) return number;
    if (table.owner_count == OWNERS_MOST ||
        !sl_grow(&table.owners, &table.owner_capacity, table.owner_count, sizeof *table.owners) ||
        !sl_map_put(&table.numbers, owner, table.owner_count))
        return 0;
    table.owners[table.owner_count] = owner;
    return table.owner_count++;
}

/* Precondition: the lock is held. */
static void put(uint64_t handle, enum sl_handle_kind kind, uint64_t owner)
{
    uint32_t value = number_of(owner) << 1 | (kind == SL_HANDLE_FUNCTION);
    if (!sl_map_put(&table.handles, handle, value)) sl_map_remove(&table.handles, handle);
}

void sl_handle_note(uint64_t handle, enum sl_handle_kind kind, uint64_t owner)
{
    if (!handle) return;
    pthread_mutex_lock(&table.lock);
    put(handle, kind, owner);
    pthread_mutex_unlock(&table.lock);
}

void sl_handle_note_unless_known(uint64_t handle, enum sl_handle_kind kind)
{
    if (!handle) return;
    pthread_mutex_lock(&table.lock);
    if (sl_map_get(&table.handles, handle) == SL_NONE) put(handle, kind, 0);
    pthread_mutex_unlock(&table.lock);
}

enum sl_handle_kind sl_handle_kind(uint64_t handle)
{
    pthread_mutex_lock(&table.lock);
    uint32_t value = handle ? sl_map_get(&table.handles, handle) : SL_NONE;
    pthread_mutex_unlock(&table.lock);
    if (value == SL_NONE) return SL_HANDLE_UNKNOWN;
    return value & 1 ? SL_HANDLE_FUNCTION : SL_HANDLE_KERNEL;
}

uint64_t sl_handle_owner(uint64_t handle)
{
    uint64_t owner = 0;
    pthread_mutex_lock(&table.lock);
    uint32_t value = handle ? sl_map_get(&table.handles, handle) : SL_NONE;
    if (value != SL_NONE && value >> 1) owner = table.owners[value >> 1];
    pthread_mutex_unlock(&table.lock);
    return owner;
}

void sl_handles_forget(uint64_t owner)
{
    pthread_mutex_lock(&table.lock);
    uint32_t number = owner ? sl_map_get(&table.numbers, owner) : SL_NONE;
    struct sl_map *handles = &table.handles;
    for (size_t i = 0; i < handles->capacity; i++) /* A removal may move another handle to this index. */
        while (handles->keys[i] && (handles->values[i] >> 1 == number || !(handles->values[i] >> 1)))
            sl_map_remove(handles, handles->keys[i]);
    if (number != SL_NONE) sl_map_remove(&table.numbers, owner);
    pthread_mutex_unlock(&table.lock);
}

void sl_handles_after_fork(void)
{
    pthread_mutex_init(&table.lock, NULL);
    table.handles = table.numbers = (struct sl_map){0}; /* may be half changed: not freed */
    table.owners = NULL;
    table.owner_count = 1;
    table.owner_capacity = 0;
}

/* --- kernels */

static uint64_t module_of(const struct sl_cuda_driver *driver, uint64_t function, enum sl_handle_kind kind)
{
    CUfunction plain = (CUfunction)function;
    CUmodule module;
    if (kind == SL_HANDLE_KERNEL && (!driver->kernel_get_function ||
                                     driver->kernel_get_function(&plain, (CUkernel)function) != CUDA_SUCCESS))
        return 0;
    if (!driver->func_get_module || driver->func_get_module(&module, plain) != CUDA_SUCCESS) return 0;
    return (uintptr_t)module;
}

static enum sl_status ask_for_layout(const struct sl_cuda_driver *driver, uint64_t function,
                                     struct sl_kernel_layout *out)
{
    enum sl_handle_kind kind = sl_handle_kind(function);
    const char *name = NULL;
    if (kind == SL_HANDLE_UNKNOWN) {
        sl_log(SL_LOG_INFO, "a kernel is launched whose handle came from a call that is not followed");
        return SL_ERR_UNSUPPORTED;
    }
    bool library = kind == SL_HANDLE_KERNEL;
    CUresult result = library ? driver->kernel_get_name(&name, (CUkernel)function)
                              : driver->func_get_name(&name, (CUfunction)function);
    if (result != CUDA_SUCCESS || !name) return SL_ERR_UNSUPPORTED;
    snprintf(out->name, sizeof out->name, "%s", name);
    for (out->parameter_count = 0; out->parameter_count < SL_MAX_PARAMETERS; out->parameter_count++) {
        size_t offset, bytes;
        uint32_t p = out->parameter_count;
        result = library ? driver->kernel_get_param_info((CUkernel)function, p, &offset, &bytes)
                         : driver->func_get_param_info((CUfunction)function, p, &offset, &bytes);
        if (result == CUDA_ERROR_INVALID_VALUE) break; /* the driver gives no count: this is the end */
        if (result != CUDA_SUCCESS) return SL_ERR_UNSUPPORTED;
        out->offsets[p] = (uint32_t)offset;
        out->sizes[p] = (uint32_t)bytes;
    }
    out->module = module_of(driver, function, kind);
    return SL_OK;
}

enum sl_status sl_cuda_kernel_layout(const struct sl_cuda_driver *driver, uint64_t function,
                                     struct sl_kernel_layout *out)
{
    if (!driver->func_get_param_info || !driver->kernel_get_param_info || !driver->func_get_name ||
        !driver->kernel_get_name) {
        sl_warn_once("the driver is older than CUDA 12.4 and does not say kernels' parameters: what kernels "
                     "use stays in host memory, which is slow");
        return SL_ERR_UNSUPPORTED;
    }
    enum sl_status status = ask_for_layout(driver, function, out);
    if (status)
        sl_warn_once("the driver does not say a kernel's parameters (%s); what it uses stays in host memory",
                     sl_status_text(status));
    return status;
}
