/* On which launches of other streams a launch depends, where the ranks of a job are replayed together:
 *
 *   - on what the program's events say, which the trace has from the first collective on;
 *   - what is no collective, on all before it that are none, and on collectives that write what it uses, or
 *     read what it writes;
 *   - a collective, on the communicator's last one, as with NCCL; and where no event says what its stream
 *     waits for, on all before it that are none.
 */
#ifndef SLUICE_TOOL_REPLAY_ORDER_H
#define SLUICE_TOOL_REPLAY_ORDER_H

#include "base/map.h"
#include "sim/backend_sim.h"

enum { REPLAY_IN_FLIGHT = 256 };

struct replay_order {
    struct in_flight { /* a collective that nothing is known to have waited for */
        sl_event_handle event;
        sl_stream stream;
        uint64_t communicator;
        struct sl_span *spans;
        size_t count, room;
    } flights[REPLAY_IN_FLIGHT]; /* in their order, from `first` on */
    unsigned first, count;
    sl_event_handle joint;   /* for what is no collective */
    struct sl_map number_of; /* the program's event + 1 -> in `events` */
    sl_event_handle *events;
    uint32_t event_count, event_room;
    uint64_t told; /* by bit, numbers of streams modulo 64: the program made them wait for something */
};

/* The program recorded its event on a stream, or makes the stream wait for it. `number`: the stream's. */
enum sl_status replay_order_record(struct replay_order *order, const struct sl_backend *backend,
                                   sl_stream stream, uint64_t event);
enum sl_status replay_order_wait_for(struct replay_order *order, const struct sl_backend *backend,
                                     sl_stream stream, uint32_t number, uint64_t event);

/* Whether events say what the stream waits for. */
static inline bool replay_order_is_told(const struct replay_order *order, uint32_t number)
{
    return order->told >> number % 64 & 1;
}

/* The stream waits for all that `other` was given. */
enum sl_status replay_order_join(struct replay_order *order, const struct sl_backend *backend,
                                 sl_stream stream, sl_stream other);

/* The stream waits for the collectives that a launch which uses `spans` depends on. */
enum sl_status replay_order_wait(struct replay_order *order, const struct sl_backend *backend,
                                 sl_stream stream, const struct sl_span *spans, size_t count);

/* A collective is about to be launched on the stream, and was launched there. */
enum sl_status replay_order_follow(struct replay_order *order, const struct sl_backend *backend,
                                   sl_stream stream, uint64_t communicator);
enum sl_status replay_order_launched(struct replay_order *order, const struct sl_backend *backend,
                                     sl_stream stream, uint64_t communicator, const struct sl_span *spans,
                                     size_t count);

/* Events are the device's, and gone with it. */
void replay_order_free(struct replay_order *order); /* accepts a zeroed one */

#endif
