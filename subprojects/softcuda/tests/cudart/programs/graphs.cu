// Breaks if what a stream captured, or a graph built by hand, does not do the same as its launches.
#include "check.h"

__global__ void add(int *data, int by)
{
    data[threadIdx.x] += by;
}

int main()
{
    int *data, host[32];
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUDA(cudaMalloc(&data, sizeof host));
    CUDA(cudaStreamCreate(&stream));
    const cudaError_t begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    if (begun == cudaErrorNotSupported) skip("no stream capture");
    CUDA(begun);
    CUDA(cudaMemsetAsync(data, 0, sizeof host, stream));
    for (int i = 1; i <= 4; i++) add<<<1, 32, 0, stream>>>(data, i);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int value : host) CHECK(value == 10);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));

    int by = 5;
    void *arguments[] = {&data, &by};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)add;
    kernel.gridDim = 1;
    kernel.blockDim = 32;
    kernel.kernelParams = arguments;
    cudaGraphNode_t first, second, third;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
    CUDA(cudaGraphAddKernelNode(&second, graph, &first, 1, &kernel));
    CUDA(
        cudaGraphAddMemcpyNode1D(&third, graph, &second, 1, host, data, sizeof host, cudaMemcpyDeviceToHost));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int value : host) CHECK(value == 20);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(data));
    return 0;
}
