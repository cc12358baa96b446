#include "graph_walk.h"

#include <stdlib.h>

#include "base/log.h"
#include "device/cuda_call.h"
#include "device/backend_cuda.h"
#include "driver.h"
#include "work.h"

/* A node is queried once for all launches of its graph, because its handle may be invalid later. A failed
 * call, for example for lack of host memory, is repeated once. */
#define ANSWERED(call) ((call) == CUDA_SUCCESS || (call) == CUDA_SUCCESS)

struct sl_launch sl_graph_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
    struct sl_launch launch = {.kind = SL_LAUNCH_KERNEL,
                               .function = parameters->func ? (uintptr_t)parameters->func
                                                            : (uintptr_t)parameters->kern,
                               .grid = {parameters->gridDimX, parameters->gridDimY, parameters->gridDimZ},
                               .block = {parameters->blockDimX, parameters->blockDimY, parameters->blockDimZ},
                               .shared_bytes = parameters->sharedMemBytes,
                               .parameters = parameters->kernelParams};
    if (!parameters->kernelParams) sl_work_read_extra(&launch, parameters->extra);
    return launch;
}

struct sl_launch sl_graph_copy(const CUDA_MEMCPY3D *parameters)
{
    struct sl_work work = {.launch = {.kind = SL_LAUNCH_COPY}};
    sl_work_copy_spans(&work, parameters);
    return work.launch;
}

struct sl_launch sl_graph_set(const CUDA_MEMSET_NODE_PARAMS *parameters)
{
    struct sl_work work = {.launch = {.kind = SL_LAUNCH_MEMSET}};
    sl_work_span(
        &work, parameters->dst,
        sl_work_rows_bytes(parameters->pitch, parameters->elementSize, parameters->width, parameters->height),
        true);
    return work.launch;
}

CUDA_KERNEL_NODE_PARAMS_v2 sl_graph_kernel_of(const CUgraphNodeParams *parameters)
{
    const __typeof__(parameters->kernel) *kernel = &parameters->kernel;
    return (CUDA_KERNEL_NODE_PARAMS_v2){.func = kernel->func,
                                        .gridDimX = kernel->gridDimX,
                                        .gridDimY = kernel->gridDimY,
                                        .gridDimZ = kernel->gridDimZ,
                                        .blockDimX = kernel->blockDimX,
                                        .blockDimY = kernel->blockDimY,
                                        .blockDimZ = kernel->blockDimZ,
                                        .sharedMemBytes = kernel->sharedMemBytes,
                                        .kernelParams = kernel->kernelParams,
                                        .extra = kernel->extra,
                                        .kern = kernel->kern,
                                        .ctx = kernel->ctx};
}

CUDA_MEMSET_NODE_PARAMS sl_graph_set_of(const CUgraphNodeParams *parameters)
{
    const __typeof__(parameters->memset) *set = &parameters->memset;
    return (CUDA_MEMSET_NODE_PARAMS){.dst = set->dst,
                                     .pitch = set->pitch,
                                     .value = set->value,
                                     .elementSize = set->elementSize,
                                     .width = set->width,
                                     .height = set->height};
}

bool sl_graph_work(const CUgraphNodeParams *parameters, struct sl_launch *out)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMSET_NODE_PARAMS set;
    switch (parameters->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        kernel = sl_graph_kernel_of(parameters);
        *out = sl_graph_kernel(&kernel);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        *out = sl_graph_copy(&parameters->memcpy.copyParams);
        return true;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        set = sl_graph_set_of(parameters);
        *out = sl_graph_set(&set);
        return true;
    default:
        return false;
    }
}

/* The query for a kernel's parameters must not disturb a capture. */
struct sl_footprint *sl_graph_note(const struct sl_launch *launch)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUstreamCaptureMode before;
    if (sl_cuda_set_capture_mode(driver, CU_STREAM_CAPTURE_MODE_RELAXED, &before) != CUDA_SUCCESS)
        return NULL;
    struct sl_footprint *footprint = sl_runtime_footprint(launch);
    sl_cuda_set_capture_mode(driver, before, &before);
    return footprint;
}

static struct sl_graph_node *append(struct sl_graph_nodes *nodes)
{
    if (nodes->count == nodes->capacity) {
        size_t wanted = nodes->capacity ? 2 * nodes->capacity : 64;
        struct sl_graph_node *larger = realloc(nodes->list, wanted * sizeof *larger);
        if (!larger) return NULL;
        nodes->list = larger;
        nodes->capacity = wanted;
    }
    nodes->list[nodes->count] = (struct sl_graph_node){0};
    return &nodes->list[nodes->count++];
}

/* Requests the parameters of a node and records what it touches. False: unknown. */
static bool note(struct sl_graph_node *node)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS set;
    CUDA_MEM_ALLOC_NODE_PARAMS memory;
    struct sl_launch launch;
    switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        if (!ANSWERED(driver->graph_kernel_node_get_params(node->handle, &kernel))) return false;
        /* A captured launch of a CUkernel may become a node of its CUfunction. */
        sl_handle_note_unless_known((uintptr_t)kernel.func, SL_HANDLE_FUNCTION);
        launch = sl_graph_kernel(&kernel);
        node->function = (CUfunction)launch.function;
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (!ANSWERED(driver->graph_memcpy_node_get_params(node->handle, &copy))) return false;
        launch = sl_graph_copy(&copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (!ANSWERED(driver->graph_memset_node_get_params(node->handle, &set))) return false;
        launch = sl_graph_set(&set);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (!ANSWERED(driver->graph_mem_alloc_node_get_params(node->handle, &memory))) return false;
        node->allocated_bytes = memory.bytesize;
        return true;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        sl_log(SL_LOG_INFO,
               "a graph has a node of kind %d, which is not followed; what it uses stays in host memory",
               (int)node->type);
        return false;
    default: /* events, host functions, semaphores, frees */
        return true;
    }
    node->footprint = sl_graph_note(&launch);
    return node->footprint != NULL;
}

static bool walk_node(struct sl_graph_nodes *nodes, CUgraphNode handle)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUgraph child;
    struct sl_graph_node *node = append(nodes);
    if (!node) return false;
    node->handle = handle;
    if (!ANSWERED(driver->graph_node_get_type(handle, &node->type))) {
        node->type = CU_GRAPH_NODE_TYPE_EMPTY;
        node->unknown = true;
        return true;
    }
    if (node->type != CU_GRAPH_NODE_TYPE_GRAPH) {
        node->unknown = !note(node);
        return true;
    }
    if (!ANSWERED(driver->graph_child_graph_node_get_graph(handle, &child))) {
        node->unknown = true;
        return true;
    }
    size_t at = nodes->count - 1;
    bool whole = sl_graph_walk(nodes, child);
    nodes->list[at].inside = nodes->count - at - 1;
    return whole;
}

bool sl_graph_walk(struct sl_graph_nodes *nodes, CUgraph graph)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    size_t count = 0;
    if (driver->graph_get_nodes(graph, NULL, &count) != CUDA_SUCCESS) return false;
    CUgraphNode *handles = malloc((count + 1) * sizeof *handles);
    bool whole = handles && (!count || driver->graph_get_nodes(graph, handles, &count) == CUDA_SUCCESS);
    if (!whole) count = 0;
    for (size_t i = 0; i < count; i++) whole &= walk_node(nodes, handles[i]);
    free(handles);
    return whole;
}

void sl_graph_nodes_drop(struct sl_graph_nodes *nodes, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        free(nodes->list[i].footprint);
        nodes->list[i].footprint = NULL;
        nodes->list[i].unknown = false;
    }
}

void sl_graph_nodes_free(struct sl_graph_nodes *nodes)
{
    sl_graph_nodes_drop(nodes, 0, nodes->count);
    free(nodes->list);
    *nodes = (struct sl_graph_nodes){0};
}
