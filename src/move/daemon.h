/* The daemon: one thread for each direction of the link, carrying out the schedule as its launches are
 * submitted.
 *
 * A thread waits on the host for what its next movement depends on and only then issues it on the direction's
 * idle stream, so that nothing piles up in the driver. At most a few movements are under way in each
 * direction. The threads block all signals and take neither the order lock nor any lock of the program's.
 */
#ifndef SLUICE_DAEMON_H
#define SLUICE_DAEMON_H

#include "move/schedule.h"

struct sl_daemon;

enum sl_status sl_daemon_start(struct sl_schedule *schedule, struct sl_daemon **out);
/* Says that there may be something to do: a launch was submitted, or a plan installed. Wakes nobody
 * needlessly. */
void sl_daemon_wake(struct sl_daemon *daemon);
/* Ends the threads after the movement they are in. With `leave_waiting`, at the process's end, one that waits
 * for the device is left there: it may wait for ever, and touches nothing afterwards. Accepts NULL. */
void sl_daemon_stop(struct sl_daemon *daemon, bool leave_waiting);

#endif
