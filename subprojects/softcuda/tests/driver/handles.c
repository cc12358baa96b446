/* Only on softcuda, where a vendor's driver may crash: handles that are gone or never were are refused. */
#include "check.h"
#include "kernels.h"

int main(void)
{
    CUdevice device = start();
    only_in_software(device);
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUfunction function, again;
    CUcontext other;
    char memory[64];
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamDestroy(stream));
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuStreamQuery((CUstream)memory), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    FAILS(cuStreamSynchronize((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(event));
    FAILS(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&function, module, "nothing"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuModuleUnload(module));
    FAILS(cuModuleGetFunction(&again, module, "nothing"), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxCreate(&other, NULL, 0, device));
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cuCtxDestroy(other));
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuCtxSetCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxDestroy((CUcontext)memory), CUDA_ERROR_INVALID_CONTEXT);
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUgraphNodeType type;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    FAILS(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphNodeGetType(node, &type), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphLaunch((CUgraphExec)graph, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    FAILS(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
    CUtexObject texture;
    FAILS(cuTexObjectCreate(&texture, NULL, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
    finish(device);
    return 0;
}
