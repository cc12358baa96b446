/* The collectives that the traces of several ranks have in common. The n-th collective of a communicator is
 * the same one on all ranks that have the communicator: a meeting of these.
 *
 * Sends and receives are no meetings of all ranks and are left out. Groups of several functions are meetings
 * if all ranks have the same ones between the same collectives; what they take says little of who came last,
 * so not everybody wants them. Where a trace lost records nobody knows how many collectives were among them,
 * so its meetings end there.
 */
#ifndef SLUICE_TOOL_MEETINGS_H
#define SLUICE_TOOL_MEETINGS_H

#include "tools/model/model.h"

#define MEETING_NONE SIZE_MAX

/* A collective of one rank. */
struct meeting_entry {
    uint64_t communicator, tick, bytes;
    uint64_t launched_ns;       /* on the host's clock */
    uint64_t began_ns, took_ns; /* on the device, with its wait for the others; where `timed`. began_ns 0: not
                                   known */
    uint32_t function;
    uint32_t collective; /* in the model */
    bool timed;
    size_t meeting; /* in `at`; MEETING_NONE */
};

struct meeting_rank {
    const struct model *model;
    struct meeting_entry *entries; /* by communicator, then by tick */
    size_t count;
    size_t cut; /* collectives behind lost records, which are not among them */
};

struct meeting_member {
    uint32_t rank, entry;
};

/* Of one communicator in the order of the program, which all ranks that have the communicator take part in.
 */
struct meeting {
    size_t first; /* in `members`; they are in the order of the ranks */
    uint32_t count;
};

struct meetings {
    struct meeting_rank *ranks; /* in the order of the models */
    size_t rank_count;
    struct meeting *at; /* by communicator */
    size_t count;
    struct meeting_member *members;
    size_t member_count;
    uint64_t shared; /* meetings of two ranks or more */
    uint64_t unlike; /* communicators whose collectives differ between ranks from some point on: no further */
};

/* *out is released with meetings_free. `groups`: with groups of several functions. False: there is no memory,
 * and *out is empty. The models outlive it. */
bool meetings_find(const struct model *const *models, size_t count, bool groups, struct meetings *out);
void meetings_free(struct meetings *meetings); /* accepts a zeroed one */

static inline const struct meeting_entry *meeting_entry(const struct meetings *meetings,
                                                        const struct meeting_member *member)
{
    return &meetings->ranks[member->rank].entries[member->entry];
}

/* The member that came last: all end together, so it took least. NULL: fewer than two were timed. *rank:
 * which one it is of. */
const struct meeting_entry *meeting_last(const struct meetings *meetings, const struct meeting *meeting,
                                         uint32_t *rank);

#endif
