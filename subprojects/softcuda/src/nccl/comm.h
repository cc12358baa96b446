/* A communicator as the program holds it. */
#ifndef SOFTCUDA_NCCL_COMM_H
#define SOFTCUDA_NCCL_COMM_H

#include <cuda.h>

#include "join.h"
#include "rank.h"

#define SC_COMM_MAGIC UINT64_C(0x636f6d6d6e63636c)

/* A sum whose terms are first multiplied. */
struct sc_factor {
    bool used, is_address;
    uint8_t type;
    uint64_t factor; /* as in struct sc_work */
};

struct sc_registration {
    struct sc_registration *next;
};

/* How often ranks were left out of this communicator, for each set of those that stayed. */
struct sc_shrunk {
    struct sc_shrunk *next;
    uint64_t set, times;
};

struct ncclComm {
    uint64_t magic;
    struct sc_rank *rank; /* NULL while a split waits for the other ranks' wishes */
    CUcontext context;
    int device;
    bool blocking;
    bool revoked;
    pthread_mutex_t lock; /* of all below */
    struct sc_join *join; /* until all ranks have come; NULL: they have */
    ncclResult_t failed;  /* they never will */

    CUevent last; /* recorded behind every launch that is not captured; NULL: there was none */
    CUevent last_captured;
    cuuint64_t capture; /* in which that is; 0: none */

    struct sc_factor *factors; /* operation ncclNumOps + i */
    size_t factor_count;
    struct sc_registration *registrations;
    uint64_t splits;
    struct sc_shrunk *shrunk;
};

/* A new one, of the current context. */
ncclResult_t sc_comm_create(bool blocking, ncclComm_t *out);
/* Frees what the handle has, but not the rank. */
void sc_comm_free(ncclComm_t comm);

/* A handle at all? */
ncclResult_t sc_comm_check(ncclComm_t comm, const char *function);
/* May it be used? Else tells why not. */
ncclResult_t sc_comm_ready(ncclComm_t comm, const char *function);

#endif
