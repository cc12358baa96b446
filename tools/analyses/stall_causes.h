/* What launches waited for: each stall with its kernel, the chunk and the allocation, grouped. */
#ifndef SLUICE_TOOL_STALL_CAUSES_H
#define SLUICE_TOOL_STALL_CAUSES_H

#include "tools/phases/phases.h"

/* Stalls of launches of one name for chunks of one slot whose fetches had one cause. Of a launch's chunks,
 * the one that was fetched last counts: the launch had to wait for it longest. */
struct stall_cause {
    uint64_t count, took_ns, longest_ns;
    uint64_t tick;   /* of the launch of the longest one; 0: unknown */
    uint32_t launch; /* in the model; SL_NONE: unknown */
    uint32_t chunk;  /* that it waited for; SL_NONE: unknown */
    uint32_t slot; /* in the model: the largest part of the launch's ranges in the chunk; SL_NONE: unknown */
    uint8_t cause; /* enum sl_move_cause of the fetch; MOVE_CAUSES: unknown */
    uint8_t phase; /* enum phase */
};

struct stall_causes {
    struct stall_cause *at; /* longest total first */
    uint32_t count;
};

/* Stalls of launches from `begin_ns` to `end_ns`; stalls without a known launch count at their own time.
 * False: out of memory. The caller frees *out with stall_causes_free in any case. */
bool stall_causes_find(const struct model *model, const struct phases *phases, uint64_t begin_ns,
                       uint64_t end_ns, struct stall_causes *out);
void stall_causes_free(struct stall_causes *causes);

#endif
