/* Breaks if an executable graph does not stay what it was made from, or does not take the changes it is told.
 */
#include <pthread.h>

#include "check.h"
#include "kernels.h"

#define COUNT 256
#define BYTES (COUNT * sizeof(float))

static CUstream stream;
static CUmodule module;
static CUfunction affine, nothing;
static CUcontext context;
static CUdeviceptr a, b;

static CUDA_KERNEL_NODE_PARAMS describe(void **parameters)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = affine,
                                     .gridDimX = COUNT / 128,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 128,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = parameters};
}

static const unsigned elements = COUNT;
#define PARAMETERS(to, from, scale, bias)                                                                    \
    {                                                                                                        \
        &to, &from, (void *)&elements, &scale, &bias                                                         \
    }

/* a = value, then b = scale * a + bias */
struct two {
    CUgraph graph;
    CUgraphNode set, kernel;
};

static CUDA_MEMSET_NODE_PARAMS filling(float value)
{
    CUDA_MEMSET_NODE_PARAMS set = {.dst = a, .elementSize = 4, .width = COUNT, .height = 1};
    memcpy(&set.value, &value, sizeof value);
    return set;
}

static struct two make(float value, float scale, float bias)
{
    struct two two;
    CUDA_MEMSET_NODE_PARAMS set = filling(value);
    void *parameters[] = PARAMETERS(b, a, scale, bias);
    CUDA_KERNEL_NODE_PARAMS kernel = describe(parameters);
    OK(cuGraphCreate(&two.graph, 0));
    OK(cuGraphAddMemsetNode(&two.set, two.graph, NULL, 0, &set, context));
    OK(cuGraphAddKernelNode(&two.kernel, two.graph, &two.set, 1, &kernel));
    return two;
}

static float launched(CUgraphExec exec)
{
    float got[COUNT];
    OK(cuMemsetD8Async(b, 0, BYTES, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(got, b, BYTES));
    CHECK(got[0] == got[COUNT - 1]);
    return got[0];
}

static void nodes_of_exec(void)
{
    struct two two = make(1, 2, 3);
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, two.graph, 0));
    CHECK(launched(exec) == 5);
    /* The graph may change without the executable one, and the other way round. */
    CUDA_MEMSET_NODE_PARAMS set = filling(10);
    OK(cuGraphMemsetNodeSetParams(two.set, &set));
    CHECK(launched(exec) == 5);
    OK(cuGraphExecMemsetNodeSetParams(exec, two.set, &set, context));
    CHECK(launched(exec) == 23);
    float scale = 1, bias = 1;
    void *parameters[] = PARAMETERS(b, a, scale, bias);
    CUDA_KERNEL_NODE_PARAMS kernel = describe(parameters);
    OK(cuGraphExecKernelNodeSetParams(exec, two.kernel, &kernel));
    CHECK(launched(exec) == 11);
    CUDA_KERNEL_NODE_PARAMS old;
    OK(cuGraphKernelNodeGetParams(two.kernel, &old));
    CHECK(*(float *)old.kernelParams[4] == 3);
    kernel = (CUDA_KERNEL_NODE_PARAMS){nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL};
    OK(cuGraphExecKernelNodeSetParams(exec, two.kernel, &kernel));
    CHECK(launched(exec) == 0);
    set.height = 2;
    set.pitch = BYTES / 2;
    set.width = COUNT / 2;
    FAILS(cuGraphExecMemsetNodeSetParams(exec, two.set, &set, context), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGraphExecMemsetNodeSetParams(exec, two.kernel, &set, context), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(two.graph));
}

static void enabled(void)
{
    struct two two = make(1, 2, 3);
    CUgraphExec exec;
    CUgraphNode empty;
    unsigned is_enabled = 7;
    OK(cuGraphAddEmptyNode(&empty, two.graph, NULL, 0));
    OK(cuGraphInstantiate(&exec, two.graph, 0));
    OK(cuGraphNodeGetEnabled(exec, two.kernel, &is_enabled));
    CHECK(is_enabled == 1);
    OK(cuGraphNodeSetEnabled(exec, two.kernel, 0));
    OK(cuGraphNodeGetEnabled(exec, two.kernel, &is_enabled));
    CHECK(is_enabled == 0 && launched(exec) == 0);
    OK(cuGraphNodeSetEnabled(exec, two.kernel, 1));
    CHECK(launched(exec) == 5);
    FAILS(cuGraphNodeSetEnabled(exec, empty, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(two.graph));
}

static void update(void)
{
    struct two one = make(1, 2, 3), same = make(4, 5, 6);
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    OK(cuGraphInstantiate(&exec, one.graph, 0));
    OK(cuGraphExecUpdate(exec, same.graph, &info));
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && launched(exec) == 26);
    /* Nodes added in another order, in the same shape. */
    CUgraph turned;
    CUgraphNode set_node, kernel_node;
    float scale = 7, bias = 0;
    void *parameters[] = PARAMETERS(b, a, scale, bias);
    CUDA_KERNEL_NODE_PARAMS kernel = describe(parameters);
    CUDA_MEMSET_NODE_PARAMS set = filling(2);
    OK(cuGraphCreate(&turned, 0));
    OK(cuGraphAddKernelNode(&kernel_node, turned, NULL, 0, &kernel));
    OK(cuGraphAddMemsetNode(&set_node, turned, NULL, 0, &set, context));
    FAILS(cuGraphExecUpdate(exec, turned, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphAddDependencies(turned, &set_node, &kernel_node, NULL, 1));
    OK(cuGraphExecUpdate(exec, turned, &info));
    CHECK(launched(exec) == 14);
    OK(cuGraphRemoveDependencies(turned, &set_node, &kernel_node, NULL, 1));
    OK(cuGraphAddDependencies(turned, &kernel_node, &set_node, NULL, 1));
    FAILS(cuGraphExecUpdate(exec, turned, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    CHECK(info.errorNode == set_node || info.errorNode == kernel_node);
    OK(cuGraphAddEmptyNode(&set_node, turned, NULL, 0));
    FAILS(cuGraphExecUpdate(exec, turned, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !info.errorNode);
    CHECK(launched(exec) == 14); /* what failed changed nothing */
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(one.graph));
    OK(cuGraphDestroy(same.graph));
    OK(cuGraphDestroy(turned));
}

static void clones_and_children(void)
{
    struct two two = make(1, 2, 3);
    CUgraph clone, parent, inside;
    CUgraphNode found, child, none;
    CUgraphExec exec;
    OK(cuGraphClone(&clone, two.graph));
    OK(cuGraphNodeFindInClone(&found, two.set, clone));
    CHECK(found != two.set);
    FAILS(cuGraphNodeFindInClone(&none, found, clone), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMSET_NODE_PARAMS set = filling(2);
    OK(cuGraphMemsetNodeSetParams(found, &set));
    OK(cuGraphCreate(&parent, 0));
    OK(cuGraphAddChildGraphNode(&child, parent, NULL, 0, clone));
    OK(cuGraphDestroy(clone)); /* the child is a copy */
    OK(cuGraphChildGraphNodeGetGraph(child, &inside));
    FAILS(cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE);
    size_t count = 0;
    OK(cuGraphGetNodes(inside, NULL, &count));
    CHECK(count == 2);
    OK(cuGraphInstantiate(&exec, parent, 0));
    CHECK(launched(exec) == 7);
    OK(cuGraphExecChildGraphNodeSetParams(exec, child, two.graph));
    CHECK(launched(exec) == 5);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiate(&exec, two.graph, 0));
    CHECK(launched(exec) == 5); /* the clone's change was its own */
    OK(cuGraphDestroy(two.graph));
    CHECK(launched(exec) == 5); /* the graph is not needed any more */
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(parent));
}

/* Launches of one executable graph come one after the other, in whatever streams they are; what is queued
 * keeps the parameters that it was launched with, and may outlive the executable graph. */
static void relaunch(void)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUstream streams[2];
    CUevent events[2];
    float scale = 1, bias = 1, got[COUNT];
    void *parameters[] = PARAMETERS(b, b, scale, bias);
    CUDA_KERNEL_NODE_PARAMS kernel = describe(parameters);
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++) OK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    OK(cuMemsetD8(b, 0, BYTES));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 100; i++) OK(cuGraphLaunch(exec, streams[i % 2]));
    bias = 1000;
    OK(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
    OK(cuGraphLaunch(exec, streams[0]));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) OK(cuEventRecord(events[i], streams[i]));
    for (int i = 0; i < 2; i++) OK(cuStreamWaitEvent(stream, events[i], 0));
    OK(cuMemcpyDtoHAsync(got, b, BYTES, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(got[0] == 1100 && got[COUNT - 1] == 1100);
    for (int i = 0; i < 2; i++) OK(cuStreamDestroy(streams[i]));
    for (int i = 0; i < 2; i++) OK(cuEventDestroy(events[i]));
}

static void flags(void)
{
    struct two two = make(1, 2, 3);
    CUgraphExec exec;
    cuuint64_t got;
    CUDA_GRAPH_INSTANTIATE_PARAMS wanted = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                                     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
                                            .hUploadStream = stream};
    OK(cuGraphInstantiateWithParams(&exec, two.graph, &wanted));
    CHECK(wanted.result_out == CUDA_GRAPH_INSTANTIATE_SUCCESS && !wanted.hErrNode_out);
    OK(cuGraphExecGetFlags(exec, &got));
    CHECK(got == CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    OK(cuGraphUpload(exec, stream));
    CHECK(launched(exec) == 5);
    OK(cuGraphExecDestroy(exec));
    FAILS(cuGraphInstantiate(&exec, two.graph, 1u << 20), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(two.graph));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int destroyed;

static void CUDA_CB destroy(void *data)
{
    pthread_mutex_lock(&lock);
    destroyed += *(int *)data;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

/* An object lives as long as a graph, an executable one or a launch needs it. */
static void user_objects(void)
{
    int one = 1;
    struct two two = make(1, 2, 3);
    CUuserObject object;
    CUgraphExec exec;
    OK(cuUserObjectCreate(&object, &one, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphRetainUserObject(two.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuUserObjectRetain(object, 2));
    OK(cuUserObjectRelease(object, 2));
    OK(cuGraphInstantiate(&exec, two.graph, 0));
    OK(cuGraphDestroy(two.graph));
    OK(cuGraphLaunch(exec, stream));
    pthread_mutex_lock(&lock);
    CHECK(destroyed == 0);
    pthread_mutex_unlock(&lock);
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    pthread_mutex_lock(&lock);
    while (!destroyed) pthread_cond_wait(&changed, &lock);
    CHECK(destroyed == 1);
    pthread_mutex_unlock(&lock);
    FAILS(cuUserObjectCreate(&object, &one, destroy, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          CUDA_ERROR_INVALID_VALUE);
}

static void drawing(void)
{
    struct two two = make(1, 2, 3);
    char path[] = "/tmp/graphXXXXXX", text[4096] = "";
    int file = mkstemp(path);
    CHECK(file >= 0);
    OK(cuGraphDebugDotPrint(two.graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    FILE *written = fopen(path, "r");
    CHECK(written && fread(text, 1, sizeof text - 1, written) > 0);
    CHECK(strstr(text, "digraph") && strstr(text, "affine") && strstr(text, "->"));
    fclose(written);
    remove(path);
    OK(cuGraphDestroy(two.graph));
}

int main(void)
{
    CUdevice device = start();
    OK(cuCtxGetCurrent(&context));
    OK(cuModuleLoadData(&module, kernels));
    OK(cuModuleGetFunction(&affine, module, "affine"));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemAlloc(&b, BYTES));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    nodes_of_exec();
    enabled();
    update();
    clones_and_children();
    relaunch();
    flags();
    user_objects();
    drawing();
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    OK(cuModuleUnload(module));
    finish(device);
    return 0;
}
