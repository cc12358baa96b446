/* How ranks come together: by an id, by a split, or by leaving some out. A join advances in steps that do not
 * wait, so that one thread can have several under way. */
#ifndef SOFTCUDA_NCCL_JOIN_H
#define SOFTCUDA_NCCL_JOIN_H

#include "rank.h"

enum sc_join_step {
    SC_JOIN_POST, /* a split: tells its wish, when all have read an older one that stands in the same place */
    SC_JOIN_COLLECT,  /* a split: waits for the others' wishes, and for its turn */
    SC_JOIN_ATTACH,   /* takes its place in the new communicator */
    SC_JOIN_COMPLETE, /* waits until all ranks have */
};

struct sc_join {
    enum sc_join_step step;
    ncclComm_t comm;   /* that is made; NULL: this rank will be in none */
    ncclComm_t parent; /* of a split */
    int color, order;
    uint64_t split; /* its number, once it is under way; or 0 */
    struct sc_key key;
    unsigned ranks, rank;
};

/* ncclSuccess: comm->rank is complete. ncclInProgress: it waits for other ranks. pre: the parent is alive. */
ncclResult_t sc_join_advance(struct sc_join *join);

/* Advances all until they are done; those of communicators that are not blocking only once. Frees the joins,
 * or leaves them to their communicators. The first error, or ncclInProgress. On an error what `outs` point to
 * is NULL. */
ncclResult_t sc_join_all(struct sc_join **joins, ncclComm_t **outs, size_t count);

#endif
