/* Memory pools: blocks of device memory that are allocated and freed in stream order.
 *
 * A block is in use, or was freed by an operation of some stream. A stream may reuse it if the stream's next
 * operation cannot run before that free, which follows from the order of the calls (past.h): the same stream,
 * an event between the streams, or a wait of the host. A free block stays charged to the device until the
 * pool releases it. pre: the driver's lock is held, everywhere.
 */
#ifndef SOFTCUDA_POOL_H
#define SOFTCUDA_POOL_H

#include "driver.h"
#include "past.h"
#include "queue.h"

struct sc_block;

struct sc_pool {
    struct sc_pool *next;
    struct sc_device *device;
    uint32_t access; /* by bit: devices that may access its memory */
    bool is_default, destroyed;
    int follow_events, opportunistic, internal_dependencies;
    uint64_t release_threshold, max_bytes;
    uint64_t reserved_bytes, reserved_high, used_bytes, used_high;
    struct sc_block *first_free, *last_free; /* in the order of the frees */
    struct sc_block *blocks;                 /* all of them */
};

struct sc_pool *sc_pool_create(struct sc_device *device, uint64_t max_bytes); /* NULL: no memory */
void sc_pool_destroy(struct sc_pool *pool);
struct sc_pool *sc_pool_default(struct sc_device *device); /* NULL: no memory */
struct sc_pool *sc_pool_current(struct sc_device *device);
/* Allows or denies another device access to the pool's memory. */
void sc_pool_set_access(struct sc_pool *pool, const struct sc_device *peer, bool access);

/* Allocates memory that later operations of the stream may use. If memory is short, waits for the context's
 * work, whose frees make room. */
CUresult sc_pool_allocate(struct sc_pool *pool, struct sc_stream *stream, uint64_t bytes, CUdeviceptr *out);
/* Frees a pool's block, or any device memory, in stream order. */
CUresult sc_pool_free(struct sc_allocation *allocation, struct sc_stream *stream);
/* Ends a block at once. pre: its users are done. */
void sc_pool_drop(struct sc_allocation *allocation);
struct sc_pool *sc_pool_of(const struct sc_allocation *allocation); /* NULL: not from a pool */

/* A free operation was executed. */
void sc_pool_freed(struct sc_op *op);
void sc_block_unref(struct sc_block *block); /* accepts NULL */

/* The host knows that these frees have completed. */
void sc_pool_completed(const struct sc_past *past);
/* Releases free blocks whose frees have completed to the device until the pool holds at most `keep_bytes`. */
void sc_pool_trim(struct sc_pool *pool, uint64_t keep_bytes);
/* The host synchronised: trims every pool to its release threshold. */
void sc_pools_relax(void);

#endif
