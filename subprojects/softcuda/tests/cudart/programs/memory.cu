// Breaks if a kind of memory cannot be had, if strided copies and fills touch the wrong bytes, or if pointers
// are not known.
#include "check.h"

#include <cstring>
#include <vector>

__global__ void twice(int *data, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] *= 2;
}

static void rectangles()
{
    const size_t width = 100, height = 20;
    unsigned char *device;
    size_t pitch = 0;
    CUDA(cudaMallocPitch(&device, &pitch, width, height));
    CHECK(pitch >= width);
    std::vector<unsigned char> in(width * height), out(2 * width * height, 0xee);
    for (size_t i = 0; i < in.size(); i++) in[i] = (unsigned char)(i * 31);
    CUDA(cudaMemset2D(device, pitch, 0x55, width, height));
    CUDA(cudaMemcpy2D(device, pitch, in.data(), width, width / 2, height, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy2D(out.data(), 2 * width, device, pitch, width, height, cudaMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < 2 * width; x++) {
            const unsigned char expected = x < width / 2 ? in[y * width + x] : x < width ? 0x55 : 0xee;
            CHECK(out[y * 2 * width + x] == expected);
        }
    CUDA_IS(cudaMemcpy2D(device, width - 1, in.data(), width, width, height, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
    CUDA(cudaFree(device));
}

// Boxes that do not end in the address space
static void check_sizes(cudaPitchedPtr device)
{
    const size_t large = (size_t)1 << 62;
    cudaPitchedPtr wide = device, high = device;
    wide.pitch = large;
    high.ysize = large;
    CHECK(cudaMemset3D(wide, 1, make_cudaExtent(1, 2, 1)) == cudaErrorInvalidValue);
    CHECK(cudaMemset3D(high, 1, make_cudaExtent(1, 2, 3)) == cudaErrorInvalidValue);
    CHECK(cudaMemset3DAsync(device, 1, make_cudaExtent(1, device.ysize, large), nullptr) == cudaErrorInvalidValue);
    CHECK(cudaMemset2D(device.ptr, large, 1, 1, 5) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy2D(device.ptr, large, device.ptr, large, 1, 5, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA(cudaDeviceSynchronize());
}

static void boxes()
{
    cudaPitchedPtr device;
    const cudaExtent extent = make_cudaExtent(40, 6, 5);
    CUDA(cudaMalloc3D(&device, extent));
    CUDA(cudaMemset3D(device, 3, extent));
    CUDA(cudaMemset3D(device, 9, make_cudaExtent(10, 2, 5)));
    check_sizes(device);
    std::vector<unsigned char> host(40 * 6 * 5);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = device;
    copy.dstPtr = make_cudaPitchedPtr(host.data(), 40, 40, 6);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&copy));
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 6; y++)
            for (int x = 0; x < 40; x++) CHECK(host[(z * 6 + y) * 40 + x] == (x < 10 && y < 2 ? 9 : 3));
    CUDA(cudaFree(device.ptr));
}

static void managed()
{
    const int count = 1 << 20;
    int *data;
    CUDA(cudaMallocManaged(&data, count * sizeof(int)));
    for (int i = 0; i < count; i++) data[i] = i;
    int device = 0;
    CUDA(cudaGetDevice(&device));
    cudaMemLocation here = {}, host = {};
    here.type = cudaMemLocationTypeDevice;
    here.id = device;
    host.type = cudaMemLocationTypeHost;
    CUDA(cudaMemAdvise(data, count * sizeof(int), cudaMemAdviseSetPreferredLocation, here));
    CUDA(cudaMemAdvise(data, count * sizeof(int), cudaMemAdviseSetAccessedBy, here));
    CUDA(cudaMemPrefetchAsync(data, count * sizeof(int), here, 0, 0));
    twice<<<count / 256, 256>>>(data, count);
    CUDA(cudaMemPrefetchAsync(data, count * sizeof(int), host, 0, 0));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) CHECK(data[i] == 2 * i);
    int location = -5;
    CUDA(cudaMemRangeGetAttribute(&location, sizeof location, cudaMemRangeAttributePreferredLocation, data,
                                  count * sizeof(int)));
    CHECK(location == device);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, data + 5));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == data + 5);
    CUDA(cudaFree(data));
}

static void host_memory()
{
    int *pinned, *mapped = nullptr;
    CUDA(cudaHostAlloc(&pinned, 4096 * sizeof(int), cudaHostAllocMapped));
    for (int i = 0; i < 4096; i++) pinned[i] = i;
    CUDA(cudaHostGetDevicePointer(&mapped, pinned, 0));
    twice<<<16, 256>>>(mapped, 4096);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 4096; i++) CHECK(pinned[i] == 2 * i);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, pinned));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
    CUDA(cudaFreeHost(pinned));

    std::vector<int> own(8192, 4);
    CUDA(cudaHostRegister(own.data(), own.size() * sizeof(int), cudaHostRegisterMapped));
    CUDA(cudaHostGetDevicePointer(&mapped, own.data(), 0));
    twice<<<32, 256>>>(mapped, 8192);
    CUDA(cudaDeviceSynchronize());
    for (int value : own) CHECK(value == 8);
    CUDA(cudaHostUnregister(own.data()));
    CUDA(cudaPointerGetAttributes(&attributes, own.data()));
    CHECK(attributes.type == cudaMemoryTypeUnregistered && attributes.devicePointer == nullptr);
}

static void ordered_by_stream()
{
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    int *data, host[256];
    CUDA(cudaMallocAsync(&data, sizeof host, stream));
    for (int i = 0; i < 256; i++) host[i] = i;
    CUDA(cudaMemcpyAsync(data, host, sizeof host, cudaMemcpyHostToDevice, stream));
    twice<<<1, 256, 0, stream>>>(data, 256);
    CUDA(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(data, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < 256; i++) CHECK(host[i] == 2 * i);
    CUDA(cudaStreamDestroy(stream));
}

int main()
{
    CUDA(cudaFree(nullptr));
    size_t free_bytes = 0, total_bytes = 0, less = 0;
    CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    CHECK(free_bytes > 0 && free_bytes <= total_bytes);
    void *block = nullptr;
    CUDA(cudaMalloc(&block, 64 << 20));
    CUDA(cudaMemGetInfo(&less, &total_bytes));
    CHECK(less < free_bytes);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, (char *)block + 100));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    CUDA(cudaFree(block));
    CUDA_IS(cudaMalloc(&block, total_bytes + (1 << 20)), cudaErrorMemoryAllocation);
    CUDA_IS(cudaGetLastError(), cudaErrorMemoryAllocation);
    CUDA(cudaMalloc(&block, 0));
    CHECK(block == nullptr);

    rectangles();
    boxes();
    host_memory();
    ordered_by_stream();
    managed();
    return 0;
}
