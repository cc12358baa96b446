/* What has to come before what in a rank, and which other orders of its calls mean the same.
 *
 * The plan is made in one order of all ranks' ops, in which each could wait for the one before it: so it can
 * end. A rank then calls some of its ops earlier. That changes nothing on the device as long as no two ops of
 * one stream or of one communicator change places, nobody is called before what it waits for, and nothing
 * comes before a call of the host that would then wait for it: an op that was called early holds up nobody
 * who does not ask for it. */
#ifndef RANKS_ORDER_CUH
#define RANKS_ORDER_CUH

#include "plan.cuh"

static inline bool is_host(const Op *op)
{
    switch (op->kind) {
    case OP_MALLOC:
    case OP_FREE:
    case OP_READ_NOW:
    case OP_SYNC_STREAM:
    case OP_SYNC_EVENT:
    case OP_POLL_EVENT:
    case OP_SYNC_DEVICE:
    case OP_TELL:
    case OP_HEAR:
        return true;
    default:
        return false;
    }
}

static inline bool waits_for_all(const Op *op)
{
    return op->kind == OP_FREE || op->kind == OP_SYNC_DEVICE;
}

static inline Op *begin_op(Rank *rank, OpKind kind, int stream)
{
    if (rank->op_count == MOST_OPS) stop("too many ops");
    Op *op = &rank->ops[rank->op_count];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    op->index = rank->op_count++;
    op->stream = stream;
    if (stream >= 0) op->streams = 1u << stream;
    op->after = op->other = op->to.buffer = op->from.buffer = op->comm = -1;
    return op;
}

static inline void raise(int *known, const int *more)
{
    for (int t = 0; t < STREAMS; t++)
        if (more[t] > known[t]) known[t] = more[t];
}

/* Op `before`, in stream `its`, comes before `op` in `stream`. */
static inline void need(Rank *rank, Op *op, int stream, int before, int its)
{
    if (before < 0 || rank->known[stream][its] >= before) return;
    if (rank->host[its] >= before) {
        op->after = rank->host_op;
        raise(rank->known[stream], rank->host);
        return;
    }
    if (op->wait_count == MOST_WAITS) stop("too many waits");
    op->waits[op->wait_count].op = before;
    op->waits[op->wait_count++].stream = stream;
    rank->ops[before].recorded = true;
    raise(rank->known[stream], rank->ops[before].known);
}

static inline void note_use(Op *op, int stream, int b, bool write)
{
    if (op->use_count == MOST_USES) stop("too many uses");
    op->uses[op->use_count].buffer = b;
    op->uses[op->use_count].stream = stream;
    op->uses[op->use_count++].write = write;
}

/* Of the uses from the `first` on. */
static inline void order_uses(Rank *rank, Op *op, int first)
{
    for (int i = first; i < op->use_count; i++) {
        const Use *use = &op->uses[i];
        const Buffer *buffer = &rank->buffers[use->buffer];
        op->streams |= 1u << use->stream;
        need(rank, op, use->stream, buffer->writer, buffer->writer_stream);
        for (int s = 0; s < STREAMS && use->write; s++) need(rank, op, use->stream, buffer->readers[s], s);
        if (buffer->allocation > op->after) op->after = buffer->allocation;
    }
}

static inline void use(Rank *rank, Op *op, int stream, int b, bool write)
{
    note_use(op, stream, b, write);
    order_uses(rank, op, op->use_count - 1);
}

/* NCCL joins the streams of a group. */
static inline void end_streams(Rank *rank, Op *op)
{
    for (int t = 0; t < STREAMS; t++) op->known[t] = -1;
    for (int s = 0; s < STREAMS; s++)
        if (op->streams >> s & 1) raise(op->known, rank->known[s]);
    for (int s = 0; s < STREAMS; s++)
        if (op->streams >> s & 1) op->known[s] = op->index;
    for (int s = 0; s < STREAMS; s++)
        if (op->streams >> s & 1) raise(rank->known[s], op->known);
}

static inline void end_op(Rank *rank, Op *op)
{
    end_streams(rank, op);
    for (int write = 0; write < 2; write++)
        for (int i = 0; i < op->use_count; i++) {
            Buffer *buffer = &rank->buffers[op->uses[i].buffer];
            buffer->last_use = op->index;
            if (op->uses[i].write != (bool)write) continue;
            if (!write) buffer->readers[op->uses[i].stream] = op->index;
            if (!write) continue;
            buffer->writer = op->index;
            buffer->writer_stream = op->uses[i].stream;
            for (int s = 0; s < STREAMS; s++) buffer->readers[s] = -1;
        }
    if (!is_host(op)) return;
    if (op->kind == OP_READ_NOW || op->kind == OP_SYNC_STREAM) raise(rank->host, op->known);
    if (op->kind == OP_SYNC_EVENT || op->kind == OP_POLL_EVENT) raise(rank->host, rank->ops[op->other].known);
    if (waits_for_all(op))
        for (int s = 0; s < STREAMS; s++) rank->host[s] = op->index;
    rank->host_op = op->index;
}

/* May `op`, which does not wait on the host, not be called before `earlier`? */
static inline bool comes_behind(const Plan *p, const Op *op, const Op *earlier)
{
    if (waits_for_all(earlier) || op->streams & earlier->streams) return true;
    if (earlier->kind == OP_MALLOC && !p->early_before_malloc) return true;
    if (is_host(earlier)) return earlier->index <= op->after;
    if (op->comm >= 0 && op->comm == earlier->comm) return true;
    for (int i = 0; i < op->wait_count; i++)
        if (op->waits[i].op == earlier->index) return true;
    return false;
}

static inline void choose_order(Plan *p, Rank *rank)
{
    for (int i = 0; i < rank->op_count; i++) {
        const Op *op = &rank->ops[i];
        int first = i, to = i;
        while (!is_host(op) && first > 0 && !comes_behind(p, op, &rank->ops[rank->order[first - 1]])) first--;
        if (op->early)
            to = first;
        else if (chance(p, op->comm >= 0 ? 50 : 25))
            to = first + (int)below(p, i - first + 1);
        memmove(&rank->order[to + 1], &rank->order[to], (i - to) * sizeof rank->order[0]);
        rank->order[to] = i;
    }
}

#endif
