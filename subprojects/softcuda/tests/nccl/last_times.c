/* Only on softcuda: a rank ends although it does not know yet when its last launch took place on the
 * simulated clock, because a peer works on something earlier. That launch must not be missing in its
 * timeline. Rank 1 first submits a launch with rank 2, which joins only when rank 0 has given up waiting and
 * ends. */
#include "ranks.h"

#define BYTES 4096

static int second_id[2], gives_up[2]; /* pipes: from rank 1 to rank 2, from rank 0 to rank 2 */

/* A communicator of ranks 1 and 2. */
static ncclComm_t make_second(const struct rank *rank)
{
    ncclUniqueId id;
    ncclComm_t comm;
    if (rank->rank == 1) {
        NCCL(ncclGetUniqueId(&id));
        CHECK(write(second_id[1], &id, sizeof id) == sizeof id);
    } else {
        CHECK(read(second_id[0], &id, sizeof id) == sizeof id);
    }
    NCCL(ncclCommInitRank(&comm, 2, id, rank->rank - 1));
    return comm;
}

static void run(struct rank *rank, int count)
{
    CUdeviceptr memory;
    CUstream stream;
    char byte = 0;
    make_comms(rank, count);
    ncclComm_t second = rank->rank ? make_second(rank) : NULL;
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *at = (void *)memory;
    if (rank->rank == 2) CHECK(read(gives_up[0], &byte, 1) == 1);
    if (rank->rank) NCCL(ncclAllReduce(at, at, BYTES, ncclInt8, ncclSum, second, stream));
    if (rank->rank == 0) NCCL(ncclSend(at, BYTES, ncclInt8, 1, rank->comm, rank->stream));
    if (rank->rank == 1) NCCL(ncclRecv(at, BYTES, ncclInt8, 0, rank->comm, rank->stream));
    OK(cuStreamSynchronize(rank->stream));
    if (rank->rank == 0) CHECK(write(gives_up[1], &byte, 1) == 1);
    if (rank->rank) OK(cuStreamSynchronize(stream));
}

int main(void)
{
    CHECK(pipe(second_id) == 0 && pipe(gives_up) == 0);
    return run_ranks("processes", 3, run);
}
