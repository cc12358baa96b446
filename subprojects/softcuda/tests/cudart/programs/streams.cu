// Breaks if streams do not keep their order, if event waits do not order streams, or if events do not
// measure.
#include "check.h"

#include <atomic>
#include <vector>

__global__ void add_one(int *data, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += 1;
}

__global__ void copy(int *to, const int *from, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i];
}

static std::atomic<int> called;

static void CUDART_CB host_function(void *data)
{
    called += *(int *)data;
}

static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *data)
{
    if (status == cudaSuccess) called += *(int *)data;
}

int main()
{
    const int count = 4096, blocks = count / 256;
    int *a, *b, *host;
    CUDA(cudaMalloc(&a, count * sizeof(int)));
    CUDA(cudaMalloc(&b, count * sizeof(int)));
    CUDA(cudaMallocHost(&host, count * sizeof(int)));
    cudaStream_t first, second, third;
    int least, greatest;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithPriority(&third, cudaStreamNonBlocking, greatest));
    unsigned flags = 0;
    CUDA(cudaStreamGetFlags(second, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    int priority = 1;
    CUDA(cudaStreamGetPriority(third, &priority));
    CHECK(priority == greatest);
    cudaEvent_t start, middle, end;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
    CUDA(cudaEventCreate(&end));

    CUDA(cudaEventRecord(start, first));
    CUDA(cudaMemsetAsync(a, 0, count * sizeof(int), first));
    for (int i = 0; i < 10; i++) add_one<<<blocks, 256, 0, first>>>(a, count);
    CUDA(cudaEventRecord(middle, first));
    CUDA(cudaStreamWaitEvent(second, middle, 0));
    copy<<<blocks, 256, 0, second>>>(b, a, count);
    CUDA(cudaEventRecord(middle, second)); /* an event may be used again at once */
    CUDA(cudaStreamWaitEvent(first, middle, 0));
    for (int i = 0; i < 10; i++) add_one<<<blocks, 256, 0, first>>>(a, count);
    CUDA(cudaMemcpyAsync(host, b, count * sizeof(int), cudaMemcpyDeviceToHost, second));
    CUDA(cudaEventRecord(end, first));
    CUDA(cudaStreamSynchronize(second));
    for (int i = 0; i < count; i++) CHECK(host[i] == 10);
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventQuery(end));
    float milliseconds = -1.0f;
    CUDA(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0.0f && milliseconds < 10000.0f);
    CUDA_IS(cudaEventElapsedTime(&milliseconds, start, middle), cudaErrorInvalidResourceHandle);
    CUDA_IS(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    CUDA(cudaMemcpyAsync(host, a, count * sizeof(int), cudaMemcpyDeviceToHost, first));
    CUDA(cudaStreamSynchronize(first));
    CUDA(cudaStreamQuery(first));
    for (int i = 0; i < count; i++) CHECK(host[i] == 20);

    int one = 1, ten = 10;
    CUDA(cudaLaunchHostFunc(third, host_function, &one));
    CUDA(cudaStreamAddCallback(third, callback, &ten, 0));
    CUDA(cudaStreamSynchronize(third));
    CHECK(called == 11);

    /* The legacy stream waits for blocking streams and they for it. */
    add_one<<<blocks, 256, 0, first>>>(a, count);
    add_one<<<blocks, 256>>>(a, count);
    add_one<<<blocks, 256, 0, first>>>(a, count);
    CUDA(cudaMemcpy(host, a, count * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) CHECK(host[i] == 23);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(host, a, count * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) CHECK(host[i] == 23);

    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(middle));
    CUDA(cudaEventDestroy(end));
    CUDA(cudaStreamDestroy(first));
    CUDA(cudaStreamDestroy(second));
    CUDA(cudaStreamDestroy(third));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    return 0;
}
