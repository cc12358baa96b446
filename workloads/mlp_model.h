/* A multi-layer perceptron: `layers` rectified layers of `width` units, then one of CLASSES logits, with
 * cross-entropy loss and Adam.
 *
 * Stream 0 carries the forward pass and the gradients from layer to layer. The gradients of the weights, the
 * updates and the inputs go to the other streams, if there are any: layer l to one of them. An iteration's
 * tensors are taken when they are first written and dropped after their last use, on the stream of that use;
 * a model that is `fixed` takes them once, since a graph names its memory for good. */
#ifndef MLP_MODEL_H
#define MLP_MODEL_H

#include <stdint.h>

#include "mlp_device.h"

enum { FEATURES = 32, CLASSES = 10 };

struct shape {
    int layers, width, batch;
};

struct layer {
    int in, out;
    /* Kept: out by in, and out. */
    struct tensor weights, bias, weights_first, weights_second, bias_first, bias_second;
    /* An iteration's; `delta` is the gradient of the layer's sums. */
    struct tensor output, delta, weights_gradient, bias_gradient;
};

struct model {
    struct device *device;
    struct shape shape;
    bool fixed;
    struct layer *layers; /* shape.layers + 1 */
    struct tensor input, labels, losses, loss;
    int step;
    float first_power, second_power; /* of Adam's decay rates, to the number of steps */
};

void model_start(struct model *model, struct device *device, struct shape shape, bool fixed, uint64_t seed);
void model_finish(struct model *model);
size_t model_parameters(const struct model *model);

/* Brings a batch to the device: FEATURES floats and a label for each example, in pinned host memory that must
 * stay as it is until the step is done. */
void model_load(struct model *model, const float *inputs, const int *labels);

/* The loss of the batch, and the gradients of all weights; afterwards stream 0 is behind all the others. */
void model_forward(struct model *model);
void model_backward(struct model *model);
void model_update(struct model *model);

/* Waits for the device. */
float model_loss(struct model *model);

/* Equal on every machine, 64 bits at a time (splitmix64); and uniform in [-0.5, 0.5). */
uint64_t random_next(uint64_t *state);
float random_float(uint64_t *state);

#endif
