#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "trace/trace_write.h"

#define FIRST_ADDRESS 0x7f0000000000
#define MOST_SLOTS 65536
#define CALL_NS 2000 /* between two calls of the program */

struct trace_maker {
    struct sl_trace *trace;
    uint64_t chunk_bytes;
    sl_tick tick, step_began;
    uint32_t last_stream;
    uint64_t now_ns, device_free_ns; /* the program's clock; when the device will have run everything */
    uint32_t step;
    uint32_t site[MOST_SLOTS]; /* 0: the slot is free */
    uint64_t address[MOST_SLOTS], bytes[MOST_SLOTS];
    uint64_t next_address;
};

static void fail(const char *what)
{
    fprintf(stderr, "trace_maker: %s\n", what);
    exit(1);
}

static void push(struct trace_maker *maker, struct sl_event event)
{
    event.tick = maker->tick;
    event.time_ns = maker->now_ns;
    if (!sl_trace_push(maker->trace, &event)) fail("a record was lost");
}

struct trace_maker *trace_maker_open(const char *path, uint64_t chunk_bytes, uint64_t device_bytes)
{
    struct trace_maker *maker = calloc(1, sizeof *maker);
    if (!maker) fail("no memory");
    if (sl_trace_open(path, &(struct sl_trace_options){.full = SL_TRACE_WAIT}, &maker->trace) != SL_OK)
        fail("the file cannot be written");
    maker->chunk_bytes = chunk_bytes;
    maker->next_address = FIRST_ADDRESS;
    maker->now_ns = sl_clock_ns(CLOCK_MONOTONIC);
    push(maker,
         (struct sl_event){.type = SL_EVENT_BUDGET, .a = device_bytes, .b = chunk_bytes, .c = device_bytes});
    push(maker, (struct sl_event){.type = SL_EVENT_METADATA, .text = "device_bytes_per_s=3000000000000"});
    return maker;
}

void trace_maker_close(struct trace_maker *maker)
{
    sl_trace_close(maker->trace);
    free(maker);
}

void trace_maker_kernel(struct trace_maker *maker, uint32_t kernel, const char *name)
{
    push(maker, (struct sl_event){.type = SL_EVENT_KERNEL, .id = kernel, .text = name});
}

static void push_life(struct trace_maker *maker, enum sl_event_type type, uint32_t slot, uint32_t site)
{
    maker->now_ns += CALL_NS;
    push(maker, (struct sl_event){.type = (uint8_t)type,
                                  .id = slot,
                                  .a = maker->address[slot],
                                  .b = maker->bytes[slot],
                                  .c = site});
}

void trace_maker_alloc_bytes(struct trace_maker *maker, uint32_t slot, uint32_t site, uint64_t bytes)
{
    if (slot >= MOST_SLOTS || maker->site[slot]) fail("a slot that is none or lives already");
    if (maker->bytes[slot] != bytes) {
        maker->address[slot] = maker->next_address;
        maker->bytes[slot] = bytes;
        maker->next_address += bytes;
    }
    maker->site[slot] = site;
    push_life(maker, SL_EVENT_ALLOC, slot, site);
}

void trace_maker_alloc(struct trace_maker *maker, uint32_t slot, uint32_t site)
{
    trace_maker_alloc_bytes(maker, slot, site, maker->chunk_bytes);
}

void trace_maker_free(struct trace_maker *maker, uint32_t slot)
{
    if (!trace_maker_lives(maker, slot)) fail("a slot that does not live is freed");
    maker->site[slot] = 0;
    push_life(maker, SL_EVENT_FREE, slot, 0);
}

bool trace_maker_lives(const struct trace_maker *maker, uint32_t slot)
{
    return slot < MOST_SLOTS && maker->site[slot];
}

void trace_maker_run(struct trace_maker *maker, const struct trace_launch *launch,
                     const struct trace_use *uses, uint32_t use_count)
{
    bool kernel = launch->kind == SL_LAUNCH_KERNEL;
    maker->tick++;
    maker->now_ns += CALL_NS;
    push(maker, (struct sl_event){.type = SL_EVENT_LAUNCH,
                                  .flags = (uint8_t)(launch->kind | launch->direction << 4),
                                  .id = launch->kernel,
                                  .a = launch->stream,
                                  .b = kernel ? launch->size : 0,
                                  .c = kernel ? 0 : launch->size});
    maker->last_stream = launch->stream;
    for (uint32_t i = 0; i < use_count; i++) {
        if (!trace_maker_lives(maker, uses[i].slot)) fail("a launch uses a slot that does not live");
        push(maker, (struct sl_event){.type = SL_EVENT_ACCESS,
                                      .flags = uses[i].written ? 0 : 1,
                                      .id = uses[i].slot,
                                      .a = uses[i].offset,
                                      .b = uses[i].bytes ? uses[i].bytes : maker->bytes[uses[i].slot]});
    }
    uint64_t began_ns = maker->device_free_ns > maker->now_ns ? maker->device_free_ns : maker->now_ns;
    maker->device_free_ns = began_ns + launch->duration_ns;
    push(maker,
         (struct sl_event){
             .type = SL_EVENT_DURATION, .id = launch->kernel, .a = launch->duration_ns, .b = began_ns});
}

void trace_maker_launch(struct trace_maker *maker, uint32_t kernel, uint32_t stream, uint64_t threads,
                        double seconds, const struct trace_use *uses, uint32_t use_count)
{
    struct trace_launch launch = {.kind = SL_LAUNCH_KERNEL,
                                  .kernel = kernel,
                                  .stream = stream,
                                  .size = threads,
                                  .duration_ns = (uint64_t)(seconds * 1e9 + 0.5)};
    trace_maker_run(maker, &launch, uses, use_count);
}

void trace_maker_wait(struct trace_maker *maker, bool all)
{
    if (maker->now_ns < maker->device_free_ns) maker->now_ns = maker->device_free_ns;
    push(maker, (struct sl_event){.type = SL_EVENT_SYNC,
                                  .b = all ? 0 : maker->last_stream,
                                  .flags = all ? SL_SYNC_CONTEXT : SL_SYNC_STREAM});
}

void trace_maker_end_step(struct trace_maker *maker)
{
    trace_maker_wait(maker, false);
    push(maker, (struct sl_event){.type = SL_EVENT_ITERATION,
                                  .id = ++maker->step,
                                  .a = maker->tick - maker->step_began,
                                  .b = maker->tick});
    maker->step_began = maker->tick;
}
