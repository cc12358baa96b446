#include "training.h"

#include <stdlib.h>

#include "core/runtime.h"
#include "plan/plan.h"

enum { LAYERS = TRAINING_LAYERS_MAX, EVENTS_MAX = 4000 };
enum kernel { EMBED = 1, LAYER, LOSS, LAYER_BACK, EMBED_BACK, ADAM, GATHER };
enum slot {
    TOKENS,
    WEIGHTS,
    GRADIENTS = WEIGHTS + LAYERS,
    MOMENTS = GRADIENTS + LAYERS,
    HIDDEN = MOMENTS + LAYERS,
    DELTA = HIDDEN + LAYERS,
    GATHERED,
    LISTS,
    SLOTS
};
enum { CHUNK_BYTES = 4 << 20, LAUNCH_NS = 100000 };

static struct training shape;
static uint32_t batch; /* slot of the present one */
static struct sl_event events[EVENTS_MAX];
static size_t count;
static uint64_t tick, now_ns = 1000000;

static struct sl_event *push(enum sl_event_type type, uint32_t id)
{
    if (count == EVENTS_MAX) abort();
    events[count] = (struct sl_event){.type = (uint8_t)type, .id = id, .tick = tick, .time_ns = now_ns};
    return &events[count++];
}

static uint64_t address_of(uint32_t slot)
{
    return 0x7f0040000000 + (uint64_t)slot * CHUNK_BYTES;
}

static uint64_t bytes_of(uint32_t slot)
{
    return slot == TOKENS || slot >= LISTS ? 4096 + 64 * (slot % 5) : CHUNK_BYTES;
}

static uint64_t site_of(uint32_t slot)
{
    bool weights = shape.varies && slot >= WEIGHTS && slot < GRADIENTS;
    return 0x1000 + (weights ? WEIGHTS : slot < SLOTS ? slot : TOKENS);
}

static void life(enum sl_event_type type, uint32_t slot)
{
    struct sl_event *event = push(type, slot);
    event->a = address_of(slot);
    event->b = bytes_of(slot);
    if (type == SL_EVENT_ALLOC) event->c = site_of(slot);
}

/* The life of an activation. */
static void short_life(enum sl_event_type type, uint32_t slot)
{
    if (!shape.resident) life(type, slot);
}

/* A chunk comes or goes; its transfer takes as long as a launch. */
static void move(enum sl_action_kind kind, enum sl_move_cause cause, uint32_t chunk)
{
    uint8_t flags = (uint8_t)(kind | cause << 4);
    struct sl_event *event = push(SL_EVENT_MOVE, chunk);
    event->flags = flags;
    event->a = CHUNK_BYTES;
    event->tick = tick + (cause == SL_CAUSE_DEMAND); /* the launch that needs it has its tick already */
    if (kind != SL_ACTION_FETCH && kind != SL_ACTION_EVICT) return;
    event = push(SL_EVENT_TRANSFER, chunk);
    event->tick = event[-1].tick;
    event->flags = flags;
    event->a = CHUNK_BYTES;
    event->b = now_ns;
    event->c = LAUNCH_NS;
}

static void launch(enum kernel kernel, const uint32_t *slots, unsigned slot_count)
{
    tick++;
    struct sl_event *event = push(SL_EVENT_LAUNCH, kernel);
    event->a = 0x55aa;
    event->b = 1 << 20;
    for (unsigned i = 0; i < slot_count; i++) push(SL_EVENT_ACCESS, slots[i])->b = CHUNK_BYTES;
    push(SL_EVENT_DURATION, kernel)->a = LAUNCH_NS * 9 / 10;
    now_ns += LAUNCH_NS;
}
#define LAUNCH(kernel, ...)                                                                                  \
    launch(kernel, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void copy(enum sl_copy_direction direction, uint32_t slot, uint64_t bytes)
{
    tick++;
    struct sl_event *event = push(SL_EVENT_LAUNCH, 0);
    event->flags = (uint8_t)(SL_LAUNCH_COPY | direction << 4);
    event->a = 0x55aa;
    event->c = bytes;
    push(SL_EVENT_ACCESS, slot)->b = bytes;
    now_ns += LAUNCH_NS / 10;
}

static void clear(uint32_t slot)
{
    tick++;
    struct sl_event *event = push(SL_EVENT_LAUNCH, 0);
    event->flags = SL_LAUNCH_MEMSET;
    event->a = 0x55aa;
    event->c = CHUNK_BYTES;
    push(SL_EVENT_ACCESS, slot)->b = CHUNK_BYTES;
}

static void mark(const char *name)
{
    if (!shape.marks) return;
    struct sl_event *event = push(SL_EVENT_MARK, 0);
    event->flags = name ? SL_MARK_PUSH : SL_MARK_POP;
    event->text = name ? name : "";
}

static void forward(bool evaluation)
{
    if (shape.varies) life(SL_EVENT_ALLOC, ++batch);
    copy(SL_COPY_IN, batch, bytes_of(batch));
    if (shape.sharded) LAUNCH(GATHER, WEIGHTS + 1, GATHERED);
    for (uint32_t l = 0; l < shape.layers; l++) {
        short_life(SL_EVENT_ALLOC, HIDDEN + l);
        move(SL_ACTION_POPULATE, SL_CAUSE_DEMAND, HIDDEN + l);
        if (l)
            LAUNCH(LAYER, HIDDEN + l - 1, WEIGHTS + l, HIDDEN + l);
        else
            LAUNCH(EMBED, batch, WEIGHTS, HIDDEN);
    }
    LAUNCH(LOSS, HIDDEN + shape.layers - 1, batch);
    for (uint32_t l = 0; evaluation && l < shape.layers; l++) {
        short_life(SL_EVENT_FREE, HIDDEN + l);
        move(SL_ACTION_DISCARD, SL_CAUSE_PLAN, HIDDEN + l);
    }
    if (evaluation && shape.varies) life(SL_EVENT_FREE, batch);
}

static bool is_frozen(uint32_t layer)
{
    return shape.frozen && layer == 1;
}

static void backward(void)
{
    short_life(SL_EVENT_ALLOC, DELTA);
    move(SL_ACTION_POPULATE, SL_CAUSE_DEMAND, DELTA);
    for (uint32_t l = shape.layers; l-- > 0;) {
        if (l && shape.sharded) copy(SL_COPY_IN, LISTS, bytes_of(LISTS));
        if (is_frozen(l))
            LAUNCH(LAYER_BACK, HIDDEN + l, HIDDEN + l - 1, WEIGHTS + l, DELTA);
        else if (l && !shape.sharded)
            LAUNCH(LAYER_BACK, HIDDEN + l, HIDDEN + l - 1, WEIGHTS + l, GRADIENTS + l, DELTA);
        else if (l)
            LAUNCH(LAYER_BACK, HIDDEN + l, HIDDEN + l - 1, WEIGHTS + l, GRADIENTS + l, DELTA, LISTS);
        else
            LAUNCH(EMBED_BACK, batch, HIDDEN, GRADIENTS, DELTA);
        short_life(SL_EVENT_FREE, HIDDEN + l);
        move(SL_ACTION_DISCARD, SL_CAUSE_PLAN, HIDDEN + l);
    }
    short_life(SL_EVENT_FREE, DELTA);
    move(SL_ACTION_DISCARD, SL_CAUSE_PLAN, DELTA);
    if (shape.varies) life(SL_EVENT_FREE, batch);
}

/* The moments come one by one and leave again; those of the first layer are forgotten. */
static void update(void)
{
    for (uint32_t l = 0; l < shape.layers; l++) {
        if (is_frozen(l)) continue;
        move(SL_ACTION_FETCH, l ? SL_CAUSE_PLAN : SL_CAUSE_DEMAND, MOMENTS + l);
        LAUNCH(ADAM, WEIGHTS + l, GRADIENTS + l, MOMENTS + l);
        if (!l) {
            struct sl_event *stall = push(SL_EVENT_STALL, 0);
            stall->a = LAUNCH_NS / 2;
            stall->b = 1;
            stall->c = tick;
        }
        move(SL_ACTION_EVICT, SL_CAUSE_PLAN, MOMENTS + l);
    }
}

static void begin(void)
{
    static const char *const names[] = {"embed(int const*)", "layer", "loss",  "layer_back",
                                        "embed_back",        "adam",  "gather"};
    struct sl_event *event = push(SL_EVENT_BUDGET, 0);
    event->a = (uint64_t)20 * CHUNK_BYTES;
    event->b = CHUNK_BYTES;
    event->c = SL_GIB;
    event = push(SL_EVENT_SLAB, 0);
    event->a = address_of(0);
    event->b = SL_GIB;
    event = push(SL_EVENT_LINK, 0);
    event->a = event->b = UINT64_C(80) * CHUNK_BYTES * 1000 / 8; /* a chunk in 0.1 ms */
    push(SL_EVENT_METADATA, 0)->text = "device=Invented 1";
    for (uint32_t k = 0; k < (shape.sharded ? 7 : 6); k++) push(SL_EVENT_KERNEL, k + 1)->text = names[k];
    for (uint32_t s = TOKENS; s < (shape.resident ? GATHERED : HIDDEN); s++) life(SL_EVENT_ALLOC, s);
    for (uint32_t s = HIDDEN; shape.resident && s < GATHERED; s++) clear(s);
    for (uint32_t s = GATHERED; shape.sharded && s < SLOTS; s++) life(SL_EVENT_ALLOC, s);
    for (uint32_t l = 0; l < shape.layers; l++) {
        move(SL_ACTION_POPULATE, SL_CAUSE_DEMAND, WEIGHTS + l);
        move(SL_ACTION_POPULATE, SL_CAUSE_DEMAND, GRADIENTS + l);
        if (shape.varies) LAUNCH(ADAM, MOMENTS + l);
        copy(SL_COPY_IN, WEIGHTS + l, CHUNK_BYTES);
    }
    event = push(SL_EVENT_ERROR, 2);
    event->a = 3 * SL_GIB;
    event->c = 0x4711;
}

const struct sl_event *training_events(struct training training, size_t *event_count)
{
    shape = training;
    count = 0;
    tick = 0;
    now_ns = 1000000;
    batch = shape.varies ? SLOTS - 1 : TOKENS;
    begin();
    for (uint32_t s = 1; s <= shape.steps; s++) {
        for (unsigned m = 0; m < shape.micro; m++) {
            forward(false);
            mark("Optimizer.step");
            backward();
            mark(NULL);
        }
        update();
        struct sl_event *event = push(SL_EVENT_ITERATION, s);
        event->a = 100;
        event->b = 100 * s;
        event->c = s > 1 ? 100 * s - 110 : 0;
        if (s == 2) forward(true);
    }
    copy(SL_COPY_OUT, WEIGHTS, CHUNK_BYTES);
    for (uint32_t l = 0; shape.varies && l < shape.layers; l++) life(SL_EVENT_FREE, WEIGHTS + l);
    *event_count = count;
    return events;
}
