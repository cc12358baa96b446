/* A line for each op, for people. */
#ifndef RANKS_PRINT_CUH
#define RANKS_PRINT_CUH

#include "plan.cuh"

static const char *const op_names[OP_KINDS] = {
    "cudaMalloc",
    "cudaFree",
    "cudaMallocAsync",
    "cudaFreeAsync",
    "kernel",
    "copy",
    "memset",
    "upload",
    "read",
    "read and wait",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaEventQuery until it has passed",
    "cudaDeviceSynchronize",
    "tell rank",
    "hear from rank",
    "collectives",
};

static const char *const function_names[] = {
    "AllReduce", "Broadcast", "Reduce",  "ReduceScatter", "AllGather",
    "AlltoAll",  "Gather",    "Scatter", "Send",          "Recv",
};

static inline void print_place(const char *what, Place place, size_t bytes)
{
    if (place.buffer >= 0)
        fprintf(stderr, " %s buffer %d+%zu (%zu bytes)", what, place.buffer, place.offset, bytes);
}

static inline void print_op(int number, int place, const Op *op, const Rank *rank)
{
    fprintf(stderr, "rank %d, call %d, op %d: %s", number, place, op->index, op_names[op->kind]);
    if (op->stream >= 0) fprintf(stderr, " stream %d", op->stream);
    if (op->other >= 0) fprintf(stderr, " %d", op->other);
    print_place("from", op->from, op->bytes);
    print_place("to", op->to, op->bytes);
    for (int i = 0; i < op->wait_count; i++)
        fprintf(stderr, ", stream %d behind op %d", op->waits[i].stream, op->waits[i].op);
    if (op->comm >= 0) fprintf(stderr, " communicator %d", op->comm);
    for (int i = 0; i < op->call_count; i++) {
        const Call *call = &rank->calls[op->first_call + i];
        fprintf(stderr, "; %s count %zu type %d peer %d stream %d", function_names[call->function],
                call->count, call->type, call->peer, call->stream);
        print_place("from", call->from, 0);
        print_place("to", call->to, 0);
    }
    fprintf(stderr, "\n");
}

#endif
