// Breaks if shuffles, votes, divergent loops or 64-bit integers do not do what the language says.
#include "check.h"

#include <algorithm>
#include <vector>

__global__ void scan(const unsigned long long *in, unsigned long long *out, int count)
{
    __shared__ unsigned long long warps[32];
    const int i = threadIdx.x, lane = i % 32, warp = i / 32;
    unsigned long long value = i < count ? in[i] : 0;
    for (int step = 1; step < 32; step *= 2) {
        const unsigned long long below = __shfl_up_sync(~0u, value, step);
        if (lane >= step) value += below;
    }
    if (lane == 31) warps[warp] = value;
    __syncthreads();
    for (int w = 0; w < warp; w++) value += warps[w];
    if (i < count) out[i] = value;
}

__global__ void sort(int *data, int count)
{
    for (int size = 2; size <= count; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            for (int i = threadIdx.x; i < count; i += blockDim.x) {
                const int other = i ^ step;
                if (other > i && (data[i] > data[other]) == ((i & size) == 0)) {
                    const int kept = data[i];
                    data[i] = data[other];
                    data[other] = kept;
                }
            }
            __syncthreads();
        }
}

__global__ void collatz(const int *start, int *steps, unsigned *odd)
{
    const int i = threadIdx.x;
    long long value = start[i];
    int count = 0;
    while (value != 1) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        count++;
    }
    steps[i] = count;
    const unsigned ballot = __ballot_sync(~0u, count & 1);
    if (i % 32 == 0) odd[i / 32] = __popc(ballot);
}

int main()
{
    const int count = 1000;
    std::vector<unsigned long long> in(count), out(count);
    for (int i = 0; i < count; i++) in[i] = (unsigned long long)i * i * 1234567891011ull;
    unsigned long long *din, *dout;
    CUDA(cudaMalloc(&din, count * sizeof *din));
    CUDA(cudaMalloc(&dout, count * sizeof *dout));
    CUDA(cudaMemcpy(din, in.data(), count * sizeof *din, cudaMemcpyHostToDevice));
    scan<<<1, 1024>>>(din, dout, count);
    CUDA(cudaMemcpy(out.data(), dout, count * sizeof *dout, cudaMemcpyDeviceToHost));
    unsigned long long sum = 0;
    for (int i = 0; i < count; i++) CHECK(out[i] == (sum += in[i]));

    std::vector<int> numbers(2048);
    for (int i = 0; i < 2048; i++) numbers[i] = (int)(i * 2654435761u >> 3) - (1 << 27);
    int *dnumbers;
    CUDA(cudaMalloc(&dnumbers, 2048 * sizeof(int)));
    CUDA(cudaMemcpy(dnumbers, numbers.data(), 2048 * sizeof(int), cudaMemcpyHostToDevice));
    sort<<<1, 256>>>(dnumbers, 2048);
    std::vector<int> sorted(2048);
    CUDA(cudaMemcpy(sorted.data(), dnumbers, 2048 * sizeof(int), cudaMemcpyDeviceToHost));
    std::sort(numbers.begin(), numbers.end());
    CHECK(sorted == numbers);

    int start[64], steps[64];
    unsigned odd[2], *dodd;
    for (int i = 0; i < 64; i++) start[i] = i + 1;
    CUDA(cudaMalloc(&dodd, sizeof odd));
    CUDA(cudaMemcpy(dnumbers, start, sizeof start, cudaMemcpyHostToDevice));
    collatz<<<1, 64>>>(dnumbers, dnumbers + 64, dodd);
    CUDA(cudaMemcpy(steps, dnumbers + 64, sizeof steps, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(odd, dodd, sizeof odd, cudaMemcpyDeviceToHost));
    unsigned counted[2] = {0, 0};
    for (int i = 0; i < 64; i++) {
        long long value = start[i];
        int expected = 0;
        for (; value != 1; expected++) value = value % 2 ? 3 * value + 1 : value / 2;
        CHECK(steps[i] == expected);
        counted[i / 32] += expected & 1;
    }
    CHECK(odd[0] == counted[0] && odd[1] == counted[1]);
    CUDA(cudaFree(din));
    CUDA(cudaFree(dout));
    CUDA(cudaFree(dnumbers));
    CUDA(cudaFree(dodd));
    return 0;
}
