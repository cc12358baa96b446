#include "mlp_device.h"

#include <stdio.h>
#include <stdlib.h>

static const char kernels_ptx[] =
#include "mlp_kernels.ptx.inc"
    ;

static const char *const kernel_names[] = {
#define KERNEL_NAME(name) #name,
    KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

void check(CUresult result, const char *what)
{
    const char *text = NULL;
    if (result == CUDA_SUCCESS) return;
    if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "unknown error";
    fprintf(stderr, "mlp: %s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

void *host_allocate(size_t bytes)
{
    void *data = calloc(1, bytes ? bytes : 1);
    if (data) return data;
    fprintf(stderr, "mlp: out of host memory: needed %zu bytes\n", bytes);
    exit(EXIT_OUT_OF_MEMORY);
}

void device_start(struct device *device, int stream_count)
{
    *device = (struct device){.stream_count = stream_count};
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device->number, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&device->context, device->number), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(device->context), "cuCtxSetCurrent");
    check(cuModuleLoadData(&device->module, kernels_ptx), "cuModuleLoadData");
    for (int k = 0; k < KERNEL_COUNT; k++)
        check(cuModuleGetFunction(&device->kernels[k], device->module, kernel_names[k]), kernel_names[k]);
    for (int s = 0; s < stream_count; s++) {
        check(cuStreamCreate(&device->streams[s], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        check(cuEventCreate(&device->reached[s], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    }
}

void device_finish(struct device *device)
{
    for (int s = 0; s < device->stream_count; s++) {
        check(cuEventDestroy(device->reached[s]), "cuEventDestroy");
        check(cuStreamDestroy(device->streams[s]), "cuStreamDestroy");
    }
    check(cuModuleUnload(device->module), "cuModuleUnload");
    check(cuDevicePrimaryCtxRelease(device->number), "cuDevicePrimaryCtxRelease");
}

void tensor_take(struct device *device, struct tensor *tensor, size_t bytes, int stream, const char *name)
{
    const CUresult result = cuMemAllocAsync(&tensor->data, bytes, device->streams[stream]);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        fprintf(stderr, "mlp: out of device memory: needed %zu bytes for %s (allocated so far %zu bytes)\n",
                bytes, name, device->live_bytes);
        exit(EXIT_OUT_OF_MEMORY);
    }
    check(result, "cuMemAllocAsync");
    tensor->bytes = bytes;
    device->live_bytes += bytes;
    if (device->live_bytes > device->peak_bytes) device->peak_bytes = device->live_bytes;
}

void tensor_drop(struct device *device, struct tensor *tensor, int stream)
{
    if (!tensor->data) return;
    check(cuMemFreeAsync(tensor->data, device->streams[stream]), "cuMemFreeAsync");
    device->live_bytes -= tensor->bytes;
    tensor->data = 0;
}

void order_streams(struct device *device, int earlier, int later)
{
    if (earlier == later || device->building) return;
    check(cuEventRecord(device->reached[earlier], device->streams[earlier]), "cuEventRecord");
    check(cuStreamWaitEvent(device->streams[later], device->reached[earlier], 0), "cuStreamWaitEvent");
}

static void add_node(struct device *device, enum kernel kernel, struct grid grid, void **extra)
{
    const CUDA_KERNEL_NODE_PARAMS node = {.func = device->kernels[kernel],
                                          .gridDimX = grid.blocks_x,
                                          .gridDimY = grid.blocks_y,
                                          .gridDimZ = 1,
                                          .blockDimX = grid.threads_x,
                                          .blockDimY = grid.threads_y,
                                          .blockDimZ = 1,
                                          .extra = extra};
    CUgraphNode added;
    check(
        cuGraphAddKernelNode(&added, device->building, &device->last_node, device->last_node != NULL, &node),
        kernel_names[kernel]);
    device->last_node = added;
}

void launch(struct device *device, int stream, enum kernel kernel, struct grid grid, const void *parameters,
            size_t bytes)
{
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    if (device->building) {
        add_node(device, kernel, grid, extra);
        return;
    }
    check(cuLaunchKernel(device->kernels[kernel], grid.blocks_x, grid.blocks_y, 1, grid.threads_x,
                         grid.threads_y, 1, 0, device->streams[stream], NULL, extra),
          kernel_names[kernel]);
}

struct grid grid_over(size_t count)
{
    return (struct grid){(unsigned)((count + 255) / 256), 1, 256, 1};
}
