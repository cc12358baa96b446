/* Which launches of several ranks exchange messages. In a communicator the n-th message from one rank to
 * another is the n-th that the other receives from it. Launches that messages connect, directly or through
 * others, are one meeting if they are of different ranks: a send with its receive, or two groups that
 * exchange messages. Longer chains, such as groups in which each rank sends to the next, are taken to end
 * together, although a rank waits only for its neighbours.
 *
 * NCCL may end the send of a small message before it is received. */
#ifndef SLUICE_TOOL_EXCHANGES_H
#define SLUICE_TOOL_EXCHANGES_H

#include "tools/analyses/meetings.h"

/* Appends the meetings of entries with messages, by communicator and so that those of each rank are in
 * program order. Without a meeting remain messages without a counterpart, or of another size than it, and
 * launches that would wait for each other without end if they were meetings. Precondition: there is room for
 * a meeting and a member for each entry. False: out of memory. */
bool exchanges_match(struct meetings *meetings);

#endif
