#include "core/runtime.h"

#include <pthread.h>

#include "base/test_hooks.h"
#include "core/core.h"
#include "trace/trace_write.h"

struct sl_sync_mark sl_runtime_synchronizing(void)
{
    struct sl_core *core = sl_core_running();
    struct sl_sync_mark mark = {0};
    if (!core) return mark;
    sl_frees_flush(&core->reuse.frees); /* later frees get a point of their own */
    sl_lock(&core->order);
    /* Unknown if a launch has begun that may reach the driver only later. */
    bool known = sl_ticks_submitted(&core->history.ticks) == core->history.ticks.now;
    mark.tick = known ? core->history.ticks.now : UINT64_MAX;
    mark.frees = sl_frees_now(&core->reuse.frees);
    sl_unlock(&core->order);
    return mark;
}

void sl_runtime_synchronized(struct sl_sync_mark before)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    sl_lock(&core->order);
    sl_frees_pass(&core->reuse.frees,
                  SL_GUARD(PASSED_BEFORE) ? before.frees : sl_frees_now(&core->reuse.frees));
    if (core->history.ticks.now == before.tick || !SL_GUARD(QUIET_BEFORE)) { /* no launch began meanwhile */
        sl_streams_are_idle(&core->streams);
        sl_joins_end(&core->reuse);
        sl_behind_synchronized(&core->migrator.behind);
    }
    sl_unlock(&core->order);
    sl_late_frees_look();
}

/* Precondition: the order lock is not held; takes it. `asks`: ask the driver whether the stream is loose
 * (behind.h). */
static struct sl_behind_stream stream_of(struct sl_core *core, sl_stream handle, bool asks)
{
    sl_lock(&core->order);
    uint32_t number = sl_stream_number(&core->streams, handle);
    uint64_t serial = sl_stream_serial(&core->streams, number);
    sl_unlock(&core->order);
    bool loose = asks && number != SL_SHARED_STREAM && core->backend.stream_loose &&
                 sl_is_yes(core->backend.stream_loose(core->backend.self, handle));
    return (struct sl_behind_stream){number, serial, handle, loose};
}

void sl_core_met_peers(struct sl_core *core, const struct sl_launch *launch)
{
    struct sl_behind_stream stream = stream_of(core, launch->stream, true);
    sl_behind_launched(&core->migrator.behind, &stream);
}

static void note_order(const struct sl_core *core, enum sl_order_kind kind, sl_stream handle,
                       const void *event)
{
    if (!core->recorder.trace) return;
    sl_trace_emit((struct sl_event){
        .type = SL_EVENT_ORDER, .flags = (uint8_t)kind, .a = (uintptr_t)handle, .b = (uintptr_t)event});
}

void sl_runtime_event_recorded(const void *event, sl_stream handle)
{
    struct sl_core *core = sl_core_running();
    if (!core || !sl_behind_any(&core->migrator.behind)) return;
    note_order(core, SL_ORDER_RECORD, handle, event);
    struct sl_behind_stream stream = stream_of(core, handle, false);
    sl_behind_recorded(&core->migrator.behind, &stream, event);
}

void sl_runtime_event_destroyed(const void *event)
{
    for (struct sl_core *core = NULL; (core = sl_core_after(core));)
        sl_behind_destroyed(&core->migrator.behind, event);
}

/* Whether the event lies behind another device's collective. A stream that waits for it counts as having
 * launched a collective of this device. */
static bool lies_behind_other(const struct sl_core *core, const void *event)
{
    for (struct sl_core *other = NULL; sl_cores_are_several() && (other = sl_core_after(other));)
        if (other != core && sl_behind_is_event(&other->migrator.behind, event)) return true;
    return false;
}

void sl_runtime_stream_waits(sl_stream handle, const void *event)
{
    struct sl_core *core = sl_core_running();
    if (core && lies_behind_other(core, event)) {
        struct sl_behind_stream stream = stream_of(core, handle, true);
        sl_behind_launched(&core->migrator.behind, &stream);
    }
    if (!core || !sl_behind_any(&core->migrator.behind)) return;
    note_order(core, SL_ORDER_WAIT, handle, event);
    struct sl_behind_stream stream = stream_of(core, handle, true);
    sl_behind_waits(&core->migrator.behind, &stream, event);
}

enum sl_status sl_runtime_finish(void)
{
    struct sl_core *core = sl_core_running();
    if (!core) return SL_OK;
    struct sl_sync_mark before = sl_runtime_synchronizing();
    sl_lock(&core->order);
    bool work = sl_streams_any_work(&core->streams);
    sl_unlock(&core->order);
    if (!work) return SL_OK;
    struct sl_points *points = sl_streams_points(&core->streams);
    uint64_t began_ns = sl_runtime_wait_begins();
    enum sl_status status = sl_points_wait(&core->reuse.frees, points);
    sl_runtime_wait_ended(began_ns, SL_SYNC_CONTEXT, 0);
    if (status) return status;
    /* Work before the capture is done, but a stream that captures still counts as active. */
    if (!atomic_load(&core->streams.captures))
        sl_runtime_synchronized(before); /* so several frees in a row wait only once */
    return SL_OK;
}

bool sl_runtime_is_quiet(void)
{
    const struct sl_core *core = sl_core_running();
    return core && !sl_streams_any_used(&core->streams);
}

enum sl_status sl_runtime_order(sl_stream stream, sl_event_handle event)
{
    struct sl_core *core = sl_core_running();
    return core ? sl_wait_event(&core->backend, stream, event) : SL_ERR_DRIVER;
}

enum sl_status sl_runtime_record(sl_event_handle event, sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    return core ? sl_record_event(&core->backend, event, stream) : SL_ERR_DRIVER;
}

void sl_runtime_work_comes(void)
{
    struct sl_core *core = sl_core_running();
    if (core) sl_frees_flush(&core->reuse.frees);
}

void sl_runtime_waited(void)
{
    struct sl_core *core = sl_core_running();
    if (core) sl_core_look(core, false);
}

void sl_runtime_stream_gone(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (core && stream) sl_stream_gone(&core->streams, stream);
}

void sl_runtime_capture_may_begin(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (core) sl_stream_may_capture(&core->streams, stream);
}

struct sl_capture_begin sl_runtime_capture_begins(void)
{
    struct sl_capture_begin begin = {.core = sl_core_running()};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &begin.cancel_state);
    if (begin.core) sl_streams_capture_begins(&begin.core->streams);
    return begin;
}

void sl_runtime_capture_begun(struct sl_capture_begin begin)
{
    if (begin.core) sl_streams_capture_begun(&begin.core->streams);
    pthread_setcancelstate(begin.cancel_state, NULL);
}
