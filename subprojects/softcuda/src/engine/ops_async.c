/* cp.async and mbarrier, lane by lane. */
#include <string.h>

#include "async.h"
#include "lane.h"
#include "ops.h"
#include "worker.h"

static uint64_t operand(const struct sc_group *group, const struct sc_op *op, unsigned i, unsigned bytes,
                        uint32_t lane)
{
    const uint32_t *places = group->program->places + op->extra;
    const unsigned char *at = group->file + places[2 * i];
    uint32_t index = places[2 * i + 1] ? lane : 0;
    return bytes == 8 ? ((const sc_lane64 *)(const void *)at)[index]
                      : ((const sc_lane32 *)(const void *)at)[index];
}

/* Checks one lane's access. `window` is the range of the previous lane's access to the same space, or
 * empty. */
static inline bool check(struct sc_group *group, const struct sc_op *op, struct sc_window *window,
                         uint64_t address, uint32_t bytes, uint32_t lane, bool write)
{
    bool inside = address >= window->begin && address <= window->end && window->end - address >= bytes;
    if (address & (bytes - 1)) {
        group->fault_kind = SC_FAULT_MISALIGNED;
        group->fault_lane = lane;
        group->fault_address = address;
        return false;
    }
    if (!inside && !sc_check_address(group, op, window, address, bytes, lane)) return false;
    sc_count(group->worker, window, address, bytes, write);
    sc_touch(group->worker, window, address, bytes, write ? SC_ACCESS_WRITE : SC_ACCESS_READ);
    return true;
}

static uint64_t address_of(const struct sc_group *group, const struct sc_op *op, unsigned i, uint32_t lane)
{
    uint64_t address = operand(group, op, i, op->access.address_bytes, lane);
    return op->access.space == SC_SPACE_SHARED ? address + (uint64_t)(uintptr_t)group->shared : address;
}

static void copy_lane(uint64_t to, uint64_t from, uint32_t bytes, uint32_t read)
{
    unsigned char data[16] = {0};
    void *out = (void *)(uintptr_t)to;
    const void *in = (const void *)(uintptr_t)from;
    if (read == bytes && bytes == 16) {
        memcpy(out, in, 16);
    } else if (read == bytes && bytes == 4) {
        memcpy(out, in, 4);
    } else {
        if (read) memcpy(data, in, read);
        memcpy(out, data, bytes);
    }
}

/* Places: destination, source, number of bytes to read; the remaining bytes become zero. */
bool sc_run_copy(struct sc_group *group, const struct sc_op *op)
{
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    uint32_t bytes = op->access.element_bytes;
    struct sc_op source = *op;
    struct sc_window on_chip = {0}, *window = &group->caches[op->cache];
    source.access.space = SC_SPACE_GLOBAL;
    for (uint32_t i = first; i < end; i++) {
        if (!group->use_mask[i]) continue;
        uint64_t to = address_of(group, op, 0, i), from = operand(group, op, 1, op->access.operation, i);
        uint32_t read = (uint32_t)operand(group, op, 2, 4, i);
        if (read > bytes) read = bytes;
        if (!check(group, op, &on_chip, to, bytes, i, true) ||
            (read && !check(group, &source, window, from, bytes, i, false)))
            return false;
        copy_lane(to, from, bytes, read);
    }
    return true;
}

#define PARITY (1ull << 63)

static uint64_t make(uint64_t parity, uint64_t pending, uint64_t expected, uint64_t bytes)
{
    uint64_t count = SC_MBARRIER_COUNT_MAX;
    if (!(pending & count) && !(bytes & 0x7fffff)) parity ^= PARITY, pending = expected;
    return parity | (bytes & 0x7fffff) << 40 | (expected & count) << 20 | (pending & count);
}

/* The new state of a barrier after an operation */
static uint64_t change(enum sc_mbarrier operation, uint64_t old, uint64_t amount)
{
    uint64_t parity = old & PARITY, count = SC_MBARRIER_COUNT_MAX;
    uint64_t pending = old & count, expected = old >> 20 & count, bytes = old >> 40 & 0x7fffff;
    switch (operation) {
    case SC_MBARRIER_INIT:
        return (amount & count) << 20 | (amount & count);
    case SC_MBARRIER_INVALIDATE:
        return 0;
    case SC_MBARRIER_ARRIVE:
        return make(parity, pending - amount, expected, bytes);
    case SC_MBARRIER_DROP:
        return make(parity, pending - amount, expected - amount, bytes);
    case SC_MBARRIER_EXPECT:
        return parity | ((bytes + amount) & 0x7fffff) << 40 | expected << 20 | pending;
    case SC_MBARRIER_COMPLETE:
        return make(parity, pending, expected, bytes - amount);
    default:
        return old;
    }
}

/* Places: result (optional), address, amount or state or parity (optional). Lanes whose test fails let other
 * lanes run. */
bool sc_run_mbarrier(struct sc_group *group, const struct sc_op *op)
{
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    const struct sc_access *x = &op->access;
    struct sc_window *window = &group->caches[op->cache];
    unsigned results = x->result_bytes != 0;
    const uint32_t *places = group->program->places + op->extra;
    enum sc_mbarrier operation = (enum sc_mbarrier)x->operation;
    for (uint32_t i = first; i < end; i++) {
        if (!group->use_mask[i]) continue;
        uint64_t address = address_of(group, op, results, i), old, result;
        uint64_t amount = x->element_bytes ? operand(group, op, results + 1, x->element_bytes, i) : 0;
        if (!check(group, op, window, address, 8, i, true)) return false;
        memcpy(&old, (const void *)(uintptr_t)address, 8);
        uint64_t value = result = change(operation, old, amount);
        memcpy((void *)(uintptr_t)address, &value, 8);
        if (operation == SC_MBARRIER_ARRIVE || operation == SC_MBARRIER_DROP) result = old;
        if (operation == SC_MBARRIER_TEST) result = (old ^ amount) & PARITY ? UINT32_MAX : 0;
        if (operation == SC_MBARRIER_TEST_PARITY) result = (old >> 63) != (amount & 1) ? UINT32_MAX : 0;
        if (!results) continue;
        if (operation >= SC_MBARRIER_TEST && !result) group->yields = true;
        unsigned char *at = group->file + places[0];
        if (x->result_bytes == 8)
            ((sc_lane64 *)(void *)at)[i] = result;
        else
            ((sc_lane32 *)(void *)at)[i] = (uint32_t)result;
    }
    return true;
}
