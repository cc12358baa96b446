/* Several streams, and graphs. Breaks if a communicator's launches in different streams are not in order, if
 * a group does not wait for all of its streams or these not for it, or if a captured graph does its work once
 * only, or not all of it.
 *
 * Usage: streams processes|threads|devices RANKS */
#include "numbers.h"

/* Sums, and sums of these, in turn in two streams that nothing but the communicator brings into an order. */
static void two_streams(struct rank *ranks, int count)
{
    enum { TURNS = 8, INTS = 5000 };
    CUdeviceptr memory[MOST_RANKS];
    CUstream second[MOST_RANKS];
    for (int r = 0; r < count; r++) {
        int ones[INTS];
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamCreate(&second[r], CU_STREAM_NON_BLOCKING));
        memory[r] = allocate(INTS);
        for (int i = 0; i < INTS; i++) ones[i] = 1;
        OK(cuMemcpyHtoD(memory[r], ones, sizeof ones));
    }
    for (int turn = 0; turn < TURNS; turn++) {
        if (count > 1) NCCL(ncclGroupStart());
        for (int r = 0; r < count; r++)
            NCCL(ncclAllReduce(at(memory[r], 0), at(memory[r], 0), INTS, ncclInt32, ncclSum, ranks[r].comm,
                               turn & 1 ? second[r] : ranks[r].stream));
        if (count > 1) NCCL(ncclGroupEnd());
    }
    int wanted = 1;
    for (int turn = 0; turn < TURNS; turn++) wanted *= ranks[0].ranks;
    for (int r = 0; r < count; r++) {
        int numbers[INTS];
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamSynchronize(second[r])); /* the last launch is in it */
        OK(cuMemcpyDtoH(numbers, memory[r], sizeof numbers));
        for (int i = 0; i < INTS; i++) CHECK(numbers[i] == wanted);
        OK(cuMemFree(memory[r]));
        OK(cuStreamDestroy(second[r]));
    }
}

static void hold(void *released)
{
    while (!__atomic_load_n((int *)released, __ATOMIC_ACQUIRE)) usleep(100);
}

/* One stream is held up. A second launch must wait for the first that stands in it, and a group for what
 * stands in any of its streams: until the release neither is done, however often that is asked. */
static void held_streams(struct rank *ranks, int count, bool group)
{
    enum { INTS = 1000 };
    CUdeviceptr a[MOST_RANKS], b[MOST_RANKS];
    CUstream held[MOST_RANKS];
    int released = 0;
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamCreate(&held[r], CU_STREAM_NON_BLOCKING));
        a[r] = allocate(INTS);
        b[r] = allocate(INTS);
        OK(cuLaunchHostFunc(held[r], hold, &released));
        OK(cuMemsetD32Async(a[r], 1, INTS, held[r]));
    }
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; r++) {
        if (group) NCCL(ncclBcast(at(b[r], 0), 1, ncclInt32, 0, ranks[r].comm, ranks[r].stream));
        NCCL(ncclAllReduce(at(a[r], 0), at(a[r], 0), INTS, ncclInt32, ncclSum, ranks[r].comm, held[r]));
    }
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupStart());
    for (int r = 0; r < count && !group; r++)
        NCCL(ncclAllReduce(at(a[r], 0), at(b[r], 0), INTS, ncclInt32, ncclSum, ranks[r].comm,
                           ranks[r].stream));
    NCCL(ncclGroupEnd());
    for (int i = 0; i < 200; i++)
        for (int r = 0; r < count; r++) CHECK(cuStreamQuery(ranks[r].stream) == CUDA_ERROR_NOT_READY);
    __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
    for (int r = 0; r < count; r++) {
        int numbers[INTS], n = ranks[0].ranks;
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamSynchronize(ranks[r].stream));
        OK(cuMemcpyDtoH(numbers, group ? a[r] : b[r], sizeof numbers));
        for (int i = 0; i < INTS; i++) CHECK(numbers[i] == (group ? n : n * n));
        OK(cuStreamSynchronize(held[r]));
        OK(cuStreamDestroy(held[r]));
        OK(cuMemFree(a[r]));
        OK(cuMemFree(b[r]));
    }
}

/* A send in one stream and a receive in another, in one group: one launch, which both wait for. */
static void streams_of_a_group(struct rank *ranks, int count)
{
    CUdeviceptr out[MOST_RANKS], in[MOST_RANKS];
    CUstream second[MOST_RANKS];
    const int all = ranks[0].ranks;
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamCreate(&second[r], CU_STREAM_NON_BLOCKING));
        out[r] = filled(COUNT, ranks[r].rank, 9);
        in[r] = allocate(COUNT);
    }
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; r++) {
        struct rank *rank = &ranks[r];
        NCCL(ncclSend(at(out[r], 0), COUNT, ncclInt32, (rank->rank + 1) % all, rank->comm, rank->stream));
        NCCL(ncclRecv(at(in[r], 0), COUNT, ncclInt32, (rank->rank + all - 1) % all, rank->comm, second[r]));
    }
    NCCL(ncclGroupEnd());
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        has(in[r], COUNT, (ranks[r].rank + all - 1) % all, 9, second[r]);
        OK(cuMemFree(out[r]));
        OK(cuStreamDestroy(second[r]));
    }
}

/* A captured sum, launched several times: each multiplies by the number of ranks. Captured as one more work
 * than the parameters hold, too. */
static void captured(struct rank *ranks, int count, int works)
{
    CUdeviceptr memory[MOST_RANKS];
    CUgraphExec graphs[MOST_RANKS];
    enum { LAUNCHES = 4 };
    for (int r = 0; r < count; r++) {
        CUgraph graph;
        OK(cuCtxSetCurrent(ranks[r].context));
        memory[r] = allocate((size_t)works);
        OK(cuMemsetD32(memory[r], 1, (size_t)works));
        OK(cuCtxSynchronize());
        OK(cuStreamBeginCapture(ranks[r].stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        NCCL(ncclGroupStart());
        for (int i = 0; i < works; i++)
            NCCL(ncclAllReduce(at(memory[r], (size_t)i), at(memory[r], (size_t)i), 1, ncclInt32, ncclSum,
                               ranks[r].comm, ranks[r].stream));
        NCCL(ncclGroupEnd());
        OK(cuStreamEndCapture(ranks[r].stream, &graph));
        OK(cuGraphInstantiate(&graphs[r], graph, 0));
        OK(cuGraphDestroy(graph));
    }
    int wanted = 1;
    for (int i = 0; i < LAUNCHES; i++) {
        wanted *= ranks[0].ranks;
        for (int r = 0; r < count; r++) {
            OK(cuCtxSetCurrent(ranks[r].context));
            OK(cuGraphLaunch(graphs[r], ranks[r].stream));
        }
    }
    for (int r = 0; r < count; r++) {
        int numbers[400];
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamSynchronize(ranks[r].stream));
        OK(cuMemcpyDtoH(numbers, memory[r], (size_t)works * sizeof(int)));
        for (int i = 0; i < works; i++) CHECK(numbers[i] == wanted);
        OK(cuGraphExecDestroy(graphs[r]));
        OK(cuMemFree(memory[r]));
    }
}

static void all_streams(struct rank *ranks, int count)
{
    make_comms(ranks, count);
    two_streams(ranks, count);
    streams_of_a_group(ranks, count);
    held_streams(ranks, count, false);
    held_streams(ranks, count, true);
    captured(ranks, count, 1);
    captured(ranks, count, 150);
    destroy_comms(ranks, count);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    return run_ranks(argv[1], atoi(argv[2]), all_streams);
}
