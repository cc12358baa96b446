/* The daemon: movers (movers.h), some for each direction of the link. They carry out what launches have
 * decided, and, while there is no such thing, decide about the next steps of the schedule as launches are
 * submitted.
 *
 * One of them at a time and direction waits on the host until the next step can start, and only then decides,
 * so that few movements are decided early. The threads block all signals and take neither the order lock nor
 * any lock of the program.
 */
#ifndef SLUICE_DAEMON_H
#define SLUICE_DAEMON_H

#include "move/schedule.h"

struct sl_daemon;

/* `movers`: threads that move memory to the host, 1 to SL_MOVERS_MOST. */
enum sl_status sl_daemon_start(struct sl_schedule *schedule, uint32_t movers, struct sl_daemon **out);
/* A launch was submitted, or a plan installed. Makes a system call only if a thread sleeps. */
void sl_daemon_wake(struct sl_daemon *daemon);
/* Ends the threads after their current movement; what was decided and not begun stays where it is. Other
 * threads may still wake the daemon, in vain. With `leave_waiting`, at the end of the process, a thread that
 * waits for the device is left alone: it may wait forever, and issues nothing afterwards. Accepts NULL. */
void sl_daemon_stop(struct sl_daemon *daemon, bool leave_waiting);
/* Stops and frees. Precondition: no thread was left waiting. Accepts NULL. */
void sl_daemon_delete(struct sl_daemon *daemon, bool device_gone);

#endif
