/* ncclComm_t: a communicator as the program holds it. */
#ifndef SOFTCUDA_NCCL_COMM_H
#define SOFTCUDA_NCCL_COMM_H

#include <cuda.h>

#include "join.h"
#include "rank.h"

#define SC_COMM_MAGIC UINT64_C(0x636f6d6d6e63636c)

/* A sum whose terms are multiplied by a factor first (PreMulSum). */
struct sc_factor {
    bool used, is_address;
    uint8_t type;
    uint64_t factor; /* as in struct sc_work */
};

struct sc_registration {
    struct sc_registration *next;
};

/* How often the communicator was shrunk, for each set of remaining ranks. */
struct sc_shrunk {
    struct sc_shrunk *next;
    uint64_t set, times;
};

struct ncclComm {
    uint64_t magic;
    struct sc_rank *rank; /* NULL while a split waits for the other ranks' colors */
    CUcontext context;
    int device;
    bool blocking;
    bool revoked;
    pthread_mutex_t lock; /* guards all below */
    struct sc_join *join; /* until all ranks have joined; NULL: they have */
    ncclResult_t failed;  /* why joining failed */

    CUevent last; /* recorded after every launch that is not captured; NULL: there was none */
    CUevent last_captured;
    cuuint64_t capture; /* the capture of `last_captured`; 0: none */

    struct sc_factor *factors; /* of operation ncclNumOps + i */
    size_t factor_count;
    struct sc_registration *registrations;
    uint64_t splits;
    struct sc_shrunk *shrunk;
};

/* A new communicator in the current context. */
ncclResult_t sc_comm_create(bool blocking, ncclComm_t *out);
/* Frees what the handle owns, except the rank. */
void sc_comm_free(ncclComm_t comm);

/* Checks that it is a handle. */
ncclResult_t sc_comm_check(ncclComm_t comm, const char *function);
/* Checks that it may be used; logs why not. */
ncclResult_t sc_comm_ready(ncclComm_t comm, const char *function);

#endif
