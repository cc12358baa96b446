/* The launches at which the ranks of a job meet (tools/analyses/meetings.h, with groups of several
 * functions), and the time that this takes. A meeting begins when its last rank has come, and takes as long
 * from there as it took the rank that waited for nobody.
 *
 * Sends and receives of traces that do not name the peers are no meetings: they take their measured time,
 * including their waits. */
#ifndef SLUICE_TOOL_REPLAY_MEETINGS_H
#define SLUICE_TOOL_REPLAY_MEETINGS_H

#include "tools/model/model.h"

enum { REPLAY_RANKS = 64 }; /* at most */

struct replay_meeting {
    uint64_t members;      /* ranks as bits, at least two */
    uint64_t took_ns;      /* from the arrival of the last of them */
    uint64_t passed_bytes; /* in each direction, over the links of the rank with the most */
    bool guessed;          /* neither it nor similar ones were timed on any rank */
};

struct replay_meetings {
    struct replay_meeting *at; /* at[0] is unused */
    uint32_t count;            /* including at[0] */
    size_t ranks;
    uint32_t *of_rank[REPLAY_RANKS]; /* for each collective in the rank's model, its meeting; 0: none */
    uint64_t alone[REPLAY_RANKS]; /* number of collectives without a meeting: they do not wait in a replay */
    uint64_t unlike; /* communicators whose collectives differ between ranks from some point on; meetings end
                        there */
    double bytes_per_ns; /* highest rate over a link in sufficiently long meetings; 0: none */
};

/* The caller frees *out with replay_meetings_free. Precondition: ranks <= REPLAY_RANKS. False: out of memory,
 * and *out is empty. */
bool replay_meetings_find(const struct model *const *models, size_t ranks, struct replay_meetings *out);
void replay_meetings_free(struct replay_meetings *meetings); /* accepts a zeroed one */

#endif
