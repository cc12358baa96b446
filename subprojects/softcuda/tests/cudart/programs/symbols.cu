// Breaks if __constant__ or __device__ variables are not found, not initialised or not kept from launch to
// launch.
#include "check.h"

__constant__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counter = 41;
__device__ double uninitialised[100];
static __device__ unsigned char bytes[3] = {7, 8, 9};

__global__ void read_table(float *out)
{
    out[threadIdx.x] = table[threadIdx.x];
}

__global__ void count(int by)
{
    counter += by;
    uninitialised[99] = 2.5;
    bytes[1] = 80;
}

int main()
{
    float *device, host[8];
    CUDA(cudaMalloc(&device, sizeof host));
    read_table<<<1, 8>>>(device);
    CUDA(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++) CHECK(host[i] == i + 1);

    const float two[] = {-1.5f, -2.5f};
    CUDA(cudaMemcpyToSymbol(table, two, sizeof two, 3 * sizeof(float)));
    read_table<<<1, 8>>>(device);
    CUDA(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[2] == 3 && host[3] == -1.5f && host[4] == -2.5f && host[5] == 6);

    count<<<1, 1>>>(1);
    CUDA(cudaDeviceSynchronize());
    int value = 0;
    CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 42);
    unsigned char three[3];
    CUDA(cudaMemcpyFromSymbol(three, bytes, sizeof three));
    CHECK(three[0] == 7 && three[1] == 80 && three[2] == 9);

    void *address = nullptr;
    size_t size = 0;
    CUDA(cudaGetSymbolAddress(&address, uninitialised));
    CUDA(cudaGetSymbolSize(&size, uninitialised));
    CHECK(size == sizeof uninitialised);
    double last = 0;
    CUDA(cudaMemcpy(&last, (double *)address + 99, sizeof last, cudaMemcpyDeviceToHost));
    CHECK(last == 2.5);

    CUDA_IS(cudaMemcpyToSymbol(table, host, sizeof host, 4), cudaErrorInvalidValue);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidValue);
    CUDA_IS(cudaGetSymbolAddress(&address, (const void *)&value), cudaErrorInvalidSymbol);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidSymbol);
    CUDA(cudaFree(device));
    return 0;
}
