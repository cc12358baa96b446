/* Groups of calls, and messages. Breaks if messages of a group wait for each other, if messages between two
 * ranks change their order, if the functions of a group reach the wrong buffers, or if a group that does not
 * fit into a kernel's parameters loses some of it.
 *
 * Usage: groups processes|threads|devices RANKS */
#include "numbers.h"

/* Everybody sends to everybody, itself too, all sends before all receives. */
static void exchange(struct rank *ranks, int count, size_t ints)
{
    CUdeviceptr out[MOST_RANKS][MOST_RANKS], in[MOST_RANKS][MOST_RANKS];
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        for (int i = 0; i < ranks[r].ranks; i++)
            out[r][i] = filled(ints, ranks[r].rank, i), in[r][i] = allocate(ints);
    }
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; r++) {
        NCCL(ncclGroupStart());
        for (int i = 0; i < ranks[r].ranks; i++)
            NCCL(ncclSend(at(out[r][i], 0), ints, ncclInt32, i, ranks[r].comm, ranks[r].stream));
        for (int i = ranks[r].ranks - 1; i >= 0; i--)
            NCCL(ncclRecv(at(in[r][i], 0), ints, ncclInt32, i, ranks[r].comm, ranks[r].stream));
        NCCL(ncclGroupEnd());
    }
    NCCL(ncclGroupEnd());
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        for (int i = 0; i < ranks[r].ranks; i++) {
            has(in[r][i], ints, i, ranks[r].rank, ranks[r].stream);
            has(out[r][i], ints, ranks[r].rank, i, ranks[r].stream);
        }
    }
}

/* Messages of different sizes, empty ones among them, each in a launch of its own, in both directions in
 * turn. */
static void in_order(struct rank *ranks, int count)
{
    enum { MESSAGES = 9, LARGEST = 70000 };
    CUdeviceptr memory[MOST_RANKS][MESSAGES];
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        for (int m = 0; m < MESSAGES; m++)
            memory[r][m] = (ranks[r].rank == m % 2) ? filled(LARGEST, m, m) : allocate(LARGEST);
    }
    for (int m = 0; m < MESSAGES; m++) {
        size_t ints = m % 3 == 2 ? 0 : m % 3 ? LARGEST : 3;
        if (count > 1) NCCL(ncclGroupStart());
        for (int r = 0; r < count; r++) {
            struct rank *rank = &ranks[r];
            if (rank->rank == m % 2)
                NCCL(ncclSend(at(memory[r][m], 0), ints, ncclInt32, !(m % 2), rank->comm, rank->stream));
            else if (rank->rank == !(m % 2))
                NCCL(ncclRecv(at(memory[r][m], 0), ints, ncclInt32, m % 2, rank->comm, rank->stream));
        }
        if (count > 1) NCCL(ncclGroupEnd());
    }
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        for (int m = 0; m < MESSAGES; m++)
            if (ranks[r].rank < 2)
                has(memory[r][m], m % 3 == 2 ? 0 : m % 3 ? LARGEST : 3, m, m, ranks[r].stream);
    }
}

/* More works than the parameters hold, collectives and messages mixed: each broadcast has its own root and
 * buffer. */
static void many(struct rank *ranks, int count)
{
    enum { WORKS = 260, INTS = 11 };
    CUdeviceptr from[MOST_RANKS], to[MOST_RANKS], ring[MOST_RANKS];
    const int all = ranks[0].ranks;
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        from[r] = filled(INTS, ranks[r].rank, 5);
        to[r] = allocate(WORKS * INTS);
        ring[r] = allocate(INTS);
    }
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; r++) {
        struct rank *rank = &ranks[r];
        NCCL(ncclRecv(at(ring[r], 0), INTS, ncclInt32, (rank->rank + 1) % all, rank->comm, rank->stream));
        for (int i = 0; i < WORKS; i++)
            NCCL(ncclBroadcast(at(from[r], 0), at(to[r], (size_t)i * INTS), INTS, ncclInt32, i % all,
                               rank->comm, rank->stream));
        NCCL(ncclSend(at(from[r], 0), INTS, ncclInt32, (rank->rank + all - 1) % all, rank->comm,
                      rank->stream));
    }
    NCCL(ncclGroupEnd());
    for (int r = 0; r < count; r++) {
        int numbers[WORKS * INTS];
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamSynchronize(ranks[r].stream));
        OK(cuMemcpyDtoH(numbers, to[r], sizeof numbers));
        for (int i = 0; i < WORKS * INTS; i++) CHECK(numbers[i] == value(i / INTS % all, 5, i % INTS));
        has(ring[r], INTS, (ranks[r].rank + 1) % all, 5, ranks[r].stream);
        OK(cuMemFree(from[r]));
        OK(cuMemFree(to[r]));
    }
}

/* Two communicators in one group, each in a stream of its own, in opposite orders on every second rank. */
static void two_comms(struct rank *ranks, int count)
{
    ncclComm_t other[MOST_RANKS];
    CUstream second[MOST_RANKS];
    CUdeviceptr memory[MOST_RANKS][2];
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; r++) NCCL(ncclCommSplit(ranks[r].comm, 0, -ranks[r].rank, &other[r], NULL));
    NCCL(ncclGroupEnd());
    NCCL(ncclGroupStart());
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        OK(cuStreamCreate(&second[r], CU_STREAM_NON_BLOCKING));
        for (int i = 0; i < 2; i++) memory[r][i] = filled(COUNT, ranks[r].rank, i);
        for (int i = 0; i < 2; i++) {
            int which = i ^ (ranks[r].rank & 1);
            NCCL(ncclBcast(at(memory[r][which], 0), COUNT, ncclInt32, 0, which ? other[r] : ranks[r].comm,
                           which ? second[r] : ranks[r].stream));
        }
    }
    NCCL(ncclGroupEnd());
    for (int r = 0; r < count; r++) {
        OK(cuCtxSetCurrent(ranks[r].context));
        has(memory[r][0], COUNT, 0, 0, ranks[r].stream);
        has(memory[r][1], COUNT, ranks[r].ranks - 1, 1, second[r]);
        OK(cuStreamDestroy(second[r]));
        NCCL(ncclCommDestroy(other[r]));
    }
}

static void all_groups(struct rank *ranks, int count)
{
    make_comms(ranks, count);
    exchange(ranks, count, 1);
    exchange(ranks, count, COUNT);
    exchange(ranks, count, 0);
    if (ranks[0].ranks > 1) in_order(ranks, count);
    many(ranks, count);
    two_comms(ranks, count);
    NCCL_IS(ncclGroupEnd(), ncclInvalidUsage);
    destroy_comms(ranks, count);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    return run_ranks(argv[1], atoi(argv[2]), all_groups);
}
