/* Attributes of kernel nodes. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "work.h"

/* Attributes have no effect on a device that runs kernels one after the other; they are stored so that the
 * program can read them. */
static bool is_kept(CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue *value)
{
    switch (attribute) {
    case CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_KERNEL_NODE_ATTRIBUTE_PRIORITY:
    case CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE:
        return true;
    case CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION:
        return !value || (value->clusterDim.x <= 1 && value->clusterDim.y <= 1 && value->clusterDim.z <= 1);
    default:
        return false;
    }
}

static CUresult enter_kernel(CUgraphNode handle, const void *wanted, struct sc_node **out)
{
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = sc_node_find(handle);
    bool kernel = *out && (*out)->payload.type == CU_GRAPH_NODE_TYPE_KERNEL;
    return kernel ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                               CUkernelNodeAttrValue *out)
{
    struct sc_node *node;
    CUresult result = enter_kernel(handle, out, &node);
    if (result) return result;
    if (!is_kept(attribute, NULL)) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    const struct sc_kernel_payload *kernel = &node->payload.kernel;
    memset(out, 0, sizeof *out);
    if (kernel->attributes) *out = kernel->attributes[attribute];
    if (attribute == CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE) out->cooperative = kernel->work.cooperative;
    return sc_leave(CUDA_SUCCESS);
}

static bool make_attributes(struct sc_kernel_payload *kernel)
{
    if (!kernel->attributes) kernel->attributes = calloc(SC_ATTRIBUTES, sizeof *kernel->attributes);
    return kernel->attributes;
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                               const CUkernelNodeAttrValue *value)
{
    struct sc_node *node;
    CUresult result = enter_kernel(handle, value, &node);
    if (result) return result;
    if (!is_kept(attribute, value))
        return sc_leave(sc_refuse("cuGraphKernelNodeSetAttribute", "this attribute"));
    struct sc_kernel_payload *kernel = &node->payload.kernel;
    if (!make_attributes(kernel)) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    if (attribute == CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE)
        result = sc_launch_cooperate(value->cooperative != 0, &kernel->work);
    if (result) return sc_leave(result);
    kernel->attributes[attribute] = *value;
    kernel->attributes_set |= 1u << attribute;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode to_handle, CUgraphNode from_handle)
{
    struct sc_node *to, *from;
    CUresult result = enter_kernel(to_handle, to_handle, &to);
    if (result) return result;
    from = sc_node_find(from_handle);
    if (!from || from->payload.type != CU_GRAPH_NODE_TYPE_KERNEL ||
        from->payload.context != to->payload.context)
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    const struct sc_kernel_payload *source = &from->payload.kernel;
    struct sc_kernel_payload *kernel = &to->payload.kernel;
    if (from == to) return sc_leave(CUDA_SUCCESS);
    result = sc_launch_cooperate(source->work.cooperative, &kernel->work);
    if (result || !source->attributes) return sc_leave(result);
    if (!make_attributes(kernel)) return sc_leave(CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(kernel->attributes, source->attributes, SC_ATTRIBUTES * sizeof *kernel->attributes);
    kernel->attributes_set = source->attributes_set;
    return sc_leave(CUDA_SUCCESS);
}
