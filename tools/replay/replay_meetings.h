/* At which launches the ranks of a job meet (tools/analyses/meetings.h, with groups of several functions),
 * and how long that takes: a meeting begins when the last rank has come, and takes from then on what it took
 * this rank, which waited for nobody.
 *
 * Sends and receives are no meetings, as nobody knows whose peer a rank is: they take as long as they were
 * measured to, with what they waited.
 */
#ifndef SLUICE_TOOL_REPLAY_MEETINGS_H
#define SLUICE_TOOL_REPLAY_MEETINGS_H

#include "tools/model/model.h"

enum { REPLAY_RANKS = 64 }; /* at most */

struct replay_meeting {
    uint64_t members;      /* ranks, by bit: two at least */
    uint64_t took_ns;      /* from when the last of them has come */
    uint64_t passed_bytes; /* each way, over the links of the rank that has most */
    bool guessed;          /* it was timed on no rank, nor were others like it */
};

struct replay_meetings {
    struct replay_meeting *at; /* at[0] is none */
    uint32_t count;            /* that included */
    size_t ranks;
    uint32_t *of_rank[REPLAY_RANKS]; /* of each collective in its model, the meeting; 0: none */
    uint64_t alone[REPLAY_RANKS];    /* so many of them: they wait for nobody in a replay */
    uint64_t unlike; /* communicators whose collectives differ between ranks from some point on: no further */
    double
        bytes_per_ns; /* the most that passed a link in meetings that are long enough to tell; 0: none is */
};

/* *out is released with replay_meetings_free. pre: ranks <= REPLAY_RANKS. False: there is no memory, and *out
 * is empty. */
bool replay_meetings_find(const struct model *const *models, size_t ranks, struct replay_meetings *out);
void replay_meetings_free(struct replay_meetings *meetings); /* accepts a zeroed one */

#endif
