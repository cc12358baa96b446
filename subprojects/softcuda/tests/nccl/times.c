/* Only on softcuda: when functions take place on the simulated clock. Prints, for each rank, what each took;
 * two runs must print the same, whatever the order of the device's work and the speed of the ranks.
 *
 * Usage: times RANKS */
#include "ranks.h"

#define BYTES 4000000

static void took(const struct rank *rank, CUevent begin, CUevent end, const char *what)
{
    float ms;
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, begin, end));
    char line[100];
    int length = snprintf(line, sizeof line, "%d %s %.0f ns\n", rank->rank, what, (double)ms * 1e6);
    CHECK(write(1, line, (size_t)length) == length);
}

static void measure(struct rank *rank, int count)
{
    CUevent begin, end;
    CUdeviceptr memory;
    int next = (rank->rank + 1) % rank->ranks, before = (rank->rank + rank->ranks - 1) % rank->ranks;
    make_comms(rank, count);
    OK(cuMemAlloc(&memory, (size_t)BYTES * (size_t)rank->ranks * 2));
    OK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    /* Ranks that are ready at different times: each has as many copies of its own in front. */
    for (int i = 0; i <= rank->rank; i++) OK(cuMemcpyDtoDAsync(memory, memory + BYTES, BYTES, rank->stream));
    void *at = (void *)memory;
    OK(cuEventRecord(begin, rank->stream));
    NCCL(ncclAllReduce(at, at, BYTES, ncclInt8, ncclSum, rank->comm, rank->stream));
    OK(cuEventRecord(end, rank->stream));
    took(rank, begin, end, "first");
    /* Now all are ready at the same time. */
    OK(cuEventRecord(begin, rank->stream));
    NCCL(ncclAllReduce(at, at, BYTES, ncclInt8, ncclSum, rank->comm, rank->stream));
    OK(cuEventRecord(end, rank->stream));
    took(rank, begin, end, "all-reduce");
    OK(cuEventRecord(begin, rank->stream));
    NCCL(ncclBcast(at, BYTES, ncclInt8, 0, rank->comm, rank->stream));
    OK(cuEventRecord(end, rank->stream));
    took(rank, begin, end, "broadcast");
    OK(cuEventRecord(begin, rank->stream));
    NCCL(ncclGroupStart());
    NCCL(ncclSend(at, BYTES, ncclInt8, next, rank->comm, rank->stream));
    NCCL(ncclRecv((void *)(memory + BYTES), BYTES, ncclInt8, before, rank->comm, rank->stream));
    NCCL(ncclGroupEnd());
    OK(cuEventRecord(end, rank->stream));
    took(rank, begin, end, "messages");
    OK(cuMemFree(memory));
    destroy_comms(rank, count);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    return run_ranks("processes", atoi(argv[1]), measure);
}
