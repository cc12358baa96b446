/* The movements of one direction of the link, as a driver executes its calls.
 *
 * If there are several workers, each has a stream of its own, so that movements run side by side: `begin` has
 * what they wait for, and in `end` each one is over when all before it are. One thread at a time. */
#ifndef SLUICE_SIM_LANE_H
#define SLUICE_SIM_LANE_H

#include "tools/sim/sim_driver.h"

struct sl_sim_lane {
    struct sl_sim_clock *clock;
    enum sl_sim_way way;
    uint32_t workers, retire_ns;
    uint32_t begin, end; /* streams; the same one if all movements run in it */
    uint32_t streams[SL_SIM_WORKERS];
    uint64_t moves;
    uint64_t given, known; /* operations; those that the host knows to be over */
    uint64_t passed_ns;    /* when it was last told to wait */
};

/* False: out of memory. */
bool sl_sim_lane_open(struct sl_sim_lane *lane, struct sl_sim_clock *clock,
                      const struct sl_sim_driver *driver, enum sl_sim_way way);

/* Lets time pass up to `host_ns`. Returns whether the driver sees the lane idle there: the host knows that
 * all is over, or it has been for a while. */
bool sl_sim_lane_settle(struct sl_sim_lane *lane, uint64_t host_ns);

/* Append to the lane what the host gives it at `host_ns`. False: out of memory. */
bool sl_sim_lane_move(struct sl_sim_lane *lane, uint64_t host_ns, uint64_t address,
                      const struct sl_sim_work *work);
bool sl_sim_lane_record(struct sl_sim_lane *lane, uint64_t host_ns, struct sl_sim_event *event);
bool sl_sim_lane_wait(struct sl_sim_lane *lane, uint64_t host_ns, struct sl_sim_event *event);

/* The host knows that the first `given` operations are over. */
static inline void sl_sim_lane_know(struct sl_sim_lane *lane, uint64_t given)
{
    if (lane->known < given) lane->known = given;
}

/* Makes later work of a stream wait for what another one has. False: out of memory. */
bool sl_sim_follow(struct sl_sim_clock *clock, uint32_t after, uint32_t before, uint64_t host_ns);

#endif
