/* Kernels of a library are compiled at their first use, those of a module when it is loaded. */
#include <pthread.h>

#include "check.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define BAD_LINE "PTX line 17"

static const char mixed[] = HEAD ".visible .global .align 4 .u32 total;\n"
                                 ".visible .entry add(.param .u32 value)\n.maxntid 64\n{\n"
                                 "  .reg .b32 %r<2>;\n  .shared .b8 room[1024];\n"
                                 "  ld.param.u32 %r1, [value];\n"
                                 "  red.global.add.u32 [total], %r1;\n"
                                 "  ret;\n}\n"
                                 ".visible .entry wrong(.param .u64 pointer, .param .u32 value)\n"
                                 "{\n"
                                 "  .reg .b32 %r<2>;\n"
                                 "  frobnicate.u32 %r1, %r0;\n"
                                 "  ret;\n}\n";

static unsigned total_of(CUlibrary library)
{
    CUdeviceptr total;
    size_t bytes;
    unsigned value;
    OK(cuCtxSynchronize());
    OK(cuLibraryGetGlobal(&total, &bytes, library, "total"));
    OK(cuMemcpyDtoH(&value, total, 4));
    return value;
}

static CUresult launch(CUfunction function, unsigned value)
{
    CUdeviceptr none = 0;
    void *one[] = {&value}, *two[] = {&none, &value};
    size_t offset;
    int has_two = cuFuncGetParamInfo(function, 1, &offset, NULL) == CUDA_SUCCESS;
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, has_two ? two : one, NULL);
}

static CUfunctionLoadingState state_of(CUfunction function)
{
    CUfunctionLoadingState state;
    OK(cuFuncIsLoaded(&state, function));
    return state;
}

/* What does not compile is named where it is used, and stops nothing else. */
static void library_with_a_wrong_kernel(CUdevice device)
{
    CUlibrary library;
    CUkernel add, wrong, all[3];
    CUfunction function, wrong_function;
    CUmodule module;
    unsigned count = 0;
    size_t offset, bytes;
    int value;
    OK(cuLibraryLoadData(&library, mixed, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernelCount(&count, library));
    CHECK(count == 2);
    OK(cuLibraryEnumerateKernels(all, 2, library));
    OK(cuLibraryGetKernel(&wrong, library, "wrong"));
    OK(cuLibraryGetKernel(&add, library, "add"));
    CHECK(all[0] == add && all[1] == wrong);
    OK(cuKernelGetParamInfo(wrong, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);
    FAILS(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, wrong, device), CUDA_ERROR_INVALID_PTX);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, add, device));
    CHECK(value == 1024);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add, device));
    CHECK(value == 49152 - 1024);
    OK(cuLibraryGetModule(&module, library));
    OK(cuModuleGetFunction(&function, module, "add"));
    OK(cuModuleGetFunction(&wrong_function, module, "wrong"));
    CHECK(state_of(function) == CU_FUNCTION_LOADING_STATE_UNLOADED);
    FAILS(launch(wrong_function, 1), CUDA_ERROR_INVALID_PTX);
    FAILS(launch(wrong_function, 1), CUDA_ERROR_INVALID_PTX);
    FAILS(cuFuncLoad(wrong_function), CUDA_ERROR_INVALID_PTX);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, wrong_function, 32, 0), CUDA_ERROR_INVALID_PTX);
    CHECK(state_of(wrong_function) == CU_FUNCTION_LOADING_STATE_UNLOADED);
    OK(launch(function, 5));
    CHECK(state_of(function) == CU_FUNCTION_LOADING_STATE_LOADED);
    CHECK(total_of(library) == 5);
    OK(cuLibraryUnload(library));
    FAILS(cuLibraryLoadData(&library, HEAD ".visible .entry cut() {\n", NULL, NULL, 0, NULL, NULL, 0),
          CUDA_ERROR_INVALID_PTX);
}

/* A limit that is set before the first use holds after it. */
static void attributes_before_use(CUdevice device)
{
    CUlibrary library;
    CUkernel add;
    CUfunction function;
    CUmoduleLoadingMode mode;
    int value;
    OK(cuModuleGetLoadingMode(&mode));
    CHECK(mode == CU_MODULE_LAZY_LOADING);
    OK(cuLibraryLoadData(&library, mixed, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&add, library, "add"));
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, add, device));
    OK(cuKernelGetFunction(&function, add));
    OK(cuFuncLoad(function));
    CHECK(state_of(function) == CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    CHECK(value == 60000);
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, add, device));
    CHECK(value == 60000);
    OK(cuLibraryUnload(library));
}

/* A module's kernels are compiled when it is loaded: the error, with its line, is that call's. */
static void module_with_a_wrong_kernel(void)
{
    CUmodule module;
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    FAILS(cuModuleLoadDataEx(&module, mixed, 2, options, values), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, BAD_LINE) && strstr(log, "wrong"));
    FAILS(cuModuleLoadData(&module, mixed), CUDA_ERROR_INVALID_PTX);
}

#define THREADS 8

struct task {
    CUcontext context;
    CUkernel kernel;
    pthread_barrier_t *together;
};

static void *use_first(void *argument)
{
    const struct task *task = argument;
    OK(cuCtxSetCurrent(task->context));
    pthread_barrier_wait(task->together);
    unsigned value = 1;
    void *pointers[] = {&value};
    OK(cuLaunchKernel((CUfunction)task->kernel, 1, 1, 1, 2, 1, 1, 0, CU_STREAM_PER_THREAD, pointers, NULL));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void threads(void)
{
    CUlibrary library;
    pthread_t thread[THREADS];
    pthread_barrier_t together;
    struct task task = {.together = &together};
    OK(cuCtxGetCurrent(&task.context));
    OK(cuLibraryLoadData(&library, mixed, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&task.kernel, library, "add"));
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&thread[i], NULL, use_first, &task));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(thread[i], NULL));
    pthread_barrier_destroy(&together);
    CHECK(total_of(library) == 2 * THREADS);
    OK(cuLibraryUnload(library));
}

int main(void)
{
    CUdevice device = start();
    only_in_software(device);
    library_with_a_wrong_kernel(device);
    attributes_before_use(device);
    module_with_a_wrong_kernel();
    threads();
    finish(device);
    return 0;
}
