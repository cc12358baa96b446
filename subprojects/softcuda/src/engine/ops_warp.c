/* Instructions in which the lanes of a warp exchange data, and the few without operands. */
#include <string.h>

#include "atomics.h"
#include "lane.h"
#include "ops.h"
#include "worker.h"

#define WARP 32u

/* The warps that hold active lanes: [first, end) */
struct warps {
    uint32_t first, end;
};

static struct warps active_warps(const struct sc_group *group)
{
    uint32_t chunk_end = group->first_chunk + group->chunks;
    return (struct warps){group->first_chunk / 2, (chunk_end + 1) / 2};
}

static uint32_t warp_mask(const struct sc_group *group, uint32_t warp)
{
    uint32_t bits = 0, first = warp * WARP;
    uint32_t begin = group->first_chunk * SC_CHUNK, end = begin + group->chunks * SC_CHUNK;
    for (uint32_t i = 0; i < WARP; i++)
        if (first + i >= begin && first + i < end) bits |= (group->use_mask[first + i] & 1u) << i;
    return bits;
}

static const sc_lane32 *source32(const struct sc_group *group, uint32_t place)
{
    return (const sc_lane32 *)(const void *)(group->file + place);
}

static sc_lane32 *target32(const struct sc_group *group, uint32_t place)
{
    return (sc_lane32 *)(void *)(group->file + place);
}

static uint32_t lane32(const struct sc_group *group, uint32_t place, uint8_t stride, uint32_t lane)
{
    return source32(group, place)[stride ? lane : 0];
}

/* The lane of the warp that lane i reads. *valid: it is in the segment. */
static uint32_t shuffle_from(unsigned mode, uint32_t i, uint32_t b, uint32_t c, bool *valid)
{
    uint32_t segment = (c >> 8) & 31, clamp = c & 31, shift = b & 31;
    uint32_t highest = (i & segment) | (clamp & ~segment), lowest = i & segment;
    uint32_t from;
    switch (mode) {
    case SC_SHUFFLE_UP:
        from = i - shift;
        *valid = (int32_t)from >= (int32_t)highest;
        break;
    case SC_SHUFFLE_DOWN:
        from = i + shift;
        *valid = from <= highest;
        break;
    case SC_SHUFFLE_BFLY:
        from = i ^ shift;
        *valid = from <= highest;
        break;
    default:
        from = lowest | (shift & ~segment);
        *valid = from <= highest;
        break;
    }
    return *valid ? from : i;
}

/* One warp whose lanes all have the same b and c: the pattern is the same for every lane, and often for every
 * warp. */
static void shuffle_warp(struct sc_group *group, const struct sc_op *op, uint32_t warp, uint32_t active)
{
    uint32_t first = warp * WARP, source[WARP];
    sc_lane32 *d = target32(group, op->d), *p = op->e ? target32(group, op->e) : NULL;
    for (uint32_t i = 0; i < WARP; i++) source[i] = lane32(group, op->a, op->stride_a, first + i);
    for (uint32_t i = 0; i < WARP; i++) {
        bool valid;
        if (!(active >> i & 1)) continue;
        uint32_t b = lane32(group, op->b, op->stride_b, first + i),
                 c = lane32(group, op->c, op->stride_c, first + i);
        d[first + i] = source[shuffle_from(op->access.operation, i, b, c, &valid)];
        if (p) p[first + i] = valid ? UINT32_MAX : 0;
    }
}

bool sc_run_shuffle(struct sc_group *group, const struct sc_op *op)
{
    struct warps warps = active_warps(group);
    bool same = !op->stride_b && !op->stride_c && op->stride_a && group->use_full &&
                group->lanes % WARP == 0 && group->first_chunk % 2 == 0 && group->chunks % 2 == 0;
    if (!same) {
        for (uint32_t w = warps.first; w < warps.end; w++) shuffle_warp(group, op, w, warp_mask(group, w));
        return true;
    }
    uint32_t from[WARP], ok[WARP], b = *source32(group, op->b), c = *source32(group, op->c);
    for (uint32_t i = 0; i < WARP; i++) {
        bool valid;
        from[i] = shuffle_from(op->access.operation, i, b, c, &valid);
        ok[i] = valid ? UINT32_MAX : 0;
    }
    for (uint32_t w = warps.first; w < warps.end; w++) {
        const sc_lane32 *a = source32(group, op->a) + w * WARP;
        uint32_t result[WARP];
        for (uint32_t i = 0; i < WARP; i++) result[i] = a[from[i]];
        memcpy(target32(group, op->d) + w * WARP, result, sizeof result);
        if (op->e) memcpy(target32(group, op->e) + w * WARP, ok, sizeof ok);
    }
    return true;
}

/* The lanes of one warp that execute an instruction with the same member mask, operand b. Lanes with
 * different masks form separate parties. */
struct party {
    uint32_t members; /* active lanes in the mask */
    uint32_t callers; /* lanes that get the result */
};

/* Returns the next party among the lanes in `left`, and removes its callers from `left`. */
static struct party next_party(const struct sc_group *group, const struct sc_op *op, uint32_t warp,
                               uint32_t active, uint32_t *left)
{
    uint32_t first = warp * WARP;
    uint32_t mask = lane32(group, op->b, op->stride_b, first + (uint32_t)__builtin_ctz(*left));
    struct party party = {.members = active & mask, .callers = *left};
    for (uint32_t i = 0; i < WARP && op->stride_b; i++)
        if (lane32(group, op->b, op->stride_b, first + i) != mask) party.callers &= ~(1u << i);
    *left &= ~party.callers;
    return party;
}

static void give_result(struct sc_group *group, uint32_t place, uint32_t warp, uint32_t callers,
                        uint32_t result)
{
    for (uint32_t i = 0; i < WARP; i++)
        if (callers >> i & 1) target32(group, place)[warp * WARP + i] = result;
}

static uint32_t vote(unsigned mode, uint32_t ballot, uint32_t members)
{
    switch (mode) {
    case SC_VOTE_ALL:
        return -(uint32_t)(ballot == members);
    case SC_VOTE_ANY:
        return -(uint32_t)(ballot != 0);
    case SC_VOTE_UNI:
        return -(uint32_t)(ballot == members || ballot == 0);
    default:
        return ballot;
    }
}

bool sc_run_vote(struct sc_group *group, const struct sc_op *op)
{
    struct warps warps = active_warps(group);
    for (uint32_t w = warps.first; w < warps.end; w++) {
        uint32_t active = warp_mask(group, w), left = active, said = 0;
        for (uint32_t i = 0; i < WARP; i++)
            if (active >> i & 1) said |= (lane32(group, op->a, op->stride_a, w * WARP + i) & 1u) << i;
        while (left) {
            struct party party = next_party(group, op, w, active, &left);
            uint32_t result = vote(op->access.operation, said & party.members, party.members);
            give_result(group, op->d, w, party.callers, result);
        }
    }
    return true;
}

static uint64_t match_value(const struct sc_group *group, const struct sc_op *op, uint32_t lane)
{
    if (op->access.element_bytes == 4) return lane32(group, op->a, op->stride_a, lane);
    return ((const sc_lane64 *)(const void *)(group->file + op->a))[op->stride_a ? lane : 0];
}

static void match_party(struct sc_group *group, const struct sc_op *op, uint32_t first,
                        const uint64_t value[WARP], struct party party)
{
    for (uint32_t i = 0; i < WARP; i++) {
        uint32_t equal = 0;
        if (!(party.callers >> i & 1)) continue;
        for (uint32_t k = 0; k < WARP; k++)
            equal |= (uint32_t)((party.members >> k & 1) && value[k] == value[i]) << k;
        if (op->access.operation == SC_MATCH_ALL) {
            bool all = equal == party.members;
            if (op->e) target32(group, op->e)[first + i] = -(uint32_t)all;
            equal = all ? party.members : 0;
        }
        target32(group, op->d)[first + i] = equal;
    }
}

bool sc_run_match(struct sc_group *group, const struct sc_op *op)
{
    struct warps warps = active_warps(group);
    for (uint32_t w = warps.first; w < warps.end; w++) {
        uint32_t active = warp_mask(group, w), left = active;
        uint64_t value[WARP];
        for (uint32_t i = 0; i < WARP; i++)
            value[i] = active >> i & 1 ? match_value(group, op, w * WARP + i) : 0;
        while (left) match_party(group, op, w * WARP, value, next_party(group, op, w, active, &left));
    }
    return true;
}

static uint32_t reduce(const struct sc_op *op, const uint32_t value[WARP], uint32_t members)
{
    uint64_t result = 0;
    bool any = false;
    for (uint32_t i = 0; i < WARP; i++) {
        if (!(members >> i & 1)) continue;
        result = any ? sc_atomic_apply(op->access.operation, (char)op->access.type, 4, result, value[i], 0)
                     : value[i];
        any = true;
    }
    return (uint32_t)result;
}

bool sc_run_redux(struct sc_group *group, const struct sc_op *op)
{
    struct warps warps = active_warps(group);
    for (uint32_t w = warps.first; w < warps.end; w++) {
        uint32_t active = warp_mask(group, w), left = active, value[WARP];
        for (uint32_t i = 0; i < WARP; i++) value[i] = lane32(group, op->a, op->stride_a, w * WARP + i);
        while (left) {
            struct party party = next_party(group, op, w, active, &left);
            give_result(group, op->d, w, party.callers, reduce(op, value, party.members));
        }
    }
    return true;
}

bool sc_run_active_mask(struct sc_group *group, const struct sc_op *op)
{
    struct warps warps = active_warps(group);
    for (uint32_t w = warps.first; w < warps.end; w++) {
        uint32_t active = warp_mask(group, w);
        for (uint32_t i = 0; i < WARP; i++)
            if (active >> i & 1) target32(group, op->d)[w * WARP + i] = active;
    }
    return true;
}

/* A deterministic clock: the number of instructions that this worker has executed in this block. */
bool sc_run_clock(struct sc_group *group, const struct sc_op *op)
{
    uint64_t limit = group->worker->launch->watchdog_instructions;
    uint64_t now = ((limit ? limit : UINT64_MAX) - group->worker->watchdog_left) >> op->immediate;
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = first; i < end; i++) {
        if (!group->use_mask[i]) continue;
        if (op->access.result_bytes == 8)
            ((sc_lane64 *)(void *)(group->file + op->d))[i] = now;
        else
            target32(group, op->d)[i] = (uint32_t)now;
    }
    return true;
}

bool sc_run_yield(struct sc_group *group, const struct sc_op *op)
{
    (void)op;
    group->yields = true;
    return true;
}

#define POLLS_MAX 4096u
#define POLLS_BESIDE_OTHERS 4u /* for blocks that run in turns */

void sc_poll(struct sc_group *group)
{
    if (++group->polls < (group->worker->launch->cooperative ? POLLS_BESIDE_OTHERS : POLLS_MAX)) return;
    group->polls = 0;
    group->yields = true;
}

/* A load in what may be a polling loop */
bool sc_run_polling_load(struct sc_group *group, const struct sc_op *op)
{
    sc_poll(group);
    sc_touch_lanes(group, op);
    return sc_isa()->load(&op->access)(group, op);
}

bool sc_run_trap(struct sc_group *group, const struct sc_op *op)
{
    uint32_t lane = group->first_chunk * SC_CHUNK, end = lane + group->chunks * SC_CHUNK;
    while (lane + 1 < end && !group->use_mask[lane]) lane++;
    static const uint8_t kinds[] = {
        [SC_TRAP_PLAIN] = SC_FAULT_TRAP,
        [SC_TRAP_BREAKPOINT] = SC_FAULT_ILLEGAL_INSTRUCTION,
        [SC_TRAP_STACK] = SC_FAULT_STACK,
        [SC_TRAP_ADDRESS] = SC_FAULT_INVALID_CALL,
    };
    group->fault_kind = kinds[op->immediate];
    group->fault_lane = lane;
    group->fault_address = 0;
    return false;
}
