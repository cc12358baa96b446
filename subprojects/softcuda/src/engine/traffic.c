#include "worker.h"

#include <stdlib.h>
#include <string.h>

static struct sc_traffic_slot *probe(struct sc_traffic_slot *slots, uint32_t capacity, uint64_t key)
{
    uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (capacity - 1);
    while (slots[at].block && slots[at].block != key) at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct sc_traffic *traffic)
{
    uint32_t capacity = traffic->capacity ? traffic->capacity * 2 : 64;
    struct sc_traffic_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = 0; i < traffic->capacity; i++)
        if (traffic->slots[i].block) *probe(slots, capacity, traffic->slots[i].block) = traffic->slots[i];
    free(traffic->slots);
    traffic->slots = slots;
    traffic->capacity = capacity;
    traffic->last = NULL;
    return true;
}

struct sc_traffic_slot *sc_traffic_slot(struct sc_traffic *traffic, uint64_t block)
{
    uint64_t key = block + 1;
    if (traffic->last && traffic->last->block == key) return traffic->last;
    if (traffic->count * 2 >= traffic->capacity && !grow(traffic)) {
        traffic->failed = true;
        return NULL;
    }
    struct sc_traffic_slot *slot = probe(traffic->slots, traffic->capacity, key);
    if (!slot->block) {
        slot->block = key;
        traffic->count++;
    }
    traffic->last = slot;
    return slot;
}

static int by_block(const void *a, const void *b)
{
    const struct sc_block_traffic *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block;
}

bool sc_traffic_blocks(const struct sc_traffic *traffic, struct sc_cost *cost)
{
    struct sc_block_traffic *blocks = traffic->count ? malloc(traffic->count * sizeof *blocks) : NULL;
    size_t count = 0;
    if (traffic->failed || (traffic->count && !blocks)) {
        free(blocks);
        return false;
    }
    for (uint32_t i = 0; i < traffic->capacity; i++) {
        const struct sc_traffic_slot *slot = &traffic->slots[i];
        if (slot->block)
            blocks[count++] =
                (struct sc_block_traffic){slot->block - 1, slot->bytes_read, slot->bytes_written};
    }
    if (count) qsort(blocks, count, sizeof *blocks, by_block);
    free(cost->blocks);
    cost->blocks = blocks;
    cost->block_count = count;
    return true;
}

void sc_traffic_free(struct sc_traffic *traffic)
{
    free(traffic->slots);
    memset(traffic, 0, sizeof *traffic);
}

void sc_traffic_add_here(struct sc_worker *worker, uint64_t address, uint64_t bytes, bool write)
{
    struct sc_traffic_slot *slot = sc_traffic_slot(&worker->traffic, address >> SC_TRAFFIC_SHIFT);
    if (!slot) return;
    if (write)
        slot->bytes_written += bytes;
    else
        slot->bytes_read += bytes;
}

void sc_traffic_add(struct sc_worker *worker, uint64_t address, uint64_t bytes, bool write)
{
    while (bytes) {
        uint64_t left = (1ull << SC_TRAFFIC_SHIFT) - (address & ((1ull << SC_TRAFFIC_SHIFT) - 1));
        uint64_t here = bytes < left ? bytes : left;
        sc_traffic_add_here(worker, address, here, write);
        address += here;
        bytes -= here;
    }
}
