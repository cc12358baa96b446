/* A device that is only a clock: streams of work in simulated nanoseconds.
 *
 * A stream does one thing after the other: work takes time and may use the link, events are recorded and
 * waited for. Work of different streams runs side by side. Each direction of the link divides its speed
 * equally among those who use it, and while both directions are in use each has a part of it only: between
 * two moments at which somebody begins or ends, all speeds are constant, so times are exact.
 *
 * What is pushed carries the moment at which the program gave it to the device; these never go back. Nothing
 * is worked out before somebody asks. One thread at a time.
 */
#ifndef SLUICE_SIM_CLOCK_H
#define SLUICE_SIM_CLOCK_H

#include "base/types.h"

enum sl_sim_way { SL_SIM_IN, SL_SIM_OUT, SL_SIM_WAYS };

struct sl_sim_link {
    double bytes_per_ns[SL_SIM_WAYS];
    double both; /* the part of its speed that each direction has while both are in use */
};

/* It ends when fixed_ns have passed and all bytes are there. Bytes flow from the beginning, or behind the
 * fixed time if `first` is set. */
struct sl_sim_work {
    uint64_t fixed_ns;
    double bytes[SL_SIM_WAYS];
    bool first;
    bool launch;       /* the program's: counted */
    uint64_t alone_ns; /* launches: how long it takes where all is on the device and the link is idle */
    uint32_t meeting;  /* of devices, each with a clock of its own, at which it begins; 0: of no others */
};

/* Who knows when devices meet. A clock with work of meetings in it may only go on as far as they say: what
 * happens at another device may be what its own work begins with. */
struct sl_sim_meetings {
    void *context;
    /* The work of the meeting is the next on its stream, at `now_ns`. */
    void (*arrive)(void *context, uint32_t meeting, double now_ns);
    /* Some that were arrived at have not begun, and until `next_ns` (INFINITY: ever) nothing else happens
     * here. Returns 0 where time may pass up to *until_ns, which is no less than next_ns; or one of the
     * meetings, which begins at *until_ns. */
    uint32_t (*wait)(void *context, double now_ns, double next_ns, double *until_ns);
};

/* When something was reached, and what had been lost until then. */
struct sl_sim_mark {
    double time_ns;
    double stall_ns;  /* streams waited for what stalls them, added up */
    double longer_ns; /* launches took longer than alone, added up */
    double waited_ns; /* work waited for others to come to its meeting, added up */
};

struct sl_sim_clock;
struct sl_sim_event;

/* `meetings` outlives the clock; NULL: no work has any. NULL when there is no memory. */
struct sl_sim_clock *sl_sim_clock_new(const struct sl_sim_link *link, const struct sl_sim_meetings *meetings);
void sl_sim_clock_delete(struct sl_sim_clock *clock); /* accepts NULL; events, too, are gone */

/* A new stream; false when there is no memory. */
bool sl_sim_stream_new(struct sl_sim_clock *clock, uint32_t *stream);

/* An event that nothing was recorded in counts as reached. One that is recorded again on another stream is
 * reached when the first of both is. Deleted at once, as the program sees it: who waits goes on waiting. */
struct sl_sim_event *sl_sim_event_new(struct sl_sim_clock *clock);
void sl_sim_event_delete(struct sl_sim_clock *clock, struct sl_sim_event *event);

/* Appends to a stream what was given to it at `given_ns`. False when there is no memory. */
bool sl_sim_push(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns,
                 const struct sl_sim_work *work);
bool sl_sim_record(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns,
                   struct sl_sim_event *event);
/* `stalls`: the time of the wait is counted. */
bool sl_sim_wait(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_event *event,
                 bool stalls);
/* *mark is written when the stream gets there. */
bool sl_sim_mark(struct sl_sim_clock *clock, uint32_t stream, uint64_t given_ns, struct sl_sim_mark *mark);

/* Lets the time pass until `until_ns`; then what was recorded up to there is reached. */
void sl_sim_run(struct sl_sim_clock *clock, uint64_t until_ns);

/* Whether the stream has done all that it was given, by the time that has passed. */
bool sl_sim_idle(const struct sl_sim_clock *clock, uint32_t stream);

/* Lets the time pass until what was recorded last in the event is reached, or so many launches have ended, or
 * all has. False: that never happens. *now_ns: when that was, or later. */
bool sl_sim_run_to_event(struct sl_sim_clock *clock, const struct sl_sim_event *event, uint64_t *now_ns);
bool sl_sim_run_to_launch(struct sl_sim_clock *clock, uint64_t launches, uint64_t *now_ns);
bool sl_sim_run_to_end(struct sl_sim_clock *clock, uint64_t *now_ns);

/* Of what was recorded last: is it reached by now, and when was it. */
bool sl_sim_reached(const struct sl_sim_event *event);
double sl_sim_reached_ns(const struct sl_sim_event *event);

#endif
