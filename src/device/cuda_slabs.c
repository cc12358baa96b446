#include "device/cuda_call.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

/* --- host memory */

#define NODES_MOST 1024 /* the most that Linux supports */
#define WORD_BITS (sizeof(unsigned long) * CHAR_BIT)
#define PREFERRED 1 /* MPOL_PREFERRED of linux/mempolicy.h, which may not be installed */

int sl_host_node_nearest(int driver_says, int kernel_says, bool several)
{
    if (driver_says > 0 || (driver_says == 0 && several)) return driver_says;
    return driver_says < 0 && kernel_says >= 0 && several ? kernel_says : -1;
}

/* Calls the kernel directly, as the C library has no wrapper. mbind takes one more than the number of
 * bits. */
bool sl_host_node_prefer(uint64_t address, uint64_t bytes, int node)
{
    unsigned long mask[NODES_MOST / WORD_BITS] = {0};
    if (node < 0 || node >= NODES_MOST) return false;
    mask[(unsigned)node / WORD_BITS] = 1ul << (unsigned)node % WORD_BITS;
    return syscall(SYS_mbind, address, bytes, PREFERRED, mask, NODES_MOST + 1, 0) == 0;
}

static uint64_t whole_gib(uint64_t bytes)
{
    return (bytes + SL_GIB - 1) & ~(SL_GIB - 1);
}

/* The device keeps using the physical pages, so they must stay the parent's: after fork, a write in the
 * parent would give it copies. */
enum sl_status sl_reserve(uint64_t bytes, uint64_t *address)
{
    uint64_t length = whole_gib(bytes) + SL_GIB;
    char *given = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (given == MAP_FAILED) return SL_ERR_NO_MEMORY;
    uint64_t begin = whole_gib((uint64_t)given), end = begin + whole_gib(bytes);
    if (begin > (uint64_t)given) munmap(given, begin - (uint64_t)given);
    if (end < (uint64_t)given + length) munmap((char *)end, (uint64_t)given + length - end);
    if (mprotect((char *)begin, bytes, PROT_READ | PROT_WRITE) ||
        madvise((char *)begin, bytes, MADV_DONTFORK)) {
        munmap((char *)begin, whole_gib(bytes));
        return SL_ERR_NO_MEMORY;
    }
    madvise((char *)begin, bytes, MADV_HUGEPAGE); /* for speed */
    *address = begin;
    return SL_OK;
}

void sl_unreserve(uint64_t address, uint64_t bytes)
{
    munmap((char *)address, whole_gib(bytes));
}

/* --- slabs */

/* A slab starts at a multiple of 1 GiB in a reservation that is 1 GiB longer. The driver's own address is
 * kept to free it. Unpopulated managed memory costs addresses only. */
struct sl_cuda_slab {
    uint64_t address, bytes;
    CUdeviceptr given;
    struct sl_cuda_slab *next;
};

/* The backends of the process, one for each device; each may touch the slabs of the others. The lock guards
 * the list and all slabs. */
static struct {
    pthread_mutex_t lock;
    struct sl_cuda *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

CUmemLocation sl_cuda_host(const struct sl_cuda *cuda)
{
    int node = atomic_load_explicit(&cuda->host_node, memory_order_relaxed);
    if (node < 0) return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = node};
}

bool sl_cuda_leaves_node(struct sl_cuda *cuda, CUmemLocation *to)
{
    if (to->type != CU_MEM_LOCATION_TYPE_HOST_NUMA) return false;
    if (atomic_exchange(&cuda->host_node, -1) >= 0)
        sl_log(SL_LOG_INFO, "NUMA node %d takes no more: host memory is wherever the driver puts it", to->id);
    *to = sl_cuda_host(cuda);
    return true;
}

CUmemLocation sl_cuda_device(const struct sl_cuda *cuda)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = cuda->device};
}

static CUresult advise(const struct sl_cuda *cuda, CUdeviceptr slab, uint64_t bytes, CUmem_advise advice,
                       CUmemLocation location)
{
    return SL_UNCANCELLED(SL_PERSIST(cuda->driver->mem_advise(slab, bytes, advice, location)));
}

/* Prefers host memory and maps it for the device: nothing becomes resident unless it is fetched. */
static enum sl_status keep_from_moving(struct sl_cuda *cuda, CUdeviceptr slab, uint64_t bytes)
{
    CUmemLocation host = sl_cuda_host(cuda);
    CUresult result = advise(cuda, slab, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
    if (result != CUDA_SUCCESS && sl_cuda_leaves_node(cuda, &host))
        result = advise(cuda, slab, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
    enum sl_status status = sl_cuda_judge(cuda->driver, result, "cuMemAdvise (preferred location)");
    if (status) return status;
    result = advise(cuda, slab, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, sl_cuda_device(cuda));
    return sl_cuda_judge(cuda->driver, result, "cuMemAdvise (accessed by)");
}

/* Maps the slab for another device. Without this, memory that the device touches would move home to the
 * host. */
static void let_in(const struct sl_cuda *guest, uint64_t slab, uint64_t bytes)
{
    if (guest->moves) advise(guest, slab, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, sl_cuda_device(guest));
}

/* The driver may be about to get the addresses for something else, so a refused free is tried again. */
static CUresult give_back(const struct sl_cuda *cuda, CUdeviceptr given)
{
    return SL_BESIDE_CAPTURES(cuda->driver, SL_PERSIST(cuda->driver->mem_free(given)));
}

enum sl_status sl_cuda_slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    struct sl_cuda *cuda = self;
    const struct sl_cuda_driver *driver = cuda->driver;
    struct sl_cuda_slab *slab = malloc(sizeof *slab);
    if (!slab) return SL_ERR_NO_MEMORY;
    CUdeviceptr given;
    CUresult result = SL_IN_CONTEXT(
        cuda, sl_cuda_enter(cuda),
        SL_BESIDE_CAPTURES(
            driver, SL_PERSIST(driver->mem_alloc_managed(&given, bytes + SL_GIB, CU_MEM_ATTACH_GLOBAL))));
    enum sl_status status = sl_cuda_judge(driver, result, "cuMemAllocManaged");
    if (status) {
        free(slab);
        return status;
    }
    uint64_t first = (given + SL_GIB - 1) & ~(SL_GIB - 1);
    if (cuda->moves) status = keep_from_moving(cuda, first, bytes);
    if (status) {
        give_back(cuda, given);
        free(slab);
        return status;
    }
    pthread_mutex_lock(&all.lock);
    *slab = (struct sl_cuda_slab){.address = first, .bytes = bytes, .given = given, .next = cuda->slabs};
    cuda->slabs = slab;
    for (const struct sl_cuda *other = all.first; other; other = other->next)
        if (other != cuda) let_in(other, first, bytes);
    pthread_mutex_unlock(&all.lock);
    *address = first;
    return SL_OK;
}

void sl_cuda_slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    struct sl_cuda *cuda = self;
    struct sl_cuda_slab *found = NULL;
    (void)bytes;
    pthread_mutex_lock(&all.lock);
    for (struct sl_cuda_slab **at = &cuda->slabs; *at && !found; at = &(*at)->next) {
        if ((*at)->address != address) continue;
        found = *at;
        *at = found->next;
        break;
    }
    pthread_mutex_unlock(&all.lock);
    if (found) sl_cuda_judge(cuda->driver, give_back(cuda, found->given), "cuMemFree");
    free(found);
}

/* Does not use cuMemHostAlloc: each GiB of addresses must be ours as a whole or not at all. */
enum sl_status sl_cuda_pinned_new(void *self, uint64_t bytes, uint64_t *address)
{
    const struct sl_cuda *cuda = self;
    const struct sl_cuda_driver *driver = cuda->driver;
    unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    uint64_t begin;
    CUdeviceptr seen;
    if (!driver->mem_host_register || !driver->mem_host_unregister || !driver->mem_host_get_device_pointer)
        return SL_ERR_UNSUPPORTED;
    enum sl_status status = sl_reserve(bytes, &begin);
    if (status) return status;
    sl_host_node_prefer(begin, bytes, atomic_load_explicit(&cuda->host_node, memory_order_relaxed));
    CUresult result =
        SL_IN_CONTEXT(cuda, sl_cuda_enter(cuda),
                      SL_BESIDE_CAPTURES(driver, driver->mem_host_register((void *)begin, bytes, flags)));
    status = sl_cuda_judge(cuda->driver, result, "cuMemHostRegister");
    if (status) {
        sl_unreserve(begin, bytes);
        return status;
    }
    status = SL_CUDA_CHECK(cuda, driver->mem_host_get_device_pointer(&seen, (void *)begin, 0),
                           "cuMemHostGetDevicePointer");
    if (status == SL_OK && seen != begin) status = SL_ERR_UNSUPPORTED;
    if (status) {
        SL_BESIDE_CAPTURES(driver, driver->mem_host_unregister((void *)begin));
        sl_unreserve(begin, bytes);
        return status;
    }
    *address = begin;
    return SL_OK;
}

void sl_cuda_pinned_delete(void *self, uint64_t address, uint64_t bytes)
{
    const struct sl_cuda *cuda = self;
    CUresult result = SL_BESIDE_CAPTURES(cuda->driver, cuda->driver->mem_host_unregister((void *)address));
    sl_cuda_judge(cuda->driver, result, "cuMemHostUnregister");
    sl_unreserve(address, bytes);
}

void sl_cuda_part(void *self)
{
    const struct sl_cuda *cuda = self;
    pthread_mutex_lock(&all.lock);
    for (struct sl_cuda **at = &all.first; *at; at = &(*at)->next)
        if (*at == cuda) {
            *at = cuda->next;
            break;
        }
    pthread_mutex_unlock(&all.lock);
}

void sl_cuda_join(struct sl_cuda *cuda)
{
    pthread_mutex_lock(&all.lock);
    if (all.first) sl_cuda_are_several();
    for (const struct sl_cuda *other = all.first; other; other = other->next)
        for (const struct sl_cuda_slab *slab = other->slabs; slab; slab = slab->next)
            let_in(cuda, slab->address, slab->bytes);
    cuda->next = all.first;
    all.first = cuda;
    pthread_mutex_unlock(&all.lock);
}
