/* The end of a stream of the program's. */
#include "core.h"

/* Its work goes on after its handle is dead. From now on the out direction's stream stands for it: that waits
 * for what was submitted until here, so a fence recorded there is no weaker. pre: core->order is taken. */
static void replace_stream(struct sl_core *core, uint32_t s)
{
    const struct sl_backend *backend = &core->backend;
    sl_stream gone = core->streams[s];
    sl_event_handle last;
    core->streams[s] = core->mover.out.stream;
    if (backend->stream_capturing(backend->self, gone)) return;
    if (backend->event_new(backend->self, &last) != SL_OK) return;
    pthread_mutex_lock(&core->mover.out.lock);
    if (backend->event_record(backend->self, last, gone) == SL_OK)
        backend->stream_wait(backend->self, core->mover.out.stream, last);
    pthread_mutex_unlock(&core->mover.out.lock);
    backend->event_delete(backend->self, last);
}

void sl_runtime_stream_gone(sl_stream stream)
{
    struct sl_core *core = sl_core_running();
    if (!core || !stream) return;
    pthread_mutex_lock(&core->order);
    for (uint32_t s = 0; s < core->stream_count; s++)
        if (core->streams[s] == stream) replace_stream(core, s);
    pthread_mutex_unlock(&core->order);
}
