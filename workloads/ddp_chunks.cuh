/* Chunks, as PatrickStar has them (Fang et al. 2021): the model's tensors in their order, one behind the
 * other, in pieces of one size, so that memory is reused without gaps and every transfer is large. A tensor
 * lies in one chunk. Chunk i belongs to rank i modulo their number.
 *
 * A chunk has up to four pieces of memory on a rank: weights, gradients, AdamW's m and v. --zero says which
 * of them only the owner keeps; what it does not keep comes out of the slots for as long as it is needed. */
#ifndef DDP_CHUNKS_CUH
#define DDP_CHUNKS_CUH

#include "gpt_arguments.cuh"

struct Chunk {
    int first_tensor, end_tensor; /* of the model's sets */
    int first_part, last_part;    /* of the model, whose weights are here */
    int owner;
    size_t floats;                      /* in use */
    float *weights, *gradients, *m, *v; /* NULL while this rank has not got them */
    bool usable;                        /* the weights are here or have been asked for */
    cudaEvent_t arrived;                /* the end of its latest collective */
};

/* Memory of a chunk's size for a while. With `malloc` a ring of free slots, so that the one that was given
 * back first, which is the likeliest not to be in use any more, goes first. With `async` there is nothing to
 * keep. */
struct Slots {
    int capacity, first, free;
    float **data;
    cudaEvent_t *given; /* beside each free slot: the end of its last use */
};

struct Chunks {
    struct Model *model;
    struct Chunk *chunks;
    int count, zero, rank;
    size_t size; /* of each, in floats */
    struct Slots slots;
};

/* Which pieces this rank has from one step to the next; gradients: from the backward pass to the update. */
static bool keeps_weights(const struct Chunks *c, const struct Chunk *chunk)
{
    return c->zero < 3 || chunk->owner == c->rank;
}
static bool keeps_gradients(const struct Chunks *c, const struct Chunk *chunk)
{
    return c->zero < 2 || chunk->owner == c->rank;
}
static bool keeps_state(const struct Chunks *c, const struct Chunk *chunk)
{
    return c->zero < 1 || chunk->owner == c->rank;
}

/* --- Slots --- */

static size_t chunk_bytes(const struct Chunks *c)
{
    return c->size * sizeof(float);
}

/* What `stream` does next may use it. */
static float *slot_take(struct Chunks *c, cudaStream_t stream)
{
    struct Slots *s = &c->slots;
    if (c->model->memory.allocator == ALLOCATOR_ASYNC)
        return (float *)memory_take_on(stream, &c->model->memory, chunk_bytes(c), "chunks", "slot");
    if (!s->free) {
        fprintf(stderr, PROGRAM ": all %d slots are taken: slots_needed() is wrong\n", s->capacity);
        exit(EXIT_FAILURE);
    }
    const int i = s->first;
    check(cudaStreamWaitEvent(stream, s->given[i]), "waiting for a slot");
    s->first = (i + 1) % s->capacity;
    s->free--;
    return s->data[i];
}

/* What `stream` was given to do before may still use it. */
static void slot_give(struct Chunks *c, float *data, cudaStream_t stream)
{
    struct Slots *s = &c->slots;
    if (c->model->memory.allocator == ALLOCATOR_ASYNC) {
        memory_drop_on(stream, &c->model->memory, data, chunk_bytes(c));
        return;
    }
    const int i = (s->first + s->free++) % s->capacity;
    s->data[i] = data;
    check(cudaEventRecord(s->given[i], stream), "cudaEventRecord");
}

/* Of chunks that this rank does not keep, weights are there for one part and the next, and gradients for one
 * part; as many slots as for two let one part's be on their way while the next one's are computed. */
static int slots_needed(const struct Chunks *c)
{
    int kept = 0, passing = 0;
    for (int i = 0; i < c->count; i++) kept += keeps_gradients(c, &c->chunks[i]);
    for (int part = 0; part + 1 < model_parts(c->model); part++) {
        int both = 0;
        for (int i = 0; i < c->count; i++) {
            const struct Chunk *chunk = &c->chunks[i];
            both += chunk->owner != c->rank && chunk->first_part <= part + 1 && chunk->last_part >= part;
        }
        if (both > passing) passing = both;
    }
    return kept + (c->zero >= 2 ? passing : 0) + (c->zero >= 3 ? passing : 0);
}

static void slots_start(struct Chunks *c)
{
    struct Slots *s = &c->slots;
    if (c->model->memory.allocator == ALLOCATOR_ASYNC) return;
    s->capacity = s->free = slots_needed(c);
    s->data = (float **)host_allocate(s->capacity * sizeof *s->data);
    s->given = (cudaEvent_t *)host_allocate(s->capacity * sizeof *s->given);
    for (int i = 0; i < s->capacity; i++) {
        s->data[i] = (float *)memory_take(&c->model->memory, chunk_bytes(c), "chunks", "slot");
        check(cudaEventCreateWithFlags(&s->given[i], cudaEventDisableTiming), "cudaEventCreate");
    }
}

static void slots_finish(struct Chunks *c)
{
    struct Slots *s = &c->slots;
    for (int i = 0; i < s->capacity; i++) {
        memory_drop(&c->model->memory, s->data[i], chunk_bytes(c));
        check(cudaEventDestroy(s->given[i]), "cudaEventDestroy");
    }
    free(s->data);
    free(s->given);
}

/* --- Chunks --- */

/* Says where the chunk's tensors of `set` are; `data` is NULL when they are nowhere. */
static void bind_tensors(const struct Chunk *chunk, struct TensorSet *set, float *data)
{
    for (int i = chunk->first_tensor; i < chunk->end_tensor; i++)
        set->tensors[i].data = data ? data + set->tensors[i].offset : NULL;
}

/* Gives every tensor its chunk, and its offset there: no device memory, no CUDA call. */
static void chunks_describe(struct Chunks *c, struct Model *model, size_t size, int zero)
{
    struct TensorSet *weights = &model->weights, *gradients = &model->gradients;
    struct Chunk *chunk = NULL;
    memset(c, 0, sizeof *c);
    c->model = model, c->size = size, c->zero = zero;
    c->chunks = (struct Chunk *)host_allocate(weights->count * sizeof *c->chunks);
    for (int i = 0; i < weights->count; i++) {
        struct Tensor *tensor = &weights->tensors[i];
        const size_t floats = (tensor->count + 63) / 64 * 64;
        if (floats > c->size) {
            char mib[32];
            snprintf(mib, sizeof mib, "%.17g", floats * sizeof(float) / 1048576.0);
            usage_error("--chunk-mib is too small for %s, which needs %s", tensor->name, mib);
        }
        if (!chunk || chunk->floats + floats > c->size) {
            chunk = &c->chunks[c->count++];
            chunk->first_tensor = i;
            chunk->first_part = part_of_weight(c->model, i);
        }
        tensor->offset = gradients->tensors[i].offset = chunk->floats;
        chunk->floats += floats;
        chunk->end_tensor = i + 1;
        chunk->last_part = part_of_weight(c->model, i);
    }
}

static float *take_zeroed(struct Chunks *c, const char *name)
{
    float *data = (float *)memory_take(&c->model->memory, chunk_bytes(c), "chunks", name);
    check(cudaMemsetAsync(data, 0, chunk_bytes(c)), "cudaMemsetAsync");
    return data;
}

/* Takes what this rank keeps all the time. The weights have no values yet. */
static void chunks_start(struct Chunks *c, int rank, int ranks)
{
    c->rank = rank;
    for (int i = 0; i < c->count; i++) {
        struct Chunk *chunk = &c->chunks[i];
        chunk->owner = i % ranks;
        if (keeps_weights(c, chunk)) chunk->weights = take_zeroed(c, "weights");
        if (keeps_state(c, chunk)) chunk->m = take_zeroed(c, "m"), chunk->v = take_zeroed(c, "v");
        bind_tensors(chunk, &c->model->weights, chunk->weights);
        chunk->usable = c->zero < 3;
        check(cudaEventCreateWithFlags(&chunk->arrived, cudaEventDisableTiming), "cudaEventCreate");
    }
    slots_start(c);
}

static void chunks_finish(struct Chunks *c)
{
    for (int i = 0; i < c->count; i++) {
        struct Chunk *chunk = &c->chunks[i];
        float *const pieces[] = {chunk->weights, chunk->m, chunk->v};
        for (int j = 0; j < 3; j++)
            if (pieces[j]) memory_drop(&c->model->memory, pieces[j], chunk_bytes(c));
        bind_tensors(chunk, &c->model->weights, NULL);
        check(cudaEventDestroy(chunk->arrived), "cudaEventDestroy");
    }
    slots_finish(c);
    free(c->chunks);
}

#endif
