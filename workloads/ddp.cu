/* A byte-level GPT trainer on several devices: data-parallel with NCCL, weights, gradients and AdamW's state
 * in chunks that belong to ranks. Knows nothing of who else manages memory.
 *
 * Rank 0 prints one record a line, as gpt does, and the others nothing:
 *
 *   model parameters N state_bytes N        floats in it; bytes of weights, gradients and AdamW's state
 *   ranks N zero N chunks N chunk_bytes N
 *   step I loss DECIMAL HEX time_ms DECIMAL mean loss of all ranks before the update; device time of rank 0,
 *                                           its collectives' included
 *   peak_bytes N                            most bytes that rank 0 requested of its device at one time
 *   weights_hash HEX                        64-bit hash of the final weights' bits
 *
 * With one rank the losses and the hash are those of gpt with the same options. */
#define PROGRAM "ddp"
#include "ddp_options.cuh"
#include "ddp_passes.cuh"
#include "gpt_report.cuh"
#include "gpt_text.cuh"

/* Draws the whole step's sequences, as every rank does, and keeps this rank's. */
static void draw_batch(const struct Trainer *t, const struct Text *text, uint64_t *random, size_t *starts)
{
    const int batch = t->model.shape.batch, context = t->model.shape.context;
    for (int rank = 0; rank < t->ranks.count; rank++) {
        for (int i = 0; i < batch; i++) {
            const size_t start = random_next(random) % (text->training_size - context);
            if (rank == t->ranks.rank) starts[i] = start;
        }
    }
}

static void train_step(struct Trainer *t, const struct Text *text, uint64_t *random, size_t *starts)
{
    struct Model *model = &t->model;
    const float scale = 1.0f / ((float)model->shape.batch * model->shape.context * t->ranks.count);
    reset_loss(model);
    draw_batch(t, text, random, starts);
    model_set_batch(model, text->bytes, starts);
    forward(t, scale);
    backward(t);
    reduce_loss(t);
    update(t);
    compute_after_sends(t);
}

/* Over all weights that this rank keeps or, with --zero 3, is sent. */
static uint64_t hash_weights(struct Trainer *t)
{
    struct Chunks *c = &t->chunks;
    uint64_t hash = HASH_START;
    for (int part = 0, i = 0; part < model_parts(&t->model); part++) {
        gather_part(t, part);
        await_part(t, part);
        for (; i < c->count && c->chunks[i].last_part == part; i++) {
            for (int j = c->chunks[i].first_tensor; j < c->chunks[i].end_tensor; j++)
                hash_tensor(&hash, &t->model.weights.tensors[j], NULL);
            release_weights(t, &c->chunks[i]);
        }
    }
    return hash;
}

/* Whether all ranks have this hash: the largest is then the smallest. Every rank gets the same answer. The
 * batch's memory serves to send the hash and its complement. No rank ends before all have come here, as some
 * could still need what it sends. */
static bool hashes_are_equal(struct Trainer *t, uint64_t hash)
{
    const uint64_t mine[] = {hash, ~hash};
    uint64_t largest[2];
    int *place = t->model.batch_data;
    check(cudaMemcpy(place, mine, sizeof mine, cudaMemcpyHostToDevice), "sending the hash");
    send_after_compute(t);
    check_nccl(ncclAllReduce(place, place, 2, ncclUint64, ncclMax, t->comm, t->stream), "ncclAllReduce");
    compute_after_sends(t);
    check(cudaMemcpy(largest, place, sizeof largest, cudaMemcpyDeviceToHost), "receiving the hash");
    const bool equal = largest[0] == ~largest[1];
    if (!equal)
        fprintf(stderr, PROGRAM ": the ranks' weights differ: those of rank %d have the hash %016llx\n",
                t->ranks.rank, (unsigned long long)hash);
    return equal;
}

static void trainer_start(struct Trainer *t, const struct Options *o)
{
    t->comm = ranks_join(&t->ranks);
    /* Non-blocking: one that waits for the default stream, and that waits for it, would run nothing beside
     * it. */
    check(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&t->computed, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventCreateWithFlags(&t->sent, cudaEventDisableTiming), "cudaEventCreate");
    chunks_start(&t->chunks, t->ranks.rank, t->ranks.count);
    take_batch(&t->model);
    initialise_weights(&t->model, o->seed);
    schedule_start(&t->schedule);
}

static void trainer_finish(struct Trainer *t)
{
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_nccl(ncclCommDestroy(t->comm), "ncclCommDestroy");
    chunks_finish(&t->chunks);
    model_finish(&t->model);
    check(cudaStreamDestroy(t->stream), "cudaStreamDestroy");
    check(cudaEventDestroy(t->computed), "cudaEventDestroy");
    check(cudaEventDestroy(t->sent), "cudaEventDestroy");
}

static void train(struct Trainer *t, const struct Options *o, const struct Text *text)
{
    size_t *starts = (size_t *)host_allocate(o->shape.batch * sizeof *starts);
    uint64_t random = o->seed;
    cudaEvent_t begin, end;
    random = random_next(&random);
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    for (int step = 1; step <= o->steps; step++) {
        float milliseconds;
        check(cudaEventRecord(begin), "cudaEventRecord");
        train_step(t, text, &random, starts);
        check(cudaEventRecord(end), "cudaEventRecord");
        const float loss = read_loss(&t->model);
        check(cudaEventSynchronize(end), "cudaEventSynchronize");
        check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
        if (t->ranks.rank == 0) print_step(step, loss, milliseconds);
    }
    check(cudaEventDestroy(begin), "cudaEventDestroy");
    check(cudaEventDestroy(end), "cudaEventDestroy");
    free(starts);
}

int main(int argc, char **argv)
{
    struct Options options;
    struct Trainer trainer = {};
    parse_options(&options, argc, argv);
    model_describe(&trainer.model, options.shape, options.allocator);
    chunks_describe(&trainer.chunks, &trainer.model, options.chunk_floats, options.zero);
    struct Text text = read_text(options.data, options.shape.context);
    if (options.ranks) return run_ranks(options.ranks, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    trainer.ranks = find_ranks(options.id_file);
    trainer_start(&trainer, &options);
    if (trainer.ranks.rank == 0) {
        print_model(&trainer.model);
        printf("ranks %d zero %d chunks %d chunk_bytes %zu\n", trainer.ranks.count, options.zero,
               trainer.chunks.count, chunk_bytes(&trainer.chunks));
    }
    train(&trainer, &options, &text);
    const uint64_t hash = hash_weights(&trainer);
    const bool equal = hashes_are_equal(&trainer, hash);
    if (trainer.ranks.rank == 0)
        printf("peak_bytes %zu\nweights_hash %016llx\n", trainer.model.memory.peak_bytes,
               (unsigned long long)hash);
    trainer_finish(&trainer);
    free(text.bytes);
    if (fflush(stdout) != 0) return EXIT_FAILURE;
    return equal ? EXIT_SUCCESS : EXIT_RANKS_DIFFER;
}
