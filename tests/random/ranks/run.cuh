/* One rank carries out its part of the plan. */
#ifndef RANKS_RUN_CUH
#define RANKS_RUN_CUH

#include <cuda_runtime.h>
#include <sched.h>
#include <unistd.h>

#include "kernels.cuh"
#include "print.cuh"

struct Run {
    const Plan *plan;
    const Rank *rank;
    int number;                        /* of the rank */
    const int (*pipes)[MOST_RANKS][2]; /* from a rank to a rank */
    char *memory[MOST_BUFFERS], *host;
    cudaStream_t streams[STREAMS];
    cudaEvent_t events[MOST_OPS];
    ncclComm_t comms[COMMS];
};

/* Where it is, for the watchdog. */
static volatile int current_op, current_place;

#define must(call)                                                                                           \
    do {                                                                                                     \
        int must_result = (int)(call);                                                                       \
        if (must_result) {                                                                                   \
            fprintf(stderr, "random_ranks: %s:%d: %s: error %d\n", __FILE__, __LINE__, #call, must_result);  \
            _Exit(3);                                                                                        \
        }                                                                                                    \
    } while (0)

static inline char *at(const Run *run, Place place)
{
    return place.buffer < 0 ? NULL : run->memory[place.buffer] + place.offset;
}

static inline void compare(const Run *run, const Op *op, int buffer, size_t offset, const void *got,
                           const void *expected, size_t bytes)
{
    const uint8_t *g = (const uint8_t *)got, *e = (const uint8_t *)expected;
    if (!memcmp(g, e, bytes)) return;
    size_t first = 0, wrong = 0;
    while (g[first] == e[first]) first++;
    for (size_t i = first; i < bytes; i++) wrong += g[i] != e[i];
    fprintf(stderr,
            "random_ranks: seed %llu: rank %d, op %d: byte %zu of buffer %d is %02x, not %02x; %zu of %zu "
            "bytes are wrong\n",
            (unsigned long long)run->plan->seed, run->number, op ? op->index : -1, offset + first, buffer,
            g[first], e[first], wrong, bytes);
    _Exit(1);
}

static inline void run_kernel(const Run *run, const Op *op)
{
    size_t count = op->bytes / 4, blocks = (count + 255) / 256;
    uint32_t *to = (uint32_t *)at(run, op->to), *from = (uint32_t *)at(run, op->from);
    unsigned grid = blocks < 64 ? (unsigned)blocks : 64;
    cudaStream_t stream = run->streams[op->stream];
    if (op->kernel == KERNEL_FILL)
        fill_words<<<grid, 256, 0, stream>>>(to, from, count, op->value);
    else if (op->kernel == KERNEL_MIX)
        mix_words<<<grid, 256, 0, stream>>>(to, from, count, op->value);
    else
        reverse_words<<<grid, 256, 0, stream>>>(to, from, count, op->value);
    must(cudaGetLastError());
}

static inline ncclResult_t run_call(const Run *run, const Call *call, ncclComm_t comm)
{
    const void *from = at(run, call->from);
    void *to = at(run, call->to);
    cudaStream_t stream = run->streams[call->stream];
    switch (call->function) {
    case ALL_REDUCE:
        return ncclAllReduce(from, to, call->count, call->type, call->reduction, comm, stream);
    case BROADCAST:
        if (from == to || !from) return ncclBcast(to, call->count, call->type, call->peer, comm, stream);
        return ncclBroadcast(from, to, call->count, call->type, call->peer, comm, stream);
    case REDUCE:
        return ncclReduce(from, to, call->count, call->type, call->reduction, call->peer, comm, stream);
    case REDUCE_SCATTER:
        return ncclReduceScatter(from, to, call->count, call->type, call->reduction, comm, stream);
    case ALL_GATHER:
        return ncclAllGather(from, to, call->count, call->type, comm, stream);
    case ALL_TO_ALL:
        return ncclAlltoAll(from, to, call->count, call->type, comm, stream);
    case GATHER:
        return ncclGather(from, to, call->count, call->type, call->peer, comm, stream);
    case SCATTER:
        return ncclScatter(from, to, call->count, call->type, call->peer, comm, stream);
    case SEND:
        return ncclSend(from, call->count, call->type, call->peer, comm, stream);
    default:
        return ncclRecv(to, call->count, call->type, call->peer, comm, stream);
    }
}

static inline void run_collectives(const Run *run, const Op *op)
{
    bool group = op->call_count > 1;
    if (group) must(ncclGroupStart());
    for (int i = 0; i < op->call_count; i++)
        must(run_call(run, &run->rank->calls[op->first_call + i], run->comms[op->comm]));
    if (group) must(ncclGroupEnd());
}

static inline void run_memory(Run *run, const Op *op)
{
    void *address = run->memory[op->to.buffer];
    if (op->kind == OP_MALLOC) must(cudaMalloc(&address, op->bytes));
    if (op->kind == OP_MALLOC_ASYNC) must(cudaMallocAsync(&address, op->bytes, run->streams[op->stream]));
    if (op->kind == OP_FREE) must(cudaFree(address));
    if (op->kind == OP_FREE_ASYNC) must(cudaFreeAsync(address, run->streams[op->stream]));
    run->memory[op->to.buffer] = (char *)address;
}

static inline void run_copy(const Run *run, const Op *op)
{
    cudaStream_t stream = run->streams[op->stream];
    char *host = run->host + op->host_offset;
    if (op->kind == OP_COPY)
        must(
            cudaMemcpyAsync(at(run, op->to), at(run, op->from), op->bytes, cudaMemcpyDeviceToDevice, stream));
    if (op->kind == OP_SET) must(cudaMemsetAsync(at(run, op->to), (int)op->value, op->bytes, stream));
    if (op->kind == OP_UPLOAD)
        must(cudaMemcpyAsync(at(run, op->to), host, op->bytes, cudaMemcpyHostToDevice, stream));
    if (op->kind == OP_READ || op->kind == OP_READ_NOW)
        must(cudaMemcpyAsync(host, at(run, op->from), op->bytes, cudaMemcpyDeviceToHost, stream));
    if (op->kind != OP_READ_NOW) return;
    must(cudaStreamSynchronize(stream));
    compare(run, op, op->from.buffer, op->from.offset, host, op->expected, op->bytes);
}

static inline void run_wait(const Run *run, const Op *op)
{
    char byte = 0;
    if (op->kind == OP_SYNC_STREAM) must(cudaStreamSynchronize(run->streams[op->stream]));
    if (op->kind == OP_SYNC_EVENT) must(cudaEventSynchronize(run->events[op->other]));
    if (op->kind == OP_SYNC_DEVICE) must(cudaDeviceSynchronize());
    if (op->kind == OP_TELL) must(write(run->pipes[run->number][op->other][1], &byte, 1) != 1);
    if (op->kind == OP_HEAR) must(read(run->pipes[op->other][run->number][0], &byte, 1) != 1);
    if (op->kind != OP_POLL_EVENT) return;
    cudaError_t result;
    while ((result = cudaEventQuery(run->events[op->other])) == cudaErrorNotReady) sched_yield();
    cudaGetLastError(); /* "not ready" counts as one */
    must(result);
}

static inline void run_op(Run *run, const Op *op)
{
    for (int i = 0; i < op->wait_count; i++)
        must(cudaStreamWaitEvent(run->streams[op->waits[i].stream], run->events[op->waits[i].op], 0));
    switch (op->kind) {
    case OP_MALLOC:
    case OP_MALLOC_ASYNC:
    case OP_FREE:
    case OP_FREE_ASYNC:
        run_memory(run, op);
        break;
    case OP_KERNEL:
        run_kernel(run, op);
        break;
    case OP_COPY:
    case OP_SET:
    case OP_UPLOAD:
    case OP_READ:
    case OP_READ_NOW:
        run_copy(run, op);
        break;
    case OP_COLLECTIVES:
        run_collectives(run, op);
        break;
    default:
        run_wait(run, op);
    }
    if (!op->recorded) return;
    must(cudaEventCreateWithFlags(&run->events[op->index], cudaEventDisableTiming));
    must(cudaEventRecord(run->events[op->index], run->streams[op->stream]));
}

static inline void compare_all(const Run *run)
{
    const Rank *rank = run->rank;
    for (int i = 0; i < rank->op_count; i++) {
        const Op *op = &rank->ops[i];
        if (op->kind == OP_READ)
            compare(run, op, op->from.buffer, op->from.offset, run->host + op->host_offset, op->expected,
                    op->bytes);
    }
    char *copy = (char *)malloc(run->plan->room_bytes);
    for (int b = 0; b < rank->buffer_count; b++) {
        const Buffer *buffer = &rank->buffers[b];
        if (!buffer->live) continue;
        must(cudaMemcpy(copy, run->memory[b], buffer->bytes, cudaMemcpyDeviceToHost));
        compare(run, NULL, b, 0, copy, buffer->model, buffer->bytes);
    }
    free(copy);
}

static inline void start_run(Run *run, ncclUniqueId id)
{
    int devices;
    const Rank *rank = run->rank;
    must(cudaGetDeviceCount(&devices));
    must(cudaSetDevice(run->number % devices));
    for (int s = 0; s < STREAMS; s++)
        must(cudaStreamCreateWithFlags(&run->streams[s], cudaStreamNonBlocking));
    must(cudaMallocHost((void **)&run->host, rank->host_bytes + 8));
    for (int i = 0; i < rank->op_count; i++) {
        const Op *op = &rank->ops[i];
        if (op->kind == OP_UPLOAD)
            compute(KERNEL_FILL, (uint32_t *)(run->host + op->host_offset), NULL, op->bytes / 4, op->value);
    }
    must(ncclCommInitRank(&run->comms[WORLD], run->plan->rank_count, id, run->number));
    for (int c = WORLD + 1; c < COMMS; c++)
        must(ncclCommSplit(run->comms[WORLD], rank->colors[c], rank->ranks[c], &run->comms[c], NULL));
}

static inline void run_rank(Run *run, ncclUniqueId id, bool verbose)
{
    start_run(run, id);
    for (int i = 0; i < run->rank->op_count; i++) {
        const Op *op = &run->rank->ops[run->rank->order[i]];
        current_place = i;
        current_op = op->index;
        if (verbose) print_op(run->number, i, op, run->rank);
        run_op(run, op);
    }
    current_place = run->rank->op_count;
    must(cudaDeviceSynchronize());
    compare_all(run);
    for (int c = COMMS - 1; c >= 0; c--) must(ncclCommDestroy(run->comms[c]));
}

#endif
