/* The data movement of a launch: messages between this rank and its peers, in pieces through the slots of the
 * segment.
 *
 * All messages of a *drive* advance in turns until all are done, so that none blocks another. Messages from
 * one rank to another pass in the order in which both sides added them.
 *
 * Each element of a reduction is computed by one rank, over the terms in rank order, directly from the slots.
 */
#ifndef SOFTCUDA_NCCL_TRANSFER_H
#define SOFTCUDA_NCCL_TRANSFER_H

#include "rank.h"

enum sc_transfer_kind {
    SC_TRANSFER_SEND,    /* from memory to `peer` */
    SC_TRANSFER_RECEIVE, /* from `peer` to memory */
    SC_TRANSFER_REDUCE,  /* all ranks' terms to memory, or to `peer` if that is another rank */
    SC_TRANSFER_COPY,    /* within this rank's memory */
};

struct sc_transfer {
    enum sc_transfer_kind kind;
    unsigned peer;
    const char *from;
    char *to;
    uint64_t bytes, moved;
    /* For a send: the transfer that fills `from`, in byte order; NULL: the data is complete. */
    const struct sc_transfer *behind;
    uint64_t signature;
    uint64_t factor; /* of this rank, for SC_OP_FACTOR */
    uint8_t type, op;
    bool done;
    uint64_t out_turn, in_turn; /* position among the messages to and from the peer */
};

/* Numbers of messages to and from one peer: added, and done. */
struct sc_line {
    uint64_t outs, outs_done, ins, ins_done;
};

struct sc_drive {
    struct sc_rank *rank;
    struct sc_transfer *transfers;
    size_t count, capacity, left;
    struct sc_line *lines;
    const void **arrays; /* for reductions: address of each rank's terms */
    uint64_t *factors;
    uint64_t message_bytes_most; /* the same on all ranks: the rest of a message is not moved; 0: all is */
};

enum sc_drive_status {
    SC_DRIVE_DONE,
    SC_DRIVE_MOVED,
    SC_DRIVE_WAITS,  /* nothing could move: wait for the bell */
    SC_DRIVE_BROKEN, /* logged by sc_fail */
};

/* Allocates room for `capacity` transfers; false: no memory. */
bool sc_drive_init(struct sc_drive *drive, struct sc_rank *rank, size_t capacity);
void sc_drive_free(struct sc_drive *drive);
/* Removes all transfers. pre: all are done. */
void sc_drive_clear(struct sc_drive *drive);

/* Adds a copy of a transfer whose peer, addresses, bytes and operation are set, and returns the copy. Add
 * reductions before receives. pre: there is room. */
struct sc_transfer *sc_drive_add(struct sc_drive *drive, const struct sc_transfer *transfer);

/* Moves at most one piece of each transfer. */
enum sc_drive_status sc_drive_step(struct sc_drive *drive);
/* Whether a transfer waits for a peer that is gone. */
bool sc_drive_needs_gone(const struct sc_drive *drive);

#endif
