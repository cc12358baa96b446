#include "tools/sim/backend_sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "tools/sim/sim_lane.h"
#include "tools/sim/sim_memory.h"

struct sim {
    struct sl_sim_device device;
    struct sl_sim_link link;
    struct sl_sim_clock *clock;
    struct sl_sim_books books;
    uint64_t host_ns;
    uint64_t launched;
    struct sl_sim_memory memory;
    struct sl_map stream_of; /* handle + 1 -> stream */
    sl_stream last_handle;
    uint32_t last_stream;
    struct sl_sim_lane lanes[SL_SIM_WAYS]; /* their addresses are the streams' handles */
    struct sl_sim_event *joint;            /* lets one stream follow another */
};

struct sim_event {
    struct sl_sim_event *event;
    struct sl_sim_lane *lane; /* on which it was last recorded; NULL: on a stream of the program's */
    uint64_t given;           /* the lane's operations up to there */
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
    return &((struct sim *)self)->lanes[SL_SIM_IN];
}
static sl_stream stream_out(void *self)
{
    return &((struct sim *)self)->lanes[SL_SIM_OUT];
}

/* NULL: a stream of the program's. */
static struct sl_sim_lane *lane_of(struct sim *sim, sl_stream handle)
{
    for (int way = 0; way < SL_SIM_WAYS; way++)
        if (handle == &sim->lanes[way]) return &sim->lanes[way];
    return NULL;
}

/* SL_NONE: out of memory. */
static uint32_t stream_of(struct sim *sim, sl_stream handle)
{
    const struct sl_sim_lane *lane = lane_of(sim, handle);
    if (lane) return lane->end;
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

/* Gives the lane a movement. An ideal driver holds the caller up only for what goes to the host. */
static enum sl_status move(struct sim *sim, enum sl_sim_way way, uint64_t address, struct sl_sim_work *work)
{
    struct sl_sim_lane *lane = &sim->lanes[way];
    bool is_real = sim->device.driver.workers, copies = work->bytes[way] > 0;
    bool idle = (is_real || (copies && way == SL_SIM_OUT)) && sl_sim_lane_settle(lane, sim->host_ns);
    sim->host_ns += sim->device.call_ns;
    if (copies) work->before_ns += sim->device.transfer_ns;
    if (!copies && !work->before_ns && !work->fixed_ns && !work->after_ns) return SL_OK;
    if (is_real && (sim->device.daemon || sim->device.driver.workers > 1)) idle = false;
    work->by_worker = is_real && !idle;
    if (!sl_sim_lane_move(lane, sim->host_ns, address, work)) return SL_ERR_NO_MEMORY;
    if (!idle) return SL_OK;
    sl_sim_lane_know(lane, lane->given);
    return finish(sim, lane->end);
}

static enum sl_status fetch(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)stream;
    struct sim *sim = self;
    struct sl_sim_moved moved;
    sim->books.bytes_in += sl_sim_fetch(&sim->memory, address, bytes, &moved);
    struct sl_sim_work work = sl_sim_driver_work(&sim->device.driver, &sim->link, SL_SIM_IN, &moved);
    return move(sim, SL_SIM_IN, address, &work);
}

static enum sl_status evict(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)stream;
    struct sim *sim = self;
    struct sl_sim_moved moved;
    uint64_t copied = sl_sim_evict(&sim->memory, address, bytes, &moved);
    sim->books.bytes_out += copied;
    if (copied && sim->device.copied_out) sim->device.copied_out(sim->device.context, address, bytes);
    struct sl_sim_work work = sl_sim_driver_work(&sim->device.driver, &sim->link, SL_SIM_OUT, &moved);
    return move(sim, SL_SIM_OUT, address, &work);
}

static enum sl_status discard(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)stream;
    struct sim *sim = self;
    struct sl_sim_work work = {.fixed_ns = bytes / SL_BLOCK_BYTES * sim->device.driver.discard_ns};
    sl_sim_discard(&sim->memory, address, bytes);
    return move(sim, SL_SIM_OUT, address, &work);
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
    event->lane = lane_of(sim, on);
    if (!event->lane)
        return status_of(stream != SL_NONE && sl_sim_record(sim->clock, stream, sim->host_ns, event->event));
    bool good = sl_sim_lane_record(event->lane, sim->host_ns, event->event);
    event->given = event->lane->given;
    return status_of(good);
}

static enum sl_status stream_wait(void *self, sl_stream on, sl_event_handle handle)
{
    struct sim *sim = self;
    const struct sim_event *event = handle;
    struct sl_sim_lane *lane = lane_of(sim, on);
    sim->host_ns += sim->device.call_ns;
    if (lane) return status_of(sl_sim_lane_wait(lane, sim->host_ns, event->event));
    uint32_t stream = stream_of(sim, on);
    return status_of(stream != SL_NONE &&
                     sl_sim_wait(sim->clock, stream, sim->host_ns, event->event, event->lane));
}

static void know(const struct sim_event *event)
{
    if (event->lane) sl_sim_lane_know(event->lane, event->given);
}

static struct sl_answer event_done(void *self, sl_event_handle handle)
{
    struct sim *sim = self;
    const struct sim_event *event = handle;
    sim->host_ns += sim->device.call_ns;
    sl_sim_run(sim->clock, sim->host_ns);
    bool reached = sl_sim_reached(event->event);
    if (reached) know(event);
    return sl_answer_of(reached);
}

static enum sl_status event_wait(void *self, sl_event_handle handle)
{
    struct sim *sim = self;
    const struct sim_event *event = handle;
    uint64_t now_ns;
    sim->host_ns += sim->device.call_ns;
    sl_sim_run(sim->clock, sim->host_ns);
    bool reached = sl_sim_run_to_event(sim->clock, event->event, &now_ns);
    if (reached) know(event);
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
    out->memory_bytes_per_s = ((const struct sim *)self)->device.memory_bytes_per_s;
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
        .both = device->driver.both_percent / 100.0,
    };
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim) return NULL;
    sim->device = *device;
    sim->link = link;
    sl_sim_memory_init(&sim->memory, device->bytes);
    sim->last_stream = SL_NONE;
    sim->clock = sl_sim_clock_new(&link, device->driver.workers, device->meetings);
    if (sim->clock) sim->joint = sl_sim_event_new(sim->clock);
    bool good = sim->joint;
    for (int way = 0; good && way < SL_SIM_WAYS; way++)
        good = sl_sim_lane_open(&sim->lanes[way], sim->clock, &device->driver, (enum sl_sim_way)way);
    if (good) return sim;
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
    if (paged.faults) {
        work->before_ns = work->fixed_ns + paged.faults * sim->device.fault_ns;
        work->fixed_ns = 0;
    }
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
    return status_of(sl_sim_follow(sim->clock, after, before, sim->host_ns));
}

/* If the device is in order, each direction serves movements, copies and exchanges in the order given, as
 * copy engines do. */
static enum sl_status queue_on_link(const struct sl_backend *backend, const struct sl_sim_launch *launch)
{
    struct sim *sim = backend->self;
    enum sl_status status = SL_OK;
    for (int way = 0; sim->device.in_order && status == SL_OK && way < SL_SIM_WAYS; way++)
        if (launch->copied_bytes[way] || launch->exchanged_bytes)
            status = sl_backend_sim_follow(backend, launch->stream, &sim->lanes[way]);
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
    sim->host_ns += sim->device.launch_ns > sim->device.call_ns ? sim->device.launch_ns : sim->device.call_ns;
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
    for (int way = 0; reached && way < SL_SIM_WAYS; way++)
        sl_sim_lane_know(&sim->lanes[way], sim->lanes[way].given);
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
