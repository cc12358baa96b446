/* A replay in progress, shared by replay.c and replay_events.c. */
#ifndef SLUICE_TOOL_REPLAY_INTERNAL_H
#define SLUICE_TOOL_REPLAY_INTERNAL_H

#include "core/runtime.h"
#include "launch/access.h"
#include "memory/placement.h"
#include "move/stats.h"
#include "tools/replay/replay.h"
#include "tools/replay/replay_order.h"
#include "tools/replay/sequence.h"
#include "tools/sim/backend_sim.h"

struct replaying {
    const struct replay_program *program;
    const struct replay_meetings *meetings; /* NULL: a single program */
    const uint32_t *meeting_of;             /* of each of the model's collectives */
    bool meets_over_link, rereads;
    double first_plan_late; /* see replay_run */
    double bytes_per_ns;    /* rate of each direction of the link while both are in use */
    struct replay_result *result;
    struct sequence *sequence; /* set while its iterations are replayed */
    struct sl_backend backend;
    struct sl_view core;
    uint64_t *address_of; /* by slot; 0: not live */
    uint8_t *class_of;    /* enum memory_class, by the core's slot */
    uint32_t class_room;
    size_t birth, death, sync, duration, collective, next_order;
    uint32_t border;
    uint16_t last_stream; /* of the last launch; of several ranks, of the last one that is not a collective */
    struct replay_order order;
    uint64_t missed;
    size_t room; /* capacity for the words and spans of one launch */
    struct sl_footprint *footprint;
    struct sl_span *spans;
    struct sl_sim_mark marks[REPLAY_ITERATIONS + 1];
    struct replay_iteration sums[REPLAY_ITERATIONS + 1]; /* totals since the start, at each border */
};

static inline sl_chunk replay_chunk(const struct replaying *r, uint64_t address)
{
    return sl_arena_chunk(r->core.arena, address);
}

/* In use; 0: the chunk holds no allocation. */
static inline uint64_t replay_chunk_bytes(const struct replaying *r, sl_chunk chunk)
{
    return sl_arena_record(r->core.arena, chunk)->bytes;
}

/* The handle for the stream with this index in the model; smaller handles have a special meaning. */
static inline sl_stream replay_stream(uint32_t stream)
{
    return (sl_stream)(uintptr_t)(16 + stream);
}

/* Repeats the program's allocations, frees and waits before the launch with this tick, in the order of time.
 */
void replay_catch_up(struct replaying *r, uint64_t tick);

/* Performs the launch. Returns SL_ERR_NO_MEMORY or the backend's error. */
enum sl_status replay_launch(struct replaying *r, const struct model_launch *launch);

#endif
