/* How ranks form a communicator: by an id, by a split, or by a shrink. A join advances in steps that do not
 * wait, so that one thread can have several under way. */
#ifndef SOFTCUDA_NCCL_JOIN_H
#define SOFTCUDA_NCCL_JOIN_H

#include "rank.h"

enum sc_join_step {
    SC_JOIN_POST, /* split: publishes this rank's color and key, once all ranks have read the older split in
                     the same slot */
    SC_JOIN_COLLECT,  /* split: waits for the other ranks' colors, and for the previous split */
    SC_JOIN_ATTACH,   /* takes this rank's place in the new communicator */
    SC_JOIN_COMPLETE, /* waits until all ranks have attached */
};

struct sc_join {
    enum sc_join_step step;
    ncclComm_t comm;   /* the new communicator; NULL: this rank will be in none */
    ncclComm_t parent; /* of a split */
    int color, order;
    uint64_t split; /* number of the split, once it has begun; or 0 */
    struct sc_key key;
    unsigned ranks, rank;
};

/* ncclSuccess: comm->rank is complete. ncclInProgress: waits for other ranks. pre: the parent is alive. */
ncclResult_t sc_join_advance(struct sc_join *join);

/* Advances all joins until those of blocking communicators are done; it does not wait for the others. Frees
 * finished joins and leaves the others to their communicators. Returns the first error, or ncclInProgress.
 * After an error, everything that `outs` point to is NULL. */
ncclResult_t sc_join_all(struct sc_join **joins, ncclComm_t **outs, size_t count);

#endif
