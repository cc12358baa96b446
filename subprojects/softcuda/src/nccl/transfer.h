/* What a launch moves: messages between this rank and its peers, in pieces through the slots of the segment.
 *
 * All messages of a *drive* advance in turns until none is left, so none of them holds up another. Messages
 * from one rank to another pass in the order in which both sides added them.
 *
 * Sums are formed by one rank for each element, over the terms in the order of ranks, straight from the
 * slots.
 */
#ifndef SOFTCUDA_NCCL_TRANSFER_H
#define SOFTCUDA_NCCL_TRANSFER_H

#include "rank.h"

enum sc_transfer_kind {
    SC_TRANSFER_SEND,    /* from memory to `peer` */
    SC_TRANSFER_RECEIVE, /* from `peer` to memory */
    SC_TRANSFER_REDUCE,  /* all ranks' terms to memory, or to `peer` if that is another rank */
    SC_TRANSFER_COPY,    /* in this rank's memory */
};

struct sc_transfer {
    enum sc_transfer_kind kind;
    unsigned peer;
    const char *from;
    char *to;
    uint64_t bytes, moved;
    /* For a send: the transfer that fills `from`, byte by byte in order; NULL: all is there. */
    const struct sc_transfer *behind;
    uint64_t signature;
    uint64_t factor; /* of this rank, for SC_OP_FACTOR */
    uint8_t type, op;
    bool done;
    uint64_t out_turn, in_turn; /* among the messages to and from the peer */
};

/* How many messages to and from one peer were added, and how many are done. */
struct sc_line {
    uint64_t outs, outs_done, ins, ins_done;
};

struct sc_drive {
    struct sc_rank *rank;
    struct sc_transfer *transfers;
    size_t count, capacity, left;
    struct sc_line *lines;
    const void **arrays; /* for sums: where each rank's terms lie */
    uint64_t *factors;
};

enum sc_drive_status {
    SC_DRIVE_DONE,
    SC_DRIVE_MOVED,
    SC_DRIVE_WAITS,  /* nothing could move: wait for the bell */
    SC_DRIVE_BROKEN, /* told by sc_fail */
};

/* Room for `capacity` transfers; false: no memory. */
bool sc_drive_init(struct sc_drive *drive, struct sc_rank *rank, size_t capacity);
void sc_drive_free(struct sc_drive *drive);
/* Forgets what is done. pre: all is. */
void sc_drive_clear(struct sc_drive *drive);

/* Adds a transfer, whose peers, addresses, bytes and the like are set; a copy is kept and returned. A
 * reduction is added before all that is received. pre: there is room. */
struct sc_transfer *sc_drive_add(struct sc_drive *drive, const struct sc_transfer *transfer);

/* Each transfer moves a piece at most. */
enum sc_drive_status sc_drive_step(struct sc_drive *drive);
/* Waits one of them for a peer that is gone? */
bool sc_drive_needs_gone(const struct sc_drive *drive);

#endif
