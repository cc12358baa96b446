/* One rank of a communicator, in this process: its place in the shared memory, and what it knows of its
 * peers.
 *
 * It outlives the program's handle (comm.h) for as long as a launch needs it. Kernels find it by its number,
 * so that a graph which is launched when the communicator is gone finds nothing.
 *
 * States: attached -> complete (all ranks have come) -> over: aborted, or destroyed. An error stays.
 */
#ifndef SOFTCUDA_NCCL_RANK_H
#define SOFTCUDA_NCCL_RANK_H

#include <pthread.h>

#include "api.h"
#include "liveness.h"
#include "segment.h"
#include "work.h"

/* Works that do not fit into a kernel's parameters. */
struct sc_record {
    struct sc_record *next;
    uint64_t number;
    bool kept; /* a graph may launch it again: it stays for as long as the rank */
    uint32_t count;
    struct sc_work works[];
};

/* What this rank and one other have done with each other. */
struct sc_peer {
    struct sc_watched watched;
    bool dead;     /* atomic */
    bool reserved; /* the slots to it have memory */
    /* Of the launch whose turn it is alone: pieces */
    uint64_t written, read;
    /* With the rank's lock: works of launches that have begun */
    uint64_t sends, receives;
};

struct sc_rank {
    uint64_t number; /* in this process; from 1, never used again */
    unsigned rank, ranks;
    struct sc_key key;
    struct sc_segment segment;
    int process; /* after fork() the child has no part in it */
    bool complete;
    bool destroyed; /* its number is not found any more; with the lock of all ranks */

    int error;    /* atomic: ncclResult_t, the first that happened */
    bool aborted; /* atomic: nothing is waited for any more */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* `over`, `running` or `aborted` */
    /* With the lock: */
    unsigned references;
    uint64_t begun, over; /* launches; they run one after the other */
    unsigned running;
    uint64_t collectives; /* of launches that have begun */
    struct sc_record *records;
    uint64_t last_record;

    struct sc_rank *next; /* in the list of all */
    struct sc_peer peers[];
};

/* Takes its place; does not wait for others. */
ncclResult_t sc_rank_attach(const struct sc_key *key, unsigned ranks, unsigned rank, int device,
                            struct sc_rank **out);
/* ncclSuccess once all have come; ncclInProgress: not yet. */
ncclResult_t sc_rank_completed(struct sc_rank *rank);

/* By its number, with a reference for the caller; NULL: it is gone. */
struct sc_rank *sc_rank_find(uint64_t number);
void sc_rank_release(struct sc_rank *rank);

/* The program's handle is gone; takes its reference. */
void sc_rank_destroy(struct sc_rank *rank);
/* Ends everything that waits, and comes back when nothing of this rank runs any more. The number is found
 * still, so that launches that are yet to come end at once. Takes the handle's reference. */
void sc_rank_abort(struct sc_rank *rank);
/* The same, but the handle stays. */
void sc_rank_revoke(struct sc_rank *rank);
/* Keeps an error, if it is the first. */
void sc_rank_note(struct sc_rank *rank, ncclResult_t error);
/* A launch failed: what this rank owes its peers will not come. The error is kept, if it is the first. */
void sc_rank_break(struct sc_rank *rank, ncclResult_t error);

/* Looks for peers whose process is dead. The rank's error, or ncclSuccess. */
ncclResult_t sc_rank_check(struct sc_rank *rank);
/* Nothing more comes from this peer, whatever is there already. */
bool sc_rank_is_gone(const struct sc_rank *rank, unsigned peer);

/* There is something for a peer. */
void sc_rank_ring(const struct sc_rank *rank, unsigned peer);
/* Sleeps until somebody has rung since sc_rank_bell gave `seen`, at most `most_ms`. */
uint32_t sc_rank_bell(const struct sc_rank *rank);
void sc_rank_sleep(const struct sc_rank *rank, uint32_t seen, unsigned most_ms);

/* Keeps works; 0: no memory. */
uint64_t sc_rank_keep_record(struct sc_rank *rank, const struct sc_work *works, uint32_t count, bool kept);
/* pre: the rank's lock is held. */
struct sc_record *sc_rank_find_record(struct sc_rank *rank, uint64_t number);
void sc_rank_drop_record(struct sc_rank *rank, uint64_t number);

static inline struct sc_row *sc_rank_row(const struct sc_rank *rank, unsigned of)
{
    return sc_segment_row(&rank->segment, of);
}

#endif
