/* A heap of consecutive blocks, each with a header. The search continues where the last one ended, and merges
 * free neighbours on its way. Kernels can overwrite the headers, so nothing in them is trusted. */
#include "heap.h"

#include <pthread.h>
#include <stddef.h>

#include "lane.h"
#include "ops.h"
#include "worker.h"

#define MAGIC 0x50414548u

struct header {
    uint64_t bytes; /* with this header; a multiple of 16 */
    uint32_t magic, used;
};

/* Guards all heaps: launches of different contexts may run concurrently. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The heap starts with the offset at which the next search begins, in the place of a header. */
static uint64_t *cursor(uint64_t heap)
{
    return (uint64_t *)(uintptr_t)heap;
}

static struct header *at(uint64_t heap, uint64_t offset)
{
    return (struct header *)(uintptr_t)(heap + offset);
}

static bool is_sound(const struct header *header, uint64_t room)
{
    return header->magic == MAGIC && header->used <= 1 && header->bytes >= sizeof *header &&
           header->bytes % 16 == 0 && header->bytes <= room;
}

static bool start(uint64_t heap, uint64_t end)
{
    uint64_t first = sizeof(struct header);
    if (end < 2 * first) return false;
    if (*cursor(heap)) return *cursor(heap) % 16 == 0 && *cursor(heap) < end;
    *at(heap, first) = (struct header){end - first, MAGIC, 0};
    *cursor(heap) = first;
    return true;
}

/* Merges the free block at `offset` with the free blocks that follow it. */
static bool join(uint64_t heap, uint64_t offset, uint64_t end)
{
    struct header *header = at(heap, offset);
    while (offset + header->bytes < end) {
        struct header *next = at(heap, offset + header->bytes);
        if (!is_sound(next, end - offset - header->bytes)) return false;
        if (next->used) break;
        header->bytes += next->bytes;
    }
    return true;
}

static void take(uint64_t heap, uint64_t offset, uint64_t bytes)
{
    struct header *header = at(heap, offset);
    uint64_t rest = header->bytes - bytes;
    if (rest >= 2 * sizeof *header) {
        *at(heap, offset + bytes) = (struct header){rest, MAGIC, 0};
        header->bytes = bytes;
    }
    header->used = 1;
}

/* Searches blocks in [from, to). *out stays 0 if none is large enough. */
static bool search(uint64_t heap, uint64_t end, uint64_t from, uint64_t to, uint64_t bytes, uint64_t *out)
{
    for (uint64_t offset = from; offset < to;) {
        struct header *header = at(heap, offset);
        if (!is_sound(header, end - offset)) return false;
        if (!header->used) {
            if (!join(heap, offset, end)) return false;
            if (header->bytes >= bytes) {
                take(heap, offset, bytes);
                *cursor(heap) = offset;
                *out = heap + offset + sizeof *header;
                return true;
            }
        }
        offset += header->bytes;
    }
    return true;
}

bool sc_heap_allocate(uint64_t heap, uint64_t heap_bytes, uint64_t bytes, uint64_t *out)
{
    uint64_t end = heap_bytes & ~15ull, first = sizeof(struct header);
    *out = 0;
    if (!heap || bytes > end || end < 4 * first) return true;
    bytes = (bytes + (bytes == 0) + 15 + first) & ~15ull;
    pthread_mutex_lock(&lock);
    bool ok = start(heap, end);
    uint64_t from = ok ? *cursor(heap) : 0;
    ok = ok && search(heap, end, from, end, bytes, out);
    if (ok && !*out) {
        *cursor(heap) = first; /* the block at `from` may have been merged into another */
        ok = search(heap, end, first, end, bytes, out);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

bool sc_heap_free(uint64_t heap, uint64_t heap_bytes, uint64_t address)
{
    uint64_t end = heap_bytes & ~15ull, offset = address - heap - sizeof(struct header);
    if (!address) return true;
    if (!heap || address < heap + 2 * sizeof(struct header) || offset >= end || offset % 16) return false;
    pthread_mutex_lock(&lock);
    struct header *header = at(heap, offset);
    bool ok = is_sound(header, end - offset) && header->used;
    if (ok) header->used = 0;
    pthread_mutex_unlock(&lock);
    return ok;
}

static uint64_t operand64(const struct sc_group *group, uint32_t lane, const struct sc_op *op)
{
    return ((const sc_lane64 *)(const void *)(group->file + op->a))[op->stride_a ? lane : 0];
}

bool sc_run_heap(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_launch *launch = group->worker->launch;
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = first; i < end; i++) {
        uint64_t out = 0, value = group->use_mask[i] ? operand64(group, i, op) : 0;
        bool ok = true;
        if (!group->use_mask[i]) continue;
        if (op->immediate)
            ok = sc_heap_free(launch->heap, launch->heap_bytes, value);
        else
            ok = sc_heap_allocate(launch->heap, launch->heap_bytes, value, &out);
        if (!ok) {
            group->fault_kind = SC_FAULT_ILLEGAL_ADDRESS;
            group->fault_lane = i;
            group->fault_address = value;
            return false;
        }
        if (!op->immediate) ((sc_lane64 *)(void *)(group->file + op->d))[i] = out;
    }
    return true;
}
