/* Faults on demand reach a function by its symbol, by cuGetProcAddress and in its per-thread form; arguments
 * and results of calls that do not fail pass unharmed. Usage: faults rules | lost, with SOFTCUDA_FAULT as in
 * meson.build. */
#include "check.h"

typedef CUresult (*allocate)(CUdeviceptr *, size_t);
typedef CUresult (*synchronize)(CUstream);

static void *ask(const char *name, cuuint64_t flags)
{
    void *function = NULL;
    OK(cuGetProcAddress(name, &function, 13000, flags, NULL));
    return function;
}

/* cuMemAlloc:after=3, whoever counts. */
static void memory_runs_out(void)
{
    allocate found = (allocate)ask("cuMemAlloc", 0);
    CUdeviceptr a, b, c, none = 77;
    size_t pitch;
    OK(cuMemAlloc(&a, 100));
    OK(found(&b, 100));
    OK(cuMemAlloc(&c, 100));
    FAILS(found(&none, 100), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemAlloc(&none, 100), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(none == 77);
    /* A function of its own, though it allocates as well. */
    OK(cuMemAllocPitch(&none, &pitch, 100, 3, 4));
    OK(cuMemFree(none));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    OK(cuMemFree(c));
}

/* cuStreamSynchronize_ptsz:every=2: all forms count as one. */
static void every_second(void)
{
    synchronize own = (synchronize)ask("cuStreamSynchronize", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    OK(cuStreamSynchronize(NULL));
    FAILS(own(NULL), CUDA_ERROR_LAUNCH_FAILED);
    OK(own(NULL));
    FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
}

/* cuEventCreate:once=2, and a function of more arguments than registers. */
static void once(void)
{
    CUevent first, second;
    OK(cuEventCreate(&first, 0));
    FAILS(cuEventCreate(&second, 0), CUDA_ERROR_UNKNOWN);
    OK(cuEventCreate(&second, 0));
    OK(cuEventDestroy(first));
    OK(cuEventDestroy(second));
    static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".visible .entry put(.param .u64 to, .param .u32 value)\n"
                               "{ .reg .b32 %r1; .reg .b64 %rd1;\n"
                               "ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [value];\n"
                               "st.global.u32 [%rd1], %r1; ret; }\n";
    CUmodule module;
    CUfunction put;
    CUdeviceptr to;
    unsigned value = 0xabcd, got = 0;
    void *parameters[] = {&to, &value};
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&put, module, "put"));
    OK(cuMemAllocManaged(&to, 4, CU_MEM_ATTACH_GLOBAL));
    OK(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH(&got, to, 4));
    CHECK(got == 0xabcd);
    value = 0xdcba;
    FAILS(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuMemcpyDtoH(&got, to, 4));
    CHECK(got == 0xdcba);
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

/* cuMemAllocHost:once=1 and cuLaunchKernel:once=2, both done, and cuLaunchKernel is called by this program.
 */
static void done_before(void)
{
    void *host = NULL;
    FAILS(cuMemAllocHost(&host, 4096), CUDA_ERROR_UNKNOWN);
    CHECK(host);
    OK(cuMemFreeHost(host));
}

/* device-lost:after=40: nothing works any more but what needs no device. */
static void lost(void)
{
    CUdeviceptr a;
    CUresult result = CUDA_SUCCESS;
    int calls = 0, version = 0;
    const char *name;
    while (!result && calls++ < 100) result = cuMemAlloc(&a, 4096);
    CHECK(result == CUDA_ERROR_DEVICE_UNAVAILABLE && calls < 42);
    FAILS(cuMemFree(a), CUDA_ERROR_DEVICE_UNAVAILABLE);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_DEVICE_UNAVAILABLE);
    FAILS(cuInit(0), CUDA_ERROR_DEVICE_UNAVAILABLE);
    FAILS(((synchronize)ask("cuStreamSynchronize", 0))(NULL), CUDA_ERROR_DEVICE_UNAVAILABLE);
    OK(cuDriverGetVersion(&version));
    OK(cuGetErrorName(CUDA_ERROR_DEVICE_UNAVAILABLE, &name));
    CHECK(!strcmp(name, "CUDA_ERROR_DEVICE_UNAVAILABLE"));
}

int main(int count, char **arguments)
{
    CUdevice device = start();
    only_in_software(device);
    CHECK(count == 2);
    if (!strcmp(arguments[1], "lost")) {
        lost();
        return 0;
    }
    memory_runs_out();
    every_second();
    once();
    done_before();
    finish(device);
    return 0;
}
