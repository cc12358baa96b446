/* After a kernel's fault every call returns the fault's error, with sluice as without, until the context
 * ends. */
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES MIB
#define VIRTUAL_BYTES (768 * MIB)

/* Stores a word at the address `at`; at 1, traps instead. */
static const char ptx[] = ".version 7.0\n"
                          ".target sm_52\n"
                          ".address_size 64\n"
                          ".visible .entry store(.param .u64 at)\n"
                          "{\n"
                          "  .reg .u64 %a; .reg .u32 %v; .reg .pred %p;\n"
                          "  ld.param.u64 %a, [at];\n"
                          "  mov.u32 %v, 5;\n"
                          "  setp.ne.u64 %p, %a, 1;\n"
                          "  @%p bra on;\n"
                          "  trap;\n"
                          "on:\n"
                          "  st.global.u32 [%a], %v;\n"
                          "  ret;\n"
                          "}\n";

static CUfunction store;
static CUstream stream;
static CUevent event;
static CUmemoryPool pool;
static CUdeviceptr plain, ordered, managed;
static void *pinned;
static CUresult error; /* that is expected of every call */
#define fails(call) assert_int_equal(call, error)

static void set_up(void)
{
    CUmodule module;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    assert_int_equal(use_device(NULL), 0);
    ok(cuModuleLoadData(&module, ptx));
    ok(cuModuleGetFunction(&store, module, "store"));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuMemPoolCreate(&pool, &properties));
    ok(cuMemAlloc(&plain, BYTES));
    ok(cuMemAllocAsync(&ordered, BYTES, stream));
    ok(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemAllocHost(&pinned, BYTES));
    ok(cuEventRecord(event, stream));
    ok(cuCtxSynchronize());
}

static void launch(CUdeviceptr at)
{
    void *parameters[] = {&at};
    ok(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static void memory_fails(void)
{
    CUdeviceptr address = 7;
    size_t pitch = 7, free_bytes = 7, total_bytes = 7;
    void *host = NULL;
    fails(cuMemAlloc(&address, BYTES));
    fails(cuMemAllocPitch(&address, &pitch, 100, 100, 4));
    fails(cuMemAllocAsync(&address, BYTES, stream));
    fails(cuMemAllocAsync(&address, BYTES, NULL));
    fails(cuMemAllocFromPoolAsync(&address, BYTES, pool, stream));
    fails(cuMemAllocManaged(&address, BYTES, CU_MEM_ATTACH_GLOBAL));
    fails(cuMemGetInfo(&free_bytes, &total_bytes));
    fails(cuMemAllocHost(&host, BYTES));
    fails(cuMemHostAlloc(&host, BYTES, 0));
    fails(cuMemFreeHost(pinned));
    fails(cuMemFreeAsync(ordered, stream));
    fails(cuMemFreeAsync(plain, stream));
    fails(cuMemFree(plain));
    fails(cuMemFree(ordered));
    fails(cuMemFree(managed));
    assert_true(address == 7 && pitch == 7 && free_bytes == 7 && total_bytes == 7);
}

static void questions_fail(void)
{
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    CUmemLocation host = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUipcMemHandle handle;
    CUdeviceptr base;
    unsigned type, on = 1;
    size_t bytes;
    void *values[] = {&type}, *as_host = (void *)(uintptr_t)plain; /* NOLINT(performance-no-int-to-ptr) */
    fails(cuPointerGetAttribute(&type, attribute, plain));
    fails(cuPointerGetAttributes(1, &attribute, values, ordered));
    fails(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
    fails(cuMemGetAddressRange(&base, &bytes, plain + 5));
    fails(cuIpcGetMemHandle(&handle, plain));
    fails(cuMemAdvise(plain, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    fails(cuMemAdvise(managed, BYTES, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    fails(cuMemPrefetchAsync(plain, BYTES, host, 0, stream));
    fails(cuMemRangeGetAttribute(&type, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, BYTES));
    fails(cuMemHostRegister(as_host, 4096, 0));
}

static void work_fails(void)
{
    CUdeviceptr at = plain;
    CUmodule module;
    CUstream next;
    void *parameters[] = {&at};
    uint32_t word;
    fails(cuMemsetD8(plain, 9, 4));
    fails(cuMemsetD32Async(ordered, 9, 1, stream));
    fails(cuMemsetD8(plain, 9, BYTES + 1)); /* also beyond its end */
    fails(cuMemcpyDtoH(&word, plain, 4));
    fails(cuMemcpyDtoH(&word, plain + BYTES - 1, 4));
    fails(cuMemcpyHtoDAsync(plain, &word, 4, stream));
    fails(cuMemcpyDtoD(plain, ordered, 64));
    fails(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    fails(cuEventRecord(event, stream));
    fails(cuEventQuery(event));
    fails(cuStreamWaitEvent(stream, event, 0));
    fails(cuStreamQuery(stream));
    fails(cuStreamSynchronize(stream));
    fails(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fails(cuStreamCreate(&next, CU_STREAM_NON_BLOCKING));
    fails(cuModuleLoadData(&module, ptx));
    fails(cuCtxSynchronize());
}

static void *free_without_a_context(void *argument)
{
    (void)argument;
    return (void *)(uintptr_t)cuMemFree(plain); /* NOLINT(performance-no-int-to-ptr) */
}

static bool is_managing(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "libsluice") && !getenv("SLUICE_POLICY");
}

/* `at`: where the kernel stores. The first call behind it finds out, whichever it is. */
static void after(CUdeviceptr at, CUresult expected)
{
    pthread_t thread;
    void *freed;
    set_up();
    error = expected;
    launch(at);
    fails(cuStreamSynchronize(stream));
    for (int round = 0; round < 2; round++) {
        memory_fails();
        questions_fail();
        work_fails();
    }
    assert_int_equal(pthread_create(&thread, NULL, free_without_a_context, NULL), 0);
    pthread_join(thread, &freed);
    fails((CUresult)(uintptr_t)freed);
    ok(cuDevicePrimaryCtxReset(0));
    ok(cuCtxSetCurrent(NULL));
    set_up();
    if (is_managing()) assert_true(managed_here(VIRTUAL_BYTES));
    launch(plain);
    ok(cuCtxSynchronize());
    ok(cuMemFree(plain));
    ok(cuDevicePrimaryCtxReset(0));
}

static void an_illegal_address(void **state)
{
    (void)state;
    after(0x10, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_misaligned_address(void **state)
{
    (void)state;
    after(0x7ff000001002, CUDA_ERROR_MISALIGNED_ADDRESS);
}

static void a_trap(void **state)
{
    (void)state;
    after(1, CUDA_ERROR_LAUNCH_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_illegal_address),
        cmocka_unit_test(a_misaligned_address),
        cmocka_unit_test(a_trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
