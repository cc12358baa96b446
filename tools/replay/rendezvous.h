/* Simulated devices that meet, each with a clock of its own: who may let how much time pass, and when a
 * meeting begins. No clock and no process in here: what devices say goes in, what they are told comes out.
 *
 * A device that waits at a meeting may only let time pass up to where nobody can do anything that it would
 * have to know. So one that waits asks how far that is, and is told when all others have asked, too, or have
 * ended: then nothing happens anywhere before the earliest moment of those asked for, and up to the second of
 * them it is one device alone to which something happens. (Chandy and Misra 1979, with a referee instead of
 * messages between them.) Where everybody waits and nothing happens any more, the meeting whose first member
 * came first begins without those who are missing.
 */
#ifndef SLUICE_TOOL_RENDEZVOUS_H
#define SLUICE_TOOL_RENDEZVOUS_H

#include "tools/replay/replay_meetings.h"

struct rendezvous;

/* For the meetings at[1] to at[count - 1]; they outlive it. NULL when there is no memory. */
struct rendezvous *rendezvous_new(const struct replay_meeting *at, uint32_t count, size_t ranks);
void rendezvous_delete(struct rendezvous *rendezvous); /* accepts NULL */

/* What a rank says. It came to a meeting, which is one of its own and to which it did not come before: what
 * is none counts as nothing. It asks to let time pass from `now_ns` to `next_ns` and says nothing until it is
 * answered. It has ended. */
void rendezvous_arrive(struct rendezvous *rendezvous, size_t rank, uint32_t meeting, double now_ns);
void rendezvous_ask(struct rendezvous *rendezvous, size_t rank, double now_ns, double next_ns);
void rendezvous_end(struct rendezvous *rendezvous, size_t rank);

/* The next rank that is to be answered, and what: a meeting begins at `until_ns`, or, where it is 0, time may
 * pass up to there. False: somebody has to say something first. */
struct rendezvous_answer {
    size_t rank;
    uint32_t meeting;
    double until_ns;
};
bool rendezvous_answer(struct rendezvous *rendezvous, struct rendezvous_answer *out);

/* Meetings that began without somebody, though nobody had ended. */
uint64_t rendezvous_missed(const struct rendezvous *rendezvous);

#endif
