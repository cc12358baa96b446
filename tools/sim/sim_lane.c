#include "tools/sim/sim_lane.h"

bool sl_sim_lane_open(struct sl_sim_lane *lane, struct sl_sim_clock *clock,
                      const struct sl_sim_driver *driver, enum sl_sim_way way)
{
    *lane = (struct sl_sim_lane){.clock = clock,
                                 .way = way,
                                 .workers = sl_sim_driver_threads(driver, way),
                                 .retire_ns = driver->retire_ns};
    bool good = sl_sim_stream_new(clock, &lane->end);
    lane->begin = lane->end;
    if (lane->workers < 2) return good;
    good = good && sl_sim_stream_new(clock, &lane->begin);
    for (uint32_t w = 0; good && w < lane->workers; w++) good = sl_sim_stream_new(clock, &lane->streams[w]);
    return good;
}

bool sl_sim_lane_settle(struct sl_sim_lane *lane, uint64_t host_ns)
{
    double since_ns;
    sl_sim_run(lane->clock, host_ns);
    if (!sl_sim_idle(lane->clock, lane->end, &since_ns)) return false;
    if (since_ns < (double)lane->passed_ns) since_ns = (double)lane->passed_ns;
    return lane->known == lane->given || since_ns + lane->retire_ns <= (double)host_ns;
}

bool sl_sim_follow(struct sl_sim_clock *clock, uint32_t after, uint32_t before, uint64_t host_ns)
{
    struct sl_sim_event *event = sl_sim_event_new(clock);
    bool good = event && sl_sim_record(clock, before, host_ns, event) &&
                sl_sim_wait(clock, after, host_ns, event, false);
    if (event) sl_sim_event_delete(clock, event);
    return good;
}

/* The next worker takes it. Page tables of a slab are changed by one thread at a time. */
bool sl_sim_lane_move(struct sl_sim_lane *lane, uint64_t host_ns, uint64_t address,
                      const struct sl_sim_work *work)
{
    struct sl_sim_work ranged = *work;
    lane->given++;
    ranged.range = address / SL_GIB;
    if (lane->workers < 2) return sl_sim_push(lane->clock, lane->end, host_ns, &ranged);
    uint32_t stream = lane->streams[lane->moves++ % lane->workers];
    return sl_sim_follow(lane->clock, stream, lane->begin, host_ns) &&
           sl_sim_push(lane->clock, stream, host_ns, &ranged) &&
           sl_sim_follow(lane->clock, lane->end, stream, host_ns);
}

bool sl_sim_lane_record(struct sl_sim_lane *lane, uint64_t host_ns, struct sl_sim_event *event)
{
    lane->given++;
    return (lane->begin == lane->end || sl_sim_follow(lane->clock, lane->end, lane->begin, host_ns)) &&
           sl_sim_record(lane->clock, lane->end, host_ns, event);
}

bool sl_sim_lane_wait(struct sl_sim_lane *lane, uint64_t host_ns, struct sl_sim_event *event)
{
    lane->given++;
    lane->passed_ns = host_ns;
    return sl_sim_wait(lane->clock, lane->begin, host_ns, event, false);
}
