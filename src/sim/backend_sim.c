#include "sim/backend_sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "sim/sim_memory.h"

struct sim {
    struct sl_sim_device device;
    struct sl_sim_clock *clock;
    struct sl_sim_books books;
    uint64_t host_ns;
    uint64_t launched;
    struct sl_sim_memory memory;
    struct sl_map stream_of; /* handle + 1 -> stream */
    sl_stream last_handle;
    uint32_t last_stream;
    uint32_t in, out;           /* streams; the addresses of these numbers are their handles */
    struct sl_sim_event *joint; /* lets one stream follow another */
};

struct sim_event {
    struct sl_sim_event *event;
    bool ours; /* last recorded on a daemon stream */
};

static enum sl_status status_of(bool good)
{
    return good ? SL_OK : SL_ERR_NO_MEMORY;
}

/* --- memory */

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    return sl_sim_slab_new(&((struct sim *)self)->memory, bytes, false, address);
}

static enum sl_status pinned_new(void *self, uint64_t bytes, uint64_t *address)
{
    return sl_sim_slab_new(&((struct sim *)self)->memory, bytes, true, address);
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    sl_sim_slab_delete(&((struct sim *)self)->memory, address, bytes);
}

/* --- streams */

static sl_stream stream_in(void *self)
{
    return &((struct sim *)self)->in;
}
static sl_stream stream_out(void *self)
{
    return &((struct sim *)self)->out;
}

/* SL_NONE: out of memory. */
static uint32_t stream_of(struct sim *sim, sl_stream handle)
{
    if (handle == &sim->in) return sim->in;
    if (handle == &sim->out) return sim->out;
    if (sim->last_stream != SL_NONE && handle == sim->last_handle) return sim->last_stream;
    uint32_t stream = sl_map_get(&sim->stream_of, (uint64_t)handle + 1);
    if (stream == SL_NONE) {
        if (!sl_sim_stream_new(sim->clock, &stream)) return SL_NONE;
        if (!sl_map_put(&sim->stream_of, (uint64_t)handle + 1, stream)) return SL_NONE;
    }
    sim->last_handle = handle;
    return sim->last_stream = stream;
}

static enum sl_status push(struct sim *sim, sl_stream handle, const struct sl_sim_work *work)
{
    uint32_t stream = stream_of(sim, handle);
    return status_of(stream != SL_NONE && sl_sim_push(sim->clock, stream, sim->host_ns, work));
}

/* The host continues when the awaited operation is reached. */
static enum sl_status wait_until(struct sim *sim, bool reached, uint64_t now_ns)
{
    if (now_ns > sim->host_ns) sim->host_ns = now_ns;
    return reached ? SL_OK : SL_ERR_DRIVER;
}

static enum sl_status finish(struct sim *sim, uint32_t stream)
{
    uint64_t now_ns;
    if (!sl_sim_record(sim->clock, stream, sim->host_ns, sim->joint)) return SL_ERR_NO_MEMORY;
    sl_sim_run(sim->clock, sim->host_ns);
    bool reached = sl_sim_run_to_event(sim->clock, sim->joint, &now_ns);
    return wait_until(sim, reached, now_ns);
}

static enum sl_status transfer(struct sim *sim, uint32_t *stream, enum sl_sim_way way, uint64_t bytes)
{
    sim->host_ns += sim->device.call_ns;
    if (!bytes) return SL_OK;
    struct sl_sim_work work = {.fixed_ns = sim->device.transfer_ns, .first = true};
    work.bytes[way] = (double)bytes;
    return push(sim, stream, &work);
}

static enum sl_status fetch(void *self, uint64_t address, uint64_t bytes)
{
    struct sim *sim = self;
    uint64_t copied = sl_sim_fetch(&sim->memory, address, bytes);
    sim->books.bytes_in += copied;
    return transfer(sim, &sim->in, SL_SIM_IN, copied);
}

/* On an idle stream the driver evicts inside the call. */
static enum sl_status evict(void *self, uint64_t address, uint64_t bytes)
{
    struct sim *sim = self;
    uint64_t copied = sl_sim_evict(&sim->memory, address, bytes);
    sl_sim_run(sim->clock, sim->host_ns);
    bool idle = sl_sim_idle(sim->clock, sim->out);
    sim->books.bytes_out += copied;
    if (copied && sim->device.copied_out) sim->device.copied_out(sim->device.context, address, bytes);
    enum sl_status status = transfer(sim, &sim->out, SL_SIM_OUT, copied);
    return status == SL_OK && idle && copied ? finish(sim, sim->out) : status;
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes)
{
    struct sim *sim = self;
    sl_sim_discard(&sim->memory, address, bytes);
    return transfer(sim, &sim->out, SL_SIM_OUT, 0);
}

/* --- events */

static enum sl_status event_new(void *self, sl_event_handle *out)
{
    struct sim *sim = self;
    struct sim_event *event = calloc(1, sizeof *event);
    sim->host_ns += sim->device.call_ns;
    if (event) event->event = sl_sim_event_new(sim->clock);
    if (!event || !event->event) {
        free(event);
        return SL_ERR_NO_MEMORY;
    }
    *out = event;
    return SL_OK;
}

static void event_delete(void *self, sl_event_handle handle)
{
    struct sim *sim = self;
    struct sim_event *event = handle;
    sim->host_ns += sim->device.call_ns;
    sl_sim_event_delete(sim->clock, event->event);
    free(event);
}

static enum sl_status event_record(void *self, sl_event_handle handle, sl_stream on)
{
    struct sim *sim = self;
    struct sim_event *event = handle;
    uint32_t stream = stream_of(sim, on);
    sim->host_ns += sim->device.call_ns;
    event->ours = on == &sim->in || on == &sim->out;
    return status_of(stream != SL_NONE && sl_sim_record(sim->clock, stream, sim->host_ns, event->event));
}

static enum sl_status stream_wait(void *self, sl_stream on, sl_event_handle handle)
{
    struct sim *sim = self;
    const struct sim_event *event = handle;
    uint32_t stream = stream_of(sim, on);
    bool program = on != &sim->in && on != &sim->out;
    sim->host_ns += sim->device.call_ns;
    return status_of(stream != SL_NONE &&
                     sl_sim_wait(sim->clock, stream, sim->host_ns, event->event, program && event->ours));
}

static struct sl_answer event_done(void *self, sl_event_handle handle)
{
    struct sim *sim = self;
    sim->host_ns += sim->device.call_ns;
    sl_sim_run(sim->clock, sim->host_ns);
    return sl_answer_of(sl_sim_reached(((struct sim_event *)handle)->event));
}

static enum sl_status event_wait(void *self, sl_event_handle handle)
{
    struct sim *sim = self;
    uint64_t now_ns;
    sim->host_ns += sim->device.call_ns;
    sl_sim_run(sim->clock, sim->host_ns);
    bool reached = sl_sim_run_to_event(sim->clock, ((struct sim_event *)handle)->event, &now_ns);
    return wait_until(sim, reached, now_ns);
}

static enum sl_status stream_finish(void *self, sl_stream handle)
{
    struct sim *sim = self;
    uint32_t stream = stream_of(sim, handle);
    sim->host_ns += sim->device.call_ns;
    return stream == SL_NONE ? SL_ERR_NO_MEMORY : finish(sim, stream);
}

static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    (void)self;
    double begin = sl_sim_reached_ns(((struct sim_event *)from)->event);
    double end = sl_sim_reached_ns(((struct sim_event *)to)->event);
    return end > begin ? (uint64_t)(end - begin) : 0;
}

/* --- everything else */

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    (void)self;
    (void)stream;
    return sl_answer_of(false);
}

/* Streams wait for each other only where they are told to. */
static struct sl_answer stream_loose(void *self, sl_stream stream)
{
    (void)self;
    (void)stream;
    return sl_answer_of(true);
}

static enum sl_status kernel_layout(void *self, uint64_t function, struct sl_kernel_layout *out)
{
    (void)self;
    (void)function;
    (void)out;
    return SL_ERR_UNSUPPORTED;
}

static enum sl_status memory_info(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct sim *sim = self;
    *total_bytes = sim->device.bytes;
    uint64_t used = sim->memory.resident_bytes;
    *free_bytes = used < sim->device.bytes ? sim->device.bytes - used : 0;
    return SL_OK;
}

static void describe(void *self, struct sl_device_properties *out)
{
    (void)self;
    snprintf(out->name, sizeof out->name, "a clock");
}

static enum sl_status thread_attach(void *self)
{
    (void)self;
    return SL_OK;
}

static void close_backend(void *self)
{
    struct sim *sim = self;
    sl_sim_clock_delete(sim->clock);
    sl_sim_memory_close(&sim->memory);
    sl_map_free(&sim->stream_of);
    free(sim);
}

static struct sim *new_sim(const struct sl_sim_device *device)
{
    struct sl_sim_link link = {
        .bytes_per_ns = {(double)device->in_bytes_per_s * 1e-9, (double)device->out_bytes_per_s * 1e-9},
        .both = device->both_percent / 100.0,
    };
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim) return NULL;
    sim->device = *device;
    sl_sim_memory_init(&sim->memory, device->bytes);
    sim->last_stream = SL_NONE;
    sim->clock = sl_sim_clock_new(&link, device->meetings);
    if (sim->clock) sim->joint = sl_sim_event_new(sim->clock);
    if (sim->joint && sl_sim_stream_new(sim->clock, &sim->in) && sl_sim_stream_new(sim->clock, &sim->out))
        return sim;
    close_backend(sim);
    return NULL;
}

enum sl_status sl_backend_sim_new(const struct sl_sim_device *device, struct sl_backend *out)
{
    struct sim *sim = new_sim(device);
    if (!sim) return SL_ERR_NO_MEMORY;
    *out = (struct sl_backend){
        .self = sim,
        .one_thread = true,
        .first_plan_late = device->first_plan_late,
        .slab_new = slab_new,
        .slab_delete = slab_delete,
        .pinned_new = pinned_new,
        .pinned_delete = slab_delete,
        .stream_in = stream_in,
        .stream_out = stream_out,
        .fetch = fetch,
        .evict = evict,
        .discard = discard,
        .event_new = event_new,
        .timed_event_new = event_new,
        .event_delete = event_delete,
        .event_record = event_record,
        .stream_wait = stream_wait,
        .event_done = event_done,
        .event_wait = event_wait,
        .stream_finish = stream_finish,
        .event_elapsed_ns = event_elapsed_ns,
        .stream_capturing = stream_capturing,
        .stream_loose = stream_loose,
        .kernel_layout = kernel_layout,
        .memory_info = memory_info,
        .describe = describe,
        .thread_attach = thread_attach,
        .close = close_backend,
    };
    return SL_OK;
}

/* --- the program */

/* The link traffic of the launch beside its own copy. Demand-paged blocks use half of the link's speed. */
static bool use_spans(struct sim *sim, const struct sl_sim_launch *launch, struct sl_sim_work *work)
{
    struct sl_sim_use place = {0}, paged = {0};
    bool good = true;
    for (size_t i = 0; i < launch->span_count; i++) {
        const struct sl_span *span = &launch->spans[i];
        if (sim->device.pages && !sl_sim_is_pinned(&sim->memory, span->address))
            good &= sl_sim_use_paged(&sim->memory, span, &paged);
        else
            sl_sim_use_remote(&sim->memory, span, &place);
    }
    work->bytes[SL_SIM_IN] +=
        (double)place.in * (launch->reads > 1 ? launch->reads : 1) + 2 * (double)paged.in;
    work->bytes[SL_SIM_OUT] += (double)place.out + (double)paged.out;
    work->fixed_ns += paged.faults * sim->device.fault_ns;
    work->first = paged.faults != 0;
    sim->books.remote_bytes_used += place.in > place.out ? place.in : place.out;
    sim->books.bytes_in += paged.in;
    sim->books.bytes_out += paged.out;
    sim->books.faults += paged.faults;
    return good;
}

static uint64_t link_ns(const struct sl_sim_device *device, const uint64_t bytes[SL_SIM_WAYS])
{
    double in = (double)bytes[SL_SIM_IN] * 1e9 / (double)device->in_bytes_per_s;
    double out = (double)bytes[SL_SIM_OUT] * 1e9 / (double)device->out_bytes_per_s;
    return (uint64_t)(in > out ? in : out);
}

enum sl_status sl_backend_sim_follow(const struct sl_backend *backend, sl_stream stream, sl_stream other)
{
    struct sim *sim = backend->self;
    uint32_t before = stream_of(sim, other), after = stream_of(sim, stream);
    if (before == SL_NONE || after == SL_NONE) return SL_ERR_NO_MEMORY;
    struct sl_sim_event *event = sl_sim_event_new(sim->clock);
    if (!event) return SL_ERR_NO_MEMORY;
    bool good = sl_sim_record(sim->clock, before, sim->host_ns, event) &&
                sl_sim_wait(sim->clock, after, sim->host_ns, event, false);
    sl_sim_event_delete(sim->clock, event);
    return status_of(good);
}

/* If the device is in order, each direction serves movements, copies and exchanges in the order given, as
 * copy engines do. */
static enum sl_status queue_on_link(const struct sl_backend *backend, const struct sl_sim_launch *launch)
{
    struct sim *sim = backend->self;
    enum sl_status status = SL_OK;
    for (int way = 0; sim->device.in_order && status == SL_OK && way < SL_SIM_WAYS; way++)
        if (launch->copied_bytes[way] || launch->exchanged_bytes)
            status = sl_backend_sim_follow(backend, launch->stream, way == SL_SIM_IN ? &sim->in : &sim->out);
    return status;
}

enum sl_status sl_backend_sim_launch(const struct sl_backend *backend, const struct sl_sim_launch *launch)
{
    struct sim *sim = backend->self;
    uint64_t copy_ns = link_ns(&sim->device, launch->copied_bytes);
    struct sl_sim_work work = {.fixed_ns = launch->took_ns,
                               .launch = true,
                               .alone_ns = launch->took_ns > copy_ns ? launch->took_ns : copy_ns,
                               .meeting = launch->meeting};
    for (int way = 0; way < SL_SIM_WAYS; way++)
        work.bytes[way] = (double)launch->copied_bytes[way] + (double)launch->exchanged_bytes;
    if (!use_spans(sim, launch, &work)) return SL_ERR_NO_MEMORY;
    sim->host_ns += sim->device.call_ns;
    if (sim->launched >= sim->device.queue) {
        uint64_t now_ns;
        sl_sim_run(sim->clock, sim->host_ns);
        bool reached = sl_sim_run_to_launch(sim->clock, sim->launched + 1 - sim->device.queue, &now_ns);
        enum sl_status status = wait_until(sim, reached, now_ns);
        if (status) return status;
    }
    enum sl_status queued = queue_on_link(backend, launch);
    if (queued) return queued;
    enum sl_status status = push(sim, launch->stream, &work);
    sim->launched += status == SL_OK;
    return status;
}

enum sl_status sl_backend_sim_finish(const struct sl_backend *backend, sl_stream stream)
{
    struct sim *sim = backend->self;
    uint32_t known = stream_of(sim, stream);
    sim->host_ns += sim->device.call_ns;
    return known == SL_NONE ? SL_ERR_NO_MEMORY : finish(sim, known);
}

enum sl_status sl_backend_sim_finish_all(const struct sl_backend *backend)
{
    struct sim *sim = backend->self;
    uint64_t now_ns;
    sim->host_ns += sim->device.call_ns;
    sl_sim_run(sim->clock, sim->host_ns);
    bool reached = sl_sim_run_to_end(sim->clock, &now_ns);
    return wait_until(sim, reached, now_ns);
}

enum sl_status sl_backend_sim_mark(const struct sl_backend *backend, sl_stream stream,
                                   struct sl_sim_mark *mark)
{
    struct sim *sim = backend->self;
    uint32_t known = stream_of(sim, stream);
    return status_of(known != SL_NONE && sl_sim_mark(sim->clock, known, sim->host_ns, mark));
}

const struct sl_sim_books *sl_backend_sim_books(const struct sl_backend *backend)
{
    return &((struct sim *)backend->self)->books;
}
