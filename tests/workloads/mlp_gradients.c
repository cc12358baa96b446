/* The perceptron's loss and gradients against the same formulas in double precision on the host, written down
 * as sums over single elements, and the first update against Adam's. Sizes are no multiples of the kernels'
 * tiles; several streams. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mlp_model.h"

static const struct shape SHAPE = {3, 45, 37};
enum { LAYERS = 3 + 1 };

static float *read_back(const struct model *model, const struct tensor *tensor)
{
    float *values = host_allocate(tensor->bytes);
    check(cuStreamSynchronize(model->device->streams[0]), "cuStreamSynchronize");
    check(cuMemcpyDtoH(values, tensor->data, tensor->bytes), "cuMemcpyDtoH");
    return values;
}

struct host_layer {
    int in, out;
    float *weights, *bias;
    double *output, *delta;
};

/* Large biases, so that some units are off for some examples and their gradients are not all alike. */
static void start_host(const struct model *model, struct host_layer *layers)
{
    uint64_t random = 5;
    for (int l = 0; l < LAYERS; l++) {
        const struct layer *layer = &model->layers[l];
        struct host_layer *host = &layers[l];
        *host = (struct host_layer){.in = layer->in, .out = layer->out};
        host->weights = read_back(model, &layer->weights);
        host->bias = host_allocate((size_t)layer->out * sizeof(float));
        for (int j = 0; j < layer->out; j++) host->bias[j] = random_float(&random);
        check(cuMemcpyHtoD(layer->bias.data, host->bias, (size_t)layer->out * sizeof(float)), "cuMemcpyHtoD");
        host->output = host_allocate((size_t)SHAPE.batch * (size_t)layer->out * sizeof(double));
        host->delta = host_allocate((size_t)SHAPE.batch * (size_t)layer->out * sizeof(double));
    }
}

static void free_host(struct host_layer *layers)
{
    for (int l = 0; l < LAYERS; l++) {
        free(layers[l].weights);
        free(layers[l].bias);
        free(layers[l].output);
        free(layers[l].delta);
    }
}

static double input_of(const struct host_layer *layers, int l, const float *inputs, int example, int k)
{
    return l ? layers[l - 1].output[example * layers[l].in + k] : (double)inputs[example * FEATURES + k];
}

/* Returns the loss. */
static double host_forward(struct host_layer *layers, const float *inputs, const int *labels)
{
    double loss = 0.0;
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < SHAPE.batch; i++)
            for (int j = 0; j < layers[l].out; j++) {
                double sum = layers[l].bias[j];
                for (int k = 0; k < layers[l].in; k++)
                    sum += layers[l].weights[j * layers[l].in + k] * input_of(layers, l, inputs, i, k);
                layers[l].output[i * layers[l].out + j] = l + 1 < LAYERS && sum < 0.0 ? 0.0 : sum;
            }
    for (int i = 0; i < SHAPE.batch; i++) {
        const double *row = layers[LAYERS - 1].output + i * CLASSES;
        double sum = 0.0;
        for (int j = 0; j < CLASSES; j++) sum += exp(row[j]);
        loss += (log(sum) - row[labels[i]]) / SHAPE.batch;
        for (int j = 0; j < CLASSES; j++)
            layers[LAYERS - 1].delta[i * CLASSES + j] = (exp(row[j]) / sum - (j == labels[i])) / SHAPE.batch;
    }
    return loss;
}

static void host_backward(struct host_layer *layers)
{
    for (int l = LAYERS - 1; l > 0; l--)
        for (int i = 0; i < SHAPE.batch; i++)
            for (int k = 0; k < layers[l].in; k++) {
                double sum = 0.0;
                for (int j = 0; j < layers[l].out; j++)
                    sum += layers[l].delta[i * layers[l].out + j] * layers[l].weights[j * layers[l].in + k];
                layers[l - 1].delta[i * layers[l].in + k] =
                    layers[l - 1].output[i * layers[l].in + k] > 0.0 ? sum : 0.0;
            }
}

static int agrees(const char *what, int l, int index, double expected, double got)
{
    if (fabs(got - expected) <= 1e-6 + 1e-4 * fabs(expected)) return 0;
    printf("layer %d, %s %d: %.9f, not %.9f\n", l, what, index, got, expected);
    return 1;
}

/* Adam's first step: the moments' biases cancel, and the weight moves by the rate against the gradient's
 * sign. */
static double first_update(double weight, double gradient)
{
    return weight - 1e-3 * gradient / (fabs(gradient) + 1e-8);
}

static int compare_gradients(const struct model *model, const struct host_layer *layers, const float *inputs)
{
    int failures = 0;
    for (int l = 0; l < LAYERS; l++) {
        const struct host_layer *host = &layers[l];
        float *weights = read_back(model, &model->layers[l].weights_gradient),
              *bias = read_back(model, &model->layers[l].bias_gradient);
        for (int j = 0; j < host->out; j++) {
            double of_bias = 0.0;
            for (int i = 0; i < SHAPE.batch; i++) of_bias += host->delta[i * host->out + j];
            failures += agrees("gradient of bias", l, j, of_bias, bias[j]);
            for (int k = 0; k < host->in; k++) {
                double of_weight = 0.0;
                for (int i = 0; i < SHAPE.batch; i++)
                    of_weight += host->delta[i * host->out + j] * input_of(layers, l, inputs, i, k);
                failures +=
                    agrees("gradient of weight", l, j * host->in + k, of_weight, weights[j * host->in + k]);
            }
        }
        free(weights);
        free(bias);
    }
    return failures;
}

/* pre: the model's gradients of its weights were read before the update. */
static int compare_update(const struct model *model, const struct host_layer *layers, float *const *gradients)
{
    int failures = 0;
    for (int l = 0; l < LAYERS; l++) {
        float *weights = read_back(model, &model->layers[l].weights);
        for (int w = 0; w < layers[l].in * layers[l].out; w++)
            failures += agrees("updated weight", l, w, first_update(layers[l].weights[w], gradients[l][w]),
                               weights[w]);
        free(weights);
    }
    return failures;
}

int main(void)
{
    struct device device;
    struct model model;
    struct host_layer layers[LAYERS];
    float *gradients[LAYERS], *inputs = host_allocate((size_t)SHAPE.batch * FEATURES * sizeof *inputs);
    int *labels = host_allocate((size_t)SHAPE.batch * sizeof *labels);
    uint64_t random = 3;
    for (int i = 0; i < SHAPE.batch * FEATURES; i++) inputs[i] = 2.0f * random_float(&random);
    for (int i = 0; i < SHAPE.batch; i++) labels[i] = (int)(random_next(&random) % CLASSES);

    device_start(&device, 3);
    model_start(&model, &device, SHAPE, false, 1);
    start_host(&model, layers);
    model_load(&model, inputs, labels);
    model_forward(&model);
    model_backward(&model);
    const double loss = host_forward(layers, inputs, labels);
    host_backward(layers);
    int failures = agrees("loss", LAYERS, 0, loss, (double)model_loss(&model));
    failures += compare_gradients(&model, layers, inputs);
    for (int l = 0; l < LAYERS; l++) gradients[l] = read_back(&model, &model.layers[l].weights_gradient);
    model_update(&model);
    failures += compare_update(&model, layers, gradients);
    printf("loss %.6f, %d disagreements\n", loss, failures);

    for (int l = 0; l < LAYERS; l++) free(gradients[l]);
    free_host(layers);
    free(inputs);
    free(labels);
    model_finish(&model);
    if (device.live_bytes) printf("%zu bytes are still allocated\n", device.live_bytes);
    const bool leaks = device.live_bytes != 0;
    device_finish(&device);
    return failures || leaks ? EXIT_FAILURE : EXIT_SUCCESS;
}
