#include "noted_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define FIRST_SLAB ((uint64_t)1 << 42)

static enum sl_status new_event(struct noted_device *device, bool timed, sl_event_handle *out)
{
    if (!device->events_left) return SL_ERR_DRIVER;
    struct noted_event *event = calloc(1, sizeof *event);
    assert_non_null(event);
    event->timed = timed;
    device->events_left--;
    device->made++;
    *out = event;
    return SL_OK;
}

static enum sl_status event_new(void *self, sl_event_handle *out)
{
    return new_event(self, false, out);
}

static enum sl_status timed_event_new(void *self, sl_event_handle *out)
{
    return new_event(self, true, out);
}

static void event_delete(void *self, sl_event_handle event)
{
    ((struct noted_device *)self)->deleted++;
    free(event);
}

static enum sl_status event_record(void *self, sl_event_handle handle, sl_stream stream)
{
    struct noted_device *device = self;
    struct noted_event *event = handle;
    if (device->recording) device->recording();
    if (device->refuses_records) return SL_ERR_DRIVER;
    event->recorded = ++device->records;
    event->stream = stream;
    event->time_ns = device->now_ns;
    event->done = false;
    device->last = event;
    return SL_OK;
}

static void note_wait(struct noted_device *device, struct noted_wait wait)
{
    uint32_t number = device->wait_count++;
    assert_true(number < NOTED_WAITS);
    device->waits[number] = wait;
}

static enum sl_status stream_wait(void *self, sl_stream stream, sl_event_handle event)
{
    if (((struct noted_device *)self)->refuses_waits) return SL_ERR_DRIVER;
    note_wait(self, (struct noted_wait){.stream = stream, .event = event});
    return SL_OK;
}

static enum sl_status event_wait(void *self, sl_event_handle event)
{
    if (((struct noted_device *)self)->refuses_waits) return SL_ERR_DRIVER;
    note_wait(self, (struct noted_wait){.by_host = true, .event = event});
    return SL_OK;
}

static struct sl_answer event_done(void *self, sl_event_handle event)
{
    struct noted_device *device = self;
    device->questions++;
    return device->says_nothing ? sl_no_answer() : sl_answer_of(((struct noted_event *)event)->done);
}

static uint64_t event_elapsed_ns(void *self, sl_event_handle from, sl_event_handle to)
{
    const struct noted_event *first = from, *last = to;
    (void)self;
    assert_true(first->timed && last->timed);
    return last->time_ns > first->time_ns ? last->time_ns - first->time_ns : 0;
}

static enum sl_status stream_finish(void *self, sl_stream stream)
{
    struct noted_device *device = self;
    if (device->refuses_finishing) return SL_ERR_DRIVER;
    device->finished = stream;
    device->finishes++;
    return SL_OK;
}

static struct sl_answer stream_capturing(void *self, sl_stream stream)
{
    const struct noted_device *device = self;
    if (device->says_nothing) return sl_no_answer();
    return sl_answer_of(device->capturing && device->capturing == stream);
}

static sl_stream stream_in(void *self)
{
    return &((struct noted_device *)self)->in;
}

static sl_stream stream_out(void *self)
{
    return &((struct noted_device *)self)->out;
}

static enum sl_status stream_new(void *self, sl_stream *out)
{
    struct noted_device *device = self;
    if (device->refuses_streams) return SL_ERR_DRIVER;
    *out = malloc(1);
    assert_non_null(*out);
    device->streams_made++;
    return SL_OK;
}

static void stream_delete(void *self, sl_stream stream)
{
    ((struct noted_device *)self)->streams_deleted++;
    free(stream);
}

static enum sl_status move(void *self, uint64_t address, uint64_t bytes, sl_stream stream)
{
    (void)address, (void)bytes, (void)stream;
    ((struct noted_device *)self)->movements++;
    return SL_OK;
}

static enum sl_status slab_new(void *self, uint64_t bytes, uint64_t *address)
{
    struct noted_device *device = self;
    if (device->slabs_are) return device->slabs_are;
    *address = device->next_slab;
    device->next_slab += (bytes + SL_GIB - 1) & ~(SL_GIB - 1);
    device->slab_bytes += bytes;
    return SL_OK;
}

static void slab_delete(void *self, uint64_t address, uint64_t bytes)
{
    (void)address;
    ((struct noted_device *)self)->slab_bytes -= bytes;
}

static enum sl_status pinned_new(void *self, uint64_t bytes, uint64_t *address)
{
    enum sl_status status = slab_new(self, bytes, address);
    if (status == SL_OK) ((struct noted_device *)self)->pinned_bytes += bytes;
    return status;
}

static void pinned_delete(void *self, uint64_t address, uint64_t bytes)
{
    ((struct noted_device *)self)->pinned_bytes -= bytes;
    slab_delete(self, address, bytes);
}

void noted_device_begin(struct noted_device *device)
{
    *device = (struct noted_device){.backend = {.self = device,
                                                .slab_new = slab_new,
                                                .slab_delete = slab_delete,
                                                .pinned_new = pinned_new,
                                                .pinned_delete = pinned_delete,
                                                .stream_in = stream_in,
                                                .stream_out = stream_out,
                                                .stream_new = stream_new,
                                                .stream_delete = stream_delete,
                                                .fetch = move,
                                                .evict = move,
                                                .discard = move,
                                                .event_new = event_new,
                                                .timed_event_new = timed_event_new,
                                                .event_delete = event_delete,
                                                .event_record = event_record,
                                                .stream_wait = stream_wait,
                                                .event_done = event_done,
                                                .event_wait = event_wait,
                                                .stream_finish = stream_finish,
                                                .event_elapsed_ns = event_elapsed_ns,
                                                .stream_capturing = stream_capturing},
                                    .events_left = UINT64_MAX,
                                    .next_slab = FIRST_SLAB};
}

uint32_t noted_stream_waits(const struct noted_device *device, sl_stream stream, sl_event_handle event)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < device->wait_count; w++) {
        const struct noted_wait *wait = &device->waits[w];
        count += !wait->by_host && wait->stream == stream && wait->event == event;
    }
    return count;
}

uint32_t noted_host_waits(const struct noted_device *device, sl_event_handle event)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < device->wait_count; w++)
        count += device->waits[w].by_host && device->waits[w].event == event;
    return count;
}
