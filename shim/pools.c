#include "pools.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "driver.h"
#include "session.h"

#define ALIGN 512u /* the driver's rounding of allocations */

struct pool {
    CUmemoryPool handle; /* NULL: destroyed, or a free entry */
    CUdevice device;
    uint64_t max_bytes; /* 0: no limit */
    uint64_t used_bytes, used_high_bytes, reserved_high_bytes, allocations;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool *pools; /* number - 1 is the index */
static uint32_t pool_count, pool_capacity;
static struct sl_map numbers; /* handles of the live pools */
static struct {
    bool default_known;   /* the device's default pool is in the table */
    CUmemoryPool current; /* NULL: ask the driver */
} of_core[SL_MOST_CORES]; /* by the core's number */

/* Precondition: the lock is held. */
static void forget_current(void)
{
    for (uint32_t c = 0; c < SL_MOST_CORES; c++) of_core[c].current = NULL;
}

static uint64_t key_of(CUmemoryPool handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static struct pool *find(CUmemoryPool handle)
{
    uint32_t number = handle ? sl_map_get(&numbers, key_of(handle)) : SL_NONE;
    return number == SL_NONE ? NULL : &pools[number - 1];
}

static bool is_free(const struct pool *pool)
{
    return !pool->handle && !pool->allocations;
}

static struct pool *new_pool(void)
{
    for (uint32_t i = 0; i < pool_count; i++)
        if (is_free(&pools[i])) return &pools[i];
    if (pool_count == pool_capacity) {
        uint32_t wanted = pool_capacity ? 2 * pool_capacity : 8;
        struct pool *larger = realloc(pools, wanted * sizeof *larger);
        if (!larger) return NULL;
        pools = larger;
        pool_capacity = wanted;
    }
    pools[pool_count] = (struct pool){0};
    return &pools[pool_count++];
}

/* False: out of host memory. Precondition: the lock is held. */
static bool add(CUmemoryPool handle, CUdevice device, uint64_t max_bytes)
{
    struct pool *before = find(handle), *pool;
    if (before) before->handle = NULL;
    pool = new_pool();
    if (!pool || !sl_map_put(&numbers, key_of(handle), (uint32_t)(pool - pools) + 1)) return false;
    *pool = (struct pool){.handle = handle, .device = device, .max_bytes = max_bytes};
    return true;
}

bool sl_pool_made(CUmemoryPool handle, CUdevice device, uint64_t max_bytes)
{
    pthread_mutex_lock(&lock);
    bool made = add(handle, device, max_bytes);
    pthread_mutex_unlock(&lock);
    return made;
}

void sl_pool_destroyed(CUmemoryPool handle)
{
    pthread_mutex_lock(&lock);
    struct pool *pool = find(handle);
    forget_current();
    if (pool) {
        sl_map_remove(&numbers, key_of(handle));
        pool->handle = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* Adds the device's default pool, which the program never creates. False: out of host memory. Precondition:
 * the lock is held. */
static bool learn_default(void)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUmemoryPool handle;
    of_core[sl_thread_core].default_known = true;
    if (driver && driver->device_get_default_pool &&
        driver->device_get_default_pool(&handle, sl_session_device()) == CUDA_SUCCESS)
        of_core[sl_thread_core].default_known = add(handle, sl_session_device(), 0);
    return of_core[sl_thread_core].default_known;
}

/* Precondition: the lock is held. */
static uint32_t number_of(CUmemoryPool handle)
{
    if (!of_core[sl_thread_core].default_known && !learn_default()) return SL_NONE;
    const struct pool *pool = find(handle);
    return pool && pool->device == sl_session_device() ? (uint32_t)(pool - pools) + 1 : 0;
}

uint32_t sl_pool_number(CUmemoryPool handle)
{
    pthread_mutex_lock(&lock);
    uint32_t number = number_of(handle);
    pthread_mutex_unlock(&lock);
    return number;
}

/* Precondition: the lock is held. A concurrent change of the current pool waits for it and then discards the
 * answer that is stored here. */
static void learn_current(void)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUmemoryPool handle;
    if (driver->device_get_pool && driver->device_get_pool(&handle, sl_session_device()) == CUDA_SUCCESS)
        of_core[sl_thread_core].current = handle;
}

uint32_t sl_pool_current(void)
{
    pthread_mutex_lock(&lock);
    if (!of_core[sl_thread_core].current) learn_current();
    uint32_t number = number_of(of_core[sl_thread_core].current);
    pthread_mutex_unlock(&lock);
    return number;
}

void sl_pool_current_changed(void)
{
    pthread_mutex_lock(&lock);
    forget_current();
    pthread_mutex_unlock(&lock);
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

bool sl_pool_take(uint32_t number, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    struct pool *pool = &pools[number - 1];
    uint64_t used = pool->used_bytes + rounded(bytes);
    bool fits = used >= bytes && (!pool->max_bytes || used <= pool->max_bytes);
    if (fits) {
        pool->used_bytes = used;
        pool->allocations++;
        if (used > pool->used_high_bytes) pool->used_high_bytes = used;
        if (used > pool->reserved_high_bytes) pool->reserved_high_bytes = used;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

void sl_pool_give(uint32_t number, uint64_t bytes)
{
    if (!number) return;
    pthread_mutex_lock(&lock);
    if (number <= pool_count && pools[number - 1].allocations) {
        pools[number - 1].used_bytes -= rounded(bytes);
        pools[number - 1].allocations--;
    }
    pthread_mutex_unlock(&lock);
}

CUmemoryPool sl_pool_handle(uint32_t number)
{
    pthread_mutex_lock(&lock);
    CUmemoryPool handle = number && number <= pool_count ? pools[number - 1].handle : NULL;
    pthread_mutex_unlock(&lock);
    return handle;
}

uint64_t sl_pool_bytes(CUmemoryPool handle, CUmemPool_attribute attribute)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    const struct pool *pool = find(handle);
    if (pool && attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        bytes = pool->used_high_bytes;
    else if (pool && attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        bytes = pool->reserved_high_bytes;
    else if (pool && (attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT ||
                      attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT))
        bytes = pool->used_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void sl_pool_reset_high(CUmemoryPool handle, CUmemPool_attribute attribute)
{
    pthread_mutex_lock(&lock);
    struct pool *pool = find(handle);
    if (pool && attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool->used_high_bytes = pool->used_bytes;
    if (pool && attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) pool->reserved_high_bytes = pool->used_bytes;
    pthread_mutex_unlock(&lock);
}

void sl_pools_gone(uint32_t core, CUdevice device)
{
    pthread_mutex_lock(&lock);
    of_core[core].default_known = false;
    of_core[core].current = NULL;
    for (uint32_t i = 0; i < pool_count; i++)
        if (pools[i].device == device) pools[i].used_bytes = pools[i].allocations = 0;
    pthread_mutex_unlock(&lock);
}

void sl_pools_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    numbers = (struct sl_map){0};
    pools = NULL;
    pool_count = pool_capacity = 0;
    for (uint32_t c = 0; c < SL_MOST_CORES; c++) of_core[c].default_known = false;
    forget_current();
}
