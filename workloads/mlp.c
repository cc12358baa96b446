/* Trains a multi-layer perceptron with the CUDA Driver API alone: kernels from an embedded module, parameters
 * in packed buffers, memory from the default pool in stream order, several streams, and on demand a graph for
 * the forward and backward pass.
 *
 * Output, one record a line, fields separated by spaces:
 *
 *   model parameters N state_bytes N        floats in it; bytes of weights, gradients and Adam's moments
 *   step I loss DECIMAL HEX time_ms DECIMAL mean loss of its examples before the update; device time
 *   peak_bytes N                            most bytes requested of the device at one time
 *   weights_hash HEX                        64-bit hash of the final weights' bits
 *
 * HEX losses are C hexadecimal floats, so that two runs can be compared bit by bit. */
#include <stdio.h>
#include <stdlib.h>

#include "mlp_options.h"

/* The task: which of CLASSES functions of the features and their absolute values is the largest. */
struct task {
    uint64_t random;
    float plain[CLASSES][FEATURES], absolute[CLASSES][FEATURES];
};

static void task_start(struct task *task, uint64_t seed)
{
    task->random = ~seed;
    for (int c = 0; c < CLASSES; c++)
        for (int f = 0; f < FEATURES; f++) {
            task->plain[c][f] = random_float(&task->random);
            task->absolute[c][f] = random_float(&task->random);
        }
}

static int task_label(const struct task *task, const float *features)
{
    int best = 0;
    float highest = 0.0f;
    for (int c = 0; c < CLASSES; c++) {
        float score = 0.0f;
        for (int f = 0; f < FEATURES; f++) {
            const float x = features[f];
            score += task->plain[c][f] * x + task->absolute[c][f] * (x < 0.0f ? -x : x);
        }
        if (c && score <= highest) continue;
        highest = score;
        best = c;
    }
    return best;
}

static void task_batch(struct task *task, float *inputs, int *labels, int batch)
{
    for (int i = 0; i < batch; i++) {
        float *features = inputs + (size_t)i * FEATURES;
        for (int f = 0; f < FEATURES; f++) features[f] = 4.0f * random_float(&task->random);
        labels[i] = task_label(task, features);
    }
}

/* The model's forward and backward pass as an executable graph; NULL where none is wanted. */
static CUgraphExec make_graph(struct model *model, enum graph_kind kind)
{
    struct device *device = model->device;
    CUgraph graph;
    CUgraphExec ready;
    if (kind == GRAPH_NONE) return NULL;
    if (kind == GRAPH_CAPTURED) {
        check(cuStreamSynchronize(device->streams[0]), "cuStreamSynchronize");
        check(cuStreamBeginCapture(device->streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL),
              "cuStreamBeginCapture");
    } else {
        check(cuGraphCreate(&device->building, 0), "cuGraphCreate");
    }
    model_forward(model);
    model_backward(model);
    if (kind == GRAPH_CAPTURED)
        check(cuStreamEndCapture(device->streams[0], &graph), "cuStreamEndCapture");
    else
        graph = device->building;
    device->building = NULL;
    check(cuGraphInstantiate(&ready, graph, 0), "cuGraphInstantiate");
    check(cuGraphDestroy(graph), "cuGraphDestroy");
    return ready;
}

static void train_step(struct model *model, CUgraphExec graph)
{
    if (graph) {
        check(cuGraphLaunch(graph, model->device->streams[0]), "cuGraphLaunch");
    } else {
        model_forward(model);
        model_backward(model);
    }
    model_update(model);
}

/* FNV-1a's step over 32-bit words. */
static uint64_t hash_tensor(const struct model *model, const struct tensor *tensor, uint64_t hash)
{
    uint32_t *bits = host_allocate(tensor->bytes);
    check(cuMemcpyDtoHAsync(bits, tensor->data, tensor->bytes, model->device->streams[0]), "copying weights");
    check(cuStreamSynchronize(model->device->streams[0]), "copying weights");
    for (size_t i = 0; i < tensor->bytes / sizeof *bits; i++) hash = (hash ^ bits[i]) * 0x100000001b3u;
    free(bits);
    return hash;
}

static uint64_t hash_weights(const struct model *model)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int l = 0; l <= model->shape.layers; l++) {
        hash = hash_tensor(model, &model->layers[l].weights, hash);
        hash = hash_tensor(model, &model->layers[l].bias, hash);
    }
    return hash;
}

static void train(struct model *model, const struct options *options)
{
    const CUstream stream = model->device->streams[0];
    const size_t batch = (size_t)options->shape.batch;
    struct task task;
    float *inputs;
    int *labels;
    CUevent begin, end;
    check(cuMemAllocHost((void **)&inputs, batch * FEATURES * sizeof *inputs), "cuMemAllocHost");
    check(cuMemAllocHost((void **)&labels, batch * sizeof *labels), "cuMemAllocHost");
    check(cuEventCreate(&begin, CU_EVENT_DEFAULT), "cuEventCreate");
    check(cuEventCreate(&end, CU_EVENT_DEFAULT), "cuEventCreate");
    task_start(&task, options->seed);
    CUgraphExec graph = make_graph(model, options->graph);
    for (int step = 1; step <= options->steps; step++) {
        float milliseconds;
        task_batch(&task, inputs, labels, options->shape.batch);
        check(cuEventRecord(begin, stream), "cuEventRecord");
        model_load(model, inputs, labels);
        train_step(model, graph);
        check(cuEventRecord(end, stream), "cuEventRecord");
        const float loss = model_loss(model);
        check(cuEventElapsedTime(&milliseconds, begin, end), "cuEventElapsedTime");
        printf("step %d loss %.6f %a time_ms %.3f\n", step, (double)loss, (double)loss, (double)milliseconds);
    }
    if (graph) check(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
    check(cuEventDestroy(begin), "cuEventDestroy");
    check(cuEventDestroy(end), "cuEventDestroy");
    check(cuMemFreeHost(inputs), "cuMemFreeHost");
    check(cuMemFreeHost(labels), "cuMemFreeHost");
}

int main(int argc, char **argv)
{
    struct options options;
    struct device device;
    struct model model;
    parse_options(&options, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    device_start(&device, options.streams);
    model_start(&model, &device, options.shape, options.graph != GRAPH_NONE, options.seed);
    const size_t parameters = model_parameters(&model);
    printf("model parameters %zu state_bytes %zu\n", parameters, 4 * sizeof(float) * parameters);
    train(&model, &options);
    printf("peak_bytes %zu\nweights_hash %016llx\n", device.peak_bytes,
           (unsigned long long)hash_weights(&model));
    model_finish(&model);
    device_finish(&device);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
