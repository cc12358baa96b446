/* The address space that host and device share.
 *
 * One large window of addresses is reserved at the start and carved into regions, one for each kind of
 * memory. A device address is a host address, so kernels load and store directly. Memory outside the window
 * exists for kernels only if it was registered.
 *
 * Invariants: live allocations never overlap; `begin` is aligned as asked; reserved addresses are
 * [begin, begin + span) with span >= bytes.
 * Thread safety: one lock of its own; an allocation found stays valid until it is released, which the caller
 * must order.
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
    SC_MEMORY_MAPPED,     /* device memory at addresses of the program's choice, outside the window */
    SC_MEMORY_KINDS,
};

struct sc_block;
struct sc_ipc_file;

struct sc_allocation {
    uint64_t begin, bytes, span;
    enum sc_memory_kind kind;
    uint64_t id;                /* never reused */
    int ordinal;                /* of its device, or of the context's that took it */
    uint32_t access;            /* of device memory, by bit: devices that may access it */
    void *owner;                /* the context, opaque here */
    unsigned flags;             /* as the caller of the Driver API gave them */
    uint64_t charged_bytes;     /* of device memory */
    bool internal;              /* belongs to a module: cuMemFree refuses it */
    bool freeing;               /* cuMemFreeAsync was called */
    bool sync_memops;           /* synchronous copies and sets always wait */
    struct sc_block *block;     /* of a memory pool, or NULL */
    struct sc_ipc_file *shared; /* its pages are in this file of the process, or NULL */
    bool dormant;               /* a graph's, and not there now: kernels do not see it */
    void *graph_memory;         /* a graph's, opaque here */
};

/* Reserves the window; false when the system refuses. Idempotent. */
bool sc_space_open(void);

/* Takes `bytes` > 0 bytes aligned to `align`, a power of two. NULL when addresses or memory ran out.
 * pre: kind is not SC_MEMORY_REGISTERED or later. Fresh memory costs nothing until it is touched. */
struct sc_allocation *sc_space_allocate(enum sc_memory_kind kind, uint64_t bytes, uint64_t align);

/* Makes [address, address + bytes) of the program visible. NULL if it overlaps a live allocation. */
struct sc_allocation *sc_space_register(uint64_t address, uint64_t bytes);

/* The same for device memory that will be mapped there. Kernels do not see it before sc_space_show. */
struct sc_allocation *sc_space_map(uint64_t address, uint64_t bytes);

/* Has other processes open its pages by `own`, from *offset in that file on, until it is released. What else
 * lies on its first and its last page is shared as well. pre: device memory that nobody uses at this moment.
 * false: the system refuses. */
bool sc_space_share(struct sc_allocation *allocation, struct sc_ipc_file *own, uint64_t *offset);

/* Ends an allocation and gives its whole pages back to the system. */
void sc_space_release(struct sc_allocation *allocation);

/* Changes `bytes`, up to the span: from now on lookups find so much of the allocation, with 0 nothing. */
void sc_space_show(struct sc_allocation *allocation, uint64_t bytes);

/* The live allocation whose requested bytes hold `address`, or NULL. */
struct sc_allocation *sc_space_find(uint64_t address);

/* The same test for a range: NULL unless [address, address + bytes) lies in one allocation, or in mappings
 * that lie next to each other, of which the first is returned. */
struct sc_allocation *sc_space_find_range(uint64_t address, uint64_t bytes);

/* By bit: the devices that may access it. */
void sc_space_set_access(struct sc_allocation *allocation, uint32_t access);

void sc_space_set_dormant(struct sc_allocation *allocation, bool dormant);

/* What a device may access: its own memory, what others let it access, and memory of `peers`. */
struct sc_reach {
    uint32_t own, peers; /* by bit */
};

/* For the engine's sc_address_space; `context` is a struct sc_reach, or NULL for all there is. */
bool sc_space_lookup(void *context, uint64_t address, struct sc_range *out);

/* Calls visit for every live allocation, in address order, under the space's lock. */
void sc_space_each(void (*visit)(void *context, struct sc_allocation *allocation), void *context);

#endif
