/* The lifetime of communicators, except their creation (init.c). */
#include "comm.h"

#include <stdlib.h>

#include "errors.h"
#include "gate.h"

ncclResult_t sc_comm_create(bool blocking, ncclComm_t *out)
{
    ncclResult_t result = sc_gate_open();
    if (result) return sc_fail(result, "no CUDA device");
    struct ncclComm *comm = calloc(1, sizeof *comm);
    if (!comm) return sc_fail(ncclSystemError, "no memory for a communicator");
    CUdevice device = 0;
    result = sc_gate_context(&comm->context, &device);
    if (result) {
        free(comm);
        return sc_fail(result, "the calling thread has no context");
    }
    comm->magic = SC_COMM_MAGIC;
    comm->device = device;
    comm->blocking = blocking;
    pthread_mutex_init(&comm->lock, NULL);
    *out = comm;
    return ncclSuccess;
}

void sc_comm_free(ncclComm_t comm)
{
    comm->magic = 0;
    sc_gate_event_destroy(comm->last);
    sc_gate_event_destroy(comm->last_captured);
    while (comm->registrations) {
        struct sc_registration *next = comm->registrations->next;
        free(comm->registrations);
        comm->registrations = next;
    }
    while (comm->shrunk) {
        struct sc_shrunk *next = comm->shrunk->next;
        free(comm->shrunk);
        comm->shrunk = next;
    }
    free(comm->factors);
    free(comm->join);
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

ncclResult_t sc_comm_check(ncclComm_t comm, const char *function)
{
    if (comm && comm->magic == SC_COMM_MAGIC) return ncclSuccess;
    return sc_fail(ncclInvalidArgument, "%s: not a communicator", function);
}

/* Advances the join of a non-blocking communicator. */
static ncclResult_t advance(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    if (comm->join) {
        ncclResult_t result = sc_join_advance(comm->join);
        if (result != ncclInProgress) {
            free(comm->join);
            comm->join = NULL;
            comm->failed = result;
        }
    }
    ncclResult_t result = comm->join ? ncclInProgress : comm->failed;
    pthread_mutex_unlock(&comm->lock);
    return result;
}

ncclResult_t sc_comm_ready(ncclComm_t comm, const char *function)
{
    ncclResult_t result = sc_comm_check(comm, function);
    if (result) return result;
    result = advance(comm);
    if (result == ncclInProgress)
        return sc_fail(ncclInvalidArgument, "%s: not all ranks of the communicator have come", function);
    if (result) return result;
    if (comm->revoked) return sc_fail(ncclInvalidUsage, "%s: the communicator was revoked", function);
    return (ncclResult_t)__atomic_load_n(&comm->rank->error, __ATOMIC_ACQUIRE);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    ncclResult_t result = sc_comm_check(comm, "ncclCommGetAsyncError");
    if (result) return result;
    if (!error) return sc_fail(ncclInvalidArgument, "ncclCommGetAsyncError: no place for the error");
    *error = advance(comm);
    if (!*error) *error = sc_rank_check(comm->rank);
    return ncclSuccess;
}

/* Waits until all launches are done; the driver reports device faults. */
static void flush(ncclComm_t comm)
{
    CUcontext before;
    if (!comm->last || sc_gate_enter(comm->context, &before)) return;
    sc_gate_event_synchronize(comm->last);
    sc_gate_leave(before);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = sc_comm_ready(comm, "ncclCommFinalize");
    if (!result) flush(comm);
    return result;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm) return ncclSuccess;
    ncclResult_t result = sc_comm_check(comm, "ncclCommDestroy");
    if (result) return result;
    flush(comm);
    /* If not all ranks have joined, destroying would wait for them. */
    bool whole = comm->rank && comm->rank->complete && !comm->revoked;
    if (whole)
        sc_rank_destroy(comm->rank);
    else if (comm->rank)
        sc_rank_abort(comm->rank);
    sc_comm_free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm) return ncclSuccess;
    ncclResult_t result = sc_comm_check(comm, "ncclCommAbort");
    if (result) return result;
    if (comm->rank) sc_rank_abort(comm->rank);
    sc_comm_free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    ncclResult_t result = sc_comm_ready(comm, "ncclCommRevoke");
    if (result && result != ncclRemoteError) return result;
    if (flags != NCCL_REVOKE_DEFAULT) return sc_fail(ncclInvalidArgument, "ncclCommRevoke: unknown flags");
    comm->revoked = true;
    sc_rank_revoke(comm->rank);
    return ncclSuccess;
}

/* Queries that work in every state of the communicator. */
static ncclResult_t ask(ncclComm_t comm, const int *out, const char *function)
{
    ncclResult_t result = sc_comm_check(comm, function);
    if (result) return result;
    if (!out) return sc_fail(ncclInvalidArgument, "%s: no place for the answer", function);
    result = advance(comm);
    return result ? sc_fail(ncclInvalidArgument, "%s: not all ranks of the communicator have come", function)
                  : ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    ncclResult_t result = ask(comm, count, "ncclCommCount");
    if (!result) *count = (int)comm->rank->ranks;
    return result;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    ncclResult_t result = ask(comm, rank, "ncclCommUserRank");
    if (!result) *rank = (int)comm->rank->rank;
    return result;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    ncclResult_t result = ask(comm, device, "ncclCommCuDevice");
    if (!result) *device = comm->device;
    return result;
}
