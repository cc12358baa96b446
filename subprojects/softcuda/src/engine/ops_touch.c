/* Loads and stores of a device that is asked what its kernels touch. */
#include "ops.h"
#include "worker.h"

static bool wanted; /* written before any function is loaded */

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

void sc_touch_lanes(struct sc_group *group, const struct sc_op *op)
{
    struct sc_worker *worker = group->worker;
    if (!worker->touches || is_on_chip(op)) return;
    const bool uniform = op->flags & SC_FLAG_UNIFORM, write = op->code == SC_OP_STORE;
    const uint32_t first = uniform ? 0 : group->first_chunk * SC_CHUNK;
    const uint32_t end = uniform ? 1 : first + group->chunks * SC_CHUNK;
    const uint32_t bytes = (uint32_t)op->access.element_bytes * op->access.count;
    const unsigned char *at = group->file + op->a;
    uint64_t from = 0, to = 0; /* a run of lanes that follow each other */
    for (uint32_t i = first; i < end; i++) {
        if (!uniform && !group->use_full && !group->use_mask[i]) continue;
        uint32_t lane = op->stride_a ? i : 0;
        uint64_t address = op->access.address_bytes == 8 ? ((const uint64_t *)(const void *)at)[lane]
                                                         : ((const uint32_t *)(const void *)at)[lane];
        address += (uint64_t)op->immediate;
        if (op->access.address_bytes == 4) address = (uint32_t)address;
        if (address != to) {
            sc_touches_add(worker->touches, from, to - from, write);
            from = to = address;
        }
        to += bytes;
    }
    sc_touches_add(worker->touches, from, to - from, write);
}

bool sc_run_touching(struct sc_group *group, const struct sc_op *op)
{
    const struct sc_isa *isa = sc_isa();
    sc_touch_lanes(group, op);
    return (op->code == SC_OP_LOAD ? isa->load : isa->store)(&op->access)(group, op);
}
