// What the test of the cubin reader takes apart: kernels with parameters of all sizes, and variables of all
// kinds.
struct large {
    int values[6000];
};

__device__ int counter = 7;
__device__ float table[100];
__constant__ float factors[5] = {1, 2, 3, 4, 5};
__managed__ int shared_counter = 3;
__managed__ float shared_table[10];

extern "C" __global__ void mixed(const float *in, char choice, double factor, float *out)
{
    __shared__ float part[300];
    part[threadIdx.x] = in[threadIdx.x] * factors[choice];
    __syncthreads();
    out[threadIdx.x] =
        part[threadIdx.x ^ 1] * factor + table[choice] + counter + shared_counter + shared_table[choice];
}

extern "C" __global__ void __launch_bounds__(256) wide(struct large in, int index, int *out)
{
    out[threadIdx.x] = in.values[index];
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void scattered(int *out)
{
    volatile int own[100];
    for (int i = 0; i < out[0]; i++) own[i % 100] = i;
    out[1] = own[out[2] % 100];
}
