// Breaks if a thread whose context the program took away, or another thread reset, does not find another by
// itself.
#include "check.h"

#include <cuda.h>
#include <thread>

template <typename Function> static Function *driver_function(const char *name)
{
    void *function = nullptr;
    CUDA(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, nullptr));
    return (Function *)function;
}

static void reset()
{
    void *memory;
    CUDA(cudaMalloc(&memory, 8));
    CUDA(cudaDeviceReset());
    CUDA(cudaMalloc(&memory, 8));
    CUDA(cudaFree(memory));
}

int main()
{
    auto *set_current = driver_function<CUresult(CUcontext)>("cuCtxSetCurrent");
    auto *get_current = driver_function<CUresult(CUcontext *)>("cuCtxGetCurrent");
    void *memory;
    CUcontext context = nullptr;
    CUDA(cudaMalloc(&memory, 100));
    CHECK(get_current(&context) == CUDA_SUCCESS && context != nullptr);
    CHECK(set_current(nullptr) == CUDA_SUCCESS);
    CUDA(cudaFree(memory));
    CUDA(cudaDeviceSynchronize());
    context = nullptr;
    CHECK(get_current(&context) == CUDA_SUCCESS && context != nullptr);

    std::thread other(reset);
    other.join();
    CUDA(cudaMalloc(&memory, 100));
    CUDA(cudaFree(memory));
    int device = -1;
    CUDA(cudaGetDevice(&device));
    CHECK(device == 0);
    return 0;
}
