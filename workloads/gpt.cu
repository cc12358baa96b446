/* A byte-level GPT trainer in plain CUDA: reads a text, trains for some steps, prints what it did.
 *
 * Output, one record a line, fields separated by spaces:
 *
 *   model parameters N state_bytes N        floats in it; bytes of weights, gradients and AdamW's state
 *   step I loss DECIMAL HEX time_ms DECIMAL mean loss of its micro-batches before the update; device time
 *   evaluation I loss DECIMAL HEX           mean loss on the held-out end of the text after step I
 *   peak_bytes N                            most bytes requested of the device at one time
 *   weights_hash HEX                        64-bit hash of the final weights' bits
 *
 * HEX losses are C hexadecimal floats, so that two runs can be compared bit by bit. */
#include "gpt_options.cuh"
#include "gpt_report.cuh"
#include "gpt_text.cuh"

enum { EVALUATION_BATCHES = 2 };

/* Forward and backward over the step's micro-batches, then one update. */
static void train_step(struct Model *model, struct Optimizer *optimizer, const struct Text *text,
                       int accumulate, uint64_t *random, size_t *starts)
{
    const int batch = model->shape.batch, context = model->shape.context;
    const float scale = 1.0f / ((float)batch * context * accumulate);
    reset_loss(model);
    if (set_is_taken(&model->gradients)) set_zero(&model->gradients);
    for (int micro = 0; micro < accumulate; micro++) {
        for (int i = 0; i < batch; i++) starts[i] = random_next(random) % (text->training_size - context);
        model_set_batch(model, text->bytes, starts);
        model_forward(model, scale, true);
        if (!set_is_taken(&model->gradients)) {
            set_take(&model->gradients);
            set_zero(&model->gradients);
        }
        model_backward(model);
    }
    optimizer_step(optimizer, model);
}

/* Sequences spread evenly over the held-out text; always the same ones. */
static float evaluate(struct Model *model, const struct Text *text, size_t *starts)
{
    const int batch = model->shape.batch, context = model->shape.context, total = EVALUATION_BATCHES * batch;
    const size_t room = text->size - text->training_size - context;
    reset_loss(model);
    for (int i = 0; i < EVALUATION_BATCHES; i++) {
        for (int j = 0; j < batch; j++) starts[j] = text->training_size + room * (i * batch + j) / total;
        model_set_batch(model, text->bytes, starts);
        model_forward(model, 1.0f / ((float)total * context), false);
    }
    return read_loss(model);
}

/* Hashes the weights' bits and writes them to `path` unless it is NULL. */
static uint64_t collect_weights(const struct TensorSet *weights, const char *path)
{
    uint64_t hash = HASH_START;
    FILE *file = path ? fopen(path, "wb") : NULL;
    bool written = !path || file;
    for (int i = 0; i < weights->count; i++) written &= hash_tensor(&hash, &weights->tensors[i], file);
    if (file) written &= fclose(file) == 0;
    if (!written) {
        fprintf(stderr, "gpt: cannot write the weights to '%s': %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return hash;
}

/* The most sequences that a micro-batch has. */
static int most_sequences(const struct Options *options)
{
    const bool peak = options->peak_step && options->peak_batch > options->shape.batch;
    return peak ? options->peak_batch : options->shape.batch;
}

int main(int argc, char **argv)
{
    struct Options options;
    struct Model model;
    struct Optimizer optimizer;
    cudaEvent_t begin, end;
    parse_options(&options, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct Text text = read_text(options.data, options.shape.context);
    size_t *starts = (size_t *)host_allocate(most_sequences(&options) * sizeof *starts);
    uint64_t random = options.seed;
    random = random_next(&random);

    const int batch = options.shape.batch;
    options.shape.batch = most_sequences(&options);
    model_start(&model, options.shape, options.allocator, options.seed);
    if (options.shape.batch != batch) model_set_sequences(&model, batch);
    optimizer_start(&optimizer, options.optimizer, &model);
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    print_model(&model);
    for (int step = 1; step <= options.steps; step++) {
        float milliseconds;
        if (step == options.peak_step) model_set_sequences(&model, options.peak_batch);
        check(cudaEventRecord(begin), "cudaEventRecord");
        train_step(&model, &optimizer, &text, options.accumulate, &random, starts);
        check(cudaEventRecord(end), "cudaEventRecord");
        const float loss = read_loss(&model);
        check(cudaEventSynchronize(end), "cudaEventSynchronize");
        check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
        print_step(step, loss, milliseconds);
        if (step == options.peak_step) model_set_sequences(&model, batch);
        if (options.evaluate_every && step % options.evaluate_every == 0) {
            const float held_out = evaluate(&model, &text, starts);
            printf("evaluation %d loss %.6f %a\n", step, held_out, held_out);
        }
    }
    const uint64_t hash = collect_weights(&model.weights, options.dump_weights);
    printf("peak_bytes %zu\nweights_hash %016llx\n", model.memory.peak_bytes, (unsigned long long)hash);

    check(cudaEventDestroy(begin), "cudaEventDestroy");
    check(cudaEventDestroy(end), "cudaEventDestroy");
    optimizer_finish(&optimizer);
    model_finish(&model);
    free(starts);
    free(text.bytes);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
