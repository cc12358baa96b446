/* Measures when movements use the link: two events around a fetch or an eviction in its direction's stream,
 * which are read later without waiting. With a trace every movement is measured; without, now and then a few
 * in a row, for the link's speed.
 *
 * While both directions run, each has SL_LINK_SHARED of its speed; for each movement, the time it shared with
 * measured movements of the other direction is taken into account. Caller holds the direction's lock.
 */
#ifndef SLUICE_TRANSFER_H
#define SLUICE_TRANSFER_H

#include "device/backend.h"
#include "trace/events.h"

struct sl_device_clock;
struct sl_trace;
struct sl_transfers;

#define SL_LINK_SHARED 0.92
#define SL_LINK_SPANS 32 /* the last movements of each direction that are used */
#define SL_LINK_LEAST 8  /* fewer movements give no speed */

struct sl_link_lane {
    struct sl_link_span {
        uint64_t begin_ns, end_ns, bytes;
    } spans[SL_LINK_SPANS];
    uint64_t count; /* movements noted so far */
};

struct sl_link {
    struct sl_link_lane in, out;
};

/* `bytes` crossed the link from begin_ns to end_ns, on one clock for both directions. */
void sl_link_note(struct sl_link_lane *lane, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes);

/* The speed of each direction while both run, of all its movements together. If neither is known, the outputs
 * stay as they are; if only one is, the other gets the same value. Caller holds both directions' locks. */
void sl_link_speeds(const struct sl_link *link, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s);

/* `trace`: gets a record of each movement; may be NULL. `lane`: gets the movements that crossed the link.
 * NULL: no memory. */
struct sl_transfers *sl_transfers_new(const struct sl_backend *backend, struct sl_device_clock *clock,
                                      struct sl_trace *trace, struct sl_link_lane *lane, sl_stream stream);
void sl_transfers_delete(struct sl_transfers *transfers, bool device_gone); /* accepts NULL */

/* Without a trace: times the next SL_LINK_SPANS movements. */
void sl_transfers_time_some(struct sl_transfers *transfers);
/* Whether all movements begun were read. */
bool sl_transfers_settled(const struct sl_transfers *transfers);

/* Records the begin event. Call it after the stream got everything that the movement waits for. False: the
 * movement is not timed. */
bool sl_transfers_begin(struct sl_transfers *transfers);
/* Records the end event. Call it after the movement was enqueued, unless the driver refused it. Precondition:
 * sl_transfers_begin returned true. `move`: the movement's record. `whole`: all its bytes had content, so
 * they crossed the link. */
void sl_transfers_end(struct sl_transfers *transfers, const struct sl_event *move, bool whole);
/* For a movement that a mover has carried out: whether it is to be timed, and, once it is over, its record.
 * `begin`, `end`: timed events around it, which have passed. */
bool sl_transfers_want(const struct sl_transfers *transfers);
void sl_transfers_note(struct sl_transfers *transfers, sl_event_handle begin, sl_event_handle end,
                       const struct sl_event *move, bool whole);
/* Reads the finished ones. */
void sl_transfers_settle(struct sl_transfers *transfers);

/* The best speed so far, in bytes/s: the median of SL_LINK_TRANSFERS movements in a row; 0: too few yet. Any
 * thread; accepts NULL. */
#define SL_LINK_TRANSFERS 8
uint64_t sl_transfers_speed(const struct sl_transfers *transfers);

#endif
