/* Atomic operations, lane by lane in the order of lanes. */
#include "atomics.h"
#include "half.h"
#include "lane.h"
#include "ops.h"
#include "worker.h"

#include <string.h>

static uint64_t add_real(char type, unsigned bytes, uint64_t old, uint64_t b)
{
    uint32_t x = (uint32_t)old, y = (uint32_t)b;
    switch (type) {
    case 'h':
        return sc_half_from_float(sc_half_to_float(x & 0xffff) + sc_half_to_float(y & 0xffff));
    case 'g':
        return sc_bfloat_from_float(sc_bfloat_to_float(x & 0xffff) + sc_bfloat_to_float(y & 0xffff));
    case 'H':
        return add_real('h', 2, old & 0xffff, b & 0xffff) | add_real('h', 2, x >> 16, y >> 16) << 16;
    case 'G':
        return add_real('g', 2, old & 0xffff, b & 0xffff) | add_real('g', 2, x >> 16, y >> 16) << 16;
    default:
        break;
    }
    if (bytes == 4) return sc_bits_of(sc_canonical(sc_float_of(x) + sc_float_of(y)));
    return sc_bits_of_double(sc_canonical_f64(sc_double_of(old) + sc_double_of(b)));
}

static bool less(char type, unsigned bytes, uint64_t x, uint64_t y)
{
    if (type != 's') return x < y;
    return bytes == 4 ? (int32_t)x < (int32_t)y : (int64_t)x < (int64_t)y;
}

uint64_t sc_atomic_apply(unsigned operation, char type, unsigned bytes, uint64_t old, uint64_t b, uint64_t c)
{
    switch (operation) {
    case SC_ATOMIC_ADD:
        return type == 'u' || type == 's' || type == 'b' ? old + b : add_real(type, bytes, old, b);
    case SC_ATOMIC_MIN:
        return less(type, bytes, b, old) ? b : old;
    case SC_ATOMIC_MAX:
        return less(type, bytes, old, b) ? b : old;
    case SC_ATOMIC_AND:
        return old & b;
    case SC_ATOMIC_OR:
        return old | b;
    case SC_ATOMIC_XOR:
        return old ^ b;
    case SC_ATOMIC_EXCH:
        return b;
    case SC_ATOMIC_CAS:
        return old == b ? c : old;
    case SC_ATOMIC_INC:
        return old >= b ? 0 : old + 1;
    case SC_ATOMIC_DEC:
        return old == 0 || old > b ? b : old - 1;
    default:
        return old;
    }
}

static uint64_t update_plain(const struct sc_access *x, void *at, uint64_t b, uint64_t c)
{
    uint64_t old = 0;
    memcpy(&old, at, x->element_bytes);
    uint64_t value = sc_atomic_apply(x->operation, (char)x->type, x->element_bytes, old, b, c);
    memcpy(at, &value, x->element_bytes);
    return old;
}

static uint32_t add_float(uint32_t *cell, float b)
{
    uint32_t old = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(cell, &old, sc_bits_of(sc_canonical(sc_float_of(old) + b)), true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        continue;
    return old;
}

/* Other workers and other launches may change the same cell concurrently. */
static uint64_t update_shared_cell(const struct sc_access *x, void *at, uint64_t b, uint64_t c)
{
    bool add = x->operation == SC_ATOMIC_ADD, integer = x->type == 'u' || x->type == 's';
    if (x->element_bytes == 8) {
        uint64_t *cell = at, old;
        if (add && integer) return __atomic_fetch_add(cell, b, __ATOMIC_ACQ_REL);
        old = __atomic_load_n(cell, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(cell, &old,
                                            sc_atomic_apply(x->operation, (char)x->type, 8, old, b, c), true,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        return old;
    }
    uint32_t *cell = at, old;
    if (add && integer) return __atomic_fetch_add(cell, (uint32_t)b, __ATOMIC_ACQ_REL);
    if (add && x->type == 'f') return add_float(cell, sc_float_of((uint32_t)b));
    old = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(cell, &old,
                                        (uint32_t)sc_atomic_apply(x->operation, (char)x->type, 4, old, b, c),
                                        true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        continue;
    return old;
}

void sc_atomic_update(const struct sc_access *access, void *cell, uint64_t b)
{
    if (access->element_bytes < 4)
        update_plain(access, cell, b, 0);
    else
        update_shared_cell(access, cell, b, 0);
}

static uint64_t operand(const struct sc_group *group, uint32_t place, uint8_t stride, uint32_t lane,
                        unsigned bytes)
{
    const unsigned char *at = group->file + place;
    if (bytes == 8) return ((const sc_lane64 *)(const void *)at)[stride ? lane : 0];
    return ((const sc_lane32 *)(const void *)at)[stride ? lane : 0];
}

static void put_result(struct sc_group *group, const struct sc_op *op, uint32_t lane, uint64_t value)
{
    if (op->access.result_bytes == 8)
        ((sc_lane64 *)(void *)(group->file + op->d))[lane] = value;
    else
        ((sc_lane32 *)(void *)(group->file + op->d))[lane] = (uint32_t)value;
}

static bool misaligned(struct sc_group *group, uint32_t lane, uint64_t address)
{
    group->fault_kind = SC_FAULT_MISALIGNED;
    group->fault_lane = lane;
    group->fault_address = address;
    return false;
}

/* Traffic of one instruction in both directions, accumulated while it stays in one 2 MiB block */
struct tally {
    struct sc_window window;
    uint64_t address, bytes;
};

static void settle(struct sc_group *group, struct tally *tally)
{
    if (!tally->bytes) return;
    sc_count_here(group->worker, &tally->window, tally->address, tally->bytes, false);
    sc_count_here(group->worker, &tally->window, tally->address, tally->bytes, true);
    tally->bytes = 0;
}

static void note(struct sc_group *group, struct tally *tally, const struct sc_window *window,
                 uint64_t address, uint64_t bytes)
{
    if (tally->window.kind != window->kind || (tally->address ^ address) >> SC_TRAFFIC_SHIFT) {
        settle(group, tally);
        tally->window.kind = window->kind;
        tally->address = address;
    }
    tally->bytes += bytes;
}

#define REFUSALS_AT_MOST 1000

/* Where kernels are executed in part, a lock may never have been cleared, since the block that would have
 * done it was left out, and whoever waits for it would wait forever. So a lane that has asked for the same
 * value often enough finds it. */
static void end_waiting(struct sc_worker *worker, const struct sc_access *x, uint64_t address,
                        uint64_t expected)
{
    struct sc_refusal *refusal = &worker->refusal;
    uint64_t found = 0;
    memcpy(&found, (const void *)(uintptr_t)address, x->element_bytes);
    if (x->element_bytes < 8) expected &= (UINT64_C(1) << 8 * x->element_bytes) - 1;
    if (found == expected || refusal->address != address || refusal->expected != expected) {
        *refusal = (struct sc_refusal){address, expected, 0};
        return;
    }
    if (++refusal->count < REFUSALS_AT_MOST) return;
    memcpy((void *)(uintptr_t)address, &expected, x->element_bytes);
    refusal->count = 0;
}

bool sc_run_atomic(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_access *x = &op->access;
    struct sc_window *window = &group->caches[op->cache];
    struct sc_worker *worker = group->worker;
    struct tally tally = {{0, 0, 0}, 0, 0};
    const unsigned bytes = x->element_bytes;
    bool in_shared = x->space == SC_SPACE_SHARED,
         in_part = worker->launch->sample_over && x->operation == SC_ATOMIC_CAS && op->d;
    /* An exchange without a result does not read. */
    enum sc_access_kind kind =
        x->operation == SC_ATOMIC_EXCH && !op->d ? SC_ACCESS_PUBLISH : SC_ACCESS_UPDATE;
    uint64_t base = in_shared ? (uint64_t)(uintptr_t)group->shared : 0, previous = 1;
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    if (op->d) sc_poll(group);
    for (uint32_t i = first; i < end; i++) {
        if ((i & 31) == 0) previous = 1;
        if (!group->use_mask[i]) continue;
        uint64_t address = operand(group, op->a, op->stride_a, i, x->address_bytes) + (uint64_t)op->immediate;
        if (x->address_bytes == 4) address = (uint32_t)address;
        address += base;
        if (address & (bytes - 1u)) return misaligned(group, i, address);
        bool inside = address >= window->begin && address <= window->end && window->end - address >= bytes;
        if (!inside && !sc_check_address(group, op, window, address, bytes, i)) return false;
        bool on_chip = window->kind == SC_WINDOW_ON_CHIP;
        if (address != previous && !on_chip)
            note(group, &tally, window, address, address == previous + bytes ? bytes : 32);
        previous = address;
        sc_touch(worker, window, address, bytes, kind);
        uint64_t b = operand(group, op->b, op->stride_b, i, x->result_bytes);
        uint64_t c = op->c ? operand(group, op->c, op->stride_c, i, x->result_bytes) : 0;
        void *cell = (void *)(uintptr_t)address;
        if (worker->ahead && x->turn == SC_TURN_LOG && !on_chip) {
            if (!sc_order_log(worker, op, address, b)) return false;
            if (worker->ahead) continue;
        }
        if (in_part && !on_chip) end_waiting(worker, x, address, b);
        bool alone = on_chip || bytes < 4;
        uint64_t old = alone ? update_plain(x, cell, b, c) : update_shared_cell(x, cell, b, c);
        if (op->d) put_result(group, op, i, old);
    }
    settle(group, &tally);
    return true;
}
