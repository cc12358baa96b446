/* Programs whose order of accesses cannot be predicted, or only in part: what a wrong prediction costs is
 * measured on them.
 *
 * usage: irregular MODE STEPS SEED
 *   uniform   each launch uses three random tensors
 *   popular   the same, some tensors far more often than others
 *   shuffled  every tensor once in each step, in a new order
 *   experts   a network in whose layers a few of many experts are chosen anew in each step
 *   lengths   a network whose activations have a new size in each step
 *   skipped   a network that leaves out random layers in each step
 *   calls     routines of eight launches each, called in random order
 *   favoured  the same with 24 launches each, some called far more often than others
 *
 * Prints `time_ms T`, simulated where the device is, of all steps, and `hash H` of the tensors at the end.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace
{

const size_t TENSOR_BYTES = 2 << 20;
const int TENSORS = 48, LAYERS = 8, EXPERTS = 6, CHOSEN = 2;
const int STRIDE = 1024; /* words: one in 4 KiB is touched, so that data is what a launch costs */

void check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "irregular: %s\n", cudaGetErrorString(error));
    exit(3);
}

uint64_t seed;

uint32_t chance(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

__global__ void mix(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t words)
{
    uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) * STRIDE;
    if (i >= words) return;
    uint32_t x = a[i], y = b[i], z = c[i];
    a[i] = x * 31 + z + 1;
    b[i] = y ^ (x >> 3);
    c[i] = z + y * 17;
}

uint32_t *take(size_t bytes)
{
    void *memory;
    check(cudaMalloc(&memory, bytes));
    check(cudaMemsetAsync(memory, 0, bytes));
    return (uint32_t *)memory;
}

void launch(uint32_t *a, uint32_t *b, uint32_t *c)
{
    const uint32_t words = TENSOR_BYTES / sizeof *a, threads = words / STRIDE;
    mix<<<(threads + 127) / 128, 128>>>(a, b, c, words);
    check(cudaGetLastError());
}

std::vector<uint32_t *> tensors; /* parameters, in the order in which layers use them */

uint32_t *any()
{
    return tensors[chance((uint32_t)tensors.size())];
}

uint32_t *popular()
{
    uint32_t range = 1 + chance((uint32_t)tensors.size());
    return tensors[chance(1 + chance(range))];
}

void uniform()
{
    for (int i = 0; i < 24; i++) launch(any(), any(), any());
}

void skewed()
{
    for (int i = 0; i < 24; i++) launch(popular(), popular(), popular());
}

void shuffled()
{
    std::vector<uint32_t *> order = tensors;
    for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[chance((uint32_t)i)]);
    for (size_t i = 0; i + 2 < order.size(); i += 2) launch(order[i], order[i + 1], order[i + 2]);
}

/* Forward and backward through layers of which each uses `own(layer)`, `activation(layer)` and the one before
 * it. */
template <typename Own, typename Activation>
void network(const std::vector<int> &layers, Own own, Activation activation)
{
    for (size_t i = 0; i < layers.size(); i++)
        launch(own(layers[i]), activation(i), activation(i ? i - 1 : 0));
    for (size_t i = layers.size(); i-- > 0;) launch(own(layers[i]), activation(i), activation(i ? i - 1 : 0));
}

std::vector<int> all_layers(int count)
{
    std::vector<int> layers;
    for (int l = 0; l < count; l++) layers.push_back(l);
    return layers;
}

void experts()
{
    std::vector<int> chosen; /* LAYERS times a dense part and some experts: all have a tensor each */
    const int width = TENSORS / LAYERS, activations = 4;
    for (int l = 0; l < LAYERS; l++) {
        chosen.push_back(l * width);
        for (int e = 0; e < CHOSEN; e++) chosen.push_back(l * width + 1 + (int)chance(EXPERTS - 1));
    }
    network(
        chosen, [](int l) { return tensors[l]; },
        [](size_t i) { return tensors[TENSORS + i % activations]; });
}

void lengths()
{
    std::vector<uint32_t *> activations;
    size_t bytes = TENSOR_BYTES + chance(16) * (128 << 10);
    for (int l = 0; l < LAYERS * 2; l++) activations.push_back(take(bytes));
    network(
        all_layers(LAYERS * 2), [](int l) { return tensors[l]; }, [&](size_t i) { return activations[i]; });
    for (uint32_t *activation : activations) check(cudaFreeAsync(activation, 0));
}

void skipped()
{
    std::vector<int> layers;
    for (int l = 0; l < TENSORS - 8; l++)
        if (chance(8)) layers.push_back(l);
    network(
        layers, [](int l) { return tensors[l]; }, [](size_t i) { return tensors[TENSORS - 8 + i % 8]; });
}

/* Routine `r` of `length` launches: always the same tensors. */
void call(uint32_t r, int length)
{
    uint64_t here = seed;
    seed = r * 7919 + 1;
    for (int i = 0; i < length; i++) launch(any(), any(), any());
    seed = here;
}

void calls()
{
    for (int i = 0; i < 4; i++) call(chance(12), 8);
}

void favoured()
{
    for (int i = 0; i < 2; i++) call(chance(1 + chance(1 + chance(12))), 24);
}

} // namespace

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*step)();
    } modes[] = {{"uniform", uniform}, {"popular", skewed},  {"shuffled", shuffled}, {"experts", experts},
                 {"lengths", lengths}, {"skipped", skipped}, {"calls", calls},       {"favoured", favoured}};
    if (argc != 4) return 2;
    seed = strtoull(argv[3], nullptr, 10);
    for (int t = 0; t < TENSORS + 4; t++) tensors.push_back(take(TENSOR_BYTES));
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    check(cudaEventRecord(begin));
    for (const auto &mode : modes)
        for (int s = 0; s < atoi(argv[2]) && !strcmp(mode.name, argv[1]); s++) {
            mode.step();
            check(cudaDeviceSynchronize());
        }
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    uint64_t hash = 0;
    std::vector<uint32_t> copy(TENSOR_BYTES / sizeof(uint32_t));
    for (uint32_t *tensor : tensors) {
        check(cudaMemcpy(copy.data(), tensor, TENSOR_BYTES, cudaMemcpyDeviceToHost));
        for (uint32_t word : copy) hash = hash * 1099511628211u + word;
    }
    printf("time_ms %.3f\nhash %016llx\n", milliseconds, (unsigned long long)hash);
    return 0;
}
