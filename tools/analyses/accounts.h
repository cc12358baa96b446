/* The use of device and link by each phase. */
#ifndef SLUICE_TOOL_ACCOUNTS_H
#define SLUICE_TOOL_ACCOUNTS_H

#include "tools/phases/phases.h"

enum direction { TO_DEVICE, FROM_DEVICE, DIRECTIONS };

struct account {
    uint64_t launches;
    uint64_t host_ns;   /* from its launches to the next launches, on the program's clock */
    uint64_t kernel_ns; /* of its kernels on the device: measured, or the mean of similar ones */
    uint64_t timed;     /* launches in kernel_ns */
    uint64_t moved[DIRECTIONS][MOVE_CAUSES]; /* bytes: fetched, evicted */
    uint64_t populated, dropped;             /* bytes that came or left without a copy */
    uint64_t copied[DIRECTIONS];             /* bytes of the program's own copies */
    uint64_t transfers[DIRECTIONS], transfer_bytes[DIRECTIONS], transfer_ns[DIRECTIONS]; /* as measured */
    uint64_t stalls, stall_ns;
    double idle_byte_ns; /* unoccupied budget, integrated over host_ns */
};

struct accounts {
    struct account of[PHASE_COUNT], all;
    bool has_times, has_transfers;
};

/* The accounts of the launches [begin, end) and of moves issued among them. If begin is 0, moves issued
 * before the first launch count for PHASE_OTHER. False: out of memory. */
bool accounts_make(const struct model *model, const struct phases *phases, uint32_t begin, uint32_t end,
                   struct accounts *out);

static inline uint64_t account_bytes(const struct account *account, enum direction direction)
{
    uint64_t bytes = 0;
    for (unsigned cause = 0; cause < MOVE_CAUSES; cause++) bytes += account->moved[direction][cause];
    return bytes;
}

#endif
