/* A referee for simulated devices that meet, each with a clock of its own: it decides how far each device may
 * let time pass, and when a meeting begins. It has no clock and no process itself.
 *
 * A device that waits at a meeting may let time pass only as far as no other device can do anything that
 * affects it. It asks how far that is, and gets an answer when all others have asked, too, or have ended.
 * Then nothing happens before the earliest of the requested times, and up to the second earliest one only a
 * single device acts (Chandy and Misra 1979, with a referee instead of messages). If all devices wait and
 * nothing can happen any more, the meeting whose first member came first begins without its missing members.
 */
#ifndef SLUICE_TOOL_RENDEZVOUS_H
#define SLUICE_TOOL_RENDEZVOUS_H

#include "tools/replay/replay_meetings.h"

struct rendezvous;

/* For the meetings at[1] to at[count - 1], which must outlive it. NULL: out of memory. */
struct rendezvous *rendezvous_new(const struct replay_meeting *at, uint32_t count, size_t ranks);
void rendezvous_delete(struct rendezvous *rendezvous); /* accepts NULL */

/* Messages of a rank. arrive: it came to one of its meetings for the first time; any other meeting is
 * ignored. ask: it wants to let time pass from `now_ns` to `next_ns`, and sends nothing until it is answered.
 * end: it has ended. */
void rendezvous_arrive(struct rendezvous *rendezvous, size_t rank, uint32_t meeting, double now_ns);
void rendezvous_ask(struct rendezvous *rendezvous, size_t rank, double now_ns, double next_ns);
void rendezvous_end(struct rendezvous *rendezvous, size_t rank);

/* The next rank to answer, and the answer: a meeting begins at `until_ns` or, if the meeting is 0, time may
 * pass up to `until_ns`. False: a rank has to send something first. */
struct rendezvous_answer {
    size_t rank;
    uint32_t meeting;
    double until_ns;
};
bool rendezvous_answer(struct rendezvous *rendezvous, struct rendezvous_answer *out);

/* Meetings that began without a member that had not ended. */
uint64_t rendezvous_missed(const struct rendezvous *rendezvous);

#endif
