/* The second life of an entry: its place on the simulated clock. */
#include "native.h"
#include "queue.h"
#include "races.h"
#include "touched.h"

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
    fprintf(timeline,
            "{\"op\": %llu, \"kind\": \"%s\", \"name\": \"%s\", \"stream\": %llu, \"start_ns\": %llu, "
            "\"end_ns\": %llu, "
            "\"bytes_in\": %llu, \"bytes_out\": %llu, \"remote_bytes\": %llu, \"fault_bytes\": %llu, "
            "\"eviction_bytes\": %llu}\n",
            (unsigned long long)op->id, kind_names[op->kind],
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

static uint64_t max_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The submitter's clock at this entry. A thread that is new starts where the last caller is. */
static void tick_host(struct sc_op *op)
{
    static uint64_t last_call_ns;
    struct sc_thread *thread = op->thread;
    if (!thread->started || sc_options()->causal) thread->clock_ns = max_ns(thread->clock_ns, last_call_ns);
    thread->started = true;
    thread->clock_ns += op->call_ns;
    last_call_ns = thread->clock_ns;
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
    for (size_t i = 0; i < op->dependency_count; i++) end_ns = max_ns(end_ns, op->dependencies[i]->end_ns);
    return end_ns;
}

void sc_op_arrive(struct sc_timing *timing, struct sc_op *op)
{
    tick_host(op);
    struct sc_work work = {.ready_ns = max_ns(op->thread->clock_ns, dependencies_end_ns(op))};
    uint64_t ready_ns, busy_ns;
    describe(op, &work);
    sc_timing_arrive(timing, &work, &ready_ns, &busy_ns, &op->launch.effect);
    op->launch.native->peers->arrive(op->launch.token, ready_ns, busy_ns);
}

/* What is the same for all that a stream did. */
static void note_end(struct sc_op *op, const struct sc_effect *effect)
{
    if (op->context) op->context->last_end_ns = max_ns(op->context->last_end_ns, op->end_ns);
    if (!op->dropped) write_timeline(op, effect);
    sc_touched_write(op);
}

static void time_stream_op(struct sc_timing *timing, struct sc_op *op, uint64_t waited_ns)
{
    struct sc_thread *thread = op->thread;
    /* On an idle stream the driver evicts inside the call, and the caller waits for it. */
    bool idle = !op->has_predecessor || op->dependencies[0]->end_ns <= thread->clock_ns;
    struct sc_work work = {.ready_ns = max_ns(thread->clock_ns, waited_ns)};
    struct sc_placed placed = {.start_ns = work.ready_ns, .end_ns = work.ready_ns};
    if (!op->dropped) {
        describe(op, &work);
        sc_timing_place(timing, &work, &placed);
    }
    op->start_ns = placed.start_ns;
    op->end_ns = placed.end_ns;
    if (moves_to_host(op) && idle) thread->clock_ns = max_ns(thread->clock_ns, op->end_ns);
    if (op->kind == SC_OP_FREE) sc_timing_charge(timing, op->end_ns, -(int64_t)op->free.charged_bytes);
    note_end(op, &placed.effect);
}

/* Keeps the record of the footprint small: nothing can happen any more before the slowest thread's clock. */
static void fold(struct sc_timing *timing)
{
    static size_t fold_at = 65536;
    if (timing->footprint.count + timing->allocated.count < fold_at) return;
    uint64_t low_ns = UINT64_MAX;
    for (struct sc_thread *thread = sc_threads(); thread; thread = thread->next)
        if (thread->started && !thread->gone && thread->clock_ns < low_ns) low_ns = thread->clock_ns;
    sc_footprint_fold(&timing->footprint, low_ns);
    sc_footprint_fold(&timing->allocated, low_ns);
    fold_at = 65536 + 2 * (timing->footprint.count + timing->allocated.count);
}

void sc_op_time(struct sc_timing *timing, struct sc_op *op)
{
    if (op->kind == SC_OP_KNOWN || op->kind == SC_OP_FRESH) {
        sc_races_timed(op);
        return;
    }
    if (op->arrived) {
        sc_timing_meet(timing, op->start_ns, op->end_ns, &op->launch.effect);
        note_end(op, &op->launch.effect);
        sc_races_timed(op);
        return;
    }
    tick_host(op);
    struct sc_thread *thread = op->thread;
    struct sc_effect effect = {0};
    uint64_t waited_ns = dependencies_end_ns(op);
    switch (op->kind) {
    case SC_OP_SYNC:
        if (op->whole_context && op->context) waited_ns = op->context->last_end_ns;
        thread->clock_ns = max_ns(thread->clock_ns, waited_ns);
        break;
    case SC_OP_CHARGE:
        sc_timing_charge(timing, thread->clock_ns, op->charge_bytes);
        break;
    case SC_OP_MANAGED_ALLOCATE:
        if (!sc_managed_allocate(&timing->managed, op->span.address, op->span.bytes))
            sc_log("no memory for the blocks of a managed allocation: its times will be wrong");
        break;
    case SC_OP_MANAGED_FREE:
        sc_managed_free(&timing->managed, op->span.address, &effect);
        sc_timing_apply(timing, thread->clock_ns, thread->clock_ns, &effect);
        break;
    case SC_OP_ADVISE:
        sc_managed_advise(&timing->managed, op->advise.span.address, op->advise.span.bytes, op->advise.advice,
                          op->advise.span.to, &effect);
        sc_timing_apply(timing, thread->clock_ns, thread->clock_ns, &effect);
        break;
    default:
        time_stream_op(timing, op, waited_ns);
        break;
    }
    if (op->end_ns < thread->clock_ns && op->kind >= SC_OP_SYNC) op->end_ns = thread->clock_ns;
    sc_races_timed(op);
    fold(timing);
}
