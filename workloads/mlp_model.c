#include "mlp_model.h"

#include <math.h>
#include <stdlib.h>

enum { TILE = 32, ROWS_APART = 8 };
enum { A_TRANSPOSED = 1, B_TRANSPOSED = 2, RECTIFIED = 4 };
#define RATE 1e-3f

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

float random_float(uint64_t *state)
{
    return (float)(random_next(state) >> 40) / (1 << 24) - 0.5f;
}

static int last_layer(const struct model *model)
{
    return model->shape.layers;
}

/* The stream of layer `l`'s weights. */
static int worker(const struct model *model, int l)
{
    int workers = model->device->stream_count - 1;
    return workers ? 1 + l % workers : 0;
}

/* --- Kernels, with their parameters as the compiler lays them out. --- */

static void multiply(struct model *model, int stream, CUdeviceptr a, CUdeviceptr b, CUdeviceptr bias,
                     CUdeviceptr c, int m, int n, int k, int form)
{
    struct {
        CUdeviceptr a, b, bias, c;
        int m, n, k, form;
    } p = {a, b, bias, c, m, n, k, form};
    const struct grid grid = {(unsigned)(n + TILE - 1) / TILE, (unsigned)(m + TILE - 1) / TILE, TILE,
                              ROWS_APART};
    launch(model->device, stream, KERNEL_product, grid, &p, sizeof p);
}

static void sum_columns(struct model *model, int stream, CUdeviceptr matrix, CUdeviceptr sums, int rows,
                        int columns)
{
    struct {
        CUdeviceptr matrix, sums;
        int rows, columns;
    } p = {matrix, sums, rows, columns};
    launch(model->device, stream, KERNEL_sum_columns, grid_over((size_t)columns), &p, sizeof p);
}

static void rectify_gradient(struct model *model, CUdeviceptr gradient, CUdeviceptr output, size_t count)
{
    struct {
        CUdeviceptr gradient, output;
        size_t count;
    } p = {gradient, output, count};
    launch(model->device, 0, KERNEL_rectify_gradient, grid_over(count), &p, sizeof p);
}

static void cross_entropy(struct model *model, const struct layer *layer)
{
    struct {
        CUdeviceptr logits, labels, losses, gradient;
        int rows, classes;
    } p = {layer->output.data, model->labels.data, model->losses.data,
           layer->delta.data,  model->shape.batch, CLASSES};
    struct {
        CUdeviceptr values, result;
        int count;
    } q = {model->losses.data, model->loss.data, model->shape.batch};
    const struct grid one = {1, 1, 1, 1};
    launch(model->device, 0, KERNEL_cross_entropy, grid_over((size_t)model->shape.batch), &p, sizeof p);
    launch(model->device, 0, KERNEL_mean, one, &q, offsetof(__typeof__(q), count) + sizeof q.count);
}

static void adam(struct model *model, int stream, const struct tensor *weights, const struct tensor *gradient,
                 const struct tensor *first, const struct tensor *second)
{
    struct {
        CUdeviceptr weights, gradient, first, second;
        size_t count;
        float rate, first_bias, second_bias;
    } p = {weights->data,
           gradient->data,
           first->data,
           second->data,
           weights->bytes / sizeof(float),
           RATE,
           1.0f - model->first_power,
           1.0f - model->second_power};
    launch(model->device, stream, KERNEL_adam, grid_over(p.count), &p,
           offsetof(__typeof__(p), second_bias) + sizeof p.second_bias);
}

/* --- Memory --- */

/* For one iteration, or for good in a fixed model. */
static void take(struct model *model, struct tensor *tensor, size_t elements, int stream, const char *name)
{
    if (!tensor->data) tensor_take(model->device, tensor, elements * sizeof(float), stream, name);
}

static void drop(struct model *model, struct tensor *tensor, int stream)
{
    if (!model->fixed) tensor_drop(model->device, tensor, stream);
}

static size_t weight_count(const struct layer *layer)
{
    return (size_t)layer->in * (size_t)layer->out;
}

static void take_zeroed(struct model *model, struct tensor *tensor, size_t elements, const char *name)
{
    take(model, tensor, elements, 0, name);
    check(cuMemsetD32Async(tensor->data, 0, elements, model->device->streams[0]), "cuMemsetD32Async");
}

/* Uniform with the variance that keeps that of a rectified layer's output (He et al. 2015). */
static void start_weights(struct model *model, struct layer *layer, uint64_t *random)
{
    const size_t count = weight_count(layer);
    const float range = 2.0f * sqrtf(6.0f / (float)layer->in);
    float *values = host_allocate(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = random_float(random) * range;
    take(model, &layer->weights, count, 0, "weights");
    check(cuMemcpyHtoDAsync(layer->weights.data, values, count * sizeof *values, model->device->streams[0]),
          "copying weights");
    check(cuStreamSynchronize(model->device->streams[0]), "copying weights");
    free(values);
}

static void take_fixed(struct model *model)
{
    const size_t batch = (size_t)model->shape.batch;
    take(model, &model->input, batch * FEATURES, 0, "inputs");
    take(model, &model->labels, batch, 0, "labels");
    take(model, &model->losses, batch, 0, "losses");
    for (int l = 0; l <= last_layer(model); l++) {
        struct layer *layer = &model->layers[l];
        take(model, &layer->output, batch * (size_t)layer->out, 0, "output");
        take(model, &layer->delta, batch * (size_t)layer->out, 0, "gradient of an output");
        take(model, &layer->weights_gradient, weight_count(layer), 0, "gradient of weights");
        take(model, &layer->bias_gradient, (size_t)layer->out, 0, "gradient of a bias");
    }
}

void model_start(struct model *model, struct device *device, struct shape shape, bool fixed, uint64_t seed)
{
    *model = (struct model){
        .device = device, .shape = shape, .fixed = fixed, .first_power = 1.0f, .second_power = 1.0f};
    model->layers = host_allocate(((size_t)shape.layers + 1) * sizeof *model->layers);
    for (int l = 0; l <= last_layer(model); l++) {
        struct layer *layer = &model->layers[l];
        layer->in = l ? shape.width : FEATURES;
        layer->out = l < last_layer(model) ? shape.width : CLASSES;
        start_weights(model, layer, &seed);
        take_zeroed(model, &layer->bias, (size_t)layer->out, "bias");
        take_zeroed(model, &layer->weights_first, weight_count(layer), "first moments");
        take_zeroed(model, &layer->weights_second, weight_count(layer), "second moments");
        take_zeroed(model, &layer->bias_first, (size_t)layer->out, "first moments");
        take_zeroed(model, &layer->bias_second, (size_t)layer->out, "second moments");
    }
    take(model, &model->loss, 1, 0, "loss");
    if (fixed) take_fixed(model);
    for (int s = 1; s < device->stream_count; s++) order_streams(device, 0, s);
}

void model_finish(struct model *model)
{
    struct device *device = model->device;
    struct tensor *rest[] = {&model->input, &model->labels, &model->losses, &model->loss};
    for (int l = 0; l <= last_layer(model); l++) {
        struct layer *layer = &model->layers[l];
        struct tensor *tensors[] = {&layer->weights,        &layer->bias,       &layer->weights_first,
                                    &layer->weights_second, &layer->bias_first, &layer->bias_second,
                                    &layer->output,         &layer->delta,      &layer->weights_gradient,
                                    &layer->bias_gradient};
        for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++) tensor_drop(device, tensors[t], 0);
    }
    for (size_t t = 0; t < sizeof rest / sizeof *rest; t++) tensor_drop(device, rest[t], 0);
    check(cuStreamSynchronize(device->streams[0]), "cuStreamSynchronize");
    free(model->layers);
}

size_t model_parameters(const struct model *model)
{
    size_t count = 0;
    for (int l = 0; l <= last_layer(model); l++)
        count += weight_count(&model->layers[l]) + (size_t)model->layers[l].out;
    return count;
}

/* --- A step --- */

void model_load(struct model *model, const float *inputs, const int *labels)
{
    struct device *device = model->device;
    const int stream = device->stream_count - 1;
    const size_t batch = (size_t)model->shape.batch;
    take(model, &model->input, batch * FEATURES, stream, "inputs");
    take(model, &model->labels, batch, stream, "labels");
    check(cuMemcpyHtoDAsync(model->input.data, inputs, batch * FEATURES * sizeof *inputs,
                            device->streams[stream]),
          "copying inputs");
    check(cuMemcpyHtoDAsync(model->labels.data, labels, batch * sizeof *labels, device->streams[stream]),
          "copying labels");
    order_streams(device, stream, 0);
}

void model_forward(struct model *model)
{
    const int batch = model->shape.batch;
    for (int l = 0; l <= last_layer(model); l++) {
        struct layer *layer = &model->layers[l];
        const struct tensor *input = l ? &model->layers[l - 1].output : &model->input;
        take(model, &layer->output, (size_t)batch * (size_t)layer->out, 0, "output");
        multiply(model, 0, input->data, layer->weights.data, layer->bias.data, layer->output.data, batch,
                 layer->out, layer->in, B_TRANSPOSED | (l < last_layer(model) ? RECTIFIED : 0));
    }
    struct layer *last = &model->layers[last_layer(model)];
    take(model, &model->losses, (size_t)batch, 0, "losses");
    take(model, &last->delta, (size_t)batch * CLASSES, 0, "gradient of an output");
    cross_entropy(model, last);
    drop(model, &model->losses, 0);
    drop(model, &model->labels, 0);
    drop(model, &last->output, 0);
}

/* The gradient of what layer `l` got as its input, in stream 0. */
static void pass_back(struct model *model, int l)
{
    const struct layer *layer = &model->layers[l];
    struct layer *below = &model->layers[l - 1];
    const size_t count = (size_t)model->shape.batch * (size_t)below->out;
    take(model, &below->delta, count, 0, "gradient of an output");
    multiply(model, 0, layer->delta.data, layer->weights.data, 0, below->delta.data, model->shape.batch,
             layer->in, layer->out, 0);
    rectify_gradient(model, below->delta.data, below->output.data, count);
}

static void weight_gradients(struct model *model, int l, int stream)
{
    struct layer *layer = &model->layers[l];
    struct tensor *input = l ? &model->layers[l - 1].output : &model->input;
    take(model, &layer->weights_gradient, weight_count(layer), stream, "gradient of weights");
    take(model, &layer->bias_gradient, (size_t)layer->out, stream, "gradient of a bias");
    multiply(model, stream, layer->delta.data, input->data, 0, layer->weights_gradient.data, layer->out,
             layer->in, model->shape.batch, A_TRANSPOSED);
    sum_columns(model, stream, layer->delta.data, layer->bias_gradient.data, model->shape.batch, layer->out);
    drop(model, &layer->delta, stream);
    drop(model, input, stream);
}

void model_backward(struct model *model)
{
    struct device *device = model->device;
    for (int l = last_layer(model); l >= 0; l--) {
        if (l) pass_back(model, l);
        order_streams(device, 0, worker(model, l));
        weight_gradients(model, l, worker(model, l));
    }
    for (int s = 1; s < device->stream_count && s <= last_layer(model) + 1; s++) order_streams(device, s, 0);
}

void model_update(struct model *model)
{
    struct device *device = model->device;
    model->step++;
    model->first_power *= 0.9f;
    model->second_power *= 0.999f;
    for (int s = 1; s < device->stream_count; s++) order_streams(device, 0, s);
    for (int l = 0; l <= last_layer(model); l++) {
        struct layer *layer = &model->layers[l];
        const int s = worker(model, l);
        adam(model, s, &layer->weights, &layer->weights_gradient, &layer->weights_first,
             &layer->weights_second);
        adam(model, s, &layer->bias, &layer->bias_gradient, &layer->bias_first, &layer->bias_second);
        drop(model, &layer->weights_gradient, s);
        drop(model, &layer->bias_gradient, s);
    }
    for (int s = 1; s < device->stream_count; s++) order_streams(device, s, 0);
}

float model_loss(struct model *model)
{
    float loss;
    check(cuMemcpyDtoHAsync(&loss, model->loss.data, sizeof loss, model->device->streams[0]),
          "reading the loss");
    check(cuStreamSynchronize(model->device->streams[0]), "reading the loss");
    return loss;
}
