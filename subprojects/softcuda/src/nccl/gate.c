#include "gate.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "driver/log.h"
#include "kernels.h"

#define DRIVER(X)                                                                                            \
    X(cuInit, 2000)                                                                                          \
    X(cuGetExportTable, 3000)                                                                                \
    X(cuLibraryLoadData, 12000)                                                                              \
    X(cuLibraryGetKernel, 12000)                                                                             \
    X(cuDeviceGet, 2000)                                                                                     \
    X(cuDeviceGetCount, 2000)                                                                                \
    X(cuDevicePrimaryCtxRetain, 7000)                                                                        \
    X(cuCtxGetCurrent, 4000)                                                                                 \
    X(cuCtxSetCurrent, 4000)                                                                                 \
    X(cuCtxGetDevice, 2000)                                                                                  \
    X(cuLaunchKernel, 4000)                                                                                  \
    X(cuStreamGetCaptureInfo, 10010)                                                                         \
    X(cuStreamWaitEvent, 3020)                                                                               \
    X(cuEventCreate, 2000)                                                                                   \
    X(cuEventDestroy, 4000)                                                                                  \
    X(cuEventRecord, 2000)                                                                                   \
    X(cuEventSynchronize, 2000)                                                                              \
    X(cuMemAlloc, 3020)                                                                                      \
    X(cuMemFree, 3020)

static struct {
#define FIELD(name, version) PFN_##name##_v##version name;
    DRIVER(FIELD)
#undef FIELD
} driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static ncclResult_t opened;
static const struct sc_native_table *native;
static CUkernel handles[SC_KERNELS_MOST];

static ncclResult_t result_of(CUresult result)
{
    return result == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

static bool find_functions(PFN_cuGetProcAddress_v12000 resolve)
{
    bool all = true;
    CUdriverProcAddressQueryResult found;
    void *function;
    /* The name is passed as text, because cuda.h defines some names as macros. */
#define FIND(name, version)                                                                                  \
    function = NULL;                                                                                         \
    if (resolve(#name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &found) != CUDA_SUCCESS)             \
        function = NULL;                                                                                     \
    all = all && function;                                                                                   \
    memcpy(&driver.name, &function, sizeof function);
    DRIVER(FIND)
#undef FIND
    return all;
}

static ncclResult_t load_kernels(void)
{
    CUuuid id = {.bytes = SC_NATIVE_TABLE_ID};
    const void *table = NULL;
    const struct sc_native_image *image = sc_kernels_image();
    if (driver.cuGetExportTable(&table, &id) == CUDA_SUCCESS) native = table;
    if (!native || native->bytes < sizeof *native || !native->trust(image)) {
        sc_log("NCCL: this is softcuda's, which runs on softcuda's driver only");
        return ncclSystemError;
    }
    CUlibrary library;
    CUresult result = driver.cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0);
    for (size_t i = 0; i < image->kernel_count && !result; i++)
        result = driver.cuLibraryGetKernel(&handles[i], library, image->kernels[i].name);
    return result_of(result);
}

static void open_driver(void)
{
    opened = ncclUnhandledCudaError;
    /* Never closed: other threads may execute in it until the process ends. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    PFN_cuGetProcAddress_v12000 resolve;
    memcpy(&resolve, &found, sizeof resolve);
    if (!resolve || !find_functions(resolve)) {
        sc_log("NCCL: no driver from 12.0 on");
        return;
    }
    opened = result_of(driver.cuInit(0));
    if (!opened) opened = load_kernels();
}

ncclResult_t sc_gate_open(void)
{
    pthread_once(&once, open_driver);
    if (opened) return opened;
    CUcontext context = NULL, before;
    CUresult result = driver.cuCtxGetCurrent(&context);
    if (result || context) return result_of(result);
    return sc_gate_enter_device(0, &before);
}

double sc_gate_peer_bytes_per_ns(void)
{
    return native->peer_bytes_per_ns;
}

uint64_t sc_gate_peer_latency_ns(void)
{
    return native->peer_latency_ns;
}

ncclResult_t sc_gate_context(CUcontext *context, CUdevice *device)
{
    CUresult result = driver.cuCtxGetCurrent(context);
    return result_of(result ? result : driver.cuCtxGetDevice(device));
}

ncclResult_t sc_gate_enter(CUcontext context, CUcontext *before)
{
    CUresult result = driver.cuCtxGetCurrent(before);
    if (!result && *before != context) result = driver.cuCtxSetCurrent(context);
    return result_of(result);
}

ncclResult_t sc_gate_enter_device(int device, CUcontext *before)
{
    CUdevice handle;
    CUcontext context;
    CUresult result = driver.cuDeviceGet(&handle, device);
    /* Retained until the process ends, as in the Runtime API. */
    if (!result) result = driver.cuDevicePrimaryCtxRetain(&context, handle);
    return result ? result_of(result) : sc_gate_enter(context, before);
}

void sc_gate_leave(CUcontext before)
{
    CUcontext context;
    if (driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != before) driver.cuCtxSetCurrent(before);
}

ncclResult_t sc_gate_device_count(int *count)
{
    return result_of(driver.cuDeviceGetCount(count));
}

ncclResult_t sc_gate_launch(unsigned index, CUstream stream, const void *parameters, size_t bytes)
{
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUfunction function = (CUfunction)handles[index];
    return result_of(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
}

ncclResult_t sc_gate_capture(CUstream stream, cuuint64_t *capture)
{
    CUstreamCaptureStatus status;
    CUresult result = driver.cuStreamGetCaptureInfo(stream, &status, capture);
    if (!result && status == CU_STREAM_CAPTURE_STATUS_NONE) *capture = 0;
    return result_of(result);
}

ncclResult_t sc_gate_event_create(CUevent *event)
{
    return result_of(driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
}

void sc_gate_event_destroy(CUevent event)
{
    if (event) driver.cuEventDestroy(event);
}

ncclResult_t sc_gate_event_record(CUevent event, CUstream stream)
{
    return result_of(driver.cuEventRecord(event, stream));
}

ncclResult_t sc_gate_event_wait(CUstream stream, CUevent event)
{
    return result_of(driver.cuStreamWaitEvent(stream, event, 0));
}

ncclResult_t sc_gate_event_synchronize(CUevent event)
{
    return result_of(driver.cuEventSynchronize(event));
}

ncclResult_t sc_gate_allocate(void **memory, size_t bytes)
{
    CUdeviceptr address = 0;
    CUresult result = driver.cuMemAlloc(&address, bytes);
    if (!result) *memory = (void *)address;
    return result_of(result);
}

ncclResult_t sc_gate_free(void *memory)
{
    return result_of(driver.cuMemFree((CUdeviceptr)memory));
}
