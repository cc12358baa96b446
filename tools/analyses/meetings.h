/* The collectives that the traces of several ranks have in common. The n-th collective of a communicator is
 * the same on all ranks of the communicator: a meeting of these ranks. Sends and receives are meetings of the
 * ranks that they connect (exchanges.h), unless the trace is of a version that does not name the peers.
 *
 * Groups of several functions are meetings if all ranks have the same groups between the same collectives.
 * Their times show little about which rank came last, so they are optional. A trace that lost records may
 * have lost collectives, so its meetings end there. */
#ifndef SLUICE_TOOL_MEETINGS_H
#define SLUICE_TOOL_MEETINGS_H

#include "tools/model/model.h"

#define MEETING_NONE SIZE_MAX

/* A collective, a send or a receive of one rank. */
struct meeting_entry {
    uint64_t communicator, tick, bytes;
    uint64_t launched_ns; /* on the host's clock */
    uint64_t began_ns,
        took_ns; /* on the device, including waits for the others; valid if `timed`. began_ns 0: unknown */
    uint32_t function;
    uint32_t collective; /* in the model */
    uint32_t messages;   /* number of those that it sends or receives */
    size_t message;      /* the first of these in the model */
    bool timed;
    size_t meeting; /* in `at`, or MEETING_NONE */
};

struct meeting_rank {
    const struct model *model;
    struct meeting_entry *entries; /* first those without messages; by communicator, then by tick */
    size_t count, silent;          /* silent: number of those without messages */
    size_t cut;                    /* collectives after lost records, which are left out */
};

struct meeting_member {
    uint32_t rank, entry;
};

/* A collective of one communicator, in program order, in which all ranks that have the communicator take
 * part; or launches of several ranks that exchange messages, one of each. */
struct meeting {
    size_t first; /* in `members`, which are in the order of the ranks */
    uint32_t count;
};

struct meetings {
    struct meeting_rank *ranks; /* in the order of the models */
    size_t rank_count;
    struct meeting *at; /* first those without messages; by communicator */
    size_t count;
    struct meeting_member *members;
    size_t member_count;
    uint64_t shared; /* meetings of two ranks or more */
    uint64_t unlike; /* communicators whose collectives differ between ranks from some point on; meetings end
                        there */
};

/* The caller frees *out with meetings_free. `groups`: include groups of several functions. False: out of
 * memory, and *out is empty. The models must outlive it. */
bool meetings_find(const struct model *const *models, size_t count, bool groups, struct meetings *out);
void meetings_free(struct meetings *meetings); /* accepts a zeroed one */

static inline const struct meeting_entry *meeting_entry(const struct meetings *meetings,
                                                        const struct meeting_member *member)
{
    return &meetings->ranks[member->rank].entries[member->entry];
}

/* The member that came last: all end together, so it took least. NULL: fewer than two were timed. *rank: its
 * rank. */
const struct meeting_entry *meeting_last(const struct meetings *meetings, const struct meeting *meeting,
                                         uint32_t *rank);

#endif
