#include "pool.h"

#include <stdlib.h>

#include "races.h"

struct sc_block {
    struct sc_block *next; /* of the free blocks */
    struct sc_block *next_of_pool, **at_pool;
    struct sc_pool *pool;
    struct sc_allocation *allocation; /* NULL: released to the device */
    uint64_t bytes, visible_bytes;    /* charged; accessible to kernels */
    unsigned refs;                    /* held by the pool, and by frees that have no times yet */
    struct sc_op *free_op;            /* NULL: in use */
    unsigned long long free_stream;
    uint64_t free_id; /* 0: not submitted */
};

static struct sc_pool *pools;
static struct sc_past completed; /* frees that the host has waited for */

struct sc_pool *sc_pool_create(struct sc_device *device, uint64_t max_bytes)
{
    struct sc_pool *pool = calloc(1, sizeof *pool);
    if (!pool || !sc_handle_add(pool, SC_HANDLE_POOL)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    pool->access = 1u << device->ordinal;
    pool->follow_events = pool->opportunistic = pool->internal_dependencies = 1;
    pool->max_bytes = max_bytes ? max_bytes : UINT64_MAX;
    pool->next = pools;
    pools = pool;
    return pool;
}

struct sc_pool *sc_pool_default(struct sc_device *device)
{
    if (!device->default_pool) device->default_pool = sc_pool_create(device, 0);
    if (device->default_pool) device->default_pool->is_default = true;
    return device->default_pool;
}

struct sc_pool *sc_pool_current(struct sc_device *device)
{
    return device->pool ? device->pool : sc_pool_default(device);
}

void sc_pool_set_access(struct sc_pool *pool, const struct sc_device *peer, bool access)
{
    uint32_t bit = 1u << peer->ordinal;
    pool->access = access ? pool->access | bit : pool->access & ~bit;
    for (struct sc_block *block = pool->blocks; block; block = block->next_of_pool)
        sc_space_set_access(block->allocation, pool->access);
}

/* A destroyed pool lives until its last block is released. */
static void end_if_empty(struct sc_pool *pool)
{
    if (!pool->destroyed || pool->reserved_bytes) return;
    struct sc_pool **at = &pools;
    while (*at != pool) at = &(*at)->next;
    *at = pool->next;
    free(pool);
}

void sc_pool_destroy(struct sc_pool *pool)
{
    sc_handle_remove(pool);
    if (pool->device->pool == pool) pool->device->pool = NULL;
    pool->destroyed = true;
    sc_pool_trim(pool, 0);
}

void sc_block_unref(struct sc_block *block)
{
    if (!block || --block->refs) return;
    free(block);
}

static void unlist(struct sc_block *block)
{
    struct sc_pool *pool = block->pool;
    struct sc_block *previous = NULL, *at = pool->first_free;
    while (at && at != block) {
        previous = at;
        at = at->next;
    }
    if (!at) return;
    *(previous ? &previous->next : &pool->first_free) = block->next;
    if (pool->last_free == block) pool->last_free = previous;
    block->next = NULL;
}

/* Releases a block to the device and drops the pool's reference to it. May free the pool. */
static void give_back(struct sc_block *block)
{
    struct sc_pool *pool = block->pool;
    unlist(block);
    if (!block->free_op) pool->used_bytes -= block->bytes;
    pool->reserved_bytes -= block->bytes;
    sc_op_unref(block->free_op);
    block->free_op = NULL;
    sc_memory_log_free(block->allocation);
    sc_memory_release(block->allocation);
    block->allocation = NULL;
    *block->at_pool = block->next_of_pool;
    if (block->next_of_pool) block->next_of_pool->at_pool = block->at_pool;
    sc_block_unref(block);
    end_if_empty(pool);
}

void sc_pool_drop(struct sc_allocation *allocation)
{
    give_back(allocation->block);
}

struct sc_pool *sc_pool_of(const struct sc_allocation *allocation)
{
    return allocation->block ? allocation->block->pool : NULL;
}

void sc_pool_completed(const struct sc_past *past)
{
    sc_past_join(&completed, past);
}

static bool is_over(const struct sc_block *block)
{
    return block->free_op->state == SC_OP_DONE &&
           sc_past_holds(&completed, block->free_stream, block->free_id);
}

void sc_pool_trim(struct sc_pool *pool, uint64_t keep_bytes)
{
    struct sc_block *block = pool->first_free, *next;
    for (; block && pool->reserved_bytes > keep_bytes; block = next) {
        next = block->next;
        bool last = pool->reserved_bytes == block->bytes; /* then give_back may free the pool */
        if (!is_over(block)) continue;
        give_back(block);
        if (last) return;
    }
    if (pool->destroyed) end_if_empty(pool);
}

void sc_pools_relax(void)
{
    for (struct sc_pool *pool = pools, *next; pool; pool = next) {
        next = pool->next;
        sc_pool_trim(pool, pool->destroyed ? 0 : pool->release_threshold);
    }
}

/* Whether the block's free comes before the stream's next operation, or before this call, without a further
 * wait. */
static bool is_ordered(const struct sc_block *block, const struct sc_stream *stream)
{
    const struct sc_pool *pool = block->pool;
    if (block->free_stream == stream->id) return true;
    if (pool->follow_events && sc_stream_follows(stream, block->free_stream, block->free_id)) return true;
    return pool->opportunistic && is_over(block);
}

/* The smallest free block that is large enough. Without `any`, skips blocks that are much too large or need a
 * wait. */
static struct sc_block *find_free(const struct sc_pool *pool, const struct sc_stream *stream, uint64_t bytes,
                                  bool any)
{
    struct sc_block *best = NULL;
    for (struct sc_block *block = pool->first_free; block; block = block->next) {
        if (block->bytes < bytes || (best && best->bytes <= block->bytes)) continue;
        if (!any && block->bytes / 2 > bytes) continue;
        bool usable = is_ordered(block, stream) || (any && pool->internal_dependencies);
        if (usable) best = block;
    }
    return best;
}

static CUresult wait_for(struct sc_stream *stream, struct sc_op *op)
{
    struct sc_op *wait = sc_op_new(SC_OP_WAIT, stream->context);
    if (!wait || !sc_op_depends(wait, op)) {
        sc_op_unref(wait);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return sc_queue_submit(stream, wait);
}

static void count_used(struct sc_pool *pool, uint64_t bytes)
{
    pool->used_bytes += bytes;
    if (pool->used_bytes > pool->used_high) pool->used_high = pool->used_bytes;
}

static CUresult use_again(struct sc_block *block, struct sc_stream *stream, uint64_t bytes, CUdeviceptr *out)
{
    struct sc_op *free_op = block->free_op;
    bool ordered = is_ordered(block, stream);
    struct sc_allocation *allocation = block->allocation;
    unlist(block);
    block->free_op = NULL;
    count_used(block->pool, block->bytes);
    if (block->visible_bytes < bytes) block->visible_bytes = bytes;
    sc_space_show(allocation, block->visible_bytes);
    allocation->owner = stream->context;
    allocation->freeing = allocation->sync_memops = false;
    CUresult result = ordered ? CUDA_SUCCESS : wait_for(stream, free_op);
    sc_op_unref(free_op);
    if (result)
        give_back(block);
    else
        *out = allocation->begin;
    return result;
}

static void list(struct sc_block *block)
{
    struct sc_pool *pool = block->pool;
    block->next_of_pool = pool->blocks;
    block->at_pool = &pool->blocks;
    if (pool->blocks) pool->blocks->at_pool = &block->next_of_pool;
    pool->blocks = block;
}

static bool take_new(struct sc_pool *pool, struct sc_stream *stream, uint64_t bytes, CUdeviceptr *out)
{
    if (bytes > pool->max_bytes - pool->reserved_bytes) return false;
    struct sc_block *block = calloc(1, sizeof *block);
    struct sc_allocation *allocation =
        block ? sc_device_allocate_on(pool->device, stream->context, bytes, 512) : NULL;
    if (!allocation) {
        free(block);
        return false;
    }
    *block = (struct sc_block){.pool = pool,
                               .allocation = allocation,
                               .bytes = allocation->charged_bytes,
                               .visible_bytes = bytes,
                               .refs = 1};
    allocation->block = block;
    sc_space_set_access(allocation, pool->access);
    list(block);
    pool->reserved_bytes += block->bytes;
    if (pool->reserved_bytes > pool->reserved_high) pool->reserved_high = pool->reserved_bytes;
    count_used(pool, block->bytes);
    *out = allocation->begin;
    return true;
}

static void trim_all(void)
{
    for (struct sc_pool *pool = pools, *next; pool; pool = next) {
        next = pool->next;
        sc_pool_trim(pool, 0);
    }
}

static CUresult allocate(struct sc_pool *pool, struct sc_stream *stream, uint64_t bytes, CUdeviceptr *out)
{
    struct sc_block *block = find_free(pool, stream, bytes, false);
    if (block) return use_again(block, stream, bytes, out);
    if (take_new(pool, stream, bytes, out)) return CUDA_SUCCESS;
    trim_all();
    if (take_new(pool, stream, bytes, out)) return CUDA_SUCCESS;
    block = find_free(pool, stream, bytes, true);
    if (block) return use_again(block, stream, bytes, out);
    /* Queued frees make room once they are executed. */
    struct sc_context *context = stream->context;
    CUresult result = sc_queue_wait_context(context);
    if (result) return result;
    bool alive = sc_handle_is(stream, SC_HANDLE_STREAM) && sc_handle_is(pool, SC_HANDLE_POOL);
    if (!alive) return CUDA_ERROR_INVALID_HANDLE;
    trim_all();
    return take_new(pool, stream, bytes, out) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sc_pool_allocate(struct sc_pool *pool, struct sc_stream *stream, uint64_t bytes, CUdeviceptr *out)
{
    CUdeviceptr address;
    CUresult result = allocate(pool, stream, bytes, &address);
    if (result) return result;
    *out = address;
    return sc_races_allocated(stream, address, sc_space_find(address)->block->bytes);
}

CUresult sc_pool_free(struct sc_allocation *allocation, struct sc_stream *stream)
{
    struct sc_op *op = sc_op_new(SC_OP_FREE, stream->context);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    struct sc_block *block = allocation->block;
    allocation->freeing = true;
    op->free = (struct sc_free_work){.allocation = allocation,
                                     .block = block,
                                     .device = sc_device_of(allocation),
                                     .charged_bytes = block ? 0 : allocation->charged_bytes,
                                     .address = allocation->begin,
                                     .bytes = block ? block->bytes : allocation->bytes};
    if (!block) return sc_queue_submit(stream, op);
    block->refs++;
    op->refs++;
    block->free_op = op;
    block->free_stream = stream->id;
    block->free_id = 0;
    block->pool->used_bytes -= block->bytes;
    CUresult result = sc_queue_submit(stream, op);
    if (block->free_op != op) return result; /* another thread has destroyed the context */
    block->free_id = op->id;
    if (!op->id) { /* not submitted */
        block->free_op = NULL;
        block->pool->used_bytes += block->bytes;
        allocation->freeing = false;
        sc_op_unref(op);
        return result;
    }
    struct sc_pool *pool = block->pool;
    *(pool->last_free ? &pool->last_free->next : &pool->first_free) = block;
    pool->last_free = block;
    return result;
}

void sc_pool_freed(struct sc_op *op)
{
    struct sc_block *block = op->free.block;
    if (!block)
        sc_memory_release(op->free.allocation);
    else if (block->allocation && block->free_op == op)
        sc_space_show(block->allocation, 0); /* later accesses to the block fault */
}
