/* The address space that host and device share.
 *
 * One large window of addresses is reserved at the start and divided into regions, one for each kind of
 * memory. A device address is a host address, so kernels load and store directly. Kernels can access memory
 * outside the window only if it was registered.
 *
 * Invariants: live allocations never overlap; `begin` is aligned as requested; the reserved addresses are
 * [begin, begin + span) with span >= bytes. Thread safety: the functions take a lock of their own. An
 * allocation that was found is valid until it is released; the caller must order the two.
 */
#ifndef SOFTCUDA_SPACE_H
#define SOFTCUDA_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

enum sc_memory_kind {
    SC_MEMORY_DEVICE,
    SC_MEMORY_MANAGED,
    SC_MEMORY_PINNED,
    SC_MEMORY_REGISTERED, /* the program's own memory, outside the window */
    SC_MEMORY_MAPPED,     /* device memory at addresses that the program chose, outside the window */
    SC_MEMORY_KINDS,
};

struct sc_block;
struct sc_ipc_file;

struct sc_allocation {
    uint64_t begin, bytes, span;
    enum sc_memory_kind kind;
    uint64_t id;                /* never reused */
    int ordinal;                /* of its device or, for host memory, of the device of the context that
                                   allocated it */
    uint32_t access;            /* by bit: devices that may access it (device memory) */
    void *owner;                /* the context, opaque here */
    unsigned flags;             /* as the caller of the Driver API passed them */
    uint64_t charged_bytes;     /* device memory charged for it */
    bool internal;              /* belongs to a module: cuMemFree refuses it */
    bool freeing;               /* cuMemFreeAsync was called */
    bool sync_memops;           /* synchronous copies and memsets always wait */
    struct sc_block *block;     /* of a memory pool, or NULL */
    struct sc_ipc_file *shared; /* the process's file that holds its pages, or NULL */
    bool dormant;               /* memory of a graph that is not allocated at this time: kernels do not see
                                   it */
    void *graph_memory;         /* memory of a graph, opaque here */
};

/* Reserves the window. false: the system refuses. Idempotent. */
bool sc_space_open(void);

/* The addresses that allocations of a kind get, [*begin, *end). pre: the window is reserved; kind is before
 * SC_MEMORY_REGISTERED. */
void sc_space_bounds(enum sc_memory_kind kind, uint64_t *begin, uint64_t *end);

/* Allocates `bytes` > 0 bytes aligned to `align`, a power of two. NULL: no addresses or no memory left. Fresh
 * pages occupy no host memory until they are touched. pre: kind is before SC_MEMORY_REGISTERED. */
struct sc_allocation *sc_space_allocate(enum sc_memory_kind kind, uint64_t bytes, uint64_t align);

/* Makes the program's memory [address, address + bytes) visible to kernels. NULL if it overlaps a live
 * allocation. */
struct sc_allocation *sc_space_register(uint64_t address, uint64_t bytes);

/* Sets apart, for mappings, part of the addresses that allocations get, if nothing lies there: the driver
 * reserves addresses again that it had for other memory. False: not possible. The caller maps what it likes
 * there until sc_space_take_back(address), which is false for other addresses. */
bool sc_space_lend(uint64_t address, uint64_t bytes);
bool sc_space_take_back(uint64_t address);

/* As sc_space_register, for device memory that will be mapped there. Kernels do not see it until
 * sc_space_show. */
struct sc_allocation *sc_space_map(uint64_t address, uint64_t bytes);

/* Moves the allocation's pages into the file `own`, at *offset, so that other processes can open them until
 * it is released. Other allocations on its first and last page are shared as well. false: the system refuses.
 * pre: device memory that no thread uses during the call. */
bool sc_space_share(struct sc_allocation *allocation, struct sc_ipc_file *own, uint64_t *offset);

/* Ends an allocation and returns its whole pages to the system. */
void sc_space_release(struct sc_allocation *allocation);

/* Changes `bytes`, up to the span: lookups then find this much of the allocation; with 0, nothing. */
void sc_space_show(struct sc_allocation *allocation, uint64_t bytes);

/* The live allocation that contains `address`, by its requested bytes, or NULL. */
struct sc_allocation *sc_space_find(uint64_t address);

/* The same for a range: the allocation that contains [address, address + bytes), or the first of several
 * adjacent mappings that contain it together. Otherwise NULL. */
struct sc_allocation *sc_space_find_range(uint64_t address, uint64_t bytes);

/* `access`, by bit: the devices that may access it. */
void sc_space_set_access(struct sc_allocation *allocation, uint32_t access);

void sc_space_set_dormant(struct sc_allocation *allocation, bool dormant);

/* The memory that a device may access: its own, memory whose access was granted to it, and memory of
 * `peers`. */
struct sc_reach {
    uint32_t own, peers; /* by bit */
};

/* For the engine's sc_address_space. `context` is a struct sc_reach, or NULL for access to everything. */
bool sc_space_lookup(void *context, uint64_t address, struct sc_range *out);

/* Calls visit for every live allocation, in address order, under the space's lock. */
void sc_space_each(void (*visit)(void *context, struct sc_allocation *allocation), void *context);

#endif
