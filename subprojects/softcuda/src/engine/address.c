/* Checks whether lanes may access an address. */
#include "ops.h"
#include "worker.h"

static bool holds(const struct sc_window *window, uint64_t address, uint32_t bytes)
{
    return address >= window->begin && address <= window->end && window->end - address >= bytes;
}

static struct sc_window on_chip(const void *begin, uint64_t bytes)
{
    uint64_t at = (uint64_t)(uintptr_t)begin;
    return (struct sc_window){at, at + bytes, SC_WINDOW_ON_CHIP};
}

static bool look_up(struct sc_group *group, unsigned space, struct sc_window *window, uint64_t address,
                    uint32_t bytes)
{
    const struct sc_worker *worker = group->worker;
    const struct sc_launch *launch = worker->launch;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    struct sc_window found;
    if (space == SC_SPACE_SHARED || space == SC_SPACE_GENERIC) {
        found = on_chip(worker->shared, worker->shared_bytes);
        if (holds(&found, address, bytes)) goto yes;
    }
    if (space == SC_SPACE_LOCAL || space == SC_SPACE_GENERIC) {
        found = on_chip(worker->local, threads * worker->program->local_bytes);
        if (holds(&found, address, bytes)) goto yes;
    }
    if (space == SC_SPACE_PARAM || space == SC_SPACE_GENERIC) {
        found = on_chip(worker->parameters, worker->parameter_bytes);
        if (holds(&found, address, bytes)) goto yes;
    }
    if (worker->barrier && (space == SC_SPACE_GLOBAL || space == SC_SPACE_GENERIC)) {
        found = on_chip(worker->barrier, sizeof *worker->barrier);
        if (holds(&found, address, bytes)) goto yes;
    }
    if (space == SC_SPACE_GLOBAL || space == SC_SPACE_CONST || space == SC_SPACE_GENERIC) {
        struct sc_range range;
        if (!launch->space->find(launch->space->context, address, &range)) return false;
        found = (struct sc_window){range.begin, range.end, (uint32_t)range.kind};
        if (holds(&found, address, bytes)) goto yes;
    }
    return false;
yes:
    *window = found;
    return true;
}

bool sc_check_address(struct sc_group *group, const struct sc_op *op, struct sc_window *window,
                      uint64_t address, uint32_t bytes, uint32_t lane)
{
    if (look_up(group, op->access.space, window, address, bytes)) return true;
    if (lane == UINT32_MAX) return false;
    group->fault_kind = SC_FAULT_ILLEGAL_ADDRESS;
    group->fault_lane = lane;
    group->fault_address =
        op->access.space == SC_SPACE_SHARED ? address - (uint64_t)(uintptr_t)group->shared : address;
    return false;
}
