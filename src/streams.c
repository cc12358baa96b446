#include "streams.h"

#include "core.h"
#include "grow.h"

/* Never the number of another thread, not even of one that is gone. */
static uint64_t this_thread(void)
{
    static _Atomic uint64_t threads;
    static __thread uint64_t mine __attribute__((tls_model("initial-exec")));
    if (!mine) mine = atomic_fetch_add(&threads, 1) + 1;
    return mine;
}

/* A stream that is gone and whose work the program has waited for leaves its number to another. */
static bool is_vacant(const struct sl_core *core, uint32_t s)
{
    return core->streams[s].handle == core->mover.out.stream && !(core->active_streams >> s & 1);
}

static void share_number(struct sl_core *core, sl_stream stream)
{
    for (uint32_t i = 0; i < core->more_stream_count; i++)
        if (core->more_streams[i] == stream) return;
    if (!sl_grow(&core->more_streams, &core->more_stream_capacity, core->more_stream_count,
                 sizeof *core->more_streams))
        return;
    core->more_streams[core->more_stream_count++] = stream;
}

uint32_t sl_core_stream(struct sl_core *core, sl_stream stream)
{
    uint64_t thread = stream == SL_STREAM_PER_THREAD ? this_thread() : 0;
    const struct sl_known_stream *last = &core->streams[core->last_stream];
    if (last->handle == stream && last->thread == thread && core->last_stream < core->stream_count)
        return core->last_stream;
    uint32_t vacant = SL_SHARED_STREAM;
    for (uint32_t s = 0; s < core->stream_count; s++) {
        if (core->streams[s].handle == stream && core->streams[s].thread == thread)
            return core->last_stream = s;
        if (is_vacant(core, s)) vacant = s;
    }
    if (vacant == SL_SHARED_STREAM && core->stream_count < SL_SHARED_STREAM) vacant = core->stream_count++;
    if (vacant == SL_SHARED_STREAM)
        share_number(core, thread ? NULL : stream); /* the legacy stream waits for every default stream */
    else
        core->streams[vacant] = (struct sl_known_stream){.handle = stream, .thread = thread};
    return vacant;
}

bool sl_core_must_join(struct sl_core *core, uint32_t s, struct sl_direction *direction, uint64_t sequence)
{
    if (!sequence) return false;
    if (s == SL_SHARED_STREAM) return !sl_mover_done(&core->mover, direction, sequence);
    uint64_t *joined =
        direction == &core->mover.out ? &core->streams[s].joined_out : &core->streams[s].joined_in;
    if (sequence <= *joined) return false;
    *joined = sequence;
    return true;
}

/* From now on the out direction's stream waits for what was submitted to `stream`, and can stand for it: a
 * fence that is recorded there is no weaker. */
static void stand_in(struct sl_core *core, sl_stream stream)
{
    const struct sl_backend *backend = &core->backend;
    sl_event_handle last;
    if (core->placement.noted) return; /* nothing is moved that would have to wait */
    if (backend->stream_capturing(backend->self, stream)) return;
    if (backend->event_new(backend->self, &last) != SL_OK) {
        backend->stream_finish(backend->self, stream);
        return;
    }
    if (sl_record_event(backend, last, stream) == SL_OK) sl_wait_event(backend, core->mover.out.stream, last);
    backend->event_delete(backend->self, last);
}

/* Where an event that covers stream number `s` can be recorded by this thread. */
static sl_stream recordable(struct sl_core *core, uint32_t s)
{
    if (s == SL_SHARED_STREAM) {
        for (uint32_t i = 0; i < core->more_stream_count; i++) stand_in(core, core->more_streams[i]);
        return core->mover.out.stream;
    }
    /* Another thread's default stream has no name here, but the legacy stream waits for it. */
    uint64_t thread = core->streams[s].thread;
    return thread && thread != this_thread() ? NULL : core->streams[s].handle;
}

void sl_core_record_fence(struct sl_core *core, struct sl_fence *fence, uint64_t streams)
{
    const struct sl_backend *backend = &core->backend;
    uint64_t recorded = 0;
    for (uint64_t rest = streams; rest; rest &= rest - 1) {
        uint32_t s = (uint32_t)__builtin_ctzll(rest);
        sl_stream stream = recordable(core, s);
        if (atomic_load(&core->captures) && backend->stream_capturing(backend->self, stream)) continue;
        if (!sl_backend_has_event(backend, &fence->events[s]))
            backend->stream_finish(backend->self, stream);
        else if (sl_record_event(backend, fence->events[s], stream) == SL_OK)
            recorded |= (uint64_t)1 << s;
    }
    atomic_store(&fence->streams, recorded);
}

/* No launch's tick if one that has begun may reach the driver after what is asked of it now. */
static sl_tick all_submitted(const struct sl_core *core)
{
    return sl_core_submitted(core) == core->tick ? core->tick : UINT64_MAX;
}

uint64_t sl_runtime_synchronizing(void)
{
    struct sl_core *core = sl_core_running();
    if (!core) return 0;
    pthread_mutex_lock(&core->order);
    sl_tick before = all_submitted(core);
    pthread_mutex_unlock(&core->order);
    return before;
}

void sl_runtime_synchronized(uint64_t before)
{
    struct sl_core *core = sl_core_running();
    if (!core) return;
    pthread_mutex_lock(&core->order);
    if (core->tick == before) { /* nobody launched meanwhile */
        core->active_streams = core->retired_streams = 0;
        core->waits++;
    }
    pthread_mutex_unlock(&core->order);
}

void sl_runtime_finish(void)
{
    struct sl_core *core = sl_core_running();
    struct sl_fence fence = {0};
    if (!core) return;
    const struct sl_backend *backend = &core->backend;
    pthread_mutex_lock(&core->order);
    sl_tick before = all_submitted(core);
    uint64_t active = core->active_streams;
    if (active) sl_core_record_fence(core, &fence, active);
    /* A stream that captures may hold back work from before, though another stands for it. */
    bool all = active && atomic_load(&fence.streams) == active && !atomic_load(&core->captures);
    pthread_mutex_unlock(&core->order);
    uint64_t began_ns = all ? sl_runtime_wait_begins() : 0;
    for (uint64_t rest = atomic_load(&fence.streams); rest; rest &= rest - 1)
        all &= backend->event_wait(backend->self, fence.events[__builtin_ctzll(rest)]) == SL_OK;
    for (int s = 0; s < SL_STREAMS; s++)
        if (fence.events[s]) backend->event_delete(backend->self, fence.events[s]);
    if (!all) return;
    sl_runtime_wait_ended(began_ns, SL_SYNC_CONTEXT, 0);
    sl_runtime_synchronized(before); /* frees in a row ask the driver once */
}

static void forget_shared(struct sl_core *core, sl_stream stream)
{
    for (uint32_t i = 0; i < core->more_stream_count; i++) {
        if (core->more_streams[i] != stream) continue;
        stand_in(core, stream);
        core->more_streams[i] = core->more_streams[--core->more_stream_count];
        return;
    }
}

void sl_runtime_stream_gone(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core || !stream) return;
    pthread_mutex_lock(&core->order);
    for (uint32_t s = 0; s < core->stream_count; s++) {
        if (core->streams[s].handle != stream) continue;
        stand_in(core, stream); /* its work goes on after its handle is dead */
        core->streams[s].handle = core->mover.out.stream;
    }
    forget_shared(core, stream);
    pthread_mutex_unlock(&core->order);
}
