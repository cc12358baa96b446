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

enum { EVALUATION_BATCHES = 2 };

/* The file's bytes; the last tenth is held out for evaluation. */
struct Text {
    unsigned char *bytes;
    size_t size, training_size;
};

static void unreadable(const char *path, const char *why)
{
    fprintf(stderr, "gpt: cannot read the data file '%s': %s\n", path, why);
    exit(EXIT_USAGE);
}

/* Both parts must hold at least one sequence and the byte after it. */
static struct Text read_text(const char *path, int context)
{
    struct Text text = {NULL, 0, 0};
    size_t room = 0, got;
    FILE *file = fopen(path, "rb");
    if (!file) unreadable(path, strerror(errno));
    do {
        if (text.size == room) {
            room = room ? 2 * room : 1 << 20;
            text.bytes = (unsigned char *)realloc(text.bytes, room);
            if (!text.bytes) unreadable(path, "it does not fit into memory");
        }
        got = fread(text.bytes + text.size, 1, room - text.size, file);
        text.size += got;
    } while (got);
    if (ferror(file)) unreadable(path, strerror(errno));
    fclose(file);
    text.training_size = text.size - text.size / 10;
    if (text.size / 10 < (size_t)context + 1) {
        fprintf(stderr, "gpt: the data file '%s' has %zu bytes; --context %d needs at least %zu\n", path,
                text.size, context, 10 * ((size_t)context + 1));
        exit(EXIT_USAGE);
    }
    return text;
}

static void reset_loss(struct Model *model)
{
    check(cudaMemsetAsync(model->loss, 0, sizeof(float)), "clearing the loss");
}

/* Waits for the device. */
static float read_loss(const struct Model *model)
{
    float loss;
    check(cudaMemcpy(&loss, model->loss, sizeof loss, cudaMemcpyDeviceToHost), "reading the loss");
    return loss;
}

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

/* Hashes the weights' bits (FNV-1a's step over 32-bit words) and writes them to `path` unless it is NULL. */
static uint64_t collect_weights(const struct TensorSet *weights, const char *path)
{
    uint64_t hash = 0xcbf29ce484222325u;
    FILE *file = path ? fopen(path, "wb") : NULL;
    bool written = !path || file;
    for (int i = 0; i < weights->count; i++) {
        const struct Tensor *tensor = &weights->tensors[i];
        uint32_t *bits = (uint32_t *)host_allocate(tensor->count * sizeof(float));
        check(cudaMemcpy(bits, tensor->data, tensor->count * sizeof(float), cudaMemcpyDeviceToHost),
              "copying weights");
        for (size_t j = 0; j < tensor->count; j++) hash = (hash ^ bits[j]) * 0x100000001b3u;
        if (file) written &= fwrite(bits, sizeof(float), tensor->count, file) == tensor->count;
        free(bits);
    }
    if (file) written &= fclose(file) == 0;
    if (!written) {
        fprintf(stderr, "gpt: cannot write the weights to '%s': %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return hash;
}

static void print_model(const struct Model *model)
{
    size_t parameters = 0;
    for (int i = 0; i < model->weights.count; i++) parameters += model->weights.tensors[i].count;
    printf("model parameters %zu state_bytes %zu\n", parameters, 4 * sizeof(float) * parameters);
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
    size_t *starts = (size_t *)host_allocate(options.shape.batch * sizeof *starts);
    uint64_t random = options.seed;
    random = random_next(&random);

    model_start(&model, options.shape, options.allocator, options.seed);
    optimizer_start(&optimizer, options.optimizer, &model);
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    print_model(&model);
    for (int step = 1; step <= options.steps; step++) {
        float milliseconds;
        check(cudaEventRecord(begin), "cudaEventRecord");
        train_step(&model, &optimizer, &text, options.accumulate, &random, starts);
        check(cudaEventRecord(end), "cudaEventRecord");
        const float loss = read_loss(&model);
        check(cudaEventSynchronize(end), "cudaEventSynchronize");
        check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
        printf("step %d loss %.6f %a time_ms %.3f\n", step, loss, loss, milliseconds);
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
