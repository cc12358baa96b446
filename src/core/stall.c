#include "core/stall.h"

#include "core/history.h"
#include "move/stats.h"
#include "move/streams.h"

static void settle(struct sl_stalls *stalls, struct sl_stall *stall)
{
    const struct sl_backend *backend = stalls->backend;
    struct sl_link_direction *in = &stalls->migrator->in;
    uint64_t sequence = stall->in_sequence;
    stall->in_sequence = 0;
    if (!sl_link_direction_has_event(in, sequence)) return;
    uint64_t ns =
        backend->event_elapsed_ns(backend->self, stall->reached, sl_link_direction_event(in, sequence));
    if (!ns) return;
    struct sl_counts *counts[] = {&stalls->stats->total, &stalls->stats->iterations[stall->iteration]};
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&counts[i]->stall_ns, ns);
        atomic_fetch_add(&counts[i]->stalls, 1);
    }
    sl_record(stalls->recorder, (struct sl_event){.type = SL_EVENT_STALL, .a = ns, .b = 1, .c = stall->tick});
}

/* Makes the first stall of a step the mark, unless the mark is newer. The stall's entry gets the event of the
 * mark before. *steps: between the two. */
static bool set_mark(struct sl_stalls *stalls, struct sl_stall *stall, uint32_t *steps)
{
    const struct sl_backend *backend = stalls->backend;
    struct sl_step_mark *mark = &stalls->mark;
    sl_event_handle before = mark->reached;
    if (before && stall->step <= mark->step) return false;
    uint64_t ns = before ? backend->event_elapsed_ns(backend->self, before, stall->reached) : 0;
    *steps = stall->step - mark->step;
    stalls->step_ns = ns / *steps;
    mark->reached = stall->reached;
    mark->step = stall->step;
    stall->reached = before;
    return true;
}

/* Begins with the newest stall: if a stream has passed that, it has passed its earlier ones, so the driver is
 * not asked about them. */
void sl_stalls_settle(struct sl_stalls *stalls)
{
    const struct sl_backend *backend = stalls->backend;
    sl_stream passed = NULL;
    bool any = false, marked = false;
    uint32_t steps = 0;
    for (uint32_t i = 1; i <= SL_STALLS; i++) {
        struct sl_stall *stall = &stalls->at[(stalls->next - i) % SL_STALLS];
        if (!stall->in_sequence) continue;
        bool reached = any && stall->stream == passed && stall->stream != SL_STREAM_PER_THREAD;
        if (!reached && !sl_is_yes(backend->event_done(backend->self, stall->reached))) continue;
        if (!reached) passed = stall->stream;
        any = true;
        if (!sl_migrator_done(stalls->migrator, &stalls->migrator->in, stall->in_sequence)) continue;
        settle(stalls, stall);
        if (stall->first && !marked) marked = set_mark(stalls, stall, &steps);
    }
    if (!marked) return;
    uint64_t stall_ns = atomic_load(&stalls->stats->total.stall_ns);
    stalls->step_stall_ns = stalls->step_ns ? (stall_ns - stalls->mark.stall_ns) / steps : 0;
    stalls->mark.stall_ns = stall_ns;
}

void sl_stalls_step(struct sl_stalls *stalls)
{
    stalls->steps++;
}

void sl_stalls_close(struct sl_stalls *stalls, bool device_gone)
{
    const struct sl_backend *backend = stalls->backend;
    for (uint32_t i = 0; i < SL_STALLS && !device_gone; i++)
        if (stalls->at[i].reached) backend->event_delete(backend->self, stalls->at[i].reached);
    if (stalls->mark.reached && !device_gone) backend->event_delete(backend->self, stalls->mark.reached);
}

struct sl_stall *sl_stall_new(struct sl_stalls *stalls)
{
    struct sl_stall *stall = &stalls->at[stalls->next % SL_STALLS];
    if (stalls->next % SL_STALLS == 0 && stall->in_sequence) sl_stalls_settle(stalls);
    stalls->next++;
    bool given = atomic_load(&stall->given); /* its thread has not enqueued its wait yet */
    if (given || stall->in_sequence) SL_COUNT(stalls->stats, unmeasured_stalls, 1);
    if (given) return NULL;
    stall->in_sequence = 0;
    if (!sl_backend_has_timed_event(stalls->backend, &stall->reached)) return NULL;
    stall->tick = stalls->ticks->now;
    stall->iteration = (uint32_t)atomic_load(&stalls->stats->iteration);
    stall->step = stalls->steps;
    stall->first = stalls->last_first != stalls->steps;
    stalls->last_first = stalls->steps;
    atomic_store(&stall->given, true);
    return stall;
}

void sl_stall_wait(struct sl_stalls *stalls, struct sl_stall *stall, sl_stream stream, uint64_t sequence)
{
    const struct sl_backend *backend = stalls->backend;
    if (stall) stall->stream = stream;
    bool measured = stall && backend->event_record(backend->self, stall->reached, stream) == SL_OK;
    sl_migrator_wait(stalls->migrator, &stalls->migrator->in, sequence, stream);
    if (measured) atomic_store(&stall->in_sequence, sequence);
    if (stall) atomic_store(&stall->given, false);
}
