/* A replay under way: what replay.c and replay_events.c share. */
#ifndef SLUICE_TOOL_REPLAY_INTERNAL_H
#define SLUICE_TOOL_REPLAY_INTERNAL_H

#include "core/runtime.h"
#include "tools/replay/replay.h"
#include "tools/replay/replay_order.h"
#include "tools/replay/sequence.h"
#include "sim/backend_sim.h"

struct replaying {
    const struct replay_program *program;
    const struct replay_meetings *meetings; /* NULL: it is replayed alone */
    const uint32_t *meeting_of;             /* of each of the model's collectives */
    bool meets_over_link;
    double bytes_per_ns; /* that pass each way of the link while both are in use */
    struct replay_result *result;
    struct sequence *sequence; /* while its iterations are replayed */
    struct sl_backend backend;
    uint64_t *address_of; /* by slot; 0: not live */
    uint8_t *class_of;    /* by the core's slot: enum memory_class */
    uint32_t class_room;
    size_t birth, death, sync, duration, collective, next_order;
    uint32_t border;
    uint16_t last_stream; /* of a launch; where ranks are replayed together, of one that is no collective */
    struct replay_order order;
    uint64_t missed;
    size_t room; /* words and spans of one launch */
    struct sl_footprint *footprint;
    struct sl_span *spans;
    struct sl_sim_mark marks[REPLAY_ITERATIONS + 1];
    struct replay_iteration sums[REPLAY_ITERATIONS + 1]; /* since the start, at each border */
};

/* The replayed program's stream with this index in the model: smaller handles mean something. */
static inline sl_stream replay_stream(uint32_t stream)
{
    return (sl_stream)(uintptr_t)(16 + stream);
}

/* Does what the program did before the launch with this tick: allocations, frees and waits, in the order of
 * time.
 */
void replay_catch_up(struct replaying *r, uint64_t tick);

/* Makes the launch. SL_ERR_NO_MEMORY, or the backend's error. */
enum sl_status replay_launch(struct replaying *r, const struct model_launch *launch);

#endif
