/* Turns a launch of an executable graph into operations of the queue: one per node, with the graph's edges as
 * dependencies, between one operation that begins the launch and one that ends it. */
#include <stdlib.h>

#include "capture.h"
#include "graph.h"
#include "work.h"

struct record {
    struct sc_event *event;
    struct sc_op *op;
};

struct launch {
    struct sc_context *context; /* of the stream */
    struct sc_op **ops;
    size_t count, capacity;
    struct record *records; /* of events; applied when nothing can fail any more */
    size_t record_count, record_capacity;
};

static CUresult push(struct launch *launch, struct sc_op *op)
{
    if (launch->count == launch->capacity) {
        size_t capacity = launch->capacity ? 2 * launch->capacity : 64;
        struct sc_op **ops = realloc(launch->ops, capacity * sizeof *ops);
        if (!ops) {
            sc_op_unref(op);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        launch->ops = ops;
        launch->capacity = capacity;
    }
    launch->ops[launch->count++] = op;
    return CUDA_SUCCESS;
}

static bool remember(struct launch *launch, struct sc_event *event, struct sc_op *op)
{
    if (launch->record_count == launch->record_capacity) {
        size_t capacity = launch->record_capacity ? 2 * launch->record_capacity : 8;
        struct record *records = realloc(launch->records, capacity * sizeof *records);
        if (!records) return false;
        launch->records = records;
        launch->record_capacity = capacity;
    }
    launch->records[launch->record_count++] = (struct record){event, op};
    return true;
}

/* The event's last record, in this launch or before it. */
static struct sc_op *last_record(const struct launch *launch, const struct sc_event *event)
{
    for (size_t i = launch->record_count; i > 0; i--)
        if (launch->records[i - 1].event == event) return launch->records[i - 1].op;
    return event->op;
}

static struct sc_op *kernel_op(const struct sc_payload *payload, struct sc_context *context)
{
    struct sc_op *op = sc_op_new(SC_OP_KERNEL, context);
    if (op && sc_launch_copy(&payload->kernel.work, &op->launch)) return op;
    if (op) op->launch = (struct sc_launch_work){0};
    sc_op_unref(op);
    return NULL;
}

/* Memory that was pageable when the node was created may be pinned at the launch. If the memory is gone, the
 * operation faults. */
static struct sc_op *copy_op(const struct sc_payload *payload, struct sc_context *context)
{
    struct sc_op *op = sc_op_new(SC_OP_COPY, context);
    if (!op) return NULL;
    struct sc_copy_work now = payload->copy.work;
    op->copy = payload->copy.work;
    if (!sc_copy_find_sides(&now, false, false)) op->copy = now;
    return op;
}

static struct sc_op *set_op(const struct sc_payload *payload, struct sc_context *context)
{
    struct sc_op *op = sc_op_new(SC_OP_SET, context);
    if (op) op->set = payload->set.work;
    return op;
}

static struct sc_op *call_op(const struct sc_payload *payload, struct sc_context *context)
{
    struct sc_op *op = sc_op_new(SC_OP_CALL, context);
    if (op) op->call = (struct sc_call_work){.function = payload->host.fn, .data = payload->host.userData};
    return op;
}

static struct sc_op *event_op(struct launch *launch, const struct sc_payload *payload,
                              struct sc_context *context)
{
    bool record = payload->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    struct sc_op *op = sc_op_new(record ? SC_OP_RECORD : SC_OP_WAIT, context);
    bool ok = op && (record ? remember(launch, payload->event, op)
                            : sc_op_depends(op, last_record(launch, payload->event)));
    if (ok) return op;
    sc_op_unref(op);
    return NULL;
}

static struct sc_op *node_op(struct launch *launch, const struct sc_node *node)
{
    const struct sc_payload *payload = &node->payload;
    struct sc_context *context = payload->context ? payload->context : launch->context;
    if (node->disabled) return sc_op_new(SC_OP_JOIN, context);
    switch (payload->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_op(payload, context);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_op(payload, context);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return set_op(payload, context);
    case CU_GRAPH_NODE_TYPE_HOST:
        return call_op(payload, context);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return event_op(launch, payload, context);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return sc_graph_memory_op(payload->allocate.memory, true, context);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return sc_graph_memory_op(payload->freed, false, context);
    default: /* empty nodes; the begin of a child graph */
        return sc_op_new(SC_OP_JOIN, context);
    }
}

/* Adds the operations of a graph after `begin`; *end is the operation that ends it. */
static CUresult lower(struct launch *launch, const struct sc_graph *graph, struct sc_op *begin,
                      struct sc_op **end)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct sc_node *node = graph->order[i];
        const struct sc_context *context = node->payload.context;
        if (context && !sc_handle_is(context, SC_HANDLE_CONTEXT)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        struct sc_op *op = node_op(launch, node);
        if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
        op->in_graph = true;
        bool ok = node->in_count || sc_op_depends(op, begin);
        for (size_t k = 0; k < node->in_count && ok; k++) ok = sc_op_depends(op, node->in[k].from->op);
        CUresult result = push(launch, op);
        if (!result && !ok) result = CUDA_ERROR_OUT_OF_MEMORY;
        node->op = op;
        if (!result && node->payload.type == CU_GRAPH_NODE_TYPE_GRAPH)
            result = lower(launch, node->payload.child, op, &node->op);
        if (result) return result;
    }
    struct sc_op *last = sc_op_new(SC_OP_JOIN, launch->context);
    if (!last) return CUDA_ERROR_OUT_OF_MEMORY;
    last->kept = sc_user_set_ref(graph->users);
    bool ok = graph->count || sc_op_depends(last, begin);
    for (size_t i = 0; i < graph->count && ok; i++)
        if (!graph->order[i]->out_count) ok = sc_op_depends(last, graph->order[i]->op);
    CUresult result = push(launch, last);
    *end = last;
    return result || ok ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult build(struct launch *launch, struct sc_exec *exec)
{
    struct sc_op *begin = sc_op_new(SC_OP_JOIN, launch->context), *end;
    if (!begin) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = push(launch, begin);
    /* Launches of one executable graph never overlap. */
    if (!result && !sc_op_depends(begin, exec->last)) result = CUDA_ERROR_OUT_OF_MEMORY;
    return result ? result : lower(launch, exec->graph, begin, &end);
}

CUresult sc_exec_launch(struct sc_exec *exec, struct sc_stream *stream)
{
    struct launch launch = {.context = stream->context};
    CUresult result = build(&launch, exec);
    if (!result)
        result = sc_graph_memory_launch(exec->graph, stream,
                                        exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    if (result) {
        /* Last first: later operations hold references to earlier ones. */
        while (launch.count) sc_op_unref(launch.ops[--launch.count]);
    } else {
        for (size_t i = 0; i < launch.record_count; i++) {
            struct sc_event *event = launch.records[i].event;
            launch.records[i].op->refs++;
            sc_op_unref(event->op);
            event->op = launch.records[i].op;
            sc_branch_free(event->branch);
            event->branch = NULL;
        }
        sc_op_unref(exec->last);
        exec->last = launch.ops[launch.count - 1];
        exec->last->refs++;
        result = sc_queue_submit_graph(stream, launch.ops, launch.count);
    }
    free(launch.records);
    free(launch.ops);
    return result;
}
