/* The work of a libnccl launch, as stored in the kernel's parameters. */
#ifndef SOFTCUDA_NCCL_WORK_H
#define SOFTCUDA_NCCL_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sc_work_kind {
    SC_WORK_BROADCAST,
    SC_WORK_REDUCE,
    SC_WORK_ALL_REDUCE,
    SC_WORK_ALL_GATHER,
    SC_WORK_REDUCE_SCATTER,
    SC_WORK_ALL_TO_ALL,
    SC_WORK_GATHER,
    SC_WORK_SCATTER,
    SC_WORK_COLLECTIVES, /* number of collective kinds */
    SC_WORK_SEND = SC_WORK_COLLECTIVES,
    SC_WORK_RECEIVE,
    SC_WORK_KINDS,
};

struct sc_work {
    uint64_t from, to; /* device addresses */
    uint64_t count;    /* elements, as the function's `count` */
    uint64_t factor;   /* for SC_OP_FACTOR: the element's bits, or the address from which the kernel reads
                          it */
    int32_t peer;      /* the peer, or the root */
    uint8_t kind, type, op;
    bool factor_is_address;
};

/* As large as NCCL's parameters; works that fit are stored inside, with their addresses. */
#define SC_PARAMETERS_BYTES 4096
#define SC_WORKS_INSIDE ((SC_PARAMETERS_BYTES - 32) / sizeof(struct sc_work))

struct sc_parameters {
    uint64_t communicator; /* number of the rank in this process (rank.h) */
    uint64_t record;       /* number of the rank's record that holds the works if they do not fit; or 0 */
    uint32_t rank, ranks;
    uint32_t count; /* of works */
    uint32_t rest;
    struct sc_work works[SC_WORKS_INSIDE];
    uint8_t end[SC_PARAMETERS_BYTES - 32 - SC_WORKS_INSIDE * sizeof(struct sc_work)];
};
_Static_assert(sizeof(struct sc_parameters) == SC_PARAMETERS_BYTES, "the size of the kernels' parameters");

static inline bool sc_work_reduces(const struct sc_work *work)
{
    return work->kind == SC_WORK_REDUCE || work->kind == SC_WORK_ALL_REDUCE ||
           work->kind == SC_WORK_REDUCE_SCATTER;
}

#endif
