/* Payloads of graph nodes: validation, storage, copies. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "work.h"

static void take_context(struct sc_payload *payload, struct sc_context *context)
{
    payload->context = context;
    context->refs++;
}

/* The context of a description; NULL means the current one. */
static CUresult find_context(CUcontext handle, struct sc_context **out)
{
    struct sc_context *context = handle ? (struct sc_context *)handle : sc_current();
    if (!sc_handle_is(context, SC_HANDLE_CONTEXT)) return CUDA_ERROR_INVALID_CONTEXT;
    *out = context;
    return context->sticky;
}

/* Sets pointers to the parameters, for cuGraphKernelNodeGetParams. */
static bool point_at_parameters(struct sc_kernel_payload *kernel)
{
    const struct sc_function_info *info = &kernel->work.func->info;
    kernel->parameter_bytes = info->parameter_bytes;
    kernel->pointers = calloc(info->parameter_count + 1, sizeof *kernel->pointers);
    if (!kernel->pointers) return false;
    for (uint32_t i = 0; i < info->parameter_count; i++)
        kernel->pointers[i] = (char *)kernel->work.parameters + info->parameters[i].offset_bytes;
    return true;
}

/* The CUkernel of the same function in its library, or NULL. */
static CUkernel kernel_of(const struct sc_launch_work *work)
{
    struct sc_library *library = work->loaded->library;
    return library ? (CUkernel)&library->kernels[work->func - work->loaded->functions] : NULL;
}

/* Describes a launch in `context`, which is made current meanwhile, because a CUkernel is resolved in the
 * current context. */
static CUresult describe_in(struct sc_context *context, CUfunction function, const struct sc_shape *shape,
                            void **pointers, void **extra, struct sc_launch_work *work)
{
    bool other = context != sc_current();
    if (other && !sc_context_push(context)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = sc_launch_describe(context, function, shape, pointers, extra, work);
    if (other) sc_self()->depth--;
    return result;
}

CUresult sc_payload_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct sc_payload *out)
{
    if (!p || (!p->func && !p->kern) || (p->kernelParams && p->extra)) return CUDA_ERROR_INVALID_VALUE;
    struct sc_context *context;
    CUresult result = find_context(p->func ? NULL : p->ctx, &context);
    if (result) return result;
    CUfunction function = p->func ? p->func : (CUfunction)p->kern;
    if (sc_handle_is(function, SC_HANDLE_FUNCTION)) context = ((struct sc_func *)function)->loaded->context;
    struct sc_shape shape = {{p->gridDimX, p->gridDimY, p->gridDimZ},
                             {p->blockDimX, p->blockDimY, p->blockDimZ},
                             p->sharedMemBytes};
    struct sc_payload payload = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    result = describe_in(context, function, &shape, p->kernelParams, p->extra, &payload.kernel.work);
    if (result == CUDA_ERROR_INVALID_HANDLE) result = CUDA_ERROR_INVALID_VALUE;
    if (result) return result;
    take_context(&payload, context);
    payload.kernel.kernel = kernel_of(&payload.kernel.work);
    payload.kernel.by_kernel = !p->func;
    payload.kernel.packed = p->extra != NULL;
    if (!point_at_parameters(&payload.kernel)) {
        sc_payload_drop(&payload);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = payload;
    return CUDA_SUCCESS;
}

void sc_payload_kernel_parameters(const struct sc_payload *payload, CUDA_KERNEL_NODE_PARAMS *out)
{
    struct sc_kernel_payload *kernel = (struct sc_kernel_payload *)&payload->kernel;
    const struct sc_launch_work *work = &kernel->work;
    *out = (CUDA_KERNEL_NODE_PARAMS){
        .func = kernel->by_kernel ? NULL : (CUfunction)work->func,
        .gridDimX = work->grid[0],
        .gridDimY = work->grid[1],
        .gridDimZ = work->grid[2],
        .blockDimX = work->block[0],
        .blockDimY = work->block[1],
        .blockDimZ = work->block[2],
        .sharedMemBytes = work->dynamic_shared_bytes,
        .kern = kernel->kernel,
        .ctx = (CUcontext)payload->context,
    };
    if (!kernel->packed) {
        out->kernelParams = kernel->pointers;
        return;
    }
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, work->parameters, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &kernel->parameter_bytes, CU_LAUNCH_PARAM_END};
    memcpy(kernel->extra, extra, sizeof extra);
    out->extra = kernel->extra;
}

CUresult sc_payload_copy(const CUDA_MEMCPY3D *p, CUcontext handle, struct sc_payload *out)
{
    struct sc_context *context;
    struct sc_payload payload = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    CUresult result = find_context(handle, &context);
    if (!result) result = sc_copy_describe(p, &payload.copy.work);
    if (result) return result;
    payload.copy.parameters = *p;
    take_context(&payload, context);
    *out = payload;
    return CUDA_SUCCESS;
}

CUresult sc_payload_set(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext handle, struct sc_payload *out)
{
    if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width || !p->height)
        return CUDA_ERROR_INVALID_VALUE;
    struct sc_context *context;
    struct sc_payload payload = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .set.parameters = *p};
    payload.set.work = (struct sc_set_work){.address = p->dst,
                                            .width = p->width,
                                            .height = p->height,
                                            .pitch = p->height > 1 ? p->pitch : 0,
                                            .value = p->value,
                                            .element_bytes = p->elementSize};
    CUresult result = find_context(handle, &context);
    if (!result) result = sc_set_describe(&payload.set.work);
    if (result) return result;
    take_context(&payload, context);
    *out = payload;
    return CUDA_SUCCESS;
}

CUresult sc_payload_host(const CUDA_HOST_NODE_PARAMS *p, struct sc_payload *out)
{
    if (!p || !p->fn) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_HOST, .host = *p};
    return CUDA_SUCCESS;
}

CUresult sc_payload_event(CUgraphNodeType type, CUevent handle, struct sc_payload *out)
{
    if (!sc_handle_is(handle, SC_HANDLE_EVENT)) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct sc_payload){.type = type, .event = (struct sc_event *)handle};
    out->event->refs++;
    return CUDA_SUCCESS;
}

CUresult sc_payload_child(CUgraph handle, bool moved, struct sc_payload *out)
{
    struct sc_graph *child = sc_graph_find(handle);
    if (!child || child->captures) return CUDA_ERROR_INVALID_VALUE;
    if (moved && child->owner) return CUDA_ERROR_INVALID_VALUE;
    if (!moved && child->has_memory) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = moved ? CUDA_SUCCESS : sc_graph_clone(child, &child);
    if (result) return result;
    child->moved = moved;
    *out = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};
    return CUDA_SUCCESS;
}

static CUresult of_kernel(struct sc_op *op, struct sc_payload *out)
{
    out->type = CU_GRAPH_NODE_TYPE_KERNEL;
    struct sc_launch_work work = op->launch;
    out->kernel = (struct sc_kernel_payload){.work = work, .kernel = kernel_of(&work)};
    if (!point_at_parameters(&out->kernel)) {
        out->type = CU_GRAPH_NODE_TYPE_EMPTY;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->launch.parameters = NULL;
    op->launch.loaded = NULL;
    return CUDA_SUCCESS;
}

static void of_set(const struct sc_op *op, struct sc_payload *out)
{
    const struct sc_set_work *set = &op->set;
    out->type = CU_GRAPH_NODE_TYPE_MEMSET;
    out->set.work = *set;
    out->set.parameters = (CUDA_MEMSET_NODE_PARAMS){.dst = set->address,
                                                    .pitch = set->pitch,
                                                    .value = set->value,
                                                    .elementSize = set->element_bytes,
                                                    .width = set->width,
                                                    .height = set->height};
}

CUresult sc_payload_of_op(struct sc_op *op, struct sc_payload *out)
{
    *out = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_EMPTY};
    CUresult result = CUDA_SUCCESS;
    if (op->kind == SC_OP_KERNEL) {
        result = of_kernel(op, out);
    } else if (op->kind == SC_OP_COPY) {
        out->type = CU_GRAPH_NODE_TYPE_MEMCPY;
        out->copy.work = op->copy;
        sc_copy_parameters(&op->copy, &out->copy.parameters);
    } else if (op->kind == SC_OP_SET) {
        of_set(op, out);
    } else if (op->kind == SC_OP_CALL && op->call.function) {
        out->type = CU_GRAPH_NODE_TYPE_HOST;
        out->host = (CUDA_HOST_NODE_PARAMS){op->call.function, op->call.data};
    } else {
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!result && out->type != CU_GRAPH_NODE_TYPE_HOST) take_context(out, op->context);
    return result;
}

static CUresult clone_kernel(const struct sc_kernel_payload *from, struct sc_kernel_payload *out)
{
    out->pointers = NULL;
    out->attributes = NULL;
    if (!sc_launch_copy(&from->work, &out->work)) {
        out->work.parameters = NULL;
        out->work.loaded = NULL;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!point_at_parameters(out)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!from->attributes) return CUDA_SUCCESS;
    out->attributes = malloc(SC_ATTRIBUTES * sizeof *out->attributes);
    if (!out->attributes) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(out->attributes, from->attributes, SC_ATTRIBUTES * sizeof *out->attributes);
    return CUDA_SUCCESS;
}

CUresult sc_payload_clone(const struct sc_payload *from, struct sc_payload *out)
{
    struct sc_payload payload = *from;
    CUresult result = CUDA_SUCCESS;
    if (payload.context) payload.context->refs++;
    switch (from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        result = clone_kernel(&from->kernel, &payload.kernel);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        result = sc_graph_clone(from->child, &payload.child);
        if (result) payload.child = NULL;
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        payload.event->refs++;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        sc_graph_memory_ref(payload.allocate.memory);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        sc_graph_memory_ref(payload.freed);
        break;
    default:
        break;
    }
    if (result)
        sc_payload_drop(&payload);
    else
        *out = payload;
    return result;
}

void sc_payload_drop(struct sc_payload *payload)
{
    switch (payload->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        sc_launch_drop(&payload->kernel.work);
        free(payload->kernel.pointers);
        free(payload->kernel.attributes);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        sc_graph_free(payload->child);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        sc_event_unref(payload->event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        sc_graph_memory_unref(payload->allocate.memory);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        sc_graph_memory_unref(payload->freed);
        break;
    default:
        break;
    }
    if (payload->context) sc_context_unref(payload->context);
    *payload = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_EMPTY};
}

bool sc_payload_is_memory(const struct sc_payload *payload)
{
    return payload->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || payload->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}
