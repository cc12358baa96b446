/* Graphs: lifetime, edges and launches. Handles are the driver's. */
#include "state.h"

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
               "handed on as they are");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
               "handed on as they are");

#define EDGES                                                                                                \
    cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data

SC_API(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), CALL(cuGraphCreate, graph, flags))
SC_API(cudaGraphDestroy, (cudaGraph_t graph), CALL(cuGraphDestroy, graph))
SC_API(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), CALL(cuGraphClone, clone, graph))
SC_API(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
       CALL(cuGraphNodeFindInClone, node, original, clone))
SC_API(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
       CALL(cuGraphNodeGetType, node, (CUgraphNodeType *)type))
SC_API(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
       CALL(cuGraphGetNodes, graph, nodes, count))
SC_API(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
       CALL(cuGraphGetRootNodes, graph, nodes, count))
SC_API(cudaGraphGetEdges,
       (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
        size_t *count),
       CALL_OR_OLDER(cuGraphGetEdges, (graph, from, to, (CUgraphEdgeData *)data, count), 10000, !data,
                     (graph, from, to, count)))
SC_API(cudaGraphNodeGetDependencies,
       (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count),
       CALL_OR_OLDER(cuGraphNodeGetDependencies, (node, nodes, (CUgraphEdgeData *)data, count), 10000, !data,
                     (node, nodes, count)))
SC_API(cudaGraphNodeGetDependentNodes,
       (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count),
       CALL_OR_OLDER(cuGraphNodeGetDependentNodes, (node, nodes, (CUgraphEdgeData *)data, count), 10000,
                     !data, (node, nodes, count)))
SC_API(cudaGraphAddDependencies, (EDGES, size_t count),
       CALL_OR_OLDER(cuGraphAddDependencies, (graph, from, to, (const CUgraphEdgeData *)data, count), 10000,
                     !data, (graph, from, to, count)))
SC_API(cudaGraphRemoveDependencies, (EDGES, size_t count),
       CALL_OR_OLDER(cuGraphRemoveDependencies, (graph, from, to, (const CUgraphEdgeData *)data, count),
                     10000, !data, (graph, from, to, count)))
SC_API(cudaGraphDestroyNode, (cudaGraphNode_t node), CALL(cuGraphDestroyNode, node))

SC_API(cudaGraphInstantiate, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
       CALL(cuGraphInstantiateWithFlags, out, graph, flags))
SC_API(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * out, cudaGraph_t graph, unsigned long long flags),
       CALL(cuGraphInstantiateWithFlags, out, graph, flags))
SC_STREAM_API(cudaGraphInstantiateWithParams, _ptsz,
              (cudaGraphExec_t * out, cudaGraph_t graph, cudaGraphInstantiateParams *p),
              CALL(cuGraphInstantiateWithParams, out, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)p))
SC_API(cudaGraphExecGetFlags, (cudaGraphExec_t graph, unsigned long long *flags),
       CALL(cuGraphExecGetFlags, graph, (cuuint64_t *)flags))
SC_API(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result),
       CALL(cuGraphExecUpdate, exec, graph, (CUgraphExecUpdateResultInfo *)result))
SC_STREAM_API(cudaGraphUpload, _ptsz, (cudaGraphExec_t graph, cudaStream_t stream),
              CALL(cuGraphUpload, graph, stream))
SC_STREAM_API(cudaGraphLaunch, _ptsz, (cudaGraphExec_t graph, cudaStream_t stream),
              CALL(cuGraphLaunch, graph, stream))
SC_API(cudaGraphExecDestroy, (cudaGraphExec_t graph), CALL(cuGraphExecDestroy, graph))
SC_API(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags),
       CALL(cuGraphDebugDotPrint, graph, path, flags))

SC_API(cudaUserObjectCreate,
       (cudaUserObject_t * object, void *pointer, cudaHostFn_t destroy, unsigned int references,
        unsigned int flags),
       CALL(cuUserObjectCreate, object, pointer, destroy, references, flags))
SC_API(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count),
       CALL(cuUserObjectRetain, object, count))
SC_API(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count),
       CALL(cuUserObjectRelease, object, count))
SC_API(cudaGraphRetainUserObject,
       (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
       CALL(cuGraphRetainUserObject, graph, object, count, flags))
SC_API(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
       CALL(cuGraphReleaseUserObject, graph, object, count))
