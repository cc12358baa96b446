/* Graphs: work that is described once and launched many times.
 *
 * Words: a *graph* (CUgraph) holds *nodes* and *edges*; a node's *payload* says what it does. An *executable
 * graph* (CUgraphExec) owns a copy of the graph it was made from, so what happens to that later does not
 * matter to it; a node of the copy remembers in `origin` the id of the node that the program knows. A launch
 * turns the copy into operations of the queue (graph_launch.c).
 *
 * Invariants: `from` in n->in and n in from->out stand for the same edge; nodes of an edge are of one graph;
 * ids are never reused; a graph with a capture under way or with an `owner` is not destroyed by the program.
 * pre: all functions: the driver's lock is held.
 */
#ifndef SOFTCUDA_GRAPH_H
#define SOFTCUDA_GRAPH_H

#include "driver.h"
#include "queue.h"

#define SC_ATTRIBUTES 17 /* CU_LAUNCH_ATTRIBUTE_* of CUDA 13 */

struct sc_graph;
struct sc_graph_memory;
struct sc_user_set;

struct sc_kernel_payload {
    struct sc_launch_work work;
    CUkernel kernel; /* NULL: not of a library */
    bool by_kernel;  /* it was described by `kern` and not by `func` */
    bool packed;     /* it was described by `extra` */
    void **pointers; /* to each parameter in work.parameters */
    size_t parameter_bytes;
    void *extra[5];
    unsigned attributes_set;            /* bits */
    CUlaunchAttributeValue *attributes; /* SC_ATTRIBUTES of them, or NULL */
};

struct sc_payload {
    CUgraphNodeType type;
    struct sc_context *context; /* where it runs; a reference; NULL: wherever the graph is launched */
    union {
        struct sc_kernel_payload kernel;
        struct {
            CUDA_MEMCPY3D parameters;
            struct sc_copy_work work;
        } copy;
        struct {
            CUDA_MEMSET_NODE_PARAMS parameters;
            struct sc_set_work work;
        } set;
        CUDA_HOST_NODE_PARAMS host;
        struct sc_event *event; /* a reference */
        struct sc_graph *child; /* owned */
        struct {
            CUDA_MEM_ALLOC_NODE_PARAMS parameters;
            struct sc_graph_memory *memory; /* a reference */
        } allocate;
        struct sc_graph_memory *freed; /* a reference */
    };
};

struct sc_edge {
    struct sc_node *from;
    CUgraphEdgeData data;
};

/* A CUgraphNode. */
struct sc_node {
    struct sc_node *next, *previous; /* of the graph, in order of creation */
    struct sc_graph *graph;
    uint64_t id, origin; /* `origin`: the node of which this is a copy, or 0 */
    struct sc_edge *in;
    struct sc_node **out;
    size_t in_count, out_count;
    bool disabled; /* in an executable graph */
    struct sc_payload payload;
    /* For one walk at a time. */
    union {
        size_t mark;
        struct sc_node *partner;
        struct sc_op *op;
    };
};

/* A CUgraph. */
struct sc_graph {
    struct sc_node *first, *last;
    size_t count;
    uint64_t id;
    struct sc_node *owner;  /* the child node that holds it, or NULL */
    bool moved;             /* it was given to its owner by the program */
    unsigned captures;      /* under way into it */
    bool has_memory;        /* allocation or free nodes, here or in a child */
    struct sc_exec *only;   /* the one executable graph that may exist then */
    struct sc_node **order; /* of an executable graph: topological */
    struct sc_user_set *users;
};

/* A CUgraphExec. */
struct sc_exec {
    struct sc_graph *graph, *source; /* `source` is valid while a graph of id source_id lives there */
    uint64_t source_id;
    cuuint64_t flags;
    struct sc_op *last; /* the end of the last launch */
};

/* graph.c, graph_edges.c: graphs, nodes and edges. */
struct sc_graph *sc_graph_find(CUgraph handle); /* NULL: not a graph */
struct sc_node *sc_node_find(CUgraphNode handle);
struct sc_graph *sc_graph_new(void);        /* NULL: no memory */
void sc_graph_free(struct sc_graph *graph); /* accepts NULL and half-built graphs */
CUresult sc_graph_clone(const struct sc_graph *from, struct sc_graph **out);
/* A new node with edges from `count` others. Takes over the payload on success only. Errors:
 * CUDA_ERROR_INVALID_VALUE for foreign nodes, duplicates and bad edge data, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_node_add(struct sc_graph *graph, const CUgraphNode *after, const CUgraphEdgeData *data,
                     size_t count, struct sc_payload *payload, struct sc_node **out);
CUresult sc_edge_add(struct sc_node *from, struct sc_node *to, const CUgraphEdgeData *data);
void sc_edge_remove(struct sc_node *from, struct sc_node *to); /* nothing if there is none */
bool sc_edge_is_plain(const CUgraphEdgeData *data);
/* The copy, in `graph` or its children, of the node with this id; NULL: there is none. */
struct sc_node *sc_node_copy_of(const struct sc_graph *graph, uint64_t id);
/* Sets `order`. CUDA_ERROR_INVALID_VALUE and a node in *cycle: there is a cycle. */
CUresult sc_graph_sort(struct sc_graph *graph, struct sc_node **cycle);

/* graph_payload.c: what nodes do. Each sc_payload_<type> checks a description as the API gives it. */
CUresult sc_payload_kernel(const CUDA_KERNEL_NODE_PARAMS *parameters, struct sc_payload *out);
CUresult sc_payload_copy(const CUDA_MEMCPY3D *parameters, CUcontext context, struct sc_payload *out);
CUresult sc_payload_set(const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context, struct sc_payload *out);
CUresult sc_payload_host(const CUDA_HOST_NODE_PARAMS *parameters, struct sc_payload *out);
CUresult sc_payload_event(CUgraphNodeType type, CUevent event, struct sc_payload *out);
/* Copies `graph` unless `moved`. */
CUresult sc_payload_child(CUgraph graph, bool moved, struct sc_payload *out);
/* What an operation that is captured becomes; takes its work out of it. */
CUresult sc_payload_of_op(struct sc_op *op, struct sc_payload *out);
void sc_payload_kernel_parameters(const struct sc_payload *payload, CUDA_KERNEL_NODE_PARAMS *out);
CUresult sc_payload_clone(const struct sc_payload *from, struct sc_payload *out);
void sc_payload_drop(struct sc_payload *payload); /* accepts one that was dropped */
bool sc_payload_is_memory(const struct sc_payload *payload);

/* graph_memory.c: memory that comes and goes with graphs. */
/* Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY; sets parameters->dptr. */
CUresult sc_payload_allocate(CUDA_MEM_ALLOC_NODE_PARAMS *parameters, struct sc_payload *out);
CUresult sc_payload_free(CUdeviceptr address, struct sc_payload *out);
/* A payload is about to become a node of `graph`. Errors: CUDA_ERROR_INVALID_VALUE for memory that is freed
 * twice, CUDA_ERROR_NOT_SUPPORTED for such nodes in a child graph. */
CUresult sc_graph_memory_join(struct sc_graph *graph, const struct sc_payload *payload);
/* Before a launch: takes the memory of all allocation nodes, and notes what the launch allocates and frees.
 * With `again` memory that an earlier launch left counts as freed. Errors: CUDA_ERROR_INVALID_VALUE if it may
 * not be allocated or freed now, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_graph_memory_launch(const struct sc_graph *graph, bool again);
/* The first half of it: takes the memory. */
CUresult sc_graph_memory_reserve(const struct sc_graph *graph);
/* An operation that brings such memory, or takes it. NULL: no memory. */
struct sc_op *sc_graph_memory_op(struct sc_graph_memory *memory, bool live, struct sc_context *context);
void sc_graph_memory_switch(struct sc_graph_memory *memory, bool live); /* when such an operation runs */
void sc_graph_memory_op_done(struct sc_graph_memory *memory);           /* when it is timed; accepts NULL */
void sc_graph_memory_unref(struct sc_graph_memory *memory);             /* accepts NULL */
const struct sc_allocation *sc_graph_memory_allocation(const struct sc_graph_memory *memory);
struct sc_graph_memory *sc_graph_memory_ref(struct sc_graph_memory *memory);
/* What cuMemFree and cuMemFreeAsync do to such memory; *mine says whether it is. */
CUresult sc_graph_memory_free(CUdeviceptr address, struct sc_stream *stream, bool *mine);
void sc_graph_memory_teardown(struct sc_context *context);

/* graph_launch.c */
CUresult sc_exec_launch(struct sc_exec *exec, struct sc_stream *stream);

/* graph_update.c: whether `from` may replace the payload of an executable graph's node. */
CUgraphExecUpdateResult sc_payload_may_replace(const struct sc_payload *old, const struct sc_payload *from);
/* Gives the nodes of `graph`, an executable graph's or a child of it, the payloads of `from`, all or none. */
CUresult sc_graph_update(struct sc_graph *graph, struct sc_graph *from, CUgraphExecUpdateResultInfo *info);

/* user_object.c */
struct sc_user_set *sc_user_set_ref(struct sc_user_set *set);
void sc_user_set_unref(struct sc_user_set *set); /* accepts NULL */

#endif
