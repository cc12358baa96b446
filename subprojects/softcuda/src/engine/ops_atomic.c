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
        return strchr("fhgHG", type) ? add_real(type, bytes, old, b) : old + b;
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

static uint64_t operand(const struct sc_group *group, uint32_t place, uint8_t stride, uint32_t lane,
                        unsigned bytes)
{
    const unsigned char *at = group->file + place;
    if (bytes == 8) return ((const sc_lane64 *)(const void *)at)[stride ? lane : 0];
    return ((const sc_lane32 *)(const void *)at)[stride ? lane : 0];
}

static uint64_t update_plain(const struct sc_access *x, void *at, uint64_t b, uint64_t c)
{
    uint64_t old = 0;
    memcpy(&old, at, x->element_bytes);
    uint64_t value = sc_atomic_apply(x->operation, (char)x->type, x->element_bytes, old, b, c);
    memcpy(at, &value, x->element_bytes);
    return old;
}

/* Other workers, and other launches, may change the same cell at the same time. */
static uint64_t update_shared_cell(const struct sc_access *x, void *at, uint64_t b, uint64_t c)
{
    if (x->element_bytes == 8) {
        uint64_t *cell = at, old = __atomic_load_n(cell, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(cell, &old,
                                            sc_atomic_apply(x->operation, (char)x->type, 8, old, b, c), true,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        return old;
    }
    uint32_t *cell = at, old = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(cell, &old,
                                        (uint32_t)sc_atomic_apply(x->operation, (char)x->type, 4, old, b, c),
                                        true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        continue;
    return old;
}

bool sc_run_atomic(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_access *x = &op->access;
    struct sc_window *window = &group->caches[op->cache];
    bool in_shared = x->space == SC_SPACE_SHARED;
    uint64_t base = in_shared ? (uint64_t)(uintptr_t)group->shared : 0, previous = 1;
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = first; i < end; i++) {
        if ((i & 31) == 0) previous = 1;
        if (!group->use_mask[i]) continue;
        uint64_t address = operand(group, op->a, op->stride_a, i, x->address_bytes) + (uint64_t)op->immediate;
        if (x->address_bytes == 4) address = (uint32_t)address;
        address += base;
        if (address & (x->element_bytes - 1u)) {
            group->fault_kind = SC_FAULT_MISALIGNED;
            group->fault_lane = i;
            group->fault_address = address;
            return false;
        }
        bool inside =
            address >= window->begin && address <= window->end && window->end - address >= x->element_bytes;
        if (!inside && !sc_check_address(group, op, window, address, x->element_bytes, i)) return false;
        if (address != previous) {
            uint64_t bytes = address == previous + x->element_bytes ? x->element_bytes : 32;
            sc_count_here(group->worker, window, address, bytes, false);
            sc_count_here(group->worker, window, address, bytes, true);
        }
        previous = address;
        uint64_t b = operand(group, op->b, op->stride_b, i, x->result_bytes);
        uint64_t c = op->c ? operand(group, op->c, op->stride_c, i, x->result_bytes) : 0;
        void *cell = (void *)(uintptr_t)address;
        bool alone = window->kind == SC_WINDOW_ON_CHIP || x->element_bytes < 4;
        uint64_t old = alone ? update_plain(x, cell, b, c) : update_shared_cell(x, cell, b, c);
        if (!op->d) continue;
        if (x->result_bytes == 8)
            ((sc_lane64 *)(void *)(group->file + op->d))[i] = old;
        else
            ((sc_lane32 *)(void *)(group->file + op->d))[i] = (uint32_t)old;
    }
    return true;
}
