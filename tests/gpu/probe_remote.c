/* How much slower kernels are whose data lies on the host: a stream of reads, of writes, and a matrix product
 * that reads its operands many times. */
#include <stdio.h>

#include "probe.h"

enum place { DEVICE, RESIDENT, REMOTE, PINNED, PLACES };
static const char *const place_names[PLACES] = {"device memory", "managed, resident", "managed, evicted",
                                                "pinned host memory"};

struct buffer {
    enum place place;
    CUdeviceptr data;
    void *pinned;
};

static struct buffer buffer_new(const struct probe *probe, enum place place, uint64_t bytes, CUstream stream)
{
    struct buffer buffer = {.place = place};
    switch (place) {
    case DEVICE:
        MUST(cu.cuMemAlloc(&buffer.data, bytes));
        break;
    case PINNED:
        MUST(cu.cuMemHostAlloc(&buffer.pinned, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
        MUST(cu.cuMemHostGetDevicePointer(&buffer.data, buffer.pinned, 0));
        break;
    default:
        buffer.data = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
        move_all(probe, place == RESIDENT ? "hd" : "hde", buffer.data, bytes, stream);
    }
    return buffer;
}

static void buffer_delete(struct buffer *buffer)
{
    if (buffer->pinned)
        MUST(cu.cuMemFreeHost(buffer->pinned));
    else
        MUST(cu.cuMemFree(buffer->data));
}

struct timer {
    CUevent begin, end;
    CUstream stream;
    double best_seconds;
};

static void timer_start(const struct timer *timer)
{
    MUST(cu.cuEventRecord(timer->begin, timer->stream));
}

static void timer_stop(struct timer *timer)
{
    MUST(cu.cuEventRecord(timer->end, timer->stream));
    double seconds = elapsed_seconds(timer->begin, timer->end);
    if (timer->best_seconds == 0 || seconds < timer->best_seconds) timer->best_seconds = seconds;
}

static void measure_streams(const struct probe *probe, uint64_t bytes, CUstream stream)
{
    for (enum place place = 0; place < PLACES; place++) {
        struct buffer buffer = buffer_new(probe, place, bytes, stream);
        struct timer read = {event_new(), event_new(), stream, 0}, write = read;
        for (int i = 0; i <= probe->repeat; i++) { /* the first one warms up */
            timer_start(&read);
            launch_read(probe, buffer.data, bytes, stream);
            timer_stop(&read);
        }
        for (int i = 0; i <= probe->repeat; i++) { /* the first one warms up */
            timer_start(&write);
            launch_write(probe, buffer.data, bytes, stream);
            timer_stop(&write);
        }
        printf("{\"part\": \"stream\", \"place\": \"%s\", \"bytes\": %llu, \"read_gbps\": %.3f, "
               "\"write_gbps\": %.3f}\n",
               place_names[place], (unsigned long long)bytes, (double)bytes / read.best_seconds * 1e-9,
               (double)bytes / write.best_seconds * 1e-9);
        MUST(cu.cuEventDestroy(read.begin));
        MUST(cu.cuEventDestroy(read.end));
        buffer_delete(&buffer);
    }
}

static const struct {
    const char *name;
    enum place places[3]; /* of c = a b: a, b, c */
} products[] = {
    {"all in device memory", {DEVICE, DEVICE, DEVICE}},
    {"all managed and resident", {RESIDENT, RESIDENT, RESIDENT}},
    {"left operand evicted", {REMOTE, RESIDENT, RESIDENT}},
    {"right operand evicted", {RESIDENT, REMOTE, RESIDENT}},
    {"result evicted", {RESIDENT, RESIDENT, REMOTE}},
    {"all evicted", {REMOTE, REMOTE, REMOTE}},
    {"left operand in pinned host memory", {PINNED, DEVICE, DEVICE}},
};

static void measure_products(const struct probe *probe, CUstream stream)
{
    int width = probe->product_width;
    unsigned tiles = (unsigned)width / 16;
    uint64_t bytes = (uint64_t)width * (uint64_t)width * sizeof(float);
    bytes = (bytes + 2 * MIB - 1) & ~(2 * MIB - 1);
    double fastest = 0; /* of the first row */
    for (size_t row = 0; row < sizeof products / sizeof *products; row++) {
        struct buffer buffers[3];
        struct timer timer = {event_new(), event_new(), stream, 0};
        for (int i = 0; i < 3; i++) {
            buffers[i] = buffer_new(probe, products[row].places[i], bytes, stream);
            if (i < 2 && buffers[i].place == DEVICE) launch_write(probe, buffers[i].data, bytes, stream);
        }
        for (int i = 0; i <= probe->repeat; i++) { /* the first one warms up */
            timer_start(&timer);
            MUST(cu.cuLaunchKernel(probe->product, tiles, tiles, 1, 16, 16, 1, 0, stream,
                                   (void *[]){&buffers[0].data, &buffers[1].data, &buffers[2].data, &width},
                                   NULL));
            timer_stop(&timer);
        }
        if (row == 0) fastest = timer.best_seconds;
        printf("{\"part\": \"product\", \"operands\": \"%s\", \"width\": %d, \"seconds\": %.7f, "
               "\"times_slower\": %.2f}\n",
               products[row].name, width, timer.best_seconds, timer.best_seconds / fastest);
        for (int i = 0; i < 3; i++) buffer_delete(&buffers[i]);
        MUST(cu.cuEventDestroy(timer.begin));
        MUST(cu.cuEventDestroy(timer.end));
    }
}

void part_remote(struct probe *probe)
{
    CUstream stream = stream_new();
    measure_streams(probe, probe->bytes < 512 * MIB ? probe->bytes / 2 : 256 * MIB, stream);
    measure_products(probe, stream);
    MUST(cu.cuStreamDestroy(stream));
}
