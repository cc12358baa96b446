/* Plans what a rank does by itself: memory, kernels, copies, waits. Each function plans one op and does the
 * same with the host's model of the memory. */
#ifndef RANKS_MAKE_CUH
#define RANKS_MAKE_CUH

#include "kernels.cuh"
#include "order.cuh"

enum { KIB = 1 << 10, MOST_HOST_BYTES = 64 << 20, READ_BYTES = 128 * KIB };

static inline int pick_stream(Plan *p, const Rank *rank)
{
    int stream = (int)below(p, STREAMS);
    return stream == rank->avoided_stream ? (stream + 1) % STREAMS : stream;
}

/* The stream that wrote the buffer last, or another. */
static inline int stream_for(Plan *p, const Rank *rank, int buffer)
{
    const Buffer *b = &rank->buffers[buffer];
    return b->writer >= 0 && b->writer_stream != rank->avoided_stream && chance(p, 50) ? b->writer_stream
                                                                                       : pick_stream(p, rank);
}

/* A buffer of at least so many bytes that `op` does not use yet, or only reads where `shared`; -1: there is
 * none. */
static inline int pick_buffer(Plan *p, const Rank *rank, size_t bytes, const Op *op, bool shared)
{
    int found = -1, seen = 0;
    for (int b = 0; b < rank->buffer_count; b++) {
        bool fits = rank->buffers[b].live && rank->buffers[b].bytes >= bytes && b != rank->avoided_buffer;
        for (int i = 0; op && i < op->use_count && fits; i++)
            if (op->uses[i].buffer == b) fits = shared && !op->uses[i].write;
        if (fits && below(p, ++seen) == 0) found = b;
    }
    return found;
}

static inline Place pick_place(Plan *p, const Rank *rank, int buffer, size_t bytes)
{
    Place place = {buffer, 0};
    if (buffer >= 0) place.offset = below(p, (rank->buffers[buffer].bytes - bytes) / 8 + 1) * 8;
    return place;
}

static inline uint8_t *model_at(const Rank *rank, Place place)
{
    return place.buffer < 0 ? NULL : rank->buffers[place.buffer].model + place.offset;
}

static inline void make_kernel(Plan *p, Rank *rank, Kernel kernel, int to, int from, int stream)
{
    Op *op = begin_op(rank, OP_KERNEL, stream);
    size_t bytes = rank->buffers[to].bytes;
    if (from >= 0 && rank->buffers[from].bytes < bytes) bytes = rank->buffers[from].bytes;
    if (kernel != KERNEL_FILL && chance(p, 50)) bytes = (below(p, bytes / 8) + 1) * 8;
    op->kernel = kernel;
    op->value = (uint32_t)next_random(p);
    op->bytes = bytes;
    op->to = pick_place(p, rank, to, bytes);
    op->from = pick_place(p, rank, from, bytes);
    if (from >= 0) use(rank, op, stream, from, false);
    use(rank, op, stream, to, true);
    compute(kernel, (uint32_t *)model_at(rank, op->to), (uint32_t *)model_at(rank, op->from), bytes / 4,
            op->value);
    end_op(rank, op);
}

static inline void make_some_kernel(Plan *p, Rank *rank)
{
    int to = pick_buffer(p, rank, 0, NULL, false), from = pick_buffer(p, rank, 0, NULL, false);
    if (to < 0) return;
    Kernel kernel = to == from ? KERNEL_FILL : (Kernel)below(p, KERNELS);
    make_kernel(p, rank, kernel, to, kernel == KERNEL_FILL ? -1 : from, stream_for(p, rank, to));
}

/* cudaMalloc's and cudaMallocAsync's. All of it is written at once. */
static inline int make_buffer(Plan *p, Rank *rank)
{
    size_t bytes = (((size_t)64 * KIB << below(p, 6)) + below(p, 64 * KIB)) & ~(size_t)7;
    if (rank->live_bytes + bytes > p->room_bytes || rank->buffer_count == MOST_BUFFERS) return -1;
    bool async = chance(p, 60);
    int b = rank->buffer_count++, stream = pick_stream(p, rank);
    Buffer *buffer = &rank->buffers[b];
    buffer->bytes = bytes;
    buffer->async = async;
    buffer->live = true;
    buffer->model = (uint8_t *)calloc(1, bytes);
    buffer->allocation = buffer->writer = -1;
    for (int s = 0; s < STREAMS; s++) buffer->readers[s] = -1;
    rank->live_bytes += bytes;
    if (rank->live_bytes > rank->peak_bytes) rank->peak_bytes = rank->live_bytes;
    Op *op = begin_op(rank, async ? OP_MALLOC_ASYNC : OP_MALLOC, async ? stream : -1);
    op->to.buffer = b;
    op->bytes = bytes;
    if (async)
        use(rank, op, stream, b, true);
    else
        buffer->allocation = op->index;
    end_op(rank, op);
    make_kernel(p, rank, KERNEL_FILL, b, -1, chance(p, 70) ? stream : pick_stream(p, rank));
    return b;
}

static inline void make_free(Plan *p, Rank *rank, bool may_wait)
{
    int b = pick_buffer(p, rank, 0, NULL, false);
    if (b < 0 || (!rank->buffers[b].async && !may_wait)) return;
    Buffer *buffer = &rank->buffers[b];
    int stream = stream_for(p, rank, b);
    Op *op = begin_op(rank, buffer->async ? OP_FREE_ASYNC : OP_FREE, buffer->async ? stream : -1);
    op->to.buffer = b;
    if (buffer->async) use(rank, op, stream, b, true);
    end_op(rank, op);
    buffer->live = false;
    rank->live_bytes -= buffer->bytes;
    free(buffer->model);
    buffer->model = NULL;
}

static inline void make_copy(Plan *p, Rank *rank)
{
    int to = pick_buffer(p, rank, 0, NULL, false), from = pick_buffer(p, rank, 0, NULL, false);
    if (to < 0 || to == from) return;
    size_t most = rank->buffers[to].bytes < rank->buffers[from].bytes ? rank->buffers[to].bytes
                                                                      : rank->buffers[from].bytes;
    int stream = stream_for(p, rank, from);
    Op *op = begin_op(rank, OP_COPY, stream);
    op->bytes = (below(p, most / 8) + 1) * 8;
    op->to = pick_place(p, rank, to, op->bytes);
    op->from = pick_place(p, rank, from, op->bytes);
    use(rank, op, stream, from, false);
    use(rank, op, stream, to, true);
    memcpy(model_at(rank, op->to), model_at(rank, op->from), op->bytes);
    end_op(rank, op);
}

static inline void make_set(Plan *p, Rank *rank)
{
    int to = pick_buffer(p, rank, 0, NULL, false);
    if (to < 0) return;
    int stream = stream_for(p, rank, to);
    Op *op = begin_op(rank, OP_SET, stream);
    op->bytes = (below(p, rank->buffers[to].bytes / 8) + 1) * 8;
    op->value = (uint32_t)below(p, 256);
    op->to = pick_place(p, rank, to, op->bytes);
    use(rank, op, stream, to, true);
    memset(model_at(rank, op->to), (int)op->value, op->bytes);
    end_op(rank, op);
}

/* Between pinned memory and a part of a buffer. */
static inline Op *begin_host_copy(Plan *p, Rank *rank, OpKind kind)
{
    int b = pick_buffer(p, rank, 0, NULL, false);
    size_t bytes = (below(p, READ_BYTES / 8) + 1) * 8;
    if (b < 0 || rank->host_bytes + bytes > MOST_HOST_BYTES) return NULL;
    if (bytes > rank->buffers[b].bytes) bytes = rank->buffers[b].bytes;
    int stream = stream_for(p, rank, b);
    Op *op = begin_op(rank, kind, stream);
    op->bytes = bytes;
    op->host_offset = rank->host_bytes;
    rank->host_bytes += bytes;
    Place place = pick_place(p, rank, b, bytes);
    if (kind == OP_UPLOAD)
        op->to = place;
    else
        op->from = place;
    use(rank, op, stream, b, kind == OP_UPLOAD);
    return op;
}

static inline void make_upload(Plan *p, Rank *rank)
{
    Op *op = begin_host_copy(p, rank, OP_UPLOAD);
    if (!op) return;
    op->value = (uint32_t)next_random(p);
    compute(KERNEL_FILL, (uint32_t *)model_at(rank, op->to), NULL, op->bytes / 4, op->value);
    end_op(rank, op);
}

static inline void make_read(Plan *p, Rank *rank, bool now)
{
    Op *op = begin_host_copy(p, rank, now ? OP_READ_NOW : OP_READ);
    if (!op) return;
    uint8_t *expected = (uint8_t *)malloc(op->bytes);
    memcpy(expected, model_at(rank, op->from), op->bytes);
    op->expected = expected;
    end_op(rank, op);
}

/* Waits on the host: for a stream, an event, or all. */
static inline void make_wait(Plan *p, Rank *rank, bool may_wait_for_all)
{
    int way = (int)below(p, 10), back = (int)below(p, 20);
    if (way < 4) {
        int stream = pick_stream(p, rank);
        end_op(rank, begin_op(rank, OP_SYNC_STREAM, stream));
    } else if (way < 9) {
        int other = rank->op_count - 1 - back;
        if (other < 0 || is_host(&rank->ops[other]) ||
            (rank->avoided_stream >= 0 && rank->ops[other].streams >> rank->avoided_stream & 1))
            return;
        Op *op = begin_op(rank, way < 7 || !p->polls ? OP_SYNC_EVENT : OP_POLL_EVENT, -1);
        op->other = other;
        rank->ops[other].recorded = true;
        end_op(rank, op);
    } else if (may_wait_for_all) {
        end_op(rank, begin_op(rank, OP_SYNC_DEVICE, -1));
    }
}

/* Through a pipe: the host of one rank waits for the other's. */
static inline void make_message_between(Plan *p, int from, int to)
{
    Op *op = begin_op(&p->ranks[from], OP_TELL, -1);
    op->other = to;
    end_op(&p->ranks[from], op);
    op = begin_op(&p->ranks[to], OP_HEAR, -1);
    op->other = from;
    end_op(&p->ranks[to], op);
}

static inline void make_message(Plan *p)
{
    int from = (int)below(p, p->rank_count), to = (int)below(p, p->rank_count);
    if (from != to) make_message_between(p, from, to);
}

/* Something that the rank does by itself. Where an op is going to be called early, nothing waits for all. */
static inline void make_own(Plan *p, Rank *rank, bool may_wait_for_all)
{
    int way = (int)below(p, 100);
    if (way < 25)
        make_some_kernel(p, rank);
    else if (way < 45)
        make_buffer(p, rank);
    else if (way < 60)
        make_free(p, rank, may_wait_for_all);
    else if (way < 68)
        make_copy(p, rank);
    else if (way < 74)
        make_set(p, rank);
    else if (way < 80)
        make_upload(p, rank);
    else if (way < 85)
        make_read(p, rank, false);
    else if (way < 89)
        make_read(p, rank, true);
    else
        make_wait(p, rank, may_wait_for_all);
}

#endif
