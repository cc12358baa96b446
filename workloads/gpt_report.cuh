/* What a training says: the model, each step's loss, the weights' hash. */
#ifndef GPT_REPORT_CUH
#define GPT_REPORT_CUH

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "gpt_model.cuh"

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

static void print_model(const struct Model *model)
{
    size_t parameters = 0;
    for (int i = 0; i < model->weights.count; i++) parameters += model->weights.tensors[i].count;
    printf("model parameters %zu state_bytes %zu\n", parameters, 4 * sizeof(float) * parameters);
}

static void print_step(int step, float loss, float milliseconds)
{
    printf("step %d loss %.6f %a time_ms %.3f\n", step, loss, loss, milliseconds);
}

static const uint64_t HASH_START = 0xcbf29ce484222325u;

/* Takes the tensor's bits into `hash` (FNV-1a's step over 32-bit words) and writes them to `file` unless it
 * is NULL. Returns whether that worked. */
static bool hash_tensor(uint64_t *hash, const struct Tensor *tensor, FILE *file)
{
    uint32_t *bits = (uint32_t *)host_allocate(tensor->count * sizeof(float));
    check(cudaMemcpy(bits, tensor->data, tensor->count * sizeof(float), cudaMemcpyDeviceToHost),
          "copying weights");
    for (size_t j = 0; j < tensor->count; j++) *hash = (*hash ^ bits[j]) * 0x100000001b3u;
    const bool written = !file || fwrite(bits, sizeof(float), tensor->count, file) == tensor->count;
    free(bits);
    return written;
}

#endif
