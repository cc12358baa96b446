/* Only on softcuda: when functions take place on the simulated clock. Prints, for each rank, what each took;
 * two runs must print the same, whatever the order of the device's work and the speed of the ranks. And how
 * often a rank that asks in a loop hears that its launch is not done.
 *
 * Usage: times RANKS */
#include "ranks.h"

#define BYTES 4000000

static int submitted[2]; /* a pipe: rank 0 tells the others to come */

static void say(const struct rank *rank, const char *what, double number, const char *unit)
{
    char line[100];
    int length = snprintf(line, sizeof line, "%d %s %.0f%s\n", rank->rank, what, number, unit);
    CHECK(write(1, line, (size_t)length) == length);
}

static void took(const struct rank *rank, CUevent begin, CUevent end, const char *what)
{
    float ms;
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, begin, end));
    say(rank, what, (double)ms * 1e6, " ns");
}

/* Rank 0 asks whether it is done before the others have submitted theirs. */
static void ask(struct rank *rank, void *at)
{
    int answers = 0;
    char byte = 0;
    if (rank->rank) CHECK(read(submitted[0], &byte, 1) == 1);
    NCCL(ncclAllReduce(at, at, BYTES, ncclInt8, ncclSum, rank->comm, rank->stream));
    for (int i = 1; !rank->rank && i < rank->ranks; i++) CHECK(write(submitted[1], &byte, 1) == 1);
    while (!rank->rank && cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY) answers++;
    if (!rank->rank) say(rank, "questions", answers, "");
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
    ask(rank, at);
    OK(cuMemFree(memory));
    destroy_comms(rank, count);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 && pipe(submitted) == 0);
    return run_ranks("processes", atoi(argv[1]), measure);
}
