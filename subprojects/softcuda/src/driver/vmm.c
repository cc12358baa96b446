#include "vmm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queue.h"
#include "races.h"

#define FILE_NAME "softcuda-"

struct sc_physical {
    int file;
    struct sc_device *device;
    uint64_t bytes, charged_bytes;
    unsigned handles, mappings;
    CUmemAllocationProp properties;
};

struct mapping {
    struct mapping *next; /* of the reservation, in address order */
    uint64_t begin, bytes;
    struct sc_physical *physical;
    struct sc_allocation *allocation; /* its `bytes` is 0 while no access is granted */
};

struct reservation {
    struct reservation *next;
    uint64_t begin, bytes;
    struct mapping *mappings;
};

static struct reservation *reservations;

static struct sc_physical *adopt(int file, uint64_t bytes, const CUmemAllocationProp *properties)
{
    struct sc_physical *physical = calloc(1, sizeof *physical);
    if (!physical || !sc_handle_add(physical, SC_HANDLE_PHYSICAL)) {
        free(physical);
        return NULL;
    }
    physical->file = file;
    physical->device = sc_device_at(properties->location.id);
    physical->bytes = bytes;
    physical->handles = 1;
    physical->properties = *properties;
    return physical;
}

CUresult sc_physical_create(uint64_t bytes, const CUmemAllocationProp *properties, struct sc_physical **out)
{
    struct sc_device *device = sc_device_at(properties->location.id);
    if (!sc_device_charge(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    char name[32];
    snprintf(name, sizeof name, FILE_NAME "%d", device->physical);
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct sc_physical *physical = NULL;
    bool sized = file >= 0 && !ftruncate(file, (off_t)bytes) &&
                 !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (sized) physical = adopt(file, bytes, properties);
    if (!physical) {
        if (file >= 0) close(file);
        sc_device_discharge(device, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical->charged_bytes = bytes;
    *out = physical;
    return CUDA_SUCCESS;
}

/* The device of another process's memory, from the name of its file; 0 if this process does not see that
 * device. */
static int device_of_file(int descriptor)
{
    char link[64], name[128];
    int physical;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length > 0 ? length : 0] = 0;
    if (sscanf(name, "/memfd:" FILE_NAME "%d", &physical) != 1) return 0;
    for (int i = 0; i < sc_device_count(); i++)
        if (sc_device_at(i)->physical == physical) return i;
    return 0;
}

CUresult sc_physical_import(int descriptor, struct sc_physical **out)
{
    CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
    };
    struct stat status;
    /* A process cannot shrink a sealed file under its mappings. */
    int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(descriptor, &status)) return CUDA_ERROR_INVALID_VALUE;
    properties.location.id = device_of_file(descriptor);
    uint64_t bytes = (uint64_t)status.st_size;
    if (!bytes || bytes % SC_VMM_GRANULARITY) return CUDA_ERROR_INVALID_VALUE;
    int file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    struct sc_physical *physical = file >= 0 ? adopt(file, bytes, &properties) : NULL;
    if (!physical) {
        if (file >= 0) close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = physical;
    return CUDA_SUCCESS;
}

static void end_if_unused(struct sc_physical *physical)
{
    if (physical->handles || physical->mappings) return;
    close(physical->file);
    if (physical->charged_bytes) sc_device_discharge(physical->device, physical->charged_bytes);
    free(physical);
}

void sc_physical_release(struct sc_physical *physical)
{
    if (--physical->handles == 0) sc_handle_remove(physical);
    end_if_unused(physical);
}

const CUmemAllocationProp *sc_physical_properties(const struct sc_physical *physical)
{
    return &physical->properties;
}

int sc_physical_export(const struct sc_physical *physical)
{
    return fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
}

static struct reservation *reservation_at(uint64_t address)
{
    struct reservation *reservation = reservations;
    while (reservation && address - reservation->begin >= reservation->bytes) reservation = reservation->next;
    return reservation;
}

static struct mapping *mapping_at(uint64_t address)
{
    struct reservation *reservation = reservation_at(address);
    struct mapping *mapping = reservation ? reservation->mappings : NULL;
    while (mapping && address - mapping->begin >= mapping->bytes) mapping = mapping->next;
    return mapping;
}

struct sc_physical *sc_physical_at(uint64_t address)
{
    struct mapping *mapping = mapping_at(address);
    if (!mapping) return NULL;
    struct sc_physical *physical = mapping->physical;
    if (!physical->handles && !sc_handle_add(physical, SC_HANDLE_PHYSICAL)) return NULL;
    physical->handles++;
    return physical;
}

uint64_t sc_vmm_reserve(uint64_t bytes, uint64_t align, uint64_t hint)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    struct reservation *reservation = calloc(1, sizeof *reservation);
    if (!reservation || bytes > UINT64_MAX - align) {
        free(reservation);
        return 0;
    }
    void *base = MAP_FAILED;
    bool lent = hint && hint % align == 0 && sc_space_lend(hint, bytes);
    if (lent)
        base = mmap((void *)hint, bytes, PROT_NONE, flags | MAP_FIXED, -1, 0);
    else if (hint && hint % align == 0)
        base = mmap((void *)hint, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (lent && base == MAP_FAILED) sc_space_take_back(hint);
    uint64_t begin = (uint64_t)base;
    if (base == MAP_FAILED) {
        base = mmap(NULL, bytes + align, PROT_NONE, flags, -1, 0);
        if (base == MAP_FAILED) {
            free(reservation);
            return 0;
        }
        begin = ((uint64_t)base + align - 1) & ~(align - 1);
        uint64_t before = begin - (uint64_t)base;
        if (before) munmap(base, before);
        munmap((void *)(begin + bytes), align - before);
    }
    *reservation = (struct reservation){.next = reservations, .begin = begin, .bytes = bytes};
    reservations = reservation;
    return begin;
}

CUresult sc_vmm_free(uint64_t address, uint64_t bytes)
{
    struct reservation **at = &reservations;
    while (*at && (*at)->begin != address) at = &(*at)->next;
    struct reservation *reservation = *at;
    if (!reservation || reservation->bytes != bytes || reservation->mappings) return CUDA_ERROR_INVALID_VALUE;
    *at = reservation->next;
    if (!sc_space_take_back(address)) munmap((void *)address, bytes);
    free(reservation);
    return CUDA_SUCCESS;
}

/* Where a mapping of the range belongs in the reservation's list; NULL if it overlaps a mapping. */
static struct mapping **place_for(struct reservation *reservation, uint64_t address, uint64_t bytes)
{
    struct mapping **at = &reservation->mappings;
    while (*at && (*at)->begin + (*at)->bytes <= address) at = &(*at)->next;
    return *at && (*at)->begin < address + bytes ? NULL : at;
}

CUresult sc_vmm_map(uint64_t address, uint64_t bytes, struct sc_physical *physical)
{
    struct reservation *reservation = reservation_at(address);
    if (!reservation || bytes > reservation->bytes - (address - reservation->begin) ||
        bytes > physical->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    struct mapping **at = place_for(reservation, address, bytes);
    if (!at) return CUDA_ERROR_INVALID_VALUE;
    struct mapping *mapping = calloc(1, sizeof *mapping);
    struct sc_allocation *allocation = mapping ? sc_space_map(address, bytes) : NULL;
    void *mapped = MAP_FAILED;
    if (allocation)
        mapped =
            mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file, 0);
    if (mapped == MAP_FAILED) {
        if (allocation) sc_space_release(allocation);
        free(mapping);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *mapping = (struct mapping){
        .next = *at, .begin = address, .bytes = bytes, .physical = physical, .allocation = allocation};
    *at = mapping;
    allocation->ordinal = physical->device->ordinal;
    physical->mappings++;
    sc_races_fresh(address, bytes);
    return CUDA_SUCCESS;
}

struct wish {
    int ordinal; /* the device whose access is granted or revoked */
    bool access;
};

/* Calls visit for the mappings that make up the range; for none if the range does not consist of whole
 * mappings. */
static CUresult each(uint64_t address, uint64_t bytes, void (*visit)(struct mapping *, const struct wish *),
                     const struct wish *wish)
{
    uint64_t end = address + bytes, at = address;
    struct mapping *first = mapping_at(address), *mapping = first;
    for (; mapping && mapping->begin == at && at < end; mapping = mapping->next) at += mapping->bytes;
    if (!first || at != end) return CUDA_ERROR_INVALID_VALUE;
    for (mapping = first; mapping && mapping->begin < end;) {
        struct mapping *next = mapping->next;
        visit(mapping, wish);
        mapping = next;
    }
    return CUDA_SUCCESS;
}

static void unmap(struct mapping *mapping, const struct wish *unused)
{
    (void)unused;
    struct mapping **at = &reservation_at(mapping->begin)->mappings;
    while (*at != mapping) at = &(*at)->next;
    *at = mapping->next;
    sc_space_release(mapping->allocation);
    mmap((void *)mapping->begin, mapping->bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    mapping->physical->mappings--;
    end_if_unused(mapping->physical);
    free(mapping);
}

CUresult sc_vmm_unmap(uint64_t address, uint64_t bytes)
{
    /* The pages are unmapped, so no kernel may be running. */
    sc_queue_let_finish();
    return each(address, bytes, unmap, NULL);
}

static void set_access(struct mapping *mapping, const struct wish *wish)
{
    struct sc_allocation *allocation = mapping->allocation;
    uint32_t bit = 1u << wish->ordinal;
    sc_space_set_access(allocation, wish->access ? allocation->access | bit : allocation->access & ~bit);
    sc_space_show(allocation, allocation->access ? mapping->bytes : 0);
}

CUresult sc_vmm_set_access(uint64_t address, uint64_t bytes, int ordinal, bool access)
{
    return each(address, bytes, set_access, &(struct wish){ordinal, access});
}

CUresult sc_vmm_get_access(uint64_t address, int ordinal, bool *access)
{
    struct mapping *mapping = mapping_at(address);
    if (!mapping) return CUDA_ERROR_INVALID_VALUE;
    *access = mapping->allocation->access >> ordinal & 1;
    return CUDA_SUCCESS;
}
