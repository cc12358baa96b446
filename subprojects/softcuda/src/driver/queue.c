#include "queue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "capture.h"
#include "graph.h"
#include "hidden.h"
#include "module.h"
#include "native.h"
#include "peers.h"
#include "pool.h"
#include "races.h"
#include "work.h"

#define RANDOM_WINDOW 256
#define SNAPSHOT_LIMIT (UINT64_C(256) << 20)
#define CALL_PATIENCE_NS 10000000
#define PEERS_PATIENCE_NS 100000000
#define LAST_PATIENCE_NS 2000000000 /* when the process ends */
#define VAIN_POLLS 1000
#define VAIN_PART 8

static struct {
    struct sc_op *first, *last;                 /* entries without times */
    struct sc_op *first_pending, *last_pending; /* entries that are not executed */
    uint64_t next_id;
    uint64_t count;
    uint64_t snapshot_bytes;
    uint64_t random;
    bool open;
    unsigned running;                 /* operations that run, without host functions */
    unsigned short_calls, long_calls; /* host functions that run: those that may end soon; those that take
                                         long */
    unsigned late_peers;              /* launches that take long to meet their peers */
    uint64_t last_meeting;            /* id of the last launch that meets peers; 0: none yet */
    uint64_t first_wait_ns;           /* real time at which a query first waited for peers */
    uint64_t vain_wait_ns;            /* how long such waits were without success, in real time */
    pthread_cond_t progress;          /* signalled when an operation that ran without the lock has ended */
} queue = {.next_id = 1, .progress = PTHREAD_COND_INITIALIZER};

static void open_queue(void)
{
    if (queue.open) return;
    queue.random = sc_options()->seed * 2 + 1;
    queue.open = true;
}

struct sc_op *sc_op_new(enum sc_op_kind kind, struct sc_context *context)
{
    struct sc_op *op = calloc(1, sizeof *op);
    if (!op) return NULL;
    op->kind = kind;
    op->refs = 1;
    op->context = context;
    if (context) op->device = context->device;
    if (context) context->refs++;
    return op;
}

bool sc_op_depends(struct sc_op *op, struct sc_op *on)
{
    if (!on) return true;
    if (op->dependency_count == op->dependency_capacity) {
        size_t capacity = op->dependency_capacity ? 2 * op->dependency_capacity : 2;
        struct sc_op **list = realloc(op->dependencies, capacity * sizeof *list);
        if (!list) return false;
        op->dependencies = list;
        op->dependency_capacity = capacity;
    }
    on->refs++;
    op->dependencies[op->dependency_count++] = on;
    return true;
}

static void drop_dependencies(struct sc_op *op)
{
    for (size_t i = 0; i < op->dependency_count; i++) sc_op_unref(op->dependencies[i]);
    free(op->dependencies);
    op->dependencies = NULL;
    op->dependency_count = op->dependency_capacity = 0;
}

static void drop_kept(struct sc_op *op)
{
    sc_user_set_unref(op->kept);
    op->kept = NULL;
}

/* Frees what execution and timing needed; streams and events may still refer to the entry. */
static void drop_work(struct sc_op *op)
{
    drop_dependencies(op);
    sc_hidden_drop(op->saved);
    op->saved = NULL;
    if (op->kind == SC_OP_KERNEL) {
        sc_cost_free(&op->cost);
        memset(&op->cost, 0, sizeof op->cost);
        sc_launch_drop(&op->launch);
    } else if (op->kind == SC_OP_COPY) {
        free(op->copy.snapshot);
        queue.snapshot_bytes -= op->copy.snapshot_bytes;
        op->copy.snapshot = NULL;
        op->copy.snapshot_bytes = 0;
    } else if (op->kind == SC_OP_PREFETCH || op->kind == SC_OP_DISCARD ||
               op->kind == SC_OP_DISCARD_PREFETCH) {
        free(op->move.spans);
        op->move.spans = NULL;
    } else if (op->kind == SC_OP_JOIN) {
        drop_kept(op);
    } else if (op->kind == SC_OP_GRAPH_MEMORY) {
        sc_graph_memory_op_done(&op->graph_memory);
    } else if (op->kind == SC_OP_RECORD || op->kind == SC_OP_WAIT) {
        sc_ipc_event_unref(op->ipc.event);
        op->ipc.event = NULL;
    } else if (op->kind == SC_OP_FREE) {
        sc_block_unref(op->free.block);
        op->free.block = NULL;
    }
    if (op->context) sc_context_unref(op->context);
    op->context = NULL;
}

__attribute__((noinline)) void sc_op_unref(struct sc_op *op)
{
    if (!op || --op->refs) return;
    drop_work(op);
    sc_clock_unref(op->clock);
    free(op);
}

void sc_op_own_snapshot(struct sc_op *op, void *buffer, uint64_t bytes)
{
    op->copy.snapshot = buffer;
    op->copy.snapshot_bytes = bytes;
    queue.snapshot_bytes += bytes;
}

static void append(struct sc_op *op)
{
    open_queue();
    struct sc_thread *thread = sc_self();
    op->id = queue.next_id++;
    op->thread = thread;
    op->call_ns = thread->pending_ns;
    thread->pending_ns = 0;
    thread->last_entry = op->id;
    op->previous = queue.last;
    *(queue.last ? &queue.last->next : &queue.first) = op;
    queue.last = op;
    queue.count++;
    sc_races_submitted(op);
    if (op->kind == SC_OP_KERNEL && op->launch.native) op->peers = op->launch.native->peers;
    op->meets_peers = op->peers != NULL;
    if (op->state == SC_OP_DONE) return;
    op->previous_pending = queue.last_pending;
    *(queue.last_pending ? &queue.last_pending->next_pending : &queue.first_pending) = op;
    queue.last_pending = op;
    if (!op->meets_peers) return;
    queue.last_meeting = op->id;
    sc_peers_expect();
    pthread_cond_broadcast(&queue.progress);
}

static void unlink_pending(struct sc_op *op)
{
    *(op->previous_pending ? &op->previous_pending->next_pending : &queue.first_pending) = op->next_pending;
    *(op->next_pending ? &op->next_pending->previous_pending : &queue.last_pending) = op->previous_pending;
    op->next_pending = op->previous_pending = NULL;
}

static void unlink_entry(struct sc_op *op)
{
    *(op->previous ? &op->previous->next : &queue.first) = op->next;
    *(op->next ? &op->next->previous : &queue.last) = op->previous;
    op->next = op->previous = NULL;
    queue.count--;
}

/* Whether the times of the launch are known. Reports this rank's ready time to the peers first, if that has
 * not been done. */
static enum sc_meeting meets(struct sc_op *op)
{
    if (!op->meets_peers || op->met || !op->token) return SC_MET;
    if (!op->arrived) {
        sc_op_arrive(op);
        op->arrived = true;
        pthread_cond_broadcast(&queue.progress);
    }
    enum sc_meeting meeting = op->peers->meet(op->token, 0, &op->start_ns, &op->end_ns);
    op->met = meeting == SC_MET;
    if (op->met && op->takes_long) queue.late_peers--;
    return meeting;
}

/* Whether the entry waits for a host function or peers that take long, or for peers behind it in the queue.
 * pre: called for all entries before it, in order. */
static bool is_held(struct sc_op *op, const struct sc_op *last_held)
{
    op->held = op->kind == SC_OP_CALL && op->takes_long && op->state == SC_OP_RUNNING;
    for (size_t i = 0; i < op->dependency_count; i++) op->held |= op->dependencies[i]->held;
    return op->held |= op->whole_context && last_held;
}

/* Whether an executed launch without times lets later entries get theirs first. *is_blocked: they must wait
 * for it. */
static bool is_passed(struct sc_op *op, bool *is_blocked)
{
    enum sc_meeting meeting = meets(op);
    op->held = meeting == SC_MEETING_HERE || (meeting != SC_MET && op->takes_long);
    *is_blocked = meeting != SC_MET && !op->held;
    return op->held;
}

static void time_entry(struct sc_op *op)
{
    unlink_entry(op);
    op->held = false;
    sc_op_time(op);
    op->timed = true;
    if (op->meets_peers) pthread_cond_broadcast(&queue.progress);
    drop_work(op);
    sc_op_unref(op);
}

/* Times entries from the head of the list; skips entries that wait for host functions or peers that take
 * long. */
static void advance(void)
{
    struct sc_op *held = NULL, *op = queue.first;
    bool is_blocked;
    while (op) {
        bool asks = queue.long_calls || held;
        if ((asks && is_held(op, held)) ||
            (op->state == SC_OP_DONE && op->meets_peers && is_passed(op, &is_blocked))) {
            /* Everything behind this entry comes after what the host has waited for. */
            if (op->kind == SC_OP_KNOWN) break;
            held = op;
            op = op->next;
            continue;
        }
        if (op->state != SC_OP_DONE || (op->meets_peers && is_blocked)) break;
        time_entry(op);
        /* Start again from the front: if the entry released memory, that may have added and timed other
         * entries; and a peer of this launch may be waiting there. */
        op = queue.first;
        held = NULL;
    }
}

static bool ready(const struct sc_op *op)
{
    if (op->state != SC_OP_QUEUED) return false;
    for (size_t i = 0; i < op->dependency_count; i++)
        if (op->dependencies[i]->state != SC_OP_DONE) return false;
    return true;
}

/* Whether a waiting thread may execute it. */
static bool can_run(const struct sc_op *op)
{
    return !op->meets_peers && ready(op);
}

/* Called when `op` was executed or dropped: drops a reference. Returns the next entry of the pending list. */
static struct sc_op *end(struct sc_op *op)
{
    if (op->kind == SC_OP_FREE) sc_pool_freed(op);
    if (op->kind == SC_OP_GRAPH_MEMORY) sc_graph_memory_executed(&op->graph_memory);
    /* The program may wait for the destructor of a user object without a call that would time this entry. */
    if (op->kind == SC_OP_JOIN) drop_kept(op);
    op->state = SC_OP_DONE;
    struct sc_op *next = op->next_pending;
    unlink_pending(op);
    advance();
    sc_op_unref(op);
    pthread_cond_broadcast(&queue.progress);
    return next;
}

static void begin_patience(struct timespec *until, long patience_ns)
{
    clock_gettime(CLOCK_MONOTONIC, until);
    until->tv_nsec += patience_ns;
    until->tv_sec += until->tv_nsec / 1000000000;
    until->tv_nsec %= 1000000000;
}

/* Waits for progress. false: `until` has passed. */
static bool await_progress(const struct timespec *until)
{
    return pthread_cond_clockwait(&queue.progress, &sc_driver_lock, CLOCK_MONOTONIC, until) == 0;
}

/* Starts the host function in another thread, and waits for its end for a limited time. */
static bool call(struct sc_op *op)
{
    struct timespec until;
    op->refs++;
    if (!sc_calls_begin(op)) {
        op->refs--;
        return false;
    }
    queue.short_calls++;
    begin_patience(&until, CALL_PATIENCE_NS);
    while (op->state != SC_OP_DONE && await_progress(&until)) {
    }
    if (op->state != SC_OP_DONE) {
        op->takes_long = true;
        queue.short_calls--;
        queue.long_calls++;
        advance();
        pthread_cond_broadcast(&queue.progress);
    }
    return true;
}

/* Executes one operation that is ready; a host function that takes long may still run when it returns.
 * Releases the lock meanwhile. Returns where to continue in the pending list. */
static struct sc_op *run(struct sc_op *op)
{
    struct sc_context *context = op->context;
    op->refs++;
    op->state = SC_OP_RUNNING;
    if (context->sticky) op->dropped = true;
    /* Any thread that the host function wakes up comes after the function's dependencies. */
    for (size_t i = 0; !op->dropped && op->kind == SC_OP_CALL && i < op->dependency_count; i++)
        sc_races_waited(op->dependencies[i]);
    if (!op->dropped && op->kind == SC_OP_CALL && call(op)) {
        sc_op_unref(op);
        return queue.first_pending;
    }
    if (!op->dropped) {
        bool counts = op->kind != SC_OP_CALL;
        queue.running += counts;
        sc_unlock();
        CUresult fault = sc_op_execute(op);
        sc_lock();
        queue.running -= counts;
        if (fault && !context->sticky) context->sticky = fault;
    }
    return end(op);
}

/* What a thread has submitted before a wait it knows the places of, if its accesses to memory are watched. */
static void waited(struct sc_op *op)
{
    sc_races_waited(op);
    if (sc_trap_on) sc_queue_settle(NULL);
}

/* Marks everything that `op` depends on as wanted. Dependencies are earlier in the list, so one walk towards
 * the head finds all. */
static void want(struct sc_op *op)
{
    if (op->state == SC_OP_DONE) return;
    op->wanted = true;
    for (struct sc_op *at = op; at; at = at->previous_pending)
        if (at->wanted)
            for (size_t i = 0; i < at->dependency_count; i++) at->dependencies[i]->wanted = true;
}

static uint64_t random_below(uint64_t bound)
{
    /* xorshift64* (Vigna 2016) */
    queue.random ^= queue.random >> 12;
    queue.random ^= queue.random << 25;
    queue.random ^= queue.random >> 27;
    return (queue.random * UINT64_C(0x2545f4914f6cdd1d) >> 33) % bound;
}

/* Picks a random ready operation among the oldest ones, so that a full queue does not make every pick
 * expensive. Looks further if none of these is ready: they may wait for another device's collective, which
 * is. */
static struct sc_op *pick_random(void)
{
    struct sc_op *chosen = NULL;
    uint64_t seen = 0;
    int rest = RANDOM_WINDOW;
    for (struct sc_op *op = queue.first_pending; op && (rest > 0 || !chosen); op = op->next_pending, rest--)
        if (can_run(op) && random_below(++seen) == 0) chosen = op;
    return chosen;
}

/* The first wanted operation that is ready, from `from` on. */
static struct sc_op *pick_wanted(struct sc_op *from)
{
    while (from && !(from->wanted && can_run(from))) from = from->next_pending;
    return from;
}

/* The next operation to execute, from `from` on or anywhere; NULL: none is ready. */
static struct sc_op *pick(struct sc_op *from)
{
    if (sc_options()->order == SC_SCHEDULE_RANDOM) return pick_random();
    struct sc_op *op = pick_wanted(from);
    return op ? op : pick_wanted(queue.first_pending);
}

/* Whether the head of the list waits for the times of a launch whose peers are about to report theirs. */
static bool is_meeting(void)
{
    const struct sc_op *op = queue.first;
    return op && op->arrived && !op->met && !op->takes_long;
}

/* What a thread waits for, in addition to running operations. */
enum patience {
    FOR_NOTHING,
    FOR_TIMES, /* times of launches that have run, which their peers are about to report */
    FOR_PEERS, /* launches that wait for their peers, for a limited time */
    FOR_ALL,   /* host functions, and launches that wait for their peers, without a limit */
};

/* Executes until `done(argument)`, or until only work remains that the thread does not wait for. A thread
 * that is cancelled meanwhile ends only after this: neither inside an operation nor with the driver's lock
 * held. pre: the operations that make it true are marked as wanted. */
static void run_until(bool (*done)(void *), void *argument, enum patience patience)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    struct sc_op *cursor = queue.first_pending, *op;
    struct timespec until;
    if (patience == FOR_PEERS) begin_patience(&until, PEERS_PATIENCE_NS);
    while (!done(argument)) {
        if ((op = pick(cursor))) {
            cursor = run(op);
        } else if (patience == FOR_ALL || queue.running || queue.short_calls ||
                   (patience == FOR_TIMES && is_meeting())) {
            pthread_cond_wait(&queue.progress, &sc_driver_lock);
            cursor = queue.first_pending;
        } else if (patience == FOR_PEERS && await_progress(&until)) {
            cursor = queue.first_pending;
        } else {
            break;
        }
    }
    pthread_setcancelstate(cancel_state, NULL);
}

static bool op_done(void *op)
{
    return ((struct sc_op *)op)->state == SC_OP_DONE;
}

static void require(struct sc_op *op)
{
    op->refs++;
    want(op);
    run_until(op_done, op, FOR_ALL);
    sc_op_unref(op);
}

/* Executes `op` and its dependencies as far as that is possible without waiting. */
static void begin(struct sc_op *op)
{
    op->refs++;
    want(op);
    run_until(op_done, op, FOR_NOTHING);
    sc_op_unref(op);
}

static bool none_pending(void *unused)
{
    (void)unused;
    return !queue.first_pending;
}

void sc_queue_called(struct sc_op *op)
{
    (*(op->takes_long ? &queue.long_calls : &queue.short_calls))--;
    end(op);
    if (sc_options()->order == SC_SCHEDULE_EAGER) run_until(none_pending, NULL, FOR_NOTHING);
}

/* Runs a ready launch that meets peers in a thread of its own. */
static void begin_meeting(struct sc_op *op)
{
    op->state = SC_OP_RUNNING;
    op->dropped |= op->context->sticky != CUDA_SUCCESS;
    op->refs += 2; /* one for its end, one for the thread */
    if (!op->dropped && sc_calls_begin(op)) return;
    if (!op->dropped) sc_log("kernel %s: no thread to run it in", op->launch.name);
    if (!op->dropped) op->context->sticky = CUDA_ERROR_OUT_OF_MEMORY;
    op->dropped = true;
    sc_op_unref(op);
    end(op);
}

void sc_queue_serve_peers(void)
{
    struct sc_op *next = NULL, *meeting = NULL;
    /* With the eager schedule, operations behind a launch that has met its peers are executed at once,
     * too. */
    uint64_t last = sc_options()->order == SC_SCHEDULE_EAGER ? UINT64_MAX : queue.last_meeting;
    for (struct sc_op *op = queue.first_pending; op && op->id <= last; op = op->next_pending) {
        op->wanted = true;
        if (!meeting && op->meets_peers && ready(op)) meeting = op;
        if (!next && can_run(op)) next = op;
    }
    if (next && sc_options()->order == SC_SCHEDULE_RANDOM) next = pick_random();
    if (meeting)
        begin_meeting(meeting);
    else if (next)
        run(next);
    else
        pthread_cond_wait(&queue.progress, &sc_driver_lock);
}

void sc_queue_ran(struct sc_op *op, CUresult fault)
{
    struct sc_context *context = op->context;
    if (fault && !context->sticky) context->sticky = fault;
    end(op);
}

void sc_queue_await_time(struct sc_op *op)
{
    advance();
    if (!op->timed && (!op->arrived || op->met)) pthread_cond_wait(&queue.progress, &sc_driver_lock);
}

void sc_queue_takes_long(struct sc_op *op)
{
    if (op->takes_long || op->met) return;
    op->takes_long = true;
    queue.late_peers++;
    advance();
    pthread_cond_broadcast(&queue.progress);
}

struct context_wait {
    const struct sc_context *context;
    uint64_t last; /* operation */
};

static bool context_done(void *argument)
{
    const struct context_wait *wait = argument;
    for (const struct sc_op *op = queue.first_pending; op && op->id <= wait->last; op = op->next_pending)
        if (op->context == wait->context) return false;
    return true;
}

/* Executes the context's pending work. Operations that other threads submit meanwhile may remain, also those
 * that they wait for: else a thread among busy ones might never return. */
static void require_context(struct sc_context *context)
{
    struct context_wait wait = {context, queue.last_pending ? queue.last_pending->id : 0};
    for (struct sc_op *op = queue.last_pending; op; op = op->previous_pending) {
        if (op->context == context) op->wanted = true;
        if (op->wanted)
            for (size_t i = 0; i < op->dependency_count; i++) op->dependencies[i]->wanted = true;
    }
    run_until(context_done, &wait, FOR_ALL);
}

static bool all_timed(void *id)
{
    return !queue.first || queue.first->id > *(uint64_t *)id;
}

static void settle_to(uint64_t id, enum patience patience)
{
    if (all_timed(&id)) return;
    for (struct sc_op *op = queue.first_pending; op && op->id <= id; op = op->next_pending) op->wanted = true;
    run_until(all_timed, &id, patience);
}

static uint64_t last_before(const struct sc_op *op)
{
    uint64_t id = sc_self()->last_entry;
    return op && op->id > id ? op->id : id;
}

void sc_queue_settle(struct sc_op *op)
{
    settle_to(last_before(op), FOR_TIMES);
}

static bool is_full(void)
{
    return queue.first && (queue.count > sc_options()->queue_limit || queue.snapshot_bytes > SNAPSHOT_LIMIT);
}

/* Bounds the memory: beyond the limits, executes the oldest entries. */
static void bound(void)
{
    if ((queue.long_calls || queue.late_peers) && is_full()) settle_to(queue.last->id, FOR_TIMES);
    while (is_full()) settle_to(queue.first->id, FOR_ALL);
}

/* Adds stream order, and the order between the legacy stream and all blocking streams. */
static bool add_edges(struct sc_stream *stream, struct sc_op *op)
{
    struct sc_context *context = stream->context;
    bool ok = true;
    op->has_predecessor = stream->last != NULL;
    /* The predecessor must be dependencies[0], before dependencies that the caller added. */
    ok = ok && sc_op_depends(op, stream->last);
    if (ok && op->has_predecessor && op->dependency_count > 1) {
        struct sc_op *predecessor = op->dependencies[op->dependency_count - 1];
        op->dependencies[op->dependency_count - 1] = op->dependencies[0];
        op->dependencies[0] = predecessor;
    }
    if (stream->flags & CU_STREAM_NON_BLOCKING) return ok;
    if (stream != context->legacy) return ok && sc_op_depends(op, context->legacy->last);
    for (struct sc_stream *other = context->streams; other && ok; other = other->next)
        if (other != stream && !(other->flags & CU_STREAM_NON_BLOCKING)) ok = sc_op_depends(op, other->last);
    for (size_t i = 0; i < context->left_count && ok; i++) ok = sc_op_depends(op, context->left_behind[i]);
    if (!ok) return false;
    for (size_t i = 0; i < context->left_count; i++) sc_op_unref(context->left_behind[i]);
    context->left_count = 0;
    return true;
}

static CUresult submit(struct sc_stream *stream, struct sc_op *op)
{
    if (!add_edges(stream, op)) {
        sc_op_unref(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sc_stream_add_past(stream, &stream->past);
    op->stream_id = stream->id;
    op->refs++; /* the list and the stream each hold a reference */
    sc_op_unref(stream->last);
    stream->last = op;
    append(op);
    if (op->kind == SC_OP_FREE) sc_past_note(&stream->past, stream->id, op->id);
    return CUDA_SUCCESS;
}

/* Follows every submission; drops a reference. */
static void settle_submitted(struct sc_op *op, CUresult result)
{
    if (!result && sc_options()->order == SC_SCHEDULE_EAGER)
        begin(op); /* a fault is returned by the next call, as with every schedule */
    sc_op_unref(op);
    bound();
}

CUresult sc_queue_submit(struct sc_stream *stream, struct sc_op *op)
{
    CUresult result = CUDA_SUCCESS;
    if (sc_captures && sc_capture_submit(stream, op, &result)) return result;
    op->refs++;
    result = submit(stream, op);
    settle_submitted(op, result);
    return result;
}

CUresult sc_queue_submit_graph(struct sc_stream *stream, struct sc_op **ops, size_t count)
{
    struct sc_op *end = ops[count - 1];
    end->refs++;
    CUresult result = submit(stream, ops[0]);
    for (size_t i = 0; !result && i < count; i++) ops[i]->graph = ops[0]->id;
    for (size_t i = 1; i + 1 < count; i++) {
        if (result) {
            sc_op_unref(ops[i]);
            continue;
        }
        ops[i]->stream_id = stream->id;
        append(ops[i]);
    }
    if (count > 1) {
        if (result)
            sc_op_unref(end);
        else
            result = submit(stream, end);
    }
    settle_submitted(end, result);
    return result;
}

CUresult sc_queue_submit_and_wait(struct sc_stream *stream, struct sc_op *op)
{
    CUresult result = CUDA_SUCCESS;
    if (sc_captures && sc_capture_submit(stream, op, &result)) return result;
    op->refs++;
    result = submit(stream, op);
    struct sc_past past = {0};
    if (!result) sc_past_join(&past, &stream->past);
    if (!result) result = sc_queue_wait_op(op);
    if (!result) sc_pool_completed(&past);
    sc_past_clear(&past);
    sc_op_unref(op);
    return result;
}

void sc_queue_host(struct sc_op *op)
{
    op->state = SC_OP_DONE;
    append(op);
    advance();
}

CUresult sc_queue_wait_op(struct sc_op *op)
{
    if (!op) return CUDA_SUCCESS;
    struct sc_context *context = sc_current();
    if (context) context->refs++;
    op->refs++;
    struct sc_op *entry = sc_op_new(SC_OP_SYNC, NULL);
    bool ok = entry && sc_op_depends(entry, op);
    /* The SYNC entry is added first: other threads may submit while the operations run. */
    if (ok)
        sc_queue_host(entry);
    else
        sc_op_unref(entry);
    require(op);
    waited(op);
    bound();
    sc_op_unref(op);
    CUresult result = ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (context && context->sticky) result = context->sticky;
    if (context) sc_context_unref(context);
    return result;
}

CUresult sc_queue_wait_context(struct sc_context *context)
{
    context->refs++;
    struct sc_past past = {0};
    for (struct sc_stream *stream = context->streams; stream; stream = stream->next)
        sc_past_join(&past, &stream->past);
    struct sc_op *entry = sc_op_new(SC_OP_SYNC, context);
    if (entry) {
        entry->whole_context = true;
        entry->refs++;
        sc_queue_host(entry);
    }
    require_context(context);
    waited(entry);
    bound();
    sc_pool_completed(&past);
    sc_past_clear(&past);
    CUresult result = entry ? context->sticky : CUDA_ERROR_OUT_OF_MEMORY;
    sc_op_unref(entry);
    sc_context_unref(context);
    return result;
}

static uint64_t now_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether the operation is known to have ended, even if other entries have no times yet. */
static bool has_ended(const struct sc_thread *thread, const struct sc_op *op)
{
    return op->timed && op->end_ns <= thread->clock_ns + thread->pending_ns;
}

/* Waits for the times of launches that meet peers. Otherwise a query would answer "not ready" only in runs in
 * which other ranks are slower than this one. The wait is short, because the ranks may wait for the program's
 * next call. It is not repeated before they make progress. If it often fails, it is limited to a small part
 * of the process's time. */
static void await_times(const struct sc_thread *thread, const struct sc_op *op)
{
    uint64_t last = last_before(op);
    settle_to(last, FOR_NOTHING);
    if (!queue.last_meeting || thread->vain_polls || has_ended(thread, op) || all_timed(&last)) return;
    uint64_t begun_ns = now_real_ns();
    if (!queue.first_wait_ns) queue.first_wait_ns = begun_ns;
    if (queue.vain_wait_ns > 2 * PEERS_PATIENCE_NS + (begun_ns - queue.first_wait_ns) / VAIN_PART) return;
    settle_to(last, FOR_PEERS);
    if (!all_timed(&last)) queue.vain_wait_ns += now_real_ns() - begun_ns;
}

/* Answers a query while peers delay the times. "Not ready" then costs nothing on the simulated clock, because
 * the number of queries depends on the peers' speed. After many such answers an operation that was executed
 * counts as ended, as on hardware: the program may have to continue before its peers can. */
static bool ended_as_far_as_known(struct sc_thread *thread, const struct sc_op *op)
{
    uint64_t call_ns = sc_options()->call_ns;
    thread->pending_ns -= thread->pending_ns < call_ns ? thread->pending_ns : call_ns;
    if (++thread->vain_polls < VAIN_POLLS) return false;
    return op->state == SC_OP_DONE;
}

/* A thread that never submits anything sleeps between its questions for longer than they take: NCCL's
 * watchdog in PyTorch asks ten times a second, and ends the program where it is told "not ready" for ten
 * minutes. Its clock would be behind forever, so its first question waits until the operation has ended. */
static bool looks_on(const struct sc_thread *thread, const struct sc_op *op)
{
    return !thread->last_entry && op->timed;
}

bool sc_queue_ended(struct sc_op *op)
{
    if (!op) return true;
    op->refs++;
    struct sc_thread *thread = sc_self();
    await_times(thread, op);
    uint64_t now_ns = thread->clock_ns + thread->pending_ns;
    bool ended = has_ended(thread, op);
    if (op->said_ended) { /* the earlier answer holds, and the clock follows */
        if (op->timed && !ended) thread->pending_ns += op->end_ns - now_ns;
        ended = true;
    } else if (!op->timed && queue.last_meeting) {
        ended = op->said_ended = ended_as_far_as_known(thread, op);
    } else {
        thread->vain_polls = 0;
        if (!ended) thread->pending_ns += looks_on(thread, op) ? op->end_ns - now_ns : sc_options()->poll_ns;
        ended |= looks_on(thread, op);
    }
    if (ended) waited(op);
    op->known_ended |= ended;
    sc_op_unref(op);
    return ended;
}

void sc_queue_let_finish(void)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    while (queue.running) pthread_cond_wait(&queue.progress, &sc_driver_lock);
    pthread_setcancelstate(cancel_state, NULL);
}

/* Whether a launch that has run lacks times that a peer in another process can still report. */
static bool awaits_times(void)
{
    uint64_t start_ns, end_ns;
    for (const struct sc_op *op = queue.first; op; op = op->next)
        if (op->state == SC_OP_DONE && op->arrived && !op->met && op->token &&
            op->peers->meet(op->token, 0, &start_ns, &end_ns) == SC_MEETING_ELSEWHERE)
            return true;
    return false;
}

/* What has no times is missing in the timeline and in the books. */
static void await_last_times(void)
{
    struct timespec until;
    begin_patience(&until, LAST_PATIENCE_NS);
    while (awaits_times() && await_progress(&until)) {
    }
}

void sc_queue_close(void)
{
    for (struct sc_op *op = queue.first_pending, *next; op; op = next) {
        next = op->next_pending;
        if (op->state == SC_OP_RUNNING) continue; /* another thread is executing it */
        unlink_pending(op);
        op->dropped = true;
        op->state = SC_OP_DONE;
    }
    advance();
    await_last_times();
    advance();
}
