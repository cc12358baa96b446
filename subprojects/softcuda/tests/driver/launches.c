/* Modules, libraries and launches in each of their forms. */
#include <string.h>

#include "check.h"
#include "kernels.h"

#define COUNT 1000

static CUdeviceptr in, out;

static void expect(float scale, float bias)
{
    float values[COUNT];
    OK(cuMemcpyDtoH(values, out, sizeof values));
    for (int i = 0; i < COUNT; i++) CHECK(values[i] == (float)i * scale + bias);
    OK(cuMemsetD8(out, 0, sizeof values));
}

static void parameters(CUfunction function)
{
    static const size_t offsets[] = {0, 8, 16, 20, 24}, sizes[] = {8, 8, 4, 4, 4};
    size_t offset, bytes;
    for (size_t i = 0; i < 5; i++) {
        OK(cuFuncGetParamInfo(function, i, &offset, &bytes));
        CHECK(offset == offsets[i] && bytes == sizes[i]);
    }
    FAILS(cuFuncGetParamInfo(function, 5, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    const char *name;
    OK(cuFuncGetName(&name, function));
    CHECK(!strcmp(name, "affine"));
    int threads = 0, blocks = 0;
    OK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    CHECK(threads == 1024);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, 0));
    CHECK(blocks >= 1 && blocks <= 64);
}

static void forms(CUfunction function)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD8(out, 0, COUNT * 4));
    OK(cuCtxSynchronize());
    int count = COUNT;
    float scale = 2, bias = 1;
    void *pointers[] = {&out, &in, &count, &scale, &bias};
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, pointers, NULL));
    scale = 100; /* parameters are taken at the call */
    OK(cuStreamSynchronize(stream));
    expect(2, 1);
    struct {
        CUdeviceptr out, in;
        int count;
        float scale, bias;
    } packed = {out, in, COUNT, 3, -1};
    size_t bytes = 28;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    expect(3, -1);
    scale = 0.5f;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 0};
    CUlaunchConfig config = {.gridDimX = 8,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 128,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    OK(cuLaunchKernelEx(&config, function, pointers, NULL));
    expect(0.5f, 1);
    FAILS(cuLaunchKernel(function, 0, 1, 1, 128, 1, 1, 0, NULL, pointers, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, NULL, pointers, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(stream));
}

static void module(void)
{
    CUmodule module;
    CUfunction affine, store, missing;
    CUdeviceptr counter;
    size_t bytes;
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuModuleGetFunction(&store, module, "store"));
    FAILS(cuModuleGetFunction(&missing, module, "missing"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetGlobal(&counter, &bytes, module, "counter"));
    CHECK(bytes == 4);
    unsigned value = 0, wanted = 77;
    OK(cuMemcpyDtoH(&value, counter, 4));
    CHECK(value == 5);
    void *pointers[] = {&wanted};
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
    OK(cuMemcpyDtoH(&value, counter, 4));
    CHECK(value == 77);
    parameters(affine);
    forms(affine);
    OK(cuModuleUnload(module));
}

static void library(void)
{
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    OK(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "affine"));
    size_t offset, bytes;
    OK(cuKernelGetParamInfo(kernel, 4, &offset, &bytes));
    CHECK(offset == 24 && bytes == 4);
    forms((CUfunction)kernel); /* as the runtime does it */
    OK(cuKernelGetFunction(&function, kernel));
    forms(function);
    CUdeviceptr counter;
    OK(cuLibraryGetGlobal(&counter, &bytes, library, "counter"));
    CHECK(counter && bytes == 4);
    OK(cuLibraryUnload(library));
}

static void bad_images(void)
{
    CUmodule module;
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    FAILS(cuModuleLoadDataEx(&module,
                             ".version 7.0\n.target sm_75\n.address_size 64\n.entry f() { frobnicate; }\n", 2,
                             options, values),
          CUDA_ERROR_INVALID_PTX);
    CHECK(log[0]);
    FAILS(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
}

/* The fault stays with the context; another context works. */
static void fault(CUdevice device)
{
    CUcontext context;
    OK(cuCtxCreate(&context, NULL, 0, device));
    CUmodule module;
    CUfunction affine;
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    CUdeviceptr bad = 0x10000;
    int count = 1;
    float one = 1;
    void *pointers[] = {&bad, &in, &count, &one, &one};
    OK(cuLaunchKernel(affine, 1, 1, 1, 32, 1, 1, 0, NULL, pointers, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr more;
    FAILS(cuMemAlloc(&more, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy(context));
    OK(cuMemAlloc(&more, 16));
    OK(cuMemFree(more));
}

int main(void)
{
    CUdevice device = start();
    float values[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = (float)i;
    OK(cuMemAlloc(&in, sizeof values));
    OK(cuMemAlloc(&out, sizeof values));
    OK(cuMemcpyHtoD(in, values, sizeof values));
    module();
    library();
    bad_images();
    fault(device);
    OK(cuMemFree(in));
    OK(cuMemFree(out));
    finish(device);
    return 0;
}
