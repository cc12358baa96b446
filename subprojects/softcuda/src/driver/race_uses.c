#include "race_uses.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "race_report.h"

/* Ranges that one operation uses, collected for the shadow. */
struct uses {
    struct sc_op *op;
    struct sc_actor *actor; /* NULL before the first use */
    struct sc_use_range *ranges;
    size_t count, capacity;
    bool failed;
};

static const char *const kind_names[] = {
    [SC_OP_KERNEL] = "kernel",
    [SC_OP_COPY] = "copy",
    [SC_OP_SET] = "memset",
    [SC_OP_PREFETCH] = "prefetch",
    [SC_OP_DISCARD] = "discard",
    [SC_OP_DISCARD_PREFETCH] = "discard and prefetch",
    [SC_OP_ALLOCATE] = "allocation",
    [SC_OP_FREE] = "free",
    [SC_OP_GRAPH_MEMORY] = "memory node",
    [SC_OP_ADVISE] = "advice",
};

/* Interns kernel names, which must outlive their modules. */
static const char *keep_name(const char *name)
{
    static struct kept {
        struct kept *next;
        char text[];
    } * buckets[256];
    if (!name) return "";
    unsigned hash = 0;
    for (const char *at = name; *at; at++) hash = hash * 31 + (unsigned char)*at;
    struct kept **bucket = &buckets[hash % 256];
    for (struct kept *kept = *bucket; kept; kept = kept->next)
        if (!strcmp(kept->text, name)) return kept->text;
    size_t bytes = strlen(name) + 1;
    struct kept *kept = malloc(sizeof *kept + bytes);
    if (!kept) return "";
    memcpy(kept->text, name, bytes);
    kept->next = *bucket;
    *bucket = kept;
    return kept->text;
}

static struct sc_actor *new_actor(const struct sc_op *op)
{
    struct sc_actor *actor = malloc(sizeof *actor);
    if (!actor) return NULL;
    *actor = (struct sc_actor){
        .refs = 1,
        .moment = op->moment,
        .op = op->id,
        .graph = op->graph,
        .kind = kind_names[op->kind],
        .name = op->kind == SC_OP_KERNEL ? keep_name(op->launch.name) : "",
        .stream = op->stream_id,
        .by_host = op->kind == SC_OP_ADVISE,
        .site = op->site,
    };
    return actor;
}

static void found(void *context, const struct sc_finding *finding)
{
    struct uses *uses = context;
    sc_race_report(uses->actor, finding);
    struct sc_context *offender = uses->op->context;
    if (sc_options()->race_mode == SC_RACES_ERROR && offender && !offender->sticky)
        offender->sticky = CUDA_ERROR_LAUNCH_FAILED;
}

static void flush(struct uses *uses)
{
    if (!uses->count || uses->failed) return;
    if (!uses->actor) uses->actor = new_actor(uses->op);
    uses->failed =
        !uses->actor || !sc_shadow_use(uses->actor, uses->op->clock, uses->ranges, uses->count, found, uses);
    uses->count = 0;
}

static void add(struct uses *uses, uint64_t address, uint64_t bytes, enum sc_use_kind kind, bool content_read)
{
    if (!bytes || uses->failed) return;
    struct sc_use_range *last = uses->count ? &uses->ranges[uses->count - 1] : NULL;
    if (last && last->end == address && last->kind == kind && last->content_read == content_read) {
        last->end += bytes;
        return;
    }
    if (last && address < last->end) flush(uses);
    if (uses->count == uses->capacity) {
        size_t capacity = uses->capacity ? 2 * uses->capacity : 16;
        struct sc_use_range *ranges = realloc(uses->ranges, capacity * sizeof *ranges);
        if (!ranges) {
            uses->failed = true;
            return;
        }
        uses->ranges = ranges;
        uses->capacity = capacity;
    }
    uses->ranges[uses->count++] = (struct sc_use_range){address, address + bytes, kind, content_read};
}

/* Memory from a kernel's malloc is reused in an order that the detector does not see, so it is ignored. */
static bool in_heap(const struct sc_launch_work *launch, uint64_t address)
{
    return address - launch->heap < launch->heap_bytes;
}

static enum sc_use_kind use_of(enum sc_access_kind kind)
{
    switch (kind) {
    case SC_ACCESS_READ:
        return SC_USE_READ;
    case SC_ACCESS_POLL:
        return SC_USE_POLL;
    case SC_ACCESS_WRITE:
        return SC_USE_WRITE;
    default:
        return SC_USE_ATOMIC;
    }
}

static void use_kernel(struct uses *uses, const struct sc_op *op)
{
    for (size_t i = 0; i < op->cost.accessed_count; i++) {
        const struct sc_accessed *at = &op->cost.accessed[i];
        if (!in_heap(&op->launch, at->begin))
            add(uses, at->begin, at->end - at->begin, use_of(at->kind), at->content_read);
    }
    /* The address of a fault may be memory that was freed. */
    flush(uses);
    if (op->fault_address) add(uses, op->fault_address, 1, SC_USE_READ, false);
}

static void use_box(struct uses *uses, uint64_t address, const struct sc_copy_work *copy, uint64_t pitch,
                    uint64_t slice, enum sc_use_kind kind)
{
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++)
            add(uses, address + z * slice + y * pitch, copy->width, kind, kind == SC_USE_READ);
    flush(uses);
}

/* Pageable memory is skipped: the driver does not see when it is freed. */
static void use_copy(struct uses *uses, const struct sc_copy_work *copy)
{
    if (copy->from != SC_SIDE_PAGEABLE && !copy->snapshot)
        use_box(uses, copy->source, copy, copy->source_pitch, copy->source_slice, SC_USE_READ);
    if (copy->to != SC_SIDE_PAGEABLE)
        use_box(uses, copy->destination, copy, copy->destination_pitch, copy->destination_slice,
                SC_USE_WRITE);
}

static void use_spans(struct uses *uses, const struct sc_move_work *move, enum sc_use_kind kind)
{
    for (uint64_t i = 0; i < move->count; i++)
        add(uses, move->spans[i].address, move->spans[i].bytes, kind, false);
}

static void use_graph_memory(struct uses *uses, const struct sc_graph_memory_work *work)
{
    const struct sc_allocation *allocation = sc_graph_memory_allocation(work->memory);
    add(uses, allocation->begin, allocation->bytes, work->live ? SC_USE_ALLOCATE : SC_USE_FREE, false);
}

bool sc_race_uses(struct sc_op *op)
{
    struct uses uses = {.op = op};
    const struct sc_set_work *set = &op->set;
    switch (op->kind) {
    case SC_OP_KERNEL:
        use_kernel(&uses, op);
        break;
    case SC_OP_COPY:
        use_copy(&uses, &op->copy);
        break;
    case SC_OP_SET:
        for (uint64_t y = 0; y < set->height; y++)
            add(&uses, set->address + y * set->pitch, set->width * set->element_bytes, SC_USE_WRITE, false);
        break;
    case SC_OP_PREFETCH:
        use_spans(&uses, &op->move, SC_USE_PREFETCH);
        break;
    case SC_OP_DISCARD:
    case SC_OP_DISCARD_PREFETCH:
        use_spans(&uses, &op->move, SC_USE_DISCARD);
        break;
    case SC_OP_ALLOCATE:
        add(&uses, op->span.address, op->span.bytes, SC_USE_ALLOCATE, false);
        break;
    case SC_OP_FREE:
        add(&uses, op->free.address, op->free.bytes, SC_USE_FREE, false);
        break;
    case SC_OP_GRAPH_MEMORY:
        use_graph_memory(&uses, &op->graph_memory);
        break;
    default:
        break; /* such operations take part in the order, but use no memory */
    }
    flush(&uses);
    sc_actor_unref(uses.actor);
    free(uses.ranges);
    return !uses.failed;
}

/* Where pages are preferred, and who maps them, never decides about contents. Which copies there are does:
 * taking read-mostly back ends one of two. */
bool sc_race_advice(struct sc_op *op, const struct sc_clock *host)
{
    enum sc_advice advice = op->advise.advice;
    if (advice != SC_ADVISE_READ_MOSTLY && advice != SC_ADVISE_NOT_READ_MOSTLY) return true;
    const struct sc_span *span = &op->advise.span;
    struct uses uses = {.op = op, .actor = new_actor(op)};
    if (!uses.actor) return false;
    uses.actor->name = advice == SC_ADVISE_READ_MOSTLY ? "to set read-mostly" : "to unset read-mostly";
    sc_shadow_check(uses.actor, host,
                    &(struct sc_use_range){span->address, span->address + span->bytes, SC_USE_ADVISE, false},
                    found, &uses);
    sc_actor_unref(uses.actor);
    return true;
}
