// Breaks if translation units of `nvcc -rdc=true` do not find each other's functions and variables, or see
// what another one keeps to itself. The other unit is linked_part.cu.
#include "check.h"

#include "linked.h"

extern __device__ int counter;
extern __device__ operation table[2];
static __device__ int own = 5;

__global__ void calls(int *out)
{
    const int i = threadIdx.x;
    out[i] = helper(i) + 1000 * own + 10000 * table[i & 1](i);
    atomicAdd(&counter, 1);
}

int main()
{
    const int threads = 40;
    int *out;
    CUDA(cudaMallocManaged(&out, threads * sizeof(int)));
    calls<<<1, threads>>>(out);
    add_one<<<1, threads>>>(out);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < threads; i++)
        CHECK(out[i] == 2 * i + 7 + 1000 * 5 + 10000 * (i & 1 ? i * 3 : i + 100) + 1);
    CHECK(other_unit(out) == 10 + threads);
    int read = 0;
    CUDA(cudaMemcpyFromSymbol(&read, own, sizeof read));
    CHECK(read == 5);
    CUDA(cudaFree(out));
    return 0;
}
