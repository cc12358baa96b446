#include "trace_summary.h"

#include <stdlib.h>

/* Records of different threads are not in the order of time, so the peak is computed at the end. */
static bool note_change(struct trace_summary *summary, uint64_t time_ns, int64_t bytes)
{
    if (summary->change_count == summary->change_room) {
        size_t room = summary->change_room ? 2 * summary->change_room : 1024;
        struct live_change *grown = realloc(summary->changes, room * sizeof(*grown));
        if (!grown) return false;
        summary->changes = grown;
        summary->change_room = room;
    }
    summary->changes[summary->change_count] = (struct live_change){time_ns, summary->change_count, bytes};
    summary->change_count++;
    return true;
}

static void add_move(struct trace_summary *summary, const struct sl_event *event)
{
    unsigned kind = event->flags & 15, cause = event->flags >> 4;
    if (kind >= MOVE_KINDS || cause >= MOVE_CAUSES) return;
    summary->moves[kind][cause].count++;
    summary->moves[kind][cause].bytes += event->a;
}

static void add_launch(struct trace_summary *summary, const struct sl_event *event)
{
    unsigned kind = event->flags & 15;
    if (kind >= LAUNCH_KINDS) return;
    summary->launches[kind].count++;
    summary->launches[kind].bytes += event->c;
}

static void add_stall(struct trace_summary *summary, const struct sl_event *event)
{
    summary->stalls++;
    summary->stall_ns += event->a;
    if (event->a > summary->longest_stall_ns) {
        summary->longest_stall_ns = event->a;
        summary->longest_stall_tick = event->tick;
    }
}

bool trace_summary_add(struct trace_summary *summary, const struct sl_event *event)
{
    bool first = summary->records++ == 0;
    if (first || event->time_ns < summary->first_ns) summary->first_ns = event->time_ns;
    if (first || event->time_ns > summary->last_ns) summary->last_ns = event->time_ns;
    switch (event->type) {
    case SL_EVENT_ALLOC:
        if (event->flags & 1) break;
        summary->allocations.count++;
        summary->allocations.bytes += event->b;
        return note_change(summary, event->time_ns, (int64_t)event->b);
    case SL_EVENT_FREE:
        summary->frees.count++;
        summary->frees.bytes += event->b;
        return note_change(summary, event->time_ns, -(int64_t)event->b);
    case SL_EVENT_KERNEL:
        summary->kernels++;
        break;
    case SL_EVENT_LAUNCH:
        add_launch(summary, event);
        break;
    case SL_EVENT_ACCESS:
        summary->accesses++;
        break;
    case SL_EVENT_MOVE:
        add_move(summary, event);
        break;
    case SL_EVENT_STALL:
        add_stall(summary, event);
        break;
    case SL_EVENT_BUDGET:
        summary->budget_bytes = event->a;
        summary->chunk_bytes = event->b;
        summary->device_bytes = event->c;
        break;
    case SL_EVENT_ITERATION:
        summary->iterations++;
        summary->iteration_symbols = event->a;
        break;
    case SL_EVENT_GAP:
        summary->gaps++;
        summary->lost += event->a;
        break;
    }
    return true;
}

static int by_time(const void *one, const void *other)
{
    const struct live_change *a = one, *b = other;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void trace_summary_finish(struct trace_summary *summary)
{
    if (summary->change_count)
        qsort(summary->changes, summary->change_count, sizeof(*summary->changes), by_time);
    uint64_t live = 0;
    for (size_t i = 0; i < summary->change_count; i++) {
        int64_t bytes = summary->changes[i].bytes;
        /* An allocation may be missing (in a gap), its free not. */
        if (bytes < 0 && (uint64_t)-bytes > live)
            live = 0;
        else
            live += (uint64_t)bytes;
        if (live > summary->peak_live_bytes) summary->peak_live_bytes = live;
    }
    summary->live_bytes = live;
    free(summary->changes);
    summary->changes = NULL;
    summary->change_count = summary->change_room = 0;
}
