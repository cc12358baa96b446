/* Writes a trace as a long training run leaves it: a GPT of 12 layers whose activations are allocated one by
 * one, a kernel's accesses written once, durations sampled. usage: big_trace FILE LAUNCHES */
#include <stdio.h>
#include <stdlib.h>

#include "core/runtime.h"
#include "trace/trace_write.h"

enum {
    LAYERS = 12,
    FORWARD = 11, /* launches, and activations, of a layer */
    BACKWARD = 20,
    WEIGHTS = 16, /* of a layer */
    STEP_LAUNCHES = LAYERS * (FORWARD + BACKWARD + WEIGHTS),
    SAMPLED = 64,
    BATCH = 4 * LAYERS * WEIGHTS + LAYERS * FORWARD, /* slots */
    DELTA,
};

static struct sl_trace *trace;
static uint64_t tick, now_ns = 1000000;

static void push(struct sl_event event)
{
    event.tick = tick;
    event.time_ns = now_ns;
    if (sl_trace_push(trace, &event)) return;
    fputs("a record was lost\n", stderr);
    exit(1);
}

static void launch(uint32_t kernel, uint32_t number_in_step, const uint32_t slots[4])
{
    static uint64_t first[STEP_LAUNCHES];
    tick++;
    now_ns += 4000 + tick % 7 * 100;
    uint64_t known = first[number_in_step];
    if (!known) first[number_in_step] = tick;
    push((struct sl_event){.type = SL_EVENT_LAUNCH, .id = kernel, .a = 0x55aa, .b = 1u << 20, .d = known});
    for (unsigned i = 0; !known && i < 4; i++)
        push((struct sl_event){.type = SL_EVENT_ACCESS, .id = slots[i], .b = 8 * SL_MIB});
    if (tick % SAMPLED == 0) push((struct sl_event){.type = SL_EVENT_DURATION, .id = kernel, .a = 70000});
}

static void life(enum sl_event_type type, uint32_t slot)
{
    now_ns += 300;
    push((struct sl_event){.type = (uint8_t)type,
                           .id = slot,
                           .a = 0x7f0000000000 + slot * 8 * SL_MIB,
                           .b = 8 * SL_MIB,
                           .c = 0x1234 + slot});
}

static uint32_t activation(unsigned layer, unsigned i)
{
    return 4 * LAYERS * WEIGHTS + layer * FORWARD + i;
}

/* The activation that this one is made of. */
static uint32_t before(unsigned layer, unsigned i)
{
    return i ? activation(layer, i - 1) : activation(layer - 1, FORWARD - 1);
}

/* sort: 0 weights, 1 gradients, 2 and 3 the optimizer's. */
static uint32_t kept(unsigned sort, unsigned layer, unsigned i)
{
    return (sort * LAYERS + layer) * WEIGHTS + i;
}

/* The batch */
static void copy_in(void)
{
    static uint64_t first;
    tick++;
    now_ns += 9000;
    push((struct sl_event){.type = SL_EVENT_LAUNCH,
                           .flags = SL_LAUNCH_COPY | SL_COPY_IN << 4,
                           .a = 0x55aa,
                           .c = 4096,
                           .d = first});
    if (!first) push((struct sl_event){.type = SL_EVENT_ACCESS, .id = BATCH, .b = 4096});
    if (!first) first = tick;
}

static void step(void)
{
    uint32_t n = 0;
    copy_in();
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned i = 0; i < FORWARD; i++) {
            life(SL_EVENT_ALLOC, activation(l, i));
            launch(1 + i, n++,
                   (uint32_t[]){activation(l, i), l || i ? before(l, i) : BATCH, kept(0, l, i),
                                activation(l, i)});
        }
    for (unsigned l = LAYERS; l-- > 0;)
        for (unsigned i = 0; i < BACKWARD; i++) {
            unsigned a = FORWARD - 1 - i * FORWARD / BACKWARD;
            launch(20 + i, n++,
                   (uint32_t[]){activation(l, a), kept(0, l, i % WEIGHTS), kept(1, l, i % WEIGHTS), DELTA});
            if (i + 1 == BACKWARD || a != FORWARD - 1 - (i + 1) * FORWARD / BACKWARD)
                life(SL_EVENT_FREE, activation(l, a));
        }
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned i = 0; i < WEIGHTS; i++)
            launch(50, n++, (uint32_t[]){kept(0, l, i), kept(1, l, i), kept(2, l, i), kept(3, l, i)});
}

int main(int argc, char **argv)
{
    uint64_t launches = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (!launches) return fputs("usage: big_trace FILE LAUNCHES\n", stderr), 2;
    if (sl_trace_open(argv[1], &(struct sl_trace_options){.full = SL_TRACE_WAIT}, &trace) != SL_OK) return 1;
    push((struct sl_event){.type = SL_EVENT_BUDGET, .a = 8 * SL_GIB, .b = 16 * SL_MIB, .c = 10 * SL_GIB});
    for (uint32_t kernel = 1; kernel < 60; kernel++)
        push((struct sl_event){.type = SL_EVENT_KERNEL, .id = kernel, .text = "kernel"});
    for (uint32_t slot = 0; slot < 4 * LAYERS * WEIGHTS; slot++) life(SL_EVENT_ALLOC, slot);
    life(SL_EVENT_ALLOC, BATCH);
    life(SL_EVENT_ALLOC, DELTA);
    for (uint32_t number = 1; tick < launches; number++) {
        step();
        push((struct sl_event){
            .type = SL_EVENT_ITERATION, .id = number, .a = STEP_LAUNCHES + 2 * LAYERS * FORWARD});
    }
    sl_trace_close(trace);
    return 0;
}
