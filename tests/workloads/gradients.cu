/* The trainer's backward pass against central differences of its forward pass, for every tensor of the model:
 * along the gradient itself (a wrong gradient is not the steepest direction), along random signs (what the
 * first misses), and for single weights, those with the largest gradients and random ones. The model's sizes
 * are no multiples of the matrix product's tiles. */
#include "gpt_model.cuh"

enum { LARGEST = 3, RANDOM = 2, ACCUMULATED = 2 };
static const struct Shape SHAPE = {2, 72, 3, 10, 2};

/* Large weights make gradients that stand out of fp32's rounding. */
static void scatter_weights(struct Model *m, float **values, uint64_t *random)
{
    for (int i = 0; i < m->weights.count; i++) {
        const struct Tensor *tensor = &m->weights.tensors[i];
        const float middle = m->init[i] == INIT_ONE ? 1.0f : 0.0f;
        values[i] = (float *)host_allocate(tensor->count * sizeof(float));
        for (size_t j = 0; j < tensor->count; j++)
            values[i][j] = middle + 0.5f * ((float)(random_next(random) >> 40) / (1 << 24) - 0.5f);
        check(cudaMemcpy(tensor->data, values[i], tensor->count * sizeof(float), cudaMemcpyHostToDevice),
              "weights");
    }
}

static float loss_scale()
{
    return 1.0f / (SHAPE.batch * SHAPE.context);
}

static double measure_loss(struct Model *m)
{
    float loss;
    check(cudaMemsetAsync(m->loss, 0, sizeof(float)), "loss");
    model_forward(m, loss_scale(), false);
    check(cudaMemcpy(&loss, m->loss, sizeof loss, cudaMemcpyDeviceToHost), "loss");
    return loss;
}

/* The slope of the loss as tensor `i` moves by `direction`, a vector of length 1; `reach` each way. */
static double measure_slope(struct Model *m, int i, const float *values, const double *direction,
                            double reach)
{
    const struct Tensor *tensor = &m->weights.tensors[i];
    float *moved = (float *)host_allocate(tensor->count * sizeof(float));
    double loss[2];
    for (int side = 0; side < 2; side++) {
        for (size_t j = 0; j < tensor->count; j++)
            moved[j] = (float)(values[j] + (side ? reach : -reach) * direction[j]);
        check(cudaMemcpy(tensor->data, moved, tensor->count * sizeof(float), cudaMemcpyHostToDevice),
              "weights");
        loss[side] = measure_loss(m);
    }
    check(cudaMemcpy(tensor->data, values, tensor->count * sizeof(float), cudaMemcpyHostToDevice), "weights");
    free(moved);
    return (loss[1] - loss[0]) / (2 * reach);
}

/* One direction of one tensor. Returns whether the difference is what rounding and curvature explain. */
static bool agrees(struct Model *m, int i, const float *values, const float *gradient,
                   const double *direction, const char *what)
{
    double expected = 0.0;
    for (size_t j = 0; j < m->weights.tensors[i].count; j++) expected += gradient[j] * direction[j];
    const double slope = measure_slope(m, i, values, direction, 0.02);
    const bool good = fabs(slope - expected) <= 2e-4 + 0.01 * fabs(expected);
    if (!good)
        printf("%s, %s: the gradient says %.6f, differences say %.6f\n", m->weights.tensors[i].name, what,
               expected, slope);
    return good;
}

static int check_tensor(struct Model *m, int i, const float *values, float *gradient, uint64_t *random)
{
    const size_t count = m->weights.tensors[i].count;
    double *direction = (double *)host_allocate(count * sizeof(double)), length = 0.0;
    int failures = 0;
    for (size_t j = 0; j < count; j++) length += (double)gradient[j] * gradient[j];
    length = sqrt(length);
    for (size_t j = 0; j < count; j++) direction[j] = length > 0 ? gradient[j] / length : 0.0;
    failures += !agrees(m, i, values, gradient, direction, "along the gradient");
    for (size_t j = 0; j < count; j++)
        direction[j] = (random_next(random) & 1 ? 1.0 : -1.0) / sqrt((double)count);
    failures += !agrees(m, i, values, gradient, direction, "along random signs");

    size_t chosen[LARGEST + RANDOM];
    for (int k = 0; k < LARGEST + RANDOM; k++) {
        chosen[k] = random_next(random) % count;
        for (size_t j = 0; k < LARGEST && j < count; j++) {
            bool taken = false;
            for (int l = 0; l < k; l++) taken |= chosen[l] == j;
            if (!taken && fabsf(gradient[j]) > fabsf(gradient[chosen[k]])) chosen[k] = j;
        }
        char what[32];
        snprintf(what, sizeof what, "weight %zu", chosen[k]);
        memset(direction, 0, count * sizeof(double));
        direction[chosen[k]] = 1.0;
        failures += !agrees(m, i, values, gradient, direction, what);
    }
    printf("%-20s gradient's length %.5f, %d disagreements\n", m->weights.tensors[i].name, length, failures);
    free(direction);
    return failures;
}

/* The gradients of ACCUMULATED equal micro-batches, so that a pass that overwrites instead of adding shows.
 */
static void accumulate_gradients(struct Model *m)
{
    set_take(&m->gradients);
    set_zero(&m->gradients);
    for (int i = 0; i < ACCUMULATED; i++) {
        model_forward(m, loss_scale() / ACCUMULATED, true);
        model_backward(m);
    }
}

int main()
{
    static const char text[] = "It is not down on any map; true places never are.";
    const size_t starts[] = {0, 23};
    struct Model model;
    uint64_t random = 7;
    int failures = 0;
    model_start(&model, SHAPE, ALLOCATOR_MALLOC, 1);
    float **values = (float **)host_allocate(model.weights.count * sizeof *values);
    scatter_weights(&model, values, &random);
    model_set_batch(&model, (const unsigned char *)text, starts);
    accumulate_gradients(&model);
    for (int i = 0; i < model.weights.count; i++) {
        const struct Tensor *tensor = &model.gradients.tensors[i];
        float *gradient = (float *)host_allocate(tensor->count * sizeof(float));
        check(cudaMemcpy(gradient, tensor->data, tensor->count * sizeof(float), cudaMemcpyDeviceToHost),
              "gradient");
        failures += check_tensor(&model, i, values[i], gradient, &random);
        free(gradient);
        free(values[i]);
    }
    free(values);
    model_finish(&model);
    if (model.memory.live_bytes) printf("%zu bytes are still allocated\n", model.memory.live_bytes);
    return failures == 0 && model.memory.live_bytes == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
