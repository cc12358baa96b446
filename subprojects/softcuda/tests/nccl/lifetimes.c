/* How communicators come about and go. Breaks if a split, a shrink or several ids put ranks where they do not
 * belong, if an abort leaves a kernel waiting or its context faulted, if a communicator that is not blocking
 * is taken for complete, or if a wrong argument is accepted.
 *
 * Usage: lifetimes processes|threads RANKS */
#include "ranks.h"

static void sum_is(const struct rank *rank, ncclComm_t comm, int mine, int wanted)
{
    CUdeviceptr memory;
    int sum;
    OK(cuMemAlloc(&memory, sizeof sum));
    OK(cuMemcpyHtoD(memory, &mine, sizeof mine));
    NCCL(ncclAllReduce((void *)memory, (void *)memory, 1, ncclInt32, ncclSum, comm, rank->stream));
    OK(cuStreamSynchronize(rank->stream));
    OK(cuMemcpyDtoH(&sum, memory, sizeof sum));
    CHECK(sum == wanted);
    OK(cuMemFree(memory));
}

static void is_rank(ncclComm_t comm, int rank, int ranks)
{
    int value;
    NCCL(ncclCommUserRank(comm, &value));
    CHECK(value == rank);
    NCCL(ncclCommCount(comm, &value));
    CHECK(value == ranks);
}

static void await(ncclComm_t comm)
{
    ncclResult_t state;
    do NCCL(ncclCommGetAsyncError(comm, &state));
    while (state == ncclInProgress);
    NCCL(state);
}

/* By color, in the opposite order; one rank is in none. Twenty of them, more than are remembered. */
static void splits(struct rank *rank)
{
    for (int i = 0; i < 20; i++) {
        ncclComm_t part;
        bool out = rank->rank == i % rank->ranks;
        int color = out ? NCCL_SPLIT_NOCOLOR : rank->rank % 2, ranks = 0, place = 0, sum = 0;
        NCCL(ncclCommSplit(rank->comm, color, -rank->rank, &part, NULL));
        CHECK(out == !part);
        for (int r = 0; r < rank->ranks; r++) {
            if (r == i % rank->ranks || r % 2 != rank->rank % 2) continue;
            ranks++;
            place += r > rank->rank;
            sum += r + i;
        }
        if (out) continue;
        is_rank(part, place, ranks);
        sum_is(rank, part, rank->rank + i, sum);
        NCCL(ncclCommDestroy(part));
    }
}

/* As many in one group: no rank may tell its later wishes before all have read the earlier ones. */
static void splits_of_a_group(struct rank *rank)
{
    enum { SPLITS = 20 };
    ncclComm_t parts[SPLITS];
    NCCL(ncclGroupStart());
    for (int i = 0; i < SPLITS; i++)
        NCCL(ncclCommSplit(rank->comm, rank->rank * i % 3, rank->rank, &parts[i], NULL));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < SPLITS; i++) {
        int place = 0, ranks = 0;
        for (int r = 0; r < rank->ranks; r++) {
            if (r * i % 3 != rank->rank * i % 3) continue;
            place += r < rank->rank;
            ranks++;
        }
        is_rank(parts[i], place, ranks);
        NCCL(ncclCommDestroy(parts[i]));
    }
}

/* Without the last rank, twice, the second time after work on the first. */
static void shrinks(struct rank *rank)
{
    int last = rank->ranks - 1;
    for (int i = 0; i < 2 && last; i++) {
        ncclComm_t rest;
        if (rank->rank == last) continue;
        NCCL(ncclCommShrink(rank->comm, &last, 1, &rest, NULL, NCCL_SHRINK_DEFAULT));
        is_rank(rest, rank->rank, last);
        sum_is(rank, rest, 1, last);
        NCCL(ncclCommDestroy(rest));
    }
    ncclComm_t none;
    NCCL_IS(ncclCommShrink(rank->comm, &rank->rank, 1, &none, NULL, NCCL_SHRINK_DEFAULT),
            ncclInvalidArgument);
}

/* Not blocking, and by an id that all derive from two. */
static void not_blocking(struct rank *rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId ids[2] = {rank->id, rank->id};
    ncclComm_t comm;
    config.blocking = 0;
    ncclResult_t result = ncclCommInitRankScalable(&comm, rank->ranks, rank->rank, 2, ids, &config);
    CHECK(result == ncclSuccess || result == ncclInProgress);
    await(comm);
    is_rank(comm, rank->rank, rank->ranks);
    sum_is(rank, comm, 2, 2 * rank->ranks);
    ncclComm_t split;
    result = ncclCommSplit(comm, 1, rank->rank, &split, NULL); /* takes after its parent */
    CHECK(result == ncclSuccess || result == ncclInProgress);
    await(split);
    sum_is(rank, split, 3, 3 * rank->ranks);
    NCCL(ncclCommFinalize(split));
    await(split);
    NCCL(ncclCommDestroy(split));
    NCCL(ncclCommDestroy(comm));
    config.magic = 0;
    NCCL_IS(ncclCommInitRankConfig(&comm, rank->ranks, rank->id, rank->rank, &config), ncclInvalidArgument);
}

static void wrong_arguments(struct rank *rank)
{
    ncclComm_t comm;
    ncclRedOp_t op;
    float factor = 2;
    int version;
    ncclUniqueId id = {{0}};
    void *handle, *memory;
    NCCL(ncclGetVersion(&version));
    CHECK(version == NCCL_VERSION_CODE);
    NCCL_IS(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument);
    NCCL_IS(ncclCommInitRank(&comm, 0, rank->id, 0), ncclInvalidArgument);
    NCCL_IS(ncclCommInitRank(&comm, 2, rank->id, 2), ncclInvalidArgument);
    NCCL_IS(ncclAllReduce(NULL, NULL, 1, ncclInt32, ncclSum, NULL, NULL), ncclInvalidArgument);
    NCCL_IS(ncclAllReduce(NULL, NULL, 1, (ncclDataType_t)99, ncclSum, rank->comm, NULL), ncclInvalidArgument);
    NCCL_IS(ncclAllReduce(NULL, NULL, 1, ncclInt32, (ncclRedOp_t)99, rank->comm, NULL), ncclInvalidArgument);
    NCCL_IS(ncclBcast(NULL, 1, ncclInt32, rank->ranks, rank->comm, NULL), ncclInvalidArgument);
    NCCL_IS(ncclSend(NULL, 1, ncclInt32, -1, rank->comm, NULL), ncclInvalidArgument);
    /* A group fails as a whole, with the first of its errors. */
    NCCL(ncclGroupStart());
    NCCL_IS(ncclSend(NULL, 1, ncclInt32, -1, rank->comm, NULL), ncclInvalidArgument);
    ncclBcast(NULL, 1, ncclInt32, 0, rank->comm, NULL);
    ncclCommSplit(rank->comm, 0, 0, &comm, NULL);
    NCCL_IS(ncclGroupEnd(), ncclInvalidArgument);
    CHECK(!comm);
    NCCL(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, rank->comm));
    NCCL_IS(ncclAllReduce(NULL, NULL, 1, ncclFloat64, op, rank->comm, NULL), ncclInvalidArgument);
    NCCL(ncclRedOpDestroy(op, rank->comm));
    NCCL_IS(ncclRedOpDestroy(op, rank->comm), ncclInvalidArgument);
    NCCL_IS(ncclRedOpDestroy(ncclSum, rank->comm), ncclInvalidArgument);
    CHECK(*ncclGetLastError(rank->comm));
    NCCL(ncclMemAlloc(&memory, 1000));
    NCCL(ncclCommRegister(rank->comm, memory, 1000, &handle));
    NCCL(ncclCommDeregister(rank->comm, handle));
    NCCL_IS(ncclCommDeregister(rank->comm, handle), ncclInvalidArgument);
    NCCL(ncclMemFree(memory));
    sum_is(rank, rank->comm, 1, rank->ranks); /* it all did no harm */
}

static void *abort_it(void *comm)
{
    NCCL(ncclCommAbort(comm));
    return NULL;
}

/* A receive for which nobody sends, aborted from another thread: the stream goes on, and the device is well.
 */
static void aborts(struct rank *rank)
{
    ncclComm_t comm;
    CUdeviceptr memory;
    pthread_t thread;
    NCCL(ncclCommSplit(rank->comm, 0, rank->rank, &comm, NULL));
    OK(cuMemAlloc(&memory, 64));
    NCCL(ncclRecv((void *)memory, 16, ncclInt32, (rank->rank + 1) % rank->ranks, comm, rank->stream));
    /* Another rank may have aborted already. */
    ncclResult_t second = ncclRecv((void *)memory, 16, ncclInt32, 0, comm, rank->stream);
    CHECK(second == ncclSuccess || second == ncclRemoteError);
    CHECK(!pthread_create(&thread, NULL, abort_it, comm));
    OK(cuStreamSynchronize(rank->stream));
    pthread_join(thread, NULL);
    OK(cuMemFree(memory));
    sum_is(rank, rank->comm, 1, rank->ranks);
}

/* What was revoked runs no more, and can be split and shrunk. */
static void revokes(struct rank *rank)
{
    ncclComm_t comm, split;
    CUdeviceptr memory;
    NCCL(ncclCommSplit(rank->comm, 0, rank->rank, &comm, NULL));
    OK(cuMemAlloc(&memory, 64));
    NCCL(ncclRecv((void *)memory, 16, ncclInt32, (rank->rank + 1) % rank->ranks, comm, rank->stream));
    NCCL(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
    OK(cuStreamSynchronize(rank->stream));
    NCCL_IS(ncclRecv((void *)memory, 16, ncclInt32, 0, comm, rank->stream), ncclInvalidUsage);
    NCCL(ncclCommSplit(comm, 0, rank->rank, &split, NULL));
    sum_is(rank, split, 1, rank->ranks);
    NCCL(ncclCommDestroy(split));
    NCCL(ncclCommDestroy(comm));
    OK(cuMemFree(memory));
}

static void lives(struct rank *rank, int count)
{
    make_comms(rank, count);
    is_rank(rank->comm, rank->rank, rank->ranks);
    splits(rank);
    splits_of_a_group(rank);
    shrinks(rank);
    not_blocking(rank);
    wrong_arguments(rank);
    aborts(rank);
    revokes(rank);
    destroy_comms(rank, count);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    return run_ranks(argv[1], atoi(argv[2]), lives);
}
