// Breaks if nodes that the runtime describes - kernels, copies of all forms, symbols, fills - do not reach
// the device as they were meant, or are not told back as they were given.
#include "check.h"

constexpr int count = 64;
constexpr size_t bytes = count * sizeof(int);

__device__ int variable[count];

__global__ void add(int *data, int by)
{
    data[threadIdx.x] += by;
}

__global__ void multiply(int *data, int by)
{
    data[threadIdx.x] *= by;
}

static int *data;
static cudaStream_t stream;

static cudaKernelNodeParams kernel(void (*function)(int *, int), void **arguments)
{
    cudaKernelNodeParams params = {};
    params.func = (void *)function;
    params.gridDim = 1;
    params.blockDim = count;
    params.kernelParams = arguments;
    return params;
}

static void run(cudaGraphExec_t exec)
{
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void symbols_and_lines()
{
    int in[count], out[count] = {};
    for (int i = 0; i < count; i++) in[i] = i;
    int by = 3;
    void *arguments[] = {&data, &by};
    cudaGraph_t graph;
    cudaGraphNode_t nodes[5];
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, nullptr, 0, variable, in, bytes, 0,
                                        cudaMemcpyHostToDevice));
    CUDA(cudaGraphAddMemcpyNodeFromSymbol(&nodes[1], graph, &nodes[0], 1, data, variable, bytes, 0,
                                          cudaMemcpyDeviceToDevice));
    cudaKernelNodeParams params = kernel(add, arguments);
    CUDA(cudaGraphAddKernelNode(&nodes[2], graph, &nodes[1], 1, &params));
    CUDA(cudaGraphAddMemcpyNode1D(&nodes[3], graph, &nodes[2], 1, out, data, bytes, cudaMemcpyDeviceToHost));
    cudaKernelNodeParams got;
    CUDA(cudaGraphKernelNodeGetParams(nodes[2], &got));
    CHECK(got.func == (void *)add && got.blockDim.x == count && *(int *)got.kernelParams[1] == 3);
    cudaMemcpy3DParms copy;
    CUDA(cudaGraphMemcpyNodeGetParams(nodes[3], &copy));
    CHECK(copy.srcPtr.ptr == data && copy.dstPtr.ptr == out && copy.extent.width == bytes &&
          copy.kind == cudaMemcpyDeviceToHost);
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    run(exec);
    for (int i = 0; i < count; i++) CHECK(out[i] == i + 3);
    params = kernel(multiply, arguments);
    CUDA(cudaGraphExecKernelNodeSetParams(exec, nodes[2], &params));
    run(exec);
    for (int i = 0; i < count; i++) CHECK(out[i] == i * 3);
    CUDA(cudaGraphNodeSetEnabled(exec, nodes[2], 0));
    run(exec);
    for (int i = 0; i < count; i++) CHECK(out[i] == i);
    int elsewhere[count] = {};
    CUDA(cudaGraphExecMemcpyNodeSetParams1D(exec, nodes[3], elsewhere, data, bytes, cudaMemcpyDeviceToHost));
    run(exec);
    CHECK(elsewhere[5] == 5);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

static void any_node()
{
    int out[count] = {}, by = 4;
    void *arguments[] = {&data, &by};
    cudaGraph_t graph;
    cudaGraphNode_t fill, added, copied;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeMemset;
    params.memset.dst = data;
    params.memset.elementSize = 1;
    params.memset.width = bytes;
    params.memset.height = 1;
    CUDA(cudaGraphAddNode(&fill, graph, nullptr, nullptr, 0, &params));
    params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)add;
    params.kernel.gridDim = 1;
    params.kernel.blockDim = count;
    params.kernel.kernelParams = arguments;
    CUDA(cudaGraphAddNode(&added, graph, &fill, nullptr, 1, &params));
    CUDA(cudaGraphAddMemcpyNode1D(&copied, graph, &added, 1, out, data, bytes, cudaMemcpyDeviceToHost));
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    run(exec);
    CHECK(out[0] == 4 && out[count - 1] == 4);
    by = 9;
    CUDA(cudaGraphExecNodeSetParams(exec, added, &params));
    run(exec);
    CHECK(out[0] == 9 && out[count - 1] == 9);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

// The usual way of training loops: capture each step, update the executable graph, make a new one where that
// fails.
static void capture_and_update()
{
    int out[count] = {};
    cudaStream_t side;
    cudaEvent_t forked, joined;
    cudaGraphExec_t exec = nullptr;
    CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    int *other;
    CUDA(cudaMalloc(&other, bytes));
    for (int step = 1; step <= 4; step++) {
        cudaGraph_t graph;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CUDA(cudaMemsetAsync(data, 0, bytes, stream));
        CUDA(cudaEventRecord(forked, stream));
        CUDA(cudaStreamWaitEvent(side, forked, 0));
        CUDA(cudaMemsetAsync(other, 0, bytes, side));
        add<<<1, count, 0, side>>>(other, 100 * step);
        add<<<1, count, 0, stream>>>(data, step);
        CUDA(cudaEventRecord(joined, side));
        CUDA(cudaStreamWaitEvent(stream, joined, 0));
        if (step > 2) multiply<<<1, count, 0, stream>>>(data, 10);
        CUDA(cudaMemcpyAsync(out, data, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamEndCapture(stream, &graph));
        cudaGraphExecUpdateResultInfo info;
        cudaError_t updated =
            exec ? cudaGraphExecUpdate(exec, graph, &info) : cudaErrorGraphExecUpdateFailure;
        CHECK(updated == (step == 1 || step == 3 ? cudaErrorGraphExecUpdateFailure : cudaSuccess));
        cudaGetLastError();
        if (updated != cudaSuccess) {
            if (exec) CUDA(cudaGraphExecDestroy(exec));
            CUDA(cudaGraphInstantiate(&exec, graph, 0));
        }
        CUDA(cudaGraphDestroy(graph));
        run(exec);
        CHECK(out[0] == (step > 2 ? 10 * step : step) && out[count - 1] == out[0]);
        CUDA(cudaMemcpy(out, other, bytes, cudaMemcpyDeviceToHost));
        CHECK(out[0] == 100 * step);
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaFree(other));
    CUDA(cudaEventDestroy(forked));
    CUDA(cudaEventDestroy(joined));
    CUDA(cudaStreamDestroy(side));
}

static void forbidden()
{
    void *memory;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_IS(cudaMalloc(&memory, 64), cudaErrorStreamCaptureUnsupported);
    CUDA_IS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK(!graph);
    cudaGetLastError();
}

int main()
{
    CUDA(cudaMalloc(&data, bytes));
    CUDA(cudaStreamCreate(&stream));
    symbols_and_lines();
    any_node();
    capture_and_update();
    forbidden();
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(data));
    return 0;
}
