/* A plan's input while it is put together: predicted launches over chunks, one after the other, and what
 * becomes of the chunks meanwhile. It can be recorded, and repeated with some allocations in other places
 * (memory/layout.h). The memory is reused for the next window. Not thread-safe. */
#ifndef SLUICE_WINDOW_H
#define SLUICE_WINDOW_H

#include "memory/layout.h"
#include "plan/plan.h"

/* The state of the chunks at one time. */
struct sl_stock {
    uint64_t *bytes;
    enum sl_chunk_content *content;
    uint32_t *live; /* number of allocations in the chunk */
};

struct sl_window_step {
    enum {
        SL_WINDOW_LAUNCH,   /* begins the next launch, which takes `value` ns */
        SL_WINDOW_IN_PLACE, /* what it costs to use memory in place */
        SL_WINDOW_USE,      /* it uses `value` bytes of the chunk, if there are allocations in it */
        SL_WINDOW_USE_PAST, /* the same, if there are or were */
        SL_WINDOW_ALLOC,    /* an allocation takes up the chunk to `value` bytes */
        SL_WINDOW_FREE
    } kind;
    uint32_t mover; /* the number of the allocation among a layout's items, if that may move it; or SL_NONE */
    sl_chunk chunk;
    uint64_t value;
    double in_place_cost;
    bool only_read; /* of a use */
};

struct sl_window {
    struct sl_plan_launch *launches;
    struct sl_plan_access *accesses;
    sl_chunk *deaths;
    size_t chunks;
    uint32_t launch_count, access_count, death_count;
    struct sl_stock stock; /* after the launches so far; the content before them */
    struct sl_window_seen {
        uint64_t mark;   /* the last launch that uses the chunk */
        uint32_t access; /* its access to the chunk */
    } * seen;
    uint64_t seen_before; /* marks of `seen` up to this are from earlier windows */
    bool records;
    struct sl_stock first;        /* the stock when recording began */
    struct sl_window_step *steps; /* recorded */
    uint32_t step_count, step_capacity, launch_capacity, access_capacity, death_capacity, chunk_capacity;
};

bool sl_stock_reserve(struct sl_stock *stock, uint32_t capacity, size_t chunks);
void sl_stock_free(struct sl_stock *stock); /* zeroes it */

/* Begins a window of at most `launches` launches. What is known of the chunks is as before. False: out of
 * memory, here and below. */
bool sl_window_begin(struct sl_window *window, size_t launches, size_t chunks);
bool sl_window_record(struct sl_window *window);
bool sl_window_add(struct sl_window *window, struct sl_window_step step);
void sl_window_close(struct sl_window *window); /* zeroes it; accepts a zeroed one */

/* Repeats what was recorded of another window, with the items that may move where the layout has them.
 * `chunk_of`: by bin. */
bool sl_window_repeat(struct sl_window *window, const struct sl_window *recorded,
                      const struct sl_layout_item *items, const sl_chunk *chunk_of, uint64_t chunk_bytes);

/* Fills in what the window has of a plan's input. */
void sl_window_fill(const struct sl_window *window, struct sl_plan_input *input);

#endif
