/* A device that is only a clock: streams of work in simulated nanoseconds.
 *
 * A stream executes its operations in order: work takes time and may use the link, events are recorded and
 * waited for. Work of different streams runs in parallel. Each direction of the link divides its speed
 * equally among its users, of which movements, one after the other, are one; while both directions are in
 * use, each has a fraction of its speed. Speeds are constant between two changes of the users, so times are
 * exact. Some work needs one of a few workers, which take what is ready first, or that no other work has its
 * range of page tables.
 *
 * Each pushed operation carries the time at which the program gave it to the device; these times never
 * decrease. Nothing is computed before it is queried. One thread at a time.
 */
#ifndef SLUICE_SIM_CLOCK_H
#define SLUICE_SIM_CLOCK_H

#include "base/types.h"

enum sl_sim_way { SL_SIM_IN, SL_SIM_OUT, SL_SIM_WAYS };

struct sl_sim_link {
    double bytes_per_ns[SL_SIM_WAYS];
    double both; /* fraction of its speed that each direction has while both are in use */
};

/* Three parts, one after the other: before_ns; the bytes, and fixed_ns beside them; after_ns. */
struct sl_sim_work {
    uint64_t before_ns, fixed_ns, after_ns;
    double bytes[SL_SIM_WAYS];
    bool moves; /* a driver's call that moves memory: its time is counted by the way that `way` says */
    enum sl_sim_way way;
    /* Page tables of a range are changed by one work at a time. When this one does: not at all, during
     * before_ns, during after_ns, all the time. */
    enum { SL_SIM_RANGE_NOT, SL_SIM_RANGE_BEFORE, SL_SIM_RANGE_AFTER, SL_SIM_RANGE_ALWAYS } ranged;
    uint64_t range;
    bool by_worker;    /* from its beginning to its end by one of the clock's workers, if it has any */
    bool launch;       /* a launch of the program: counted */
    uint64_t alone_ns; /* launches: duration if all is on the device and the link is idle */
    uint32_t meeting;  /* the meeting of devices, each with its own clock, at which it begins; 0: none */
};

/* Decides when devices meet. A clock with meetings may advance only as far as this allows, because its own
 * work may begin with an event at another device. */
struct sl_sim_meetings {
    void *context;
    /* The meeting's work is the next on its stream, at `now_ns`. */
    void (*arrive)(void *context, uint32_t meeting, double now_ns);
    /* Called while work waits for its meeting and nothing else happens here until `next_ns` (INFINITY: ever).
     * Returns 0: time may pass up to *until_ns, which is at least next_ns; or a meeting, which begins at
     * *until_ns. */
    uint32_t (*wait)(void *context, double now_ns, double next_ns, double *until_ns);
};

/* When an operation was reached, and the time lost until then. */
struct sl_sim_mark {
    double time_ns;
    double stall_ns;               /* sum of the time that streams spent in stalling waits */
    double longer_ns;              /* sum of the time that launches took beyond alone_ns */
    double waited_ns;              /* sum of the time that work waited for other devices */
    double moving_ns[SL_SIM_WAYS]; /* sum of the times of calls that move memory and are over */
};

struct sl_sim_clock;
struct sl_sim_event;

/* `workers`: 0: as many as are wanted. `meetings` outlives the clock; NULL: no work has meetings. Returns
 * NULL if out of memory. */
struct sl_sim_clock *sl_sim_clock_new(const struct sl_sim_link *link, uint32_t workers,
                                      const struct sl_sim_meetings *meetings);
void sl_sim_clock_delete(struct sl_sim_clock *clock); /* accepts NULL; deletes the events too */

/* Makes a stream. False: out of memory. */
bool sl_sim_stream_new(struct sl_sim_clock *clock, uint32_t *stream);

/* An event without a record counts as reached. One that is recorded again on another stream is reached when
 * the first of both records is. Deletion takes effect at once for the program; operations that already wait
 * for the event go on waiting. */
struct sl_sim_event *sl_sim_event_new(struct sl_sim_clock *clock);
void sl_sim_event_delete(struct sl_sim_clock *clock, struct sl_sim_event *event);

/* Appends an operation that was given to the stream at `given_ns`. False: out of memory. */
bool sl_sim_push(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns,
                 const struct sl_sim_work *work);
bool sl_sim_record(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns,
                   struct sl_sim_event *event);
/* `stalls`: counts the time of the wait. */
bool sl_sim_wait(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_event *event,
                 bool stalls);
/* Writes *mark when the stream gets there. */
bool sl_sim_mark(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_mark *mark);

/* Lets time pass until `until_ns`; records up to there are reached then. */
void sl_sim_run(struct sl_sim_clock *clock, uint64_t until_ns);

/* Whether the stream has done all its work by the time that has passed; *since_ns (may be NULL): when it had.
 */
bool sl_sim_idle(const struct sl_sim_clock *clock, uint32_t stream, double *since_ns);

/* Let time pass until the event's last record is reached, or `launches` launches have ended, or all work has.
 * False: that never happens. *now_ns: the time of that, or later. */
bool sl_sim_run_to_event(struct sl_sim_clock *clock, const struct sl_sim_event *event, uint64_t *now_ns);
bool sl_sim_run_to_launch(struct sl_sim_clock *clock, uint64_t launches, uint64_t *now_ns);
bool sl_sim_run_to_end(struct sl_sim_clock *clock, uint64_t *now_ns);

/* Whether the event's last record is reached, and when. */
bool sl_sim_reached(const struct sl_sim_event *event);
double sl_sim_reached_ns(const struct sl_sim_event *event);

#endif
