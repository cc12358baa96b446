// Breaks if __managed__ variables are not initialised, or not the same for host and device.
#include "check.h"

__managed__ int value = 5;
__managed__ double many[1000];

__global__ void change(int by)
{
    value += by;
    many[999] = value;
}

int main()
{
    CHECK(value == 5 && many[999] == 0);
    value = 10;
    change<<<1, 1>>>(1);
    CUDA(cudaDeviceSynchronize());
    CHECK(value == 11 && many[999] == 11);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, &value));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    return 0;
}
