/* Assigns executed entries their place on the simulated clock. */
#include "hidden.h"
#include "moves.h"
#include "native.h"
#include "neighbours.h"
#include "queue.h"
#include "races.h"
#include "touched.h"
#include "views.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [SC_OP_KERNEL] = "kernel",     [SC_OP_COPY] = "copy",       [SC_OP_SET] = "set",
    [SC_OP_PREFETCH] = "prefetch", [SC_OP_DISCARD] = "discard", [SC_OP_DISCARD_PREFETCH] = "discard_prefetch",
    [SC_OP_RECORD] = "record",     [SC_OP_WAIT] = "wait",       [SC_OP_CALL] = "call",
    [SC_OP_FREE] = "free",         [SC_OP_JOIN] = "join",       [SC_OP_GRAPH_MEMORY] = "graph_memory",
    [SC_OP_ALLOCATE] = "allocate",
};

static struct sc_moves moves;

static FILE *timeline;
static bool timeline_tried;

static void write_timeline(const struct sc_op *op, const struct sc_effect *effect)
{
    if (!timeline_tried) {
        timeline_tried = true;
        if (!*sc_options()->timeline) return;
        char path[4096];
        sc_expand_path(sc_options()->timeline, path, sizeof path);
        timeline = fopen(path, "we");
        if (!timeline) sc_log("cannot write the timeline to %s: %s", path, strerror(errno));
    }
    if (!timeline) return;
    char device[32] = "";
    if (sc_device_count() > 1) snprintf(device, sizeof device, "\"device\": %d, ", op->device->ordinal);
    fprintf(timeline,
            "{\"op\": %llu, %s\"kind\": \"%s\", \"name\": \"%s\", \"stream\": %llu, \"start_ns\": %llu, "
            "\"end_ns\": %llu, "
            "\"bytes_in\": %llu, \"bytes_out\": %llu, \"remote_bytes\": %llu, \"fault_bytes\": %llu, "
            "\"eviction_bytes\": %llu}\n",
            (unsigned long long)op->id, device, kind_names[op->kind],
            op->kind == SC_OP_KERNEL && op->launch.name ? op->launch.name : "", op->stream_id,
            (unsigned long long)op->start_ns, (unsigned long long)op->end_ns,
            (unsigned long long)sc_effect_in(effect), (unsigned long long)sc_effect_out(effect),
            (unsigned long long)(effect->in[SC_CAUSE_REMOTE] + effect->out[SC_CAUSE_REMOTE]),
            (unsigned long long)(effect->in[SC_CAUSE_FAULT] + effect->out[SC_CAUSE_FAULT]),
            (unsigned long long)effect->out[SC_CAUSE_EVICTION]);
}

void sc_timeline_flush(void)
{
    if (timeline) fflush(timeline);
}

void sc_timeline_close(void)
{
    if (timeline && fclose(timeline)) sc_log("cannot write the timeline");
    timeline = NULL;
}

static uint64_t last_call_ns, last_return_ns; /* of the last call of any thread */

/* Advances the submitting thread's clock to this entry. A new thread starts when the last call returns: that
 * of the thread which makes it, if no others are busy. */
static void tick_host(struct sc_op *op)
{
    struct sc_thread *thread = op->thread;
    if (!thread->started) thread->clock_ns = sc_later(thread->clock_ns, last_return_ns);
    if (sc_options()->causal) thread->clock_ns = sc_later(thread->clock_ns, last_call_ns);
    thread->started = true;
    thread->clock_ns += op->call_ns;
    last_call_ns = last_return_ns = thread->clock_ns;
}

static void describe(const struct sc_op *op, struct sc_work *work)
{
    work->in_graph = op->in_graph;
    switch (op->kind) {
    case SC_OP_KERNEL:
        work->kind = SC_WORK_KERNEL;
        work->cost = &op->cost;
        break;
    case SC_OP_COPY: {
        const struct sc_copy_work *copy = &op->copy;
        uint64_t bytes = copy->width * copy->height * copy->depth;
        work->kind = SC_WORK_COPY;
        work->destination = (struct sc_span){.address = copy->destination, .bytes = bytes};
        work->source = (struct sc_span){.address = copy->source, .bytes = bytes};
        work->to = copy->to;
        work->from = copy->from;
        break;
    }
    case SC_OP_SET:
        work->kind = SC_WORK_SET;
        work->destination = (struct sc_span){.address = op->set.address,
                                             .bytes = op->set.width * op->set.height * op->set.element_bytes};
        work->to = op->set.to;
        break;
    case SC_OP_PREFETCH:
    case SC_OP_DISCARD:
    case SC_OP_DISCARD_PREFETCH:
        work->kind = op->kind == SC_OP_PREFETCH  ? SC_WORK_PREFETCH
                     : op->kind == SC_OP_DISCARD ? SC_WORK_DISCARD
                                                 : SC_WORK_DISCARD_PREFETCH;
        work->spans = op->move.spans;
        work->span_count = op->move.count;
        break;
    default:
        work->kind = SC_WORK_NONE;
        break;
    }
}

static bool moves_to_host(const struct sc_op *op)
{
    if (op->kind != SC_OP_PREFETCH) return false;
    for (uint64_t i = 0; i < op->move.count; i++)
        if (op->move.spans[i].to == SC_HOST) return true;
    return false;
}

static uint64_t dependencies_end_ns(const struct sc_op *op)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < op->dependency_count; i++) end_ns = sc_later(end_ns, op->dependencies[i]->end_ns);
    return end_ns;
}

/* The device on whose clock the operation is placed: usually its stream's device. */
static struct sc_device *device_of(const struct sc_op *op)
{
    int ordinal = op->device->ordinal;
    if (op->kind == SC_OP_COPY && op->copy.to == SC_SIDE_DEVICE)
        ordinal = op->copy.to_ordinal;
    else if (op->kind == SC_OP_COPY && op->copy.from == SC_SIDE_DEVICE)
        ordinal = op->copy.from_ordinal;
    else if (op->kind == SC_OP_PREFETCH || op->kind == SC_OP_DISCARD_PREFETCH)
        ordinal = op->move.spans[0].to == SC_DEVICE ? op->move.spans[0].ordinal : ordinal;
    return sc_device_at(ordinal);
}

static void recall_span(struct sc_device *device, struct sc_work *work, const struct sc_span *span,
                        uint64_t begin_ns)
{
    sc_views_settle(device, span, begin_ns);
    work->ready_ns = sc_later(work->ready_ns, sc_views_recall(device, span, begin_ns));
}

/* Moves managed memory that other devices hold to the host before the operation uses it. */
static void recall(struct sc_device *device, struct sc_work *work)
{
    uint64_t begin_ns = work->ready_ns;
    for (size_t i = 0; work->cost && i < work->cost->block_count; i++) {
        struct sc_span block = {.address = work->cost->blocks[i].block << SC_BLOCK_SHIFT, .bytes = 1};
        recall_span(device, work, &block, begin_ns);
    }
    for (size_t i = 0; i < work->span_count; i++) {
        if (work->kind != SC_WORK_PREFETCH) sc_views_forget(device, &work->spans[i], begin_ns);
        recall_span(device, work, &work->spans[i], begin_ns);
    }
    if (work->to == SC_SIDE_MANAGED) recall_span(device, work, &work->destination, begin_ns);
    if (work->from == SC_SIDE_MANAGED) recall_span(device, work, &work->source, begin_ns);
}

static bool is_between_devices(const struct sc_op *op)
{
    return op->kind == SC_OP_COPY && op->copy.to == SC_SIDE_DEVICE && op->copy.from == SC_SIDE_DEVICE &&
           op->copy.to_ordinal != op->copy.from_ordinal;
}

static void place(struct sc_op *op, struct sc_work *work, struct sc_placed *placed)
{
    struct sc_device *device = device_of(op);
    describe(op, work);
    if (sc_device_count() > 1) recall(device, work);
    if (is_between_devices(op))
        sc_timing_place_between(&sc_device_at(op->copy.from_ordinal)->timing, &device->timing, work->ready_ns,
                                work->destination.bytes, placed);
    else
        sc_timing_place(&device->timing, work, placed);
}

static uint64_t arrive_launch(struct sc_op *op, uint64_t *ready_ns)
{
    struct sc_work work = {.ready_ns = *ready_ns};
    uint64_t busy_ns;
    describe(op, &work);
    if (sc_device_count() > 1) recall(op->device, &work);
    sc_timing_arrive(&op->device->timing, &work, ready_ns, &busy_ns, &op->launch.effect);
    return busy_ns;
}

void sc_op_arrive(struct sc_op *op)
{
    tick_host(op);
    uint64_t ready_ns = sc_later(op->thread->clock_ns, dependencies_end_ns(op));
    uint64_t busy_ns = op->kind == SC_OP_KERNEL ? arrive_launch(op, &ready_ns) : 0;
    op->peers->arrive(op->token, ready_ns, busy_ns);
}

/* Common to all operations of streams. */
static void note_end(struct sc_op *op, const struct sc_effect *effect)
{
    if (op->context) op->context->last_end_ns = sc_later(op->context->last_end_ns, op->end_ns);
    if (!op->dropped) write_timeline(op, effect);
    sc_touched_write(op);
}

/* If the stream is idle, the driver moves memory inside the call, and the caller waits for it. */
static bool stream_is_idle(const struct sc_op *op)
{
    const struct sc_driver_costs *costs = &op->device->timing.machine.driver;
    if (!costs->is_real) return !op->has_predecessor || op->dependencies[0]->end_ns <= op->thread->clock_ns;
    for (size_t i = 0; i < op->dependency_count; i++) {
        const struct sc_op *before = op->dependencies[i];
        bool is_known = before->known_ended || (op->context && before->end_ns <= op->context->waited_ns);
        if (before->end_ns + (is_known ? 0 : costs->retire_ns) > op->thread->clock_ns) return false;
    }
    return true;
}

/* Whether the caller waits for the operation's end. */
static bool holds_caller(const struct sc_op *op)
{
    bool moves_any =
        op->kind == SC_OP_PREFETCH || op->kind == SC_OP_DISCARD || op->kind == SC_OP_DISCARD_PREFETCH;
    return op->device->timing.machine.driver.is_real ? moves_any : moves_to_host(op);
}

static void time_stream_op(struct sc_op *op, uint64_t waited_ns)
{
    struct sc_thread *thread = op->thread;
    bool idle = stream_is_idle(op);
    struct sc_work work = {.ready_ns = sc_later(thread->clock_ns, waited_ns),
                           .order = &thread->order,
                           .moves = &moves,
                           .is_deferred = !idle};
    struct sc_placed placed = {.start_ns = work.ready_ns, .end_ns = work.ready_ns};
    if (!op->dropped) place(op, &work, &placed);
    op->start_ns = placed.start_ns;
    op->end_ns = placed.end_ns;
    if (holds_caller(op) && idle) {
        thread->clock_ns = sc_later(thread->clock_ns, op->end_ns);
        op->known_ended = true;
    }
    if (op->kind == SC_OP_FREE)
        sc_timing_charge(&op->free.device->timing, op->end_ns, -(int64_t)op->free.charged_bytes);
    note_end(op, &placed.effect);
}

/* Bounds the memory of footprints and engines: no change can happen before the slowest thread's clock. */
static void fold(struct sc_device *device)
{
    struct sc_timing *timing = &device->timing;
    if (timing->footprint.count + timing->allocated.count + sc_timing_remembered(timing) < device->fold_at)
        return;
    uint64_t low_ns = UINT64_MAX;
    for (struct sc_thread *thread = sc_threads(); thread; thread = thread->next)
        if (thread->started && !thread->gone && thread->clock_ns < low_ns) low_ns = thread->clock_ns;
    sc_footprint_fold(&timing->footprint, low_ns);
    sc_footprint_fold(&timing->allocated, low_ns);
    sc_timing_forget(timing, low_ns);
    sc_timeline_forget(&moves.worker, low_ns);
    device->fold_at =
        SC_FOLD_AT + 2 * (timing->footprint.count + timing->allocated.count + sc_timing_remembered(timing));
}

static void time_met(struct sc_op *op)
{
    static const struct sc_effect none;
    bool is_launch = op->kind == SC_OP_KERNEL;
    if (is_launch) sc_timing_meet(&op->device->timing, op->start_ns, op->end_ns, &op->launch.effect);
    note_end(op, is_launch ? &op->launch.effect : &none);
}

static void wait_for_moves(struct sc_op *op)
{
    if (sc_device_at(0)->timing.machine.driver.is_real)
        op->thread->clock_ns = sc_moves_wait(&moves, op->thread->clock_ns);
}

static void time_unmet(struct sc_op *op)
{
    tick_host(op);
    struct sc_thread *thread = op->thread;
    uint64_t waited_ns = dependencies_end_ns(op);
    switch (op->kind) {
    case SC_OP_SYNC:
        if (op->whole_context && op->context) waited_ns = op->context->waited_ns = op->context->last_end_ns;
        for (size_t i = 0; i < op->dependency_count; i++) op->dependencies[i]->known_ended = true;
        thread->clock_ns = sc_later(thread->clock_ns, waited_ns);
        break;
    case SC_OP_CHARGE:
        sc_timing_charge(&op->device->timing, thread->clock_ns, op->charge_bytes);
        break;
    case SC_OP_MANAGED_ALLOCATE:
        wait_for_moves(op);
        sc_views_allocate(&op->span);
        break;
    case SC_OP_MANAGED_FREE:
        wait_for_moves(op);
        sc_views_free(&op->span, thread->clock_ns);
        break;
    case SC_OP_HOST_FAULT:
        thread->clock_ns = sc_views_host_fault(op->span.address, thread->clock_ns);
        break;
    case SC_OP_ADVISE:
        wait_for_moves(op);
        sc_views_advise(&op->advise.span, op->advise.advice, thread->clock_ns);
        break;
    default:
        time_stream_op(op, waited_ns);
        break;
    }
    if (op->end_ns < thread->clock_ns && op->kind >= SC_OP_SYNC) op->end_ns = thread->clock_ns;
    last_return_ns = thread->clock_ns;
}

void sc_op_time(struct sc_op *op)
{
    bool on_clock = op->kind != SC_OP_KNOWN && op->kind != SC_OP_FRESH;
    if (op->arrived)
        time_met(op);
    else if (on_clock)
        time_unmet(op);
    sc_races_timed(op);
    sc_hidden_timed(op);
    sc_trap_moved();
    if (on_clock && op->device) fold(op->device);
    for (int i = 0; on_clock && i < sc_device_count(); i++) {
        const struct sc_device *device = sc_device_at(i);
        sc_neighbours_say_resident(device->physical, device->timing.managed.resident_bytes);
    }
}
