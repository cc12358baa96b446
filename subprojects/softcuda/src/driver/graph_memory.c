/* Memory that graphs allocate and free. Its address is fixed when the node is created. The memory is
 * accessible between the execution of the allocation node and that of the free.
 *
 * Physical memory is only a number of bytes, which belong to the memory of a graph from its launch on.
 * Another launch takes them over once they are free for it: the free was executed, or comes before the launch
 * in the same stream. What nobody takes over stays charged to the device until nothing refers to the memory
 * any more or it is trimmed.
 */
#include <stdlib.h>

#include "graph.h"
#include "races.h"

#define ALIGN 512

struct sc_graph_memory {
    struct sc_graph_memory *next;
    struct sc_allocation *allocation;
    CUmemAccessDesc access;
    unsigned refs;             /* held by payloads, operations, and `taken` */
    unsigned pending;          /* operations that were not executed yet */
    uint64_t home;             /* id of the graph that allocates it */
    bool freed_at_home;        /* by a node of the same graph */
    bool freed_elsewhere;      /* by a node of another graph */
    bool taken;                /* after the submitted work: allocated and not freed */
    bool live;                 /* after the executed work: allocated and not freed */
    uint64_t held_bytes;       /* physical memory, charged to the device */
    uint64_t launch;           /* number of the last launch that reserved it */
    unsigned long long stream; /* id of the stream that last allocated or freed it */
};

/* What reserves memory: a launch or an upload. */
struct reservation {
    uint64_t number;
    unsigned long long stream;
    bool again; /* memory that an earlier launch did not free counts as freed */
};

static struct sc_graph_memory *all;

static uint64_t size_of(const struct sc_graph_memory *memory)
{
    return (memory->allocation->bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

const struct sc_allocation *sc_graph_memory_allocation(const struct sc_graph_memory *memory)
{
    return memory->allocation;
}

static struct sc_graph_bytes *bytes_of(const struct sc_graph_memory *memory)
{
    return &sc_device_of(memory->allocation)->graph;
}

struct sc_graph_memory *sc_graph_memory_ref(struct sc_graph_memory *memory)
{
    memory->refs++;
    return memory;
}

static void unreserve(struct sc_graph_memory *memory)
{
    if (!memory->held_bytes) return;
    sc_device_discharge(sc_device_of(memory->allocation), memory->held_bytes);
    bytes_of(memory)->reserved -= memory->held_bytes;
    memory->held_bytes = 0;
}

void sc_graph_memory_unref(struct sc_graph_memory *memory)
{
    if (!memory || --memory->refs) return;
    sc_graph_memory_switch(memory, false);
    unreserve(memory);
    struct sc_graph_memory **at = &all;
    while (*at != memory) at = &(*at)->next;
    *at = memory->next;
    sc_memory_release(memory->allocation);
    free(memory);
}

void sc_graph_memory_switch(struct sc_graph_memory *memory, bool live)
{
    if (memory->live == live) return;
    memory->live = live;
    sc_space_set_dormant(memory->allocation, !live);
    struct sc_graph_bytes *bytes = bytes_of(memory);
    bytes->used += live ? size_of(memory) : -size_of(memory);
    if (bytes->used > bytes->used_high) bytes->used_high = bytes->used;
}

static CUresult check_description(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    if (!p || !p->bytesize || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || !sc_device_at(p->poolProps.location.id))
        return CUDA_ERROR_INVALID_VALUE;
    if (p->accessDescCount > 1 || (p->accessDescCount && !p->accessDescs)) return CUDA_ERROR_INVALID_VALUE;
    if (p->accessDescCount && (p->accessDescs->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
                               !sc_device_at(p->accessDescs->location.id)))
        return CUDA_ERROR_INVALID_VALUE;
    return p->bytesize > sc_options()->memory_bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sc_payload_allocate(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct sc_payload *out)
{
    struct sc_context *context = sc_current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = check_description(p);
    if (result) return result;
    struct sc_graph_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    memory->allocation = sc_space_allocate(SC_MEMORY_DEVICE, p->bytesize, ALIGN);
    if (!memory->allocation) {
        free(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sc_races_fresh(memory->allocation->begin, memory->allocation->span);
    memory->refs = 1;
    memory->allocation->owner = context;
    memory->allocation->ordinal = p->poolProps.location.id;
    uint32_t access = 1u << p->poolProps.location.id;
    if (p->accessDescCount) access |= 1u << p->accessDescs->location.id;
    sc_space_set_access(memory->allocation, access);
    memory->allocation->internal = true; /* the context's teardown does not free it */
    memory->allocation->graph_memory = memory;
    sc_space_set_dormant(memory->allocation, true);
    memory->next = all;
    all = memory;
    p->dptr = memory->allocation->begin;
    *out = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .context = context};
    context->refs++;
    out->allocate.parameters = *p;
    out->allocate.memory = memory;
    if (p->accessDescCount) {
        memory->access = *p->accessDescs;
        out->allocate.parameters.accessDescs = &memory->access;
    } else {
        out->allocate.parameters.accessDescs = NULL;
    }
    return CUDA_SUCCESS;
}

static struct sc_graph_memory *find(CUdeviceptr address)
{
    struct sc_allocation *allocation = sc_space_find(address);
    return allocation && allocation->begin == address ? allocation->graph_memory : NULL;
}

CUresult sc_payload_free(CUdeviceptr address, struct sc_payload *out)
{
    struct sc_graph_memory *memory = find(address);
    if (!memory) return CUDA_ERROR_INVALID_VALUE;
    *out = (struct sc_payload){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .freed = sc_graph_memory_ref(memory)};
    return CUDA_SUCCESS;
}

static bool frees(const struct sc_graph *graph, const struct sc_graph_memory *memory)
{
    for (struct sc_node *node = graph->first; node; node = node->next)
        if (node->payload.type == CU_GRAPH_NODE_TYPE_MEM_FREE && node->payload.freed == memory) return true;
    return false;
}

static CUresult join_free(struct sc_graph *graph, struct sc_graph_memory *memory)
{
    bool home = memory->home == graph->id;
    if (memory->freed_at_home || (home && memory->freed_elsewhere) || frees(graph, memory))
        return CUDA_ERROR_INVALID_VALUE;
    if (home)
        memory->freed_at_home = true;
    else
        memory->freed_elsewhere = true;
    return CUDA_SUCCESS;
}

CUresult sc_graph_memory_join(struct sc_graph *graph, const struct sc_payload *payload)
{
    bool child = payload->type == CU_GRAPH_NODE_TYPE_GRAPH && payload->child->has_memory;
    if (!child && !sc_payload_is_memory(payload)) return CUDA_SUCCESS;
    if (graph->owner) return CUDA_ERROR_NOT_SUPPORTED;
    if (payload->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) payload->allocate.memory->home = graph->id;
    CUresult result =
        payload->type == CU_GRAPH_NODE_TYPE_MEM_FREE ? join_free(graph, payload->freed) : CUDA_SUCCESS;
    if (!result) graph->has_memory = true;
    return result;
}

/* Whether a launch in `stream`, or anyone if it is 0, may have the physical memory. */
static bool is_free_for(const struct sc_graph_memory *memory, unsigned long long stream)
{
    return memory->held_bytes && !memory->taken && (!memory->pending || (stream && memory->stream == stream));
}

static void trim(const struct sc_device *device, const struct reservation *except)
{
    for (struct sc_graph_memory *memory = all; memory; memory = memory->next)
        if (is_free_for(memory, 0) && sc_device_of(memory->allocation) == device &&
            (!except || memory->launch != except->number))
            unreserve(memory);
}

/* Takes over what is free for the launch. */
static void take_over(struct sc_graph_memory *memory, const struct reservation *by)
{
    uint64_t size = size_of(memory);
    for (struct sc_graph_memory *from = all; from && memory->held_bytes < size; from = from->next) {
        if (from->launch == by->number || !is_free_for(from, by->stream) ||
            sc_device_of(from->allocation) != sc_device_of(memory->allocation))
            continue;
        uint64_t lacks = size - memory->held_bytes;
        uint64_t bytes = from->held_bytes < lacks ? from->held_bytes : lacks;
        from->held_bytes -= bytes;
        memory->held_bytes += bytes;
    }
}

static bool reserve(struct sc_graph_memory *memory, const struct reservation *by)
{
    struct sc_device *device = sc_device_of(memory->allocation);
    struct sc_graph_bytes *bytes = bytes_of(memory);
    memory->launch = by->number;
    take_over(memory, by);
    uint64_t lacks = size_of(memory) - memory->held_bytes;
    if (!lacks) return true;
    if (!sc_device_charge(device, lacks)) {
        trim(device, by);
        if (!sc_device_charge(device, lacks)) return false;
    }
    memory->held_bytes += lacks;
    bytes->reserved += lacks;
    if (bytes->reserved > bytes->reserved_high) bytes->reserved_high = bytes->reserved;
    return true;
}

/* Calls `visit` for the memory nodes of a graph and its children until one fails. */
static CUresult each(const struct sc_graph *graph,
                     CUresult (*visit)(const struct sc_payload *, const struct reservation *),
                     const struct reservation *by)
{
    CUresult result = CUDA_SUCCESS;
    if (!graph->has_memory) return result;
    for (struct sc_node *node = graph->first; node && !result; node = node->next) {
        if (node->payload.type == CU_GRAPH_NODE_TYPE_GRAPH)
            result = each(node->payload.child, visit, by);
        else if (sc_payload_is_memory(&node->payload))
            result = visit(&node->payload, by);
    }
    return result;
}

static CUresult may_launch(const struct sc_payload *payload, const struct reservation *by)
{
    if (payload->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return payload->allocate.memory->taken && !by->again ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    return payload->freed->freed_at_home || payload->freed->taken ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult take_memory(const struct sc_payload *payload, const struct reservation *by)
{
    bool ok = payload->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || reserve(payload->allocate.memory, by);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void set_taken(struct sc_graph_memory *memory, bool taken)
{
    if (memory->taken == taken) return;
    memory->taken = taken;
    if (taken)
        sc_graph_memory_ref(memory);
    else
        sc_graph_memory_unref(memory);
}

static CUresult note_launch(const struct sc_payload *payload, const struct reservation *by)
{
    bool frees = payload->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    struct sc_graph_memory *memory = frees ? payload->freed : payload->allocate.memory;
    memory->stream = by->stream;
    set_taken(memory, !frees && !memory->freed_at_home);
    return CUDA_SUCCESS;
}

static struct reservation reservation_in(const struct sc_stream *stream, bool again)
{
    static uint64_t number;
    return (struct reservation){.number = ++number, .stream = stream->id, .again = again};
}

CUresult sc_graph_memory_reserve(const struct sc_graph *graph, const struct sc_stream *stream)
{
    const struct reservation by = reservation_in(stream, false);
    return each(graph, take_memory, &by);
}

CUresult sc_graph_memory_launch(const struct sc_graph *graph, const struct sc_stream *stream, bool again)
{
    const struct reservation by = reservation_in(stream, again);
    CUresult result = each(graph, may_launch, &by);
    if (!result) result = each(graph, take_memory, &by);
    return result ? result : each(graph, note_launch, &by);
}

struct sc_op *sc_graph_memory_op(struct sc_graph_memory *memory, bool live, struct sc_context *context)
{
    struct sc_op *op = sc_op_new(SC_OP_GRAPH_MEMORY, context);
    if (!op) return NULL;
    op->graph_memory = (struct sc_graph_memory_work){sc_graph_memory_ref(memory), live, false};
    memory->pending++;
    return op;
}

void sc_graph_memory_executed(struct sc_graph_memory_work *work)
{
    sc_graph_memory_switch(work->memory, work->live);
    work->executed = true;
    work->memory->pending--;
}

void sc_graph_memory_op_done(struct sc_graph_memory_work *work)
{
    if (work->memory && !work->executed) work->memory->pending--;
    sc_graph_memory_unref(work->memory);
    work->memory = NULL;
}

CUresult sc_graph_memory_free(CUdeviceptr address, struct sc_stream *stream, bool *mine)
{
    struct sc_graph_memory *memory = find(address);
    *mine = memory != NULL;
    if (!memory || memory->freed_at_home || !memory->taken) return CUDA_ERROR_INVALID_VALUE;
    sc_graph_memory_ref(memory); /* because the lock may be released below */
    set_taken(memory, false);
    CUresult result;
    if (stream) {
        memory->stream = stream->id;
        struct sc_op *op = sc_graph_memory_op(memory, false, stream->context);
        result = op ? sc_queue_submit(stream, op) : CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        memory->stream = 0; /* until the work is done, it is free for nobody */
        memory->pending++;
        result = sc_queue_wait_context(sc_current() ? sc_current() : memory->allocation->owner);
        memory->pending--;
        sc_graph_memory_switch(memory, false);
    }
    sc_graph_memory_unref(memory);
    return result;
}

void sc_graph_memory_teardown(struct sc_context *context)
{
    for (struct sc_graph_memory *memory = all, *next; memory; memory = next) {
        next = memory->next;
        if (memory->allocation->owner != context) continue;
        sc_graph_memory_switch(memory, false);
        set_taken(memory, false);
    }
}

/* On success the lock is held. */
static CUresult enter_device(CUdevice ordinal, struct sc_device **out)
{
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    *out = sc_device_at(ordinal);
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice ordinal)
{
    struct sc_device *device;
    CUresult result = enter_device(ordinal, &device);
    if (result) return result;
    trim(device, NULL);
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
    struct sc_device *device;
    CUresult result = enter_device(ordinal, &device);
    if (result) return result;
    const struct sc_graph_bytes *bytes = &device->graph;
    const uint64_t values[] = {bytes->used, bytes->used_high, bytes->reserved, bytes->reserved_high};
    if (!value || (unsigned)attribute >= sizeof values / sizeof *values)
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *(cuuint64_t *)value = values[attribute];
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
    struct sc_device *device;
    CUresult result = enter_device(ordinal, &device);
    if (result) return result;
    bool high =
        attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!value || !high || *(cuuint64_t *)value) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    struct sc_graph_bytes *bytes = &device->graph;
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        bytes->used_high = bytes->used;
    else
        bytes->reserved_high = bytes->reserved;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_node *node = sc_node_find(handle);
    if (!node || node->payload.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *out = node->payload.allocate.parameters;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *out)
{
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    struct sc_node *node = sc_node_find(handle);
    if (!node || node->payload.type != CU_GRAPH_NODE_TYPE_MEM_FREE) return sc_leave(CUDA_ERROR_INVALID_VALUE);
    *out = node->payload.freed->allocation->begin;
    return sc_leave(CUDA_SUCCESS);
}
