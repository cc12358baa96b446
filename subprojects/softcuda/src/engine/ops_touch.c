/* Loads and stores that record their accesses. */
#include "ops.h"
#include "worker.h"

static bool wanted; /* set before any function is loaded */

void sc_engine_note_touches(void)
{
    wanted = true;
}

bool sc_touches_wanted(void)
{
    return wanted;
}

static bool is_on_chip(const struct sc_op *op)
{
    return op->access.space == SC_SPACE_SHARED || op->access.space == SC_SPACE_LOCAL ||
           op->access.space == SC_SPACE_PARAM;
}

void sc_note_access(struct sc_worker *worker, uint64_t address, uint64_t bytes, enum sc_access_kind kind)
{
    if (!bytes) return;
    if (worker->touches && kind != SC_ACCESS_WRITE && kind != SC_ACCESS_PUBLISH)
        sc_touches_add(worker->touches, address, bytes, false);
    if (worker->touches && kind != SC_ACCESS_READ && kind != SC_ACCESS_POLL)
        sc_touches_add(worker->touches, address, bytes, true);
    if (worker->sample) sc_sample_note(worker->sample, address, bytes);
    if (worker->accesses) sc_accesses_add(worker->accesses, address, bytes, kind);
}

/* Whether the lanes' addresses are contiguous, `step` bytes apart. */
static bool in_one_run(const uint64_t *lane, uint32_t lanes, uint64_t step)
{
    uint64_t different = 0;
    if (lane[lanes - 1] != lane[0] + (lanes - 1) * step) return false;
    for (uint32_t i = 0; i < lanes; i++) different |= lane[i] ^ (lane[0] + i * step);
    return !different;
}

void sc_touch_lanes(struct sc_group *group, const struct sc_op *op)
{
    struct sc_worker *worker = group->worker;
    if (!worker->watched || is_on_chip(op)) return;
    const bool uniform = op->flags & SC_FLAG_UNIFORM, store = op->code == SC_OP_STORE;
    const enum sc_access_kind kind = op->access.strong ? (store ? SC_ACCESS_PUBLISH : SC_ACCESS_POLL)
                                     : store           ? SC_ACCESS_WRITE
                                                       : SC_ACCESS_READ;
    const uint32_t first = uniform ? 0 : group->first_chunk * SC_CHUNK;
    const uint32_t end = uniform ? 1 : first + group->chunks * SC_CHUNK;
    const uint32_t bytes = (uint32_t)op->access.element_bytes * op->access.count;
    const unsigned char *at = group->file + op->a;
    if (!uniform && group->use_full && op->stride_a && op->access.address_bytes == 8) {
        const uint64_t *lane = (const uint64_t *)(const void *)at + first;
        if (in_one_run(lane, end - first, bytes)) {
            sc_note_access(worker, lane[0] + (uint64_t)op->immediate, (uint64_t)(end - first) * bytes, kind);
            return;
        }
    }
    uint64_t from = 0, to = 0; /* a contiguous run of lanes */
    for (uint32_t i = first; i < end; i++) {
        if (!uniform && !group->use_full && !group->use_mask[i]) continue;
        uint32_t lane = op->stride_a ? i : 0;
        uint64_t address = op->access.address_bytes == 8 ? ((const uint64_t *)(const void *)at)[lane]
                                                         : ((const uint32_t *)(const void *)at)[lane];
        address += (uint64_t)op->immediate;
        if (op->access.address_bytes == 4) address = (uint32_t)address;
        if (address != to) {
            sc_note_access(worker, from, to - from, kind);
            from = to = address;
        }
        to += bytes;
    }
    sc_note_access(worker, from, to - from, kind);
}

bool sc_run_touching(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_isa *isa = sc_isa();
    sc_touch_lanes(group, op);
    return (op->code == SC_OP_LOAD ? isa->load : isa->store)(&op->access)(group, op);
}
