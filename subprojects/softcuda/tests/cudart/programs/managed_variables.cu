// Breaks if a __managed__ variable is not one memory for host and device, has not its initial value before
// its first use, or is not found as a symbol.
#include "check.h"

__managed__ int counter = 40;
__managed__ unsigned char tiny = 7;
__managed__ float large[1 << 20];
static __device__ __managed__ struct {
    int id;
    double weight;
} record = {3, 1.5};
__device__ int plain = 11;

__global__ void work()
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    large[i] = large[i] + i;
    if (i) return;
    counter += plain;
    tiny++;
    record.weight *= record.id;
}

static void symbols()
{
    void *address = nullptr;
    size_t bytes = 0;
    CUDA(cudaGetSymbolAddress(&address, counter));
    CHECK(address == &counter);
    CUDA(cudaGetSymbolSize(&bytes, large));
    CHECK(bytes == sizeof large);
    const int wanted = -5;
    int got = 0;
    CUDA(cudaMemcpyToSymbol(counter, &wanted, sizeof wanted));
    CUDA(cudaDeviceSynchronize());
    CHECK(counter == -5);
    CUDA(cudaMemcpyFromSymbol(&got, counter, sizeof got));
    CHECK(got == -5);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, large));
    CHECK(attributes.type == cudaMemoryTypeManaged);
}

int main()
{
    int device = 0, concurrent = 0;
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
    CHECK(counter == 40 && tiny == 7 && record.id == 3 && record.weight == 1.5 && large[12345] == 0);
    large[99] = 1000;
    counter++;
    work<<<4096, 256>>>();
    CUDA(cudaDeviceSynchronize());
    CHECK(counter == 52 && tiny == 8 && record.weight == 4.5);
    for (int i = 0; i < 1 << 20; i++) CHECK(large[i] == i + (i == 99 ? 1000 : 0));
    if (concurrent) {
        const cudaMemLocation here = {cudaMemLocationTypeDevice, device};
        CUDA(cudaMemAdvise(large, sizeof large, cudaMemAdviseSetPreferredLocation, here));
        CUDA(cudaMemPrefetchAsync(large, sizeof large, here, 0, 0));
        work<<<4096, 256>>>();
        CUDA(cudaDeviceSynchronize());
        CHECK(large[2] == 4 && counter == 63);
    }
    symbols();
    return 0;
}
