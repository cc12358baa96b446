/* Trains on integers on all devices in one process: each has a part of the data, gradients are summed by
 * NCCL. One thread for all devices, with a group for each sum, or one for each. Compares what it gets with
 * what the host computes.
 *
 * usage: one_process [--threads] [--seconds N]
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>

#define OK(call)                                                                                             \
    do {                                                                                                     \
        auto result_ = (call);                                                                               \
        if ((int)result_) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)result_);                     \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

enum { LAYERS = 6, COUNT = 384 << 10, STEPS = 8, MOST_DEVICES = 4 };
typedef uint32_t word;

__global__ void forward(word *activation, const word *weight, word input)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) activation[i] = weight[i] * 3 + input + i;
}

__global__ void backward(word *gradient, const word *activation, const word *weight)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) gradient[i] = activation[i] * 5 + weight[i];
}

__global__ void update(word *weight, const word *sum)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) weight[i] += sum[i] * 7;
}

struct Device {
    int number;
    ncclComm_t comm;
    cudaStream_t compute, sums;
    cudaEvent_t computed, summed;
    word *weights[LAYERS], *gradients[LAYERS], *activations[LAYERS];
};

static Device devices[MOST_DEVICES];
static int device_count;

static const unsigned blocks = (COUNT + 255) / 256;

static void open_device(Device *device)
{
    OK(cudaSetDevice(device->number));
    OK(cudaStreamCreateWithFlags(&device->compute, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&device->sums, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&device->computed, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&device->summed, cudaEventDisableTiming));
    for (int l = 0; l < LAYERS; l++) {
        OK(cudaMalloc((void **)&device->weights[l], COUNT * sizeof(word)));
        OK(cudaMemsetAsync(device->weights[l], l, COUNT * sizeof(word), device->compute));
        OK(cudaMalloc((void **)&device->gradients[l], COUNT * sizeof(word)));
    }
}

/* Up to the sum of a layer's gradients; activations are freed while other devices are in the last sum. */
static void begin_step(Device *device, int step)
{
    OK(cudaSetDevice(device->number));
    for (int l = 0; l < LAYERS; l++) {
        OK(cudaMalloc((void **)&device->activations[l], COUNT * sizeof(word)));
        forward<<<blocks, 256, 0, device->compute>>>(device->activations[l], device->weights[l],
                                                     (word)(step * 100 + device->number));
    }
}

static void begin_layer(Device *device, int l)
{
    OK(cudaSetDevice(device->number));
    backward<<<blocks, 256, 0, device->compute>>>(device->gradients[l], device->activations[l],
                                                  device->weights[l]);
    OK(cudaEventRecord(device->computed, device->compute));
    OK(cudaStreamWaitEvent(device->sums, device->computed, 0));
}

static void sum(Device *device, int l)
{
    OK(ncclAllReduce(device->gradients[l], device->gradients[l], COUNT, ncclUint32, ncclSum, device->comm,
                     device->sums));
}

static void end_layer(Device *device, int l)
{
    OK(cudaSetDevice(device->number));
    OK(cudaEventRecord(device->summed, device->sums));
    OK(cudaStreamWaitEvent(device->compute, device->summed, 0));
    update<<<blocks, 256, 0, device->compute>>>(device->weights[l], device->gradients[l]);
}

static void end_step(Device *device)
{
    OK(cudaSetDevice(device->number));
    for (int l = 0; l < LAYERS; l++) OK(cudaFree(device->activations[l]));
}

static void check(Device *device)
{
    std::vector<word> seen(COUNT);
    OK(cudaSetDevice(device->number));
    OK(cudaDeviceSynchronize());
    for (int l = 0; l < LAYERS; l++) {
        OK(cudaMemcpy(seen.data(), device->weights[l], COUNT * sizeof(word), cudaMemcpyDeviceToHost));
        for (word i = 0; i < COUNT; i++) {
            word weight = (word)l * 0x01010101u;
            for (int step = 0; step < STEPS; step++) {
                word all = 0;
                for (int d = 0; d < device_count; d++)
                    all += (weight * 3 + (word)(step * 100 + d) + i) * 5 + weight;
                weight += all * 7;
            }
            if (seen[i] == weight) continue;
            fprintf(stderr, "device %d, layer %d, word %u: %u instead of %u\n", device->number, l, i, seen[i],
                    weight);
            _exit(2);
        }
    }
}

static void train_in_one_thread(void)
{
    for (int step = 0; step < STEPS; step++) {
        for (int d = 0; d < device_count; d++) begin_step(&devices[d], step);
        for (int l = LAYERS - 1; l >= 0; l--) {
            for (int d = 0; d < device_count; d++) begin_layer(&devices[d], l);
            OK(ncclGroupStart());
            for (int d = 0; d < device_count; d++) sum(&devices[d], l);
            OK(ncclGroupEnd());
            for (int d = 0; d < device_count; d++) end_layer(&devices[d], l);
        }
        for (int d = 0; d < device_count; d++) end_step(&devices[d]);
    }
}

static void train_device(Device *device)
{
    for (int step = 0; step < STEPS; step++) {
        begin_step(device, step);
        for (int l = LAYERS - 1; l >= 0; l--) {
            begin_layer(device, l);
            sum(device, l);
            end_layer(device, l);
        }
        end_step(device);
    }
}

int main(int count, char **arguments)
{
    bool threaded = false;
    unsigned seconds = 120;
    for (int a = 1; a < count; a++) {
        threaded |= !strcmp(arguments[a], "--threads");
        if (!strcmp(arguments[a], "--seconds") && a + 1 < count) seconds = (unsigned)atoi(arguments[a + 1]);
    }
    alarm(seconds);
    OK(cudaGetDeviceCount(&device_count));
    if (device_count < 2) return 77;
    if (device_count > MOST_DEVICES) device_count = MOST_DEVICES;
    ncclComm_t comms[MOST_DEVICES];
    OK(ncclCommInitAll(comms, device_count, NULL));
    for (int d = 0; d < device_count; d++) {
        devices[d].number = d;
        devices[d].comm = comms[d];
        open_device(&devices[d]);
    }
    if (threaded) {
        std::vector<std::thread> threads;
        for (int d = 0; d < device_count; d++) threads.emplace_back(train_device, &devices[d]);
        for (std::thread &thread : threads) thread.join();
    } else {
        train_in_one_thread();
    }
    for (int d = 0; d < device_count; d++) check(&devices[d]);
    for (int d = 0; d < device_count; d++) OK(ncclCommDestroy(comms[d]));
    return 0;
}
