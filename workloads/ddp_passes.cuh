/* Forward, backward and update over chunks: which collective runs when, and what waits for it.
 *
 * Kernels run on the default stream, collectives on a stream of their own, each waiting for the other by
 * events and only for what it needs: a part's weights (--zero 3) are asked for one part ahead, and the
 * gradients of one part are summed up while the part before is computed.
 *
 * All ranks give the same collectives in the same order, else they would wait for each other without end.
 *
 * Every --zero, size of chunks and kind of memory computes the same: a gradient is the sum of what the ranks
 * have, whose losses are scaled by the number of ranks from the start, and the update goes element by
 * element. So where the library sums an element in one order, whatever the collective and the place in the
 * buffer, bits do not differ. */
#ifndef DDP_PASSES_CUH
#define DDP_PASSES_CUH

#include "ddp_chunks.cuh"
#include "ddp_ranks.cuh"
#include "gpt_schedule.cuh"

struct Trainer {
    struct Ranks ranks;
    struct Model model;
    struct Chunks chunks;
    struct Schedule schedule;
    ncclComm_t comm;
    cudaStream_t stream;  /* the collectives' */
    cudaEvent_t computed; /* a point in the default stream */
    cudaEvent_t sent;     /* a point in the collectives' */
};

/* What is given to the collectives' stream from here on comes after what the default stream has now. */
static void send_after_compute(struct Trainer *t)
{
    check(cudaEventRecord(t->computed, NULL), "cudaEventRecord");
    check(cudaStreamWaitEvent(t->stream, t->computed), "cudaStreamWaitEvent");
}

static void compute_after_sends(struct Trainer *t)
{
    check(cudaEventRecord(t->sent, t->stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(NULL, t->sent), "cudaStreamWaitEvent");
}

static bool is_in_part(const struct Chunk *chunk, int part)
{
    return chunk->first_part <= part && part <= chunk->last_part;
}

/* --- Weights --- */

static void broadcast_weights(struct Trainer *t, struct Chunk *chunk)
{
    check_nccl(ncclBroadcast(chunk->weights, chunk->weights, chunk->floats, ncclFloat32, chunk->owner,
                             t->comm, t->stream),
               "ncclBroadcast");
}

/* Asks for the part's chunks that are not here, all in one group. Their slots come first: no memory is asked
 * for within a group. */
static void gather_part(struct Trainer *t, int part)
{
    struct Chunks *c = &t->chunks;
    bool any = false;
    for (int i = 0; i < c->count; i++) any |= is_in_part(&c->chunks[i], part) && !c->chunks[i].usable;
    if (!any) return;
    send_after_compute(t);
    for (int i = 0; i < c->count; i++) {
        struct Chunk *chunk = &c->chunks[i];
        if (!is_in_part(chunk, part) || chunk->usable || chunk->weights) continue;
        chunk->weights = slot_take(c, t->stream);
        bind_tensors(chunk, &t->model.weights, chunk->weights);
    }
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < c->count; i++)
        if (is_in_part(&c->chunks[i], part) && !c->chunks[i].usable) broadcast_weights(t, &c->chunks[i]);
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    for (int i = 0; i < c->count; i++) {
        struct Chunk *chunk = &c->chunks[i];
        if (!is_in_part(chunk, part) || chunk->usable) continue;
        chunk->usable = true;
        check(cudaEventRecord(chunk->arrived, t->stream), "cudaEventRecord");
    }
}

/* The default stream goes on when the part's weights are here. */
static void await_part(struct Trainer *t, int part)
{
    struct Chunks *c = &t->chunks;
    if (c->zero < 3) return;
    for (int i = 0; i < c->count; i++)
        if (is_in_part(&c->chunks[i], part))
            check(cudaStreamWaitEvent(NULL, c->chunks[i].arrived), "cudaStreamWaitEvent");
}

/* After the default stream's last use for now. */
static void release_weights(struct Trainer *t, struct Chunk *chunk)
{
    struct Chunks *c = &t->chunks;
    if (c->zero < 3) return;
    chunk->usable = false;
    if (keeps_weights(c, chunk)) return;
    slot_give(c, chunk->weights, NULL);
    chunk->weights = NULL;
    bind_tensors(chunk, &t->model.weights, NULL);
}

/* The last part's weights stay: the backward pass begins with them. */
static void forward(struct Trainer *t, float loss_scale)
{
    const int last = model_parts(&t->model) - 1;
    gather_part(t, 0);
    for (int part = 0; part <= last; part++) {
        if (part < last) gather_part(t, part + 1);
        await_part(t, part);
        part_forward(&t->model, part, loss_scale, true);
        for (int i = 0; part < last && i < t->chunks.count; i++)
            if (t->chunks.chunks[i].last_part == part) release_weights(t, &t->chunks.chunks[i]);
    }
}

/* --- Gradients --- */

/* Zeroed memory for the gradients of chunks that the backward pass reaches with this part. */
static void take_gradients(struct Trainer *t, int part)
{
    struct Chunks *c = &t->chunks;
    for (int i = 0; i < c->count; i++) {
        struct Chunk *chunk = &c->chunks[i];
        if (chunk->last_part != part) continue;
        chunk->gradients = slot_take(c, NULL);
        check(cudaMemsetAsync(chunk->gradients, 0, chunk->floats * sizeof(float)), "cudaMemsetAsync");
        bind_tensors(chunk, &t->model.gradients, chunk->gradients);
    }
}

static void give_gradients(struct Trainer *t, struct Chunk *chunk, cudaStream_t stream)
{
    slot_give(&t->chunks, chunk->gradients, stream);
    chunk->gradients = NULL;
    bind_tensors(chunk, &t->model.gradients, NULL);
}

/* Sums the chunk's gradients up, in all ranks or, where only the owner keeps them, there. */
static void reduce_gradients(struct Trainer *t, struct Chunk *chunk)
{
    float *g = chunk->gradients;
    if (t->chunks.zero < 2)
        check_nccl(ncclAllReduce(g, g, chunk->floats, ncclFloat32, ncclSum, t->comm, t->stream),
                   "ncclAllReduce");
    else
        check_nccl(ncclReduce(g, g, chunk->floats, ncclFloat32, ncclSum, chunk->owner, t->comm, t->stream),
                   "ncclReduce");
    check(cudaEventRecord(chunk->arrived, t->stream), "cudaEventRecord");
    if (!keeps_gradients(&t->chunks, chunk)) give_gradients(t, chunk, t->stream);
}

/* A chunk is finished with the first part that it has weights of. */
static void backward(struct Trainer *t)
{
    struct Chunks *c = &t->chunks;
    for (int part = model_parts(&t->model) - 1; part >= 0; part--) {
        if (part > 0) gather_part(t, part - 1);
        await_part(t, part);
        take_gradients(t, part);
        part_backward(&t->model, part);
        send_after_compute(t);
        for (int i = c->count - 1; i >= 0; i--) {
            struct Chunk *chunk = &c->chunks[i];
            if (chunk->first_part != part) continue;
            release_weights(t, chunk);
            reduce_gradients(t, chunk);
        }
    }
}

/* --- The update --- */

/* In the order in which gradients arrive. What others keep of a chunk that its owner has updated is sent to
 * them, while the next one is updated. */
static void update(struct Trainer *t)
{
    struct Chunks *c = &t->chunks;
    const struct Factors factors = schedule_next(&t->schedule);
    for (int i = c->count - 1; i >= 0; i--) {
        struct Chunk *chunk = &c->chunks[i];
        if (keeps_gradients(c, chunk))
            check(cudaStreamWaitEvent(NULL, chunk->arrived), "cudaStreamWaitEvent");
        if (keeps_state(c, chunk))
            launch_adamw(chunk->weights, chunk->gradients, chunk->m, chunk->v, chunk->floats, factors);
        if (chunk->gradients) give_gradients(t, chunk, NULL);
        if (c->zero != 1 && c->zero != 2) continue;
        send_after_compute(t);
        broadcast_weights(t, chunk);
    }
}

/* The mean loss of all ranks' batches, on each of them. */
static void reduce_loss(struct Trainer *t)
{
    float *loss = t->model.loss;
    send_after_compute(t);
    check_nccl(ncclAllReduce(loss, loss, 1, ncclFloat32, ncclSum, t->comm, t->stream), "ncclAllReduce");
}

#endif
