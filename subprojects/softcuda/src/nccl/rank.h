/* One rank of a communicator, in this process: its place in the shared memory, and what it knows of its
 * peers.
 *
 * It outlives the program's handle (comm.h) while launches need it. Kernels look it up by its number, so a
 * graph that is launched after the communicator is gone finds no rank.
 *
 * States: attached -> complete (all ranks have joined) -> over: aborted, or destroyed. An error is permanent.
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
    bool kept; /* a graph may launch it again: kept for the rank's lifetime */
    uint32_t count;
    struct sc_work works[];
};

/* The communication between this rank and one other. */
struct sc_peer {
    struct sc_watched watched;
    bool dead;     /* atomic */
    bool reserved; /* memory of the slots to it is allocated */
    /* Pieces; used only by the launch that has its turn. */
    uint64_t written, read;
    /* Guarded by the rank's lock: works of launches that have begun. */
    uint64_t sends, receives;
};

struct sc_rank {
    uint64_t number; /* in this process; from 1, never reused */
    unsigned rank, ranks;
    struct sc_key key;
    struct sc_segment segment;
    int process; /* process that created it; a fork()ed child must not use it */
    bool complete;
    bool destroyed; /* lookups of the number fail; guarded by the lock of the list of ranks */

    int error;    /* atomic: ncclResult_t of the first error */
    bool aborted; /* atomic: waits end immediately */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals changes of `over`, `running` or `aborted` */
    /* Guarded by `lock`: */
    unsigned references;
    uint64_t begun, over; /* numbers of launches; they run one after the other */
    unsigned running;
    uint64_t collectives; /* of launches that have begun */
    struct sc_record *records;
    uint64_t last_record;

    struct sc_rank *next; /* in the list of all ranks */
    struct sc_peer peers[];
};

/* Takes this rank's place; does not wait for others. */
ncclResult_t sc_rank_attach(const struct sc_key *key, unsigned ranks, unsigned rank, int device,
                            struct sc_rank **out);
/* ncclSuccess if all ranks have joined; ncclInProgress if not. */
ncclResult_t sc_rank_completed(struct sc_rank *rank);

/* Looks up a rank by its number and takes a reference; NULL: it is gone. */
struct sc_rank *sc_rank_find(uint64_t number);
void sc_rank_release(struct sc_rank *rank);

/* The program's handle is gone. Takes over its reference. */
void sc_rank_destroy(struct sc_rank *rank);
/* Ends all waits, and returns when no launch of this rank runs. The number stays valid, so that later
 * launches end immediately. Takes over the handle's reference. */
void sc_rank_abort(struct sc_rank *rank);
/* The same, but the handle stays. */
void sc_rank_revoke(struct sc_rank *rank);
/* Stores an error if it is the first. */
void sc_rank_note(struct sc_rank *rank, ncclResult_t error);
/* A launch failed, so this rank will not send what its peers expect. Stores the error if it is the first. */
void sc_rank_break(struct sc_rank *rank, ncclResult_t error);

/* Checks for peers whose process is dead. Returns the rank's error, or ncclSuccess. */
ncclResult_t sc_rank_check(struct sc_rank *rank);
/* Whether the peer will send nothing more; pieces that it sent before may still be there. */
bool sc_rank_is_gone(const struct sc_rank *rank, unsigned peer);

/* Wakes a peer because there is something for it. */
void sc_rank_ring(const struct sc_rank *rank, unsigned peer);
/* Sleeps until the bell has rung since sc_rank_bell returned `seen`, at most `most_ms`. */
uint32_t sc_rank_bell(const struct sc_rank *rank);
void sc_rank_sleep(const struct sc_rank *rank, uint32_t seen, unsigned most_ms);

/* Stores works and returns their number; 0: no memory. */
uint64_t sc_rank_keep_record(struct sc_rank *rank, const struct sc_work *works, uint32_t count, bool kept);
/* pre: the rank's lock is held. */
struct sc_record *sc_rank_find_record(struct sc_rank *rank, uint64_t number);
void sc_rank_drop_record(struct sc_rank *rank, uint64_t number);

static inline struct sc_row *sc_rank_row(const struct sc_rank *rank, unsigned of)
{
    return sc_segment_row(&rank->segment, of);
}

#endif
