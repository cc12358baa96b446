/* The functions that move data. */
#include "element.h"
#include "errors.h"
#include "group.h"

/* Resolves an operation on a communicator. */
static ncclResult_t take_operation(ncclComm_t comm, ncclRedOp_t op, struct sc_work *work,
                                   const char *function)
{
    ncclResult_t result = ncclSuccess;
    if ((unsigned)op < ncclNumOps) {
        work->op = (uint8_t)op;
        return ncclSuccess;
    }
    pthread_mutex_lock(&comm->lock);
    size_t index = (unsigned)op - ncclNumOps;
    const struct sc_factor *factor = index < comm->factor_count ? &comm->factors[index] : NULL;
    if (!factor || !factor->used || factor->type != work->type) {
        result = ncclInvalidArgument;
    } else {
        work->op = SC_OP_FACTOR;
        work->factor = factor->factor;
        work->factor_is_address = factor->is_address;
    }
    pthread_mutex_unlock(&comm->lock);
    return result ? sc_fail(result, "%s: no such operation for this communicator and type", function)
                  : result;
}

/* `work` has its kind, addresses, count and peer set. */
static ncclResult_t call(const char *function, struct sc_work work, ncclDataType_t type, ncclRedOp_t op,
                         ncclComm_t comm, cudaStream_t stream)
{
    ncclResult_t result = sc_comm_ready(comm, function);
    if (result) return sc_group_fail(result);
    if ((unsigned)type >= ncclNumTypes)
        return sc_group_fail(sc_fail(ncclInvalidArgument, "%s: type %d", function, (int)type));
    if (work.peer < 0 || (unsigned)work.peer >= comm->rank->ranks)
        return sc_group_fail(
            sc_fail(ncclInvalidArgument, "%s: rank %d of %u", function, work.peer, comm->rank->ranks));
    work.type = (uint8_t)type;
    if (work.count > SIZE_MAX / 8 / SC_MOST_RANKS)
        return sc_group_fail(sc_fail(ncclInvalidArgument, "%s: too many elements", function));
    result = sc_work_reduces(&work) ? take_operation(comm, op, &work, function) : ncclSuccess;
    if (result) return sc_group_fail(result);
    /* Empty collectives do nothing; the receiver of an empty message waits for it. */
    if (!work.count && work.kind < SC_WORK_COLLECTIVES) return ncclSuccess;
    return sc_group_add_work(comm, stream, &work);
}

#define WORK(KIND, FROM, TO, COUNT, PEER)                                                                    \
    (struct sc_work)                                                                                         \
    {                                                                                                        \
        .from = (uint64_t)(FROM), .to = (uint64_t)(TO), .count = (COUNT), .peer = (PEER), .kind = (KIND)     \
    }

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    return call("ncclReduce", WORK(SC_WORK_REDUCE, from, to, count, root), type, op, comm, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    return call("ncclBroadcast", WORK(SC_WORK_BROADCAST, from, to, count, root), type, ncclSum, comm, stream);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return call("ncclBcast", WORK(SC_WORK_BROADCAST, buffer, buffer, count, root), type, ncclSum, comm,
                stream);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return call("ncclAllReduce", WORK(SC_WORK_ALL_REDUCE, from, to, count, 0), type, op, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream)
{
    return call("ncclReduceScatter", WORK(SC_WORK_REDUCE_SCATTER, from, to, count, 0), type, op, comm,
                stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    return call("ncclAllGather", WORK(SC_WORK_ALL_GATHER, from, to, count, 0), type, ncclSum, comm, stream);
}

ncclResult_t ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream)
{
    return call("ncclAlltoAll", WORK(SC_WORK_ALL_TO_ALL, from, to, count, 0), type, ncclSum, comm, stream);
}

ncclResult_t ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    return call("ncclGather", WORK(SC_WORK_GATHER, from, to, count, root), type, ncclSum, comm, stream);
}

ncclResult_t ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream)
{
    return call("ncclScatter", WORK(SC_WORK_SCATTER, from, to, count, root), type, ncclSum, comm, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return call("ncclSend", WORK(SC_WORK_SEND, from, NULL, count, peer), type, ncclSum, comm, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return call("ncclRecv", WORK(SC_WORK_RECEIVE, NULL, to, count, peer), type, ncclSum, comm, stream);
}
