/* When movements ran on the link and for how long: two events around a fetch or an eviction on its
 * direction's stream, read later without waiting. With a trace each one; without, a few in a row now and
 * then, to know how fast the link is. Caller holds the direction's lock.
 */
#ifndef SLUICE_TRANSFER_H
#define SLUICE_TRANSFER_H

#include "device/backend.h"
#include "move/link_speed.h"
#include "plan/plan.h"
#include "trace/events.h"

struct sl_device_clock;
struct sl_trace;
struct sl_transfers;

/* Each movement is recorded in `trace`; or NULL. `lane` gets those that went over the link. NULL: no memory.
 */
struct sl_transfers *sl_transfers_new(const struct sl_backend *backend, struct sl_device_clock *clock,
                                      struct sl_trace *trace, struct sl_link_lane *lane, sl_stream stream);
void sl_transfers_delete(struct sl_transfers *transfers, bool device_gone); /* accepts NULL */

/* Without a trace: the next SL_LINK_SPANS movements are timed. */
void sl_transfers_time_some(struct sl_transfers *transfers);
/* Whether all that was begun was read. */
bool sl_transfers_settled(const struct sl_transfers *transfers);

/* The stream has got all that the movement waits for. False: it is not timed. */
bool sl_transfers_begin(struct sl_transfers *transfers);
/* It has got the movement; pre: sl_transfers_begin was true. `move`: its record. `whole`: all its bytes were
 * somewhere before, so that they went over the link. Not called where the driver refused it. */
void sl_transfers_end(struct sl_transfers *transfers, const struct sl_event *move, bool whole);
/* Reads those that are done. */
void sl_transfers_settle(struct sl_transfers *transfers);

/* Bytes a second that half of SL_LINK_TRANSFERS movements in a row reached, at best so far; 0: there were not
 * so many. Any thread; accepts NULL. */
#define SL_LINK_TRANSFERS 8
uint64_t sl_transfers_speed(const struct sl_transfers *transfers);

#endif
