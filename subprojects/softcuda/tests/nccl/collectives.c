/* Every function that moves data, for all types and operations, in place and not, at odd addresses, of
 * nothing and of more than is on the way at a time. Breaks if an element comes out differently from a plain
 * loop over the ranks in their order, if a byte beside the result is written, or if an input changes.
 *
 * Usage: collectives processes|threads|devices RANKS */
#include "ranks.h"
#include "reference.h"

enum function {
    ALL_REDUCE,
    REDUCE,
    REDUCE_SCATTER,
    BROADCAST,
    BCAST,
    ALL_GATHER,
    ALL_TO_ALL,
    GATHER,
    SCATTER,
    FUNCTIONS
};

struct test {
    enum function function;
    int type, op, root, ranks;
    size_t count;
    bool in_place;
    bool device_factor;
};

#define GUARD 61 /* bytes on each side; odd, so that nothing is aligned where the size is odd */

/* A buffer of a rank on the device, and what must be in it afterwards. */
struct buffer {
    CUdeviceptr memory;
    uint8_t *wanted;
    size_t bytes;
};

static bool reduces(const struct test *test)
{
    return test->function <= REDUCE_SCATTER;
}

/* Elements that a rank gives and gets. */
static size_t given(const struct test *test, int rank)
{
    if (test->function == REDUCE_SCATTER || test->function == ALL_TO_ALL)
        return test->count * (size_t)test->ranks;
    if (test->function == SCATTER) return rank == test->root ? test->count * (size_t)test->ranks : 0;
    if (test->function == BROADCAST || test->function == BCAST) return rank == test->root ? test->count : 0;
    return test->count;
}

static size_t got(const struct test *test, int rank)
{
    if (test->function == ALL_GATHER || test->function == ALL_TO_ALL)
        return test->count * (size_t)test->ranks;
    if (test->function == GATHER) return rank == test->root ? test->count * (size_t)test->ranks : 0;
    if (test->function == REDUCE) return rank == test->root ? test->count : 0;
    return test->count;
}

static uint64_t factor_of(const struct test *test, int rank)
{
    return pattern(test->type, (uint64_t)rank + 100, 7);
}

/* Element i of what `rank` gets. */
static uint64_t result(const struct test *test, int rank, size_t i)
{
    size_t block = i / test->count, within = i % test->count;
    uint64_t terms[MOST_RANKS], factors[MOST_RANKS];
    switch (test->function) {
    case BROADCAST:
    case BCAST:
        return pattern(test->type, (uint64_t)test->root, i);
    case ALL_GATHER:
    case GATHER:
        return pattern(test->type, block, within);
    case ALL_TO_ALL:
        return pattern(test->type, block, (size_t)rank * test->count + within);
    case SCATTER:
        return pattern(test->type, (uint64_t)test->root, (size_t)rank * test->count + i);
    default:
        break;
    }
    size_t at = test->function == REDUCE_SCATTER ? (size_t)rank * test->count + i : i;
    for (int r = 0; r < test->ranks; r++) {
        terms[r] = pattern(test->type, (uint64_t)r, at);
        factors[r] = factor_of(test, r);
    }
    return reference_reduce(test->type, test->op, terms, factors, test->ranks);
}

static void put(uint8_t *at, int type, size_t index, uint64_t value)
{
    memcpy(at + index * type_bytes(type), &value, type_bytes(type));
}

static void make_buffer(struct buffer *buffer, size_t elements, int type)
{
    buffer->bytes = elements * type_bytes(type) + 2 * GUARD;
    buffer->wanted = malloc(buffer->bytes);
    CHECK(buffer->wanted);
    memset(buffer->wanted, 0xa5, buffer->bytes);
    OK(cuMemAlloc(&buffer->memory, buffer->bytes));
}

static void check_buffer(struct buffer *buffer, const struct test *test, int rank, const char *which)
{
    uint8_t *have = malloc(buffer->bytes);
    CHECK(have);
    OK(cuMemcpyDtoH(have, buffer->memory, buffer->bytes));
    for (size_t i = 0; i < buffer->bytes; i++) {
        if (have[i] == buffer->wanted[i]) continue;
        fprintf(stderr,
                "function %d type %d op %d root %d count %zu in place %d rank %d of %d: byte %zd of the %s\n",
                test->function, test->type, test->op, test->root, test->count, test->in_place, rank,
                test->ranks, (ssize_t)i - GUARD, which);
        exit(1);
    }
    free(have);
    free(buffer->wanted);
    OK(cuMemFree(buffer->memory));
}

/* One rank's part in a test. */
struct part {
    struct buffer from, to;
    CUdeviceptr send, receive, factor;
    ncclRedOp_t op;
};

/* Where the other buffer of a function in place begins within the larger one, in elements. */
static size_t place(const struct test *test, int rank)
{
    switch (test->function) {
    case REDUCE_SCATTER:
    case ALL_GATHER:
    case GATHER:
    case SCATTER:
        return (size_t)rank * test->count;
    default:
        return 0;
    }
}

static void prepare(struct part *part, const struct test *test, const struct rank *rank)
{
    size_t in = given(test, rank->rank), out = got(test, rank->rank), size = type_bytes(test->type);
    OK(cuCtxSetCurrent(rank->context));
    make_buffer(&part->from, in, test->type);
    make_buffer(&part->to, out, test->type);
    for (size_t i = 0; i < in; i++)
        put(part->from.wanted + GUARD, test->type, i, pattern(test->type, (uint64_t)rank->rank, i));
    OK(cuMemcpyHtoD(part->from.memory, part->from.wanted, part->from.bytes));
    OK(cuMemcpyHtoD(part->to.memory, part->to.wanted, part->to.bytes));
    part->send = part->from.memory + GUARD;
    part->receive = part->to.memory + GUARD;
    uint8_t *result_at = part->to.wanted + GUARD;
    if (test->in_place && in && in <= out) { /* the input lies in the output */
        part->send = part->receive + place(test, rank->rank) * size;
        OK(cuMemcpyHtoD(part->send, part->from.wanted + GUARD, in * size));
    } else if (test->in_place && out && in > out) { /* the output in the input */
        part->receive = part->send + place(test, rank->rank) * size;
        result_at = part->from.wanted + GUARD + place(test, rank->rank) * size;
    }
    for (size_t i = 0; i < out; i++) put(result_at, test->type, i, result(test, rank->rank, i));
    if (test->function == BCAST && in) OK(cuMemcpyHtoD(part->receive, part->from.wanted + GUARD, in * size));
    part->op = (ncclRedOp_t)test->op;
    if (!reduces(test) || test->op != FACTOR) return;
    uint64_t factor = factor_of(test, rank->rank);
    OK(cuMemAlloc(&part->factor, sizeof factor));
    OK(cuMemcpyHtoD(part->factor, &factor, sizeof factor));
    NCCL(ncclRedOpCreatePreMulSum(
        &part->op, test->device_factor ? (void *)part->factor : &factor, (ncclDataType_t)test->type,
        test->device_factor ? ncclScalarDevice : ncclScalarHostImmediate, rank->comm));
}

static void issue(struct part *part, const struct test *test, const struct rank *rank)
{
    const void *from = (const void *)part->send;
    void *to = (void *)part->receive;
    ncclDataType_t type = (ncclDataType_t)test->type;
    size_t count = test->count;
    cudaStream_t stream = rank->stream;
    switch (test->function) {
    case ALL_REDUCE:
        NCCL(ncclAllReduce(from, to, count, type, part->op, rank->comm, stream));
        break;
    case REDUCE:
        NCCL(ncclReduce(from, to, count, type, part->op, test->root, rank->comm, stream));
        break;
    case REDUCE_SCATTER:
        NCCL(ncclReduceScatter(from, to, count, type, part->op, rank->comm, stream));
        break;
    case BROADCAST:
        NCCL(ncclBroadcast(from, to, count, type, test->root, rank->comm, stream));
        break;
    case BCAST:
        NCCL(ncclBcast(to, count, type, test->root, rank->comm, stream));
        break;
    case ALL_GATHER:
        NCCL(ncclAllGather(from, to, count, type, rank->comm, stream));
        break;
    case ALL_TO_ALL:
        NCCL(ncclAlltoAll(from, to, count, type, rank->comm, stream));
        break;
    case GATHER:
        NCCL(ncclGather(from, to, count, type, test->root, rank->comm, stream));
        break;
    default:
        NCCL(ncclScatter(from, to, count, type, test->root, rank->comm, stream));
    }
    if (reduces(test) && test->op == FACTOR) NCCL(ncclRedOpDestroy(part->op, rank->comm));
}

static void run_test(struct test *test, struct rank *ranks, int count)
{
    if (test->function == ALL_TO_ALL) test->in_place = false; /* it has no such form */
    struct part parts[MOST_RANKS] = {0};
    for (int i = 0; i < count; i++) prepare(&parts[i], test, &ranks[i]);
    if (count > 1) NCCL(ncclGroupStart());
    for (int i = 0; i < count; i++) issue(&parts[i], test, &ranks[i]);
    if (count > 1) NCCL(ncclGroupEnd());
    for (int i = 0; i < count; i++) {
        OK(cuCtxSetCurrent(ranks[i].context));
        OK(cuStreamSynchronize(ranks[i].stream));
        check_buffer(&parts[i].to, test, ranks[i].rank, "output");
        check_buffer(&parts[i].from, test, ranks[i].rank, "input");
        if (parts[i].factor) OK(cuMemFree(parts[i].factor));
    }
}

/* All at small sizes, then some at several times what is on the way at once. */
static void run_all(struct rank *ranks, int count)
{
    const int all = ranks[0].ranks;
    unsigned number = 0;
    make_comms(ranks, count);
    for (int function = 0; function < FUNCTIONS; function++)
        for (int type = 0; type < ncclNumTypes; type++)
            for (int op = 0; op <= FACTOR; op++) {
                struct test test = {.function = (enum function)function,
                                    .type = type,
                                    .op = op,
                                    .root = (int)(number % (unsigned)all),
                                    .ranks = all,
                                    .count = 1 + number * 37 % 2000,
                                    .in_place = number & 1,
                                    .device_factor = number & 2};
                number++;
                if (op && !reduces(&test)) break;
                run_test(&test, ranks, count);
            }
    static const int large_types[] = {ncclUint8, ncclFloat16, ncclFloat32};
    for (int function = 0; function < FUNCTIONS; function++)
        for (int i = 0; i < 3; i++) {
            struct test test = {.function = (enum function)function,
                                .type = large_types[i],
                                .op = ncclSum,
                                .root = all - 1,
                                .ranks = all,
                                .count = 150001 + 70000 * (2 - (size_t)i),
                                .in_place = i & 1};
            run_test(&test, ranks, count);
        }
    struct test few = {.function = ALL_REDUCE, .type = ncclFloat32, .op = ncclSum, .ranks = all, .count = 1};
    run_test(&few, ranks, count);
    for (int i = 0; i < count; i++)
        NCCL(ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, ranks[i].comm, ranks[i].stream));
    destroy_comms(ranks, count);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    return run_ranks(argv[1], atoi(argv[2]), run_all);
}
