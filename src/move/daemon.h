/* The daemon: a thread for each direction of the link, which carries out the schedule as launches are
 * submitted.
 *
 * A thread waits on the host until its next movement can start, and only then issues it, so that movements do
 * not queue up in the driver. At most a few movements are in flight in each direction. The threads block all
 * signals and take neither the order lock nor any lock of the program.
 */
#ifndef SLUICE_DAEMON_H
#define SLUICE_DAEMON_H

#include "move/schedule.h"

struct sl_daemon;

enum sl_status sl_daemon_start(struct sl_schedule *schedule, struct sl_daemon **out);
/* A launch was submitted, or a plan installed. Makes a system call only if a thread sleeps. */
void sl_daemon_wake(struct sl_daemon *daemon);
/* Ends the threads after their current movement; other threads may still wake the daemon, in vain. With
 * `leave_waiting`, at the end of the process, a thread that waits for the device is left alone: it may wait
 * forever, and issues nothing afterwards. Accepts NULL. */
void sl_daemon_stop(struct sl_daemon *daemon, bool leave_waiting);
/* Stops and frees. Precondition: no thread was left waiting. Accepts NULL. */
void sl_daemon_delete(struct sl_daemon *daemon);

#endif
