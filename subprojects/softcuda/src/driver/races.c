#include "races.h"

#include <stdlib.h>

#include "callsite.h"
#include "graph.h"
#include "race_report.h"
#include "race_uses.h"

static bool wanted; /* set at the start, cleared by give_up */

static struct sc_chains chains;
static struct sc_clock *host; /* operations that the host's threads have waited for */

void sc_races_init(void)
{
    if (sc_options()->race_mode == SC_RACES_OFF) return;
    wanted = true;
    sc_engine_note_touches();
    sc_site_init();
}

bool sc_races_wanted(void)
{
    return wanted;
}

/* A clock is missing, so later reports would be unreliable. */
static void give_up(void)
{
    if (wanted) sc_log("no memory to look for races: no further ones are found");
    wanted = false;
}

void sc_races_submitted(struct sc_op *op)
{
    if (!wanted || (op->kind >= SC_OP_SYNC && op->kind != SC_OP_ADVISE)) return;
    op->site =
        op->graph && op->previous && op->previous->graph == op->graph ? op->previous->site : sc_site_here();
}

/* Adds an entry to the queue that does not affect the simulated clocks. */
static void enter(struct sc_op *op)
{
    struct sc_thread *thread = sc_self();
    uint64_t pending_ns = thread->pending_ns, last_entry = thread->last_entry;
    thread->pending_ns = 0;
    sc_queue_host(op);
    thread->pending_ns = pending_ns;
    thread->last_entry = last_entry;
}

void sc_races_waited(struct sc_op *op)
{
    if (!wanted || !op) return;
    struct sc_op *entry = sc_op_new(SC_OP_KNOWN, NULL);
    if (entry && sc_op_depends(entry, op)) {
        enter(entry);
        return;
    }
    sc_op_unref(entry);
    give_up();
}

void sc_races_fresh(uint64_t address, uint64_t bytes)
{
    if (!wanted) return;
    struct sc_op *entry = sc_op_new(SC_OP_FRESH, NULL);
    if (!entry) {
        give_up();
        return;
    }
    entry->span = (struct sc_span){.address = address, .bytes = bytes};
    enter(entry);
}

CUresult sc_races_allocated(struct sc_stream *stream, uint64_t address, uint64_t bytes)
{
    if (!wanted) return CUDA_SUCCESS;
    struct sc_op *op = sc_op_new(SC_OP_ALLOCATE, stream->context);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->span = (struct sc_span){.address = address, .bytes = bytes};
    return sc_queue_submit(stream, op);
}

/* Assigns its moment and clock to an operation of a stream. */
static bool place(struct sc_op *op)
{
    struct sc_moment *before = calloc(op->dependency_count + 1, sizeof *before);
    struct sc_clock *clock = sc_clock_new(&chains);
    bool ok = before && clock && sc_clock_join(&clock, host);
    size_t count = 0;
    for (size_t i = 0; ok && i < op->dependency_count; i++) {
        const struct sc_op *dependency = op->dependencies[i];
        ok = sc_clock_join(&clock, dependency->clock);
        if (dependency->clock) before[count++] = dependency->moment;
    }
    ok = ok && sc_chains_add(&chains, clock, before, count, &op->moment);
    free(before);
    if (ok && op->context) ok = sc_clock_join(&op->context->reached, clock);
    op->clock = clock;
    return ok;
}

/* Sets the clock of a SYNC entry to what a waiting thread will know. */
static bool note_wait(struct sc_op *op)
{
    if (op->whole_context && op->context) return sc_clock_join(&op->clock, op->context->reached);
    bool ok = true;
    for (size_t i = 0; ok && i < op->dependency_count; i++)
        ok = sc_clock_join(&op->clock, op->dependencies[i]->clock);
    return ok;
}

void sc_races_timed(struct sc_op *op)
{
    if (!wanted) return;
    bool ok = true;
    switch (op->kind) {
    case SC_OP_SYNC:
        ok = note_wait(op);
        break;
    case SC_OP_KNOWN:
        ok = sc_clock_join(&host, op->dependencies[0]->clock);
        break;
    case SC_OP_FRESH:
        ok = sc_shadow_forget(op->span.address, op->span.address + op->span.bytes);
        break;
    case SC_OP_CHARGE:
    case SC_OP_MANAGED_ALLOCATE:
    case SC_OP_MANAGED_FREE:
    case SC_OP_HOST_FAULT:
        break;
    case SC_OP_ADVISE:
        ok = sc_race_advice(op, host);
        break;
    default:
        ok = place(op) && (op->dropped || sc_race_uses(op));
        break;
    }
    if (!ok) give_up();
}

void sc_races_close(void)
{
    if (sc_options()->race_mode != SC_RACES_OFF) sc_race_report_close();
}
