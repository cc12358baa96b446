/* The dependencies of a launch on launches of other streams, when the ranks of a job are replayed together:
 *
 *   - on those that the program's events state; the trace has events from the first collective on;
 *   - of a launch other than a collective: on all earlier ones of this kind, and on collectives that write
 *   its memory or read memory that it writes;
 *   - of a collective: on the communicator's last one, as with NCCL, and, if no event states what its stream
 *   waits for, on all earlier launches other than collectives. */
#ifndef SLUICE_TOOL_REPLAY_ORDER_H
#define SLUICE_TOOL_REPLAY_ORDER_H

#include "base/map.h"
#include "tools/sim/backend_sim.h"

enum { REPLAY_IN_FLIGHT = 256 };

struct replay_order {
    struct in_flight { /* a collective that no launch is known to have waited for */
        sl_event_handle event;
        sl_stream stream;
        uint64_t communicator;
        struct sl_span *spans;
        size_t count, room;
    } flights[REPLAY_IN_FLIGHT]; /* in order, starting at `first` */
    unsigned first, count;
    sl_event_handle joint;   /* for launches other than collectives */
    struct sl_map number_of; /* the program's event + 1 -> in `events` */
    sl_event_handle *events;
    uint32_t event_count, event_room;
    uint64_t told; /* bits by stream number modulo 64: the program made the stream wait for something */
};

/* The program recorded its event on a stream, or makes the stream wait for it. `number`: of the stream. */
enum sl_status replay_order_record(struct replay_order *order, const struct sl_backend *backend,
                                   sl_stream stream, uint64_t event);
enum sl_status replay_order_wait_for(struct replay_order *order, const struct sl_backend *backend,
                                     sl_stream stream, uint32_t number, uint64_t event);

/* Whether events state what the stream waits for. */
static inline bool replay_order_is_told(const struct replay_order *order, uint32_t number)
{
    return order->told >> number % 64 & 1;
}

/* Makes the stream wait for all work given to `other`. */
enum sl_status replay_order_join(struct replay_order *order, const struct sl_backend *backend,
                                 sl_stream stream, sl_stream other);

/* Makes the stream wait for the collectives on which a launch with `spans` depends. */
enum sl_status replay_order_wait(struct replay_order *order, const struct sl_backend *backend,
                                 sl_stream stream, const struct sl_span *spans, size_t count);

/* Call these before and after a collective is launched on the stream. */
enum sl_status replay_order_follow(struct replay_order *order, const struct sl_backend *backend,
                                   sl_stream stream, uint64_t communicator);
enum sl_status replay_order_launched(struct replay_order *order, const struct sl_backend *backend,
                                     sl_stream stream, uint64_t communicator, const struct sl_span *spans,
                                     size_t count);

/* The events belong to the device and end with it. */
void replay_order_free(struct replay_order *order); /* accepts a zeroed one */

#endif
