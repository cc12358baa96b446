/* Graphs: work that is described once and launched many times.
 *
 * A *graph* (CUgraph) holds *nodes* and *edges*; a node's *payload* says what it does. An *executable graph*
 * (CUgraphExec) owns a copy of the graph that it was instantiated from, so later changes of that graph do not
 * affect it. A node of the copy stores in `origin` the id of the program's node. A launch turns the copy into
 * operations of the queue (graph_launch.c).
 *
 * Invariants: `from` in n->in and n in from->out stand for the same edge; the two nodes of an edge belong to
 * one graph; ids are never reused; the program cannot destroy a graph with a capture under way or with an
 * `owner`. pre: all functions: the driver's lock is held.
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
    CUkernel kernel; /* NULL: not from a library */
    bool by_kernel;  /* described by the field `kern` instead of `func` */
    bool packed;     /* described by the field `extra` */
    void **pointers; /* to each parameter in work.parameters */
    size_t parameter_bytes;
    void *extra[5];
    unsigned attributes_set;            /* by bit: attribute ids */
    CUlaunchAttributeValue *attributes; /* array of SC_ATTRIBUTES, or NULL */
};

struct sc_payload {
    CUgraphNodeType type;
    struct sc_context *context; /* where it runs; a reference; NULL: in the context of the launch */
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
    /* Scratch for one graph traversal at a time. */
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
    struct sc_node *owner;  /* the child-graph node that holds it, or NULL */
    bool moved;             /* the program moved the graph into its owner */
    unsigned captures;      /* captures under way into this graph */
    bool has_memory;        /* allocation or free nodes, here or in a child */
    struct sc_exec *only;   /* the only executable graph that may exist if has_memory is set */
    struct sc_node **order; /* of an executable graph: topological */
    struct sc_user_set *users;
};

/* A CUgraphExec. */
struct sc_exec {
    struct sc_graph *graph, *source; /* `source` may only be used if a graph with id source_id still exists at
                                        that address */
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
/* Adds a node with edges from `count` nodes. Takes over the payload on success only. Errors:
 * CUDA_ERROR_INVALID_VALUE for nodes of another graph, duplicates and bad edge data;
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_node_add(struct sc_graph *graph, const CUgraphNode *after, const CUgraphEdgeData *data,
                     size_t count, struct sc_payload *payload, struct sc_node **out);
CUresult sc_edge_add(struct sc_node *from, struct sc_node *to, const CUgraphEdgeData *data);
void sc_edge_remove(struct sc_node *from, struct sc_node *to); /* does nothing if there is no such edge */
bool sc_edge_is_plain(const CUgraphEdgeData *data);
/* Finds, in `graph` or its children, the copy of the node with this id. NULL: there is none. */
struct sc_node *sc_node_copy_of(const struct sc_graph *graph, uint64_t id);
/* Sets `order`. CUDA_ERROR_INVALID_VALUE: there is a cycle; *cycle is a node on it. */
CUresult sc_graph_sort(struct sc_graph *graph, struct sc_node **cycle);

/* graph_payload.c: what nodes do. Each sc_payload_<type> checks a description that the program passed. */
CUresult sc_payload_kernel(const CUDA_KERNEL_NODE_PARAMS *parameters, struct sc_payload *out);
CUresult sc_payload_copy(const CUDA_MEMCPY3D *parameters, CUcontext context, struct sc_payload *out);
CUresult sc_payload_set(const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context, struct sc_payload *out);
CUresult sc_payload_host(const CUDA_HOST_NODE_PARAMS *parameters, struct sc_payload *out);
CUresult sc_payload_event(CUgraphNodeType type, CUevent event, struct sc_payload *out);
/* Copies `graph` unless `moved`. */
CUresult sc_payload_child(CUgraph graph, bool moved, struct sc_payload *out);
/* Turns a captured operation into a payload and takes over the operation's work. */
CUresult sc_payload_of_op(struct sc_op *op, struct sc_payload *out);
void sc_payload_kernel_parameters(const struct sc_payload *payload, CUDA_KERNEL_NODE_PARAMS *out);
CUresult sc_payload_clone(const struct sc_payload *from, struct sc_payload *out);
void sc_payload_drop(struct sc_payload *payload); /* accepts a dropped payload */
bool sc_payload_is_memory(const struct sc_payload *payload);

/* graph_memory.c: memory that graphs allocate and free. */
/* Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY; sets parameters->dptr. */
CUresult sc_payload_allocate(CUDA_MEM_ALLOC_NODE_PARAMS *parameters, struct sc_payload *out);
CUresult sc_payload_free(CUdeviceptr address, struct sc_payload *out);
/* Call before a payload becomes a node of `graph`. Errors: CUDA_ERROR_INVALID_VALUE for memory that is freed
 * twice, CUDA_ERROR_NOT_SUPPORTED for memory nodes in a child graph. */
CUresult sc_graph_memory_join(struct sc_graph *graph, const struct sc_payload *payload);
/* Before a launch in `stream`: reserves the memory of all allocation nodes, and records what the launch
 * allocates and frees. With `again`, memory that an earlier launch did not free counts as freed. Errors:
 * CUDA_ERROR_INVALID_VALUE if the memory may not be allocated or freed at this time,
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sc_graph_memory_launch(const struct sc_graph *graph, const struct sc_stream *stream, bool again);
/* Only reserves the memory, without recording anything. */
CUresult sc_graph_memory_reserve(const struct sc_graph *graph, const struct sc_stream *stream);
/* An operation that makes the memory live, or ends it. NULL: no memory. */
struct sc_op *sc_graph_memory_op(struct sc_graph_memory *memory, bool live, struct sc_context *context);
void sc_graph_memory_executed(struct sc_graph_memory_work *work);
void sc_graph_memory_op_done(struct sc_graph_memory_work *work); /* when it is timed, or was not submitted */
void sc_graph_memory_switch(struct sc_graph_memory *memory, bool live);
void sc_graph_memory_unref(struct sc_graph_memory *memory); /* accepts NULL */
const struct sc_allocation *sc_graph_memory_allocation(const struct sc_graph_memory *memory);
struct sc_graph_memory *sc_graph_memory_ref(struct sc_graph_memory *memory);
/* Handles cuMemFree and cuMemFreeAsync for memory of graphs; *mine says whether the address is such
 * memory. */
CUresult sc_graph_memory_free(CUdeviceptr address, struct sc_stream *stream, bool *mine);
void sc_graph_memory_teardown(struct sc_context *context);

/* graph_launch.c */
CUresult sc_exec_launch(struct sc_exec *exec, struct sc_stream *stream);

/* graph_update.c: whether `from` may replace the payload of a node of an executable graph. */
CUgraphExecUpdateResult sc_payload_may_replace(const struct sc_payload *old, const struct sc_payload *from);
/* Replaces the payloads of `graph`, an executable graph's graph or a child of it, by those of `from`: all or
 * none. */
CUresult sc_graph_update(struct sc_graph *graph, struct sc_graph *from, CUgraphExecUpdateResultInfo *info);

/* user_object.c */
struct sc_user_set *sc_user_set_ref(struct sc_user_set *set);
void sc_user_set_unref(struct sc_user_set *set); /* accepts NULL */

#endif
