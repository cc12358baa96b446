/* Two processes that work on a buffer in turn, each between launches on tensors of its own. The one that has
 * the buffer exports it and an event; no host thread waits for the other's work, but streams do.
 *
 * usage: exchange export|import SOCKET STEPS
 *   SOCKET  the number of a descriptor, one end of a pair
 *
 * Prints `hash H` of all its tensors at the end, with the buffer's.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

namespace
{

const size_t TENSOR_BYTES = 2 << 20, BUFFER_BYTES = 3 << 20;
const int TENSORS = 16;

void check(cudaError_t error)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "exchange: %s\n", cudaGetErrorString(error));
    exit(3);
}

__global__ void mix(uint32_t *to, const uint32_t *from, uint32_t words)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) to[i] = to[i] * 1664525u + from[i] + i;
}

void launch(cudaStream_t stream, uint32_t *to, const uint32_t *from)
{
    const uint32_t words = TENSOR_BYTES / 4;
    mix<<<(words + 255) / 256, 256, 0, stream>>>(to, from, words);
    check(cudaGetLastError());
}

uint32_t *make(size_t bytes, int value)
{
    void *memory;
    check(cudaMalloc(&memory, bytes));
    check(cudaMemset(memory, value, bytes));
    return (uint32_t *)memory;
}

/* The one place where it is allocated. */
__attribute__((noinline)) uint32_t *make_buffer()
{
    return make(BUFFER_BYTES, 1);
}

struct offer {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

int other;

void tell(const void *what, size_t bytes)
{
    if (write(other, what, bytes) != (ssize_t)bytes) exit(4);
}

void hear(void *what, size_t bytes)
{
    for (size_t got = 0; got < bytes;) {
        ssize_t more = read(other, (char *)what + got, bytes - got);
        if (more <= 0) exit(4);
        got += (size_t)more;
    }
}

void print_hash(const std::vector<uint32_t *> &tensors, const uint32_t *buffer)
{
    uint64_t hash = 1469598103934665603u;
    std::vector<uint32_t> words(BUFFER_BYTES / 4);
    for (size_t t = 0; t <= tensors.size(); t++) {
        size_t bytes = t < tensors.size() ? TENSOR_BYTES : BUFFER_BYTES;
        check(cudaMemcpy(words.data(), t < tensors.size() ? tensors[t] : buffer, bytes, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < bytes / 4; i++) hash = (hash ^ words[i]) * 1099511628211u;
    }
    printf("hash %016llx\n", (unsigned long long)hash);
}

/* A step on this side: the buffer goes through all tensors, and comes out changed. */
void step(cudaStream_t stream, const std::vector<uint32_t *> &tensors, uint32_t *buffer)
{
    launch(stream, tensors[0], buffer);
    for (int t = 1; t < TENSORS; t++) launch(stream, tensors[t], tensors[t - 1]);
    launch(stream, buffer, tensors[TENSORS - 1]);
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    bool exports = !strcmp(arguments[1], "export");
    int steps = atoi(arguments[3]);
    other = atoi(arguments[2]);
    std::vector<uint32_t *> tensors;
    cudaStream_t stream;
    cudaEvent_t event;
    uint32_t *buffer;
    offer offer;
    for (int t = 0; t < TENSORS; t++) tensors.push_back(make(TENSOR_BYTES, t + (exports ? 1 : 64)));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (exports) {
        buffer = make_buffer();
        check(cudaDeviceSynchronize());
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
        check(cudaIpcGetMemHandle(&offer.memory, buffer));
        check(cudaIpcGetEventHandle(&offer.event, event));
        tell(&offer, sizeof offer);
    } else {
        hear(&offer, sizeof offer);
        check(cudaIpcOpenMemHandle((void **)&buffer, offer.memory, cudaIpcMemLazyEnablePeerAccess));
        check(cudaIpcOpenEventHandle(&event, offer.event));
        check(cudaDeviceSynchronize());
    }
    for (int s = 0; s < steps; s++) {
        char turn = 0;
        if (!exports || s) {
            hear(&turn, 1);
            check(cudaStreamWaitEvent(stream, event, 0));
        }
        step(stream, tensors, buffer);
        check(cudaEventRecord(event, stream));
        tell(&turn, 1);
    }
    check(cudaStreamSynchronize(stream));
    char turn = 0;
    if (exports) {
        hear(&turn, 1);
        check(cudaEventSynchronize(event)); /* the other one's last step */
        print_hash(tensors, buffer);
        hear(&turn, 1); /* it has closed the buffer */
        check(cudaFree(buffer));
    } else {
        print_hash(tensors, buffer);
        check(cudaIpcCloseMemHandle(buffer));
        tell(&turn, 1);
    }
    for (uint32_t *tensor : tensors) check(cudaFree(tensor));
    return 0;
}
