// The second unit of linked.cu.
#include "check.h"

#include "linked.h"

__device__ int counter = 10;
static __device__ int own = 7;

__device__ __noinline__ int helper(int x)
{
    return 2 * x + own;
}

static __device__ int hundred(int x)
{
    return x + 100;
}
__device__ int triple(int x)
{
    return 3 * x;
}
__device__ operation table[2] = {hundred, triple};

int other_unit(int *out)
{
    int value = 0;
    const int before = out[0];
    add_one<<<1, 1>>>(out);
    CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == before + 1);
    CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    return value;
}
