#include "plan/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

bool sl_stock_reserve(struct sl_stock *stock, uint32_t capacity, size_t chunks)
{
    uint32_t each[3] = {capacity, capacity, capacity}, count = (uint32_t)chunks;
    return sl_grow_by(&stock->bytes, &each[0], 0, count, sizeof *stock->bytes) &&
           sl_grow_by(&stock->content, &each[1], 0, count, sizeof *stock->content) &&
           sl_grow_by(&stock->live, &each[2], 0, count, sizeof *stock->live);
}

void sl_stock_free(struct sl_stock *stock)
{
    free(stock->bytes);
    free(stock->content);
    free(stock->live);
    *stock = (struct sl_stock){0};
}

bool sl_window_begin(struct sl_window *window, size_t launches, size_t chunks)
{
    uint32_t before = window->chunk_capacity, seen = before;
    if (!sl_grow_by(&window->launches, &window->launch_capacity, 0, (uint32_t)launches,
                    sizeof *window->launches) ||
        !sl_stock_reserve(&window->stock, before, chunks) ||
        !sl_grow_by(&window->seen, &seen, 0, (uint32_t)chunks, sizeof *window->seen))
        return false;
    memset(window->seen + before, 0, (seen - before) * sizeof *window->seen);
    window->chunk_capacity = seen;
    window->chunks = chunks;
    window->seen_before += window->launch_count + 1;
    window->launch_count = window->access_count = window->death_count = window->step_count = 0;
    window->records = false;
    return true;
}

static void copy(struct sl_stock *to, const struct sl_stock *from, size_t chunks)
{
    memcpy(to->bytes, from->bytes, chunks * sizeof *to->bytes);
    memcpy(to->content, from->content, chunks * sizeof *to->content);
    memcpy(to->live, from->live, chunks * sizeof *to->live);
}

bool sl_window_record(struct sl_window *window)
{
    window->records = sl_stock_reserve(&window->first, 0, window->chunks);
    if (window->records) copy(&window->first, &window->stock, window->chunks);
    return window->records;
}

void sl_window_close(struct sl_window *window)
{
    free(window->launches);
    free(window->accesses);
    free(window->deaths);
    free(window->seen);
    free(window->steps);
    sl_stock_free(&window->stock);
    sl_stock_free(&window->first);
    *window = (struct sl_window){0};
}

static bool use(struct sl_window *window, sl_chunk c, uint64_t bytes, bool only_read)
{
    struct sl_window_seen *seen = &window->seen[c];
    uint64_t mark = window->seen_before + window->launch_count;
    if (seen->mark == mark) {
        window->accesses[seen->access].bytes += bytes;
        window->accesses[seen->access].only_read &= only_read;
        return true;
    }
    if (!sl_grow(&window->accesses, &window->access_capacity, window->access_count, sizeof *window->accesses))
        return false;
    *seen = (struct sl_window_seen){mark, window->access_count};
    window->accesses[window->access_count++] = (struct sl_plan_access){c, bytes, only_read};
    window->launches[window->launch_count - 1].access_count++;
    return true;
}

static bool end_life(struct sl_window *window, sl_chunk c)
{
    struct sl_stock *stock = &window->stock;
    if (stock->live[c] == 0 || --stock->live[c] > 0) return true;
    if (window->launch_count > 0) {
        if (!sl_grow(&window->deaths, &window->death_capacity, window->death_count, sizeof *window->deaths))
            return false;
        window->deaths[window->death_count++] = c;
        window->launches[window->launch_count - 1].death_count++;
    } else if (stock->content[c] == SL_CONTENT_RESIDENT) {
        stock->content[c] = SL_CONTENT_RESIDENT_DEAD;
    } else if (stock->content[c] == SL_CONTENT_HOST) {
        stock->content[c] = SL_CONTENT_DEAD;
    }
    return true;
}

bool sl_window_add(struct sl_window *window, struct sl_window_step step)
{
    struct sl_stock *stock = &window->stock;
    sl_chunk c = step.chunk;
    if (window->records) {
        if (!sl_grow(&window->steps, &window->step_capacity, window->step_count, sizeof step)) return false;
        window->steps[window->step_count++] = step;
    }
    switch (step.kind) {
    case SL_WINDOW_LAUNCH:
        window->launches[window->launch_count++] =
            (struct sl_plan_launch){.first_access = window->access_count,
                                    .first_death = window->death_count,
                                    .duration_ns = step.value};
        return true;
    case SL_WINDOW_IN_PLACE:
        window->launches[window->launch_count - 1].in_place_cost = step.in_place_cost;
        return true;
    case SL_WINDOW_USE:
        return stock->live[c] == 0 || use(window, c, step.value, step.only_read);
    case SL_WINDOW_USE_PAST:
        return use(window, c, step.value, step.only_read);
    case SL_WINDOW_ALLOC:
        if (step.value > stock->bytes[c]) stock->bytes[c] = step.value;
        stock->live[c]++;
        return true;
    default:
        return end_life(window, c);
    }
}

bool sl_window_repeat(struct sl_window *window, const struct sl_window *recorded,
                      const struct sl_layout_item *items, const sl_chunk *chunk_of, uint64_t chunk_bytes)
{
    if (!sl_window_begin(window, recorded->launch_count, recorded->chunks)) return false;
    copy(&window->stock, &recorded->first, recorded->chunks);
    for (uint32_t s = 0; s < recorded->step_count; s++) {
        struct sl_window_step step = recorded->steps[s];
        if (step.mover != SL_NONE) {
            const struct sl_layout_item *item = &items[step.mover];
            uint64_t end =
                (item->offset + item->bytes + SL_BLOCK_BYTES - 1) & ~(uint64_t)(SL_BLOCK_BYTES - 1);
            step.chunk = chunk_of[item->bin];
            if (step.kind == SL_WINDOW_ALLOC) step.value = end < chunk_bytes ? end : chunk_bytes;
        }
        if (!sl_window_add(window, step)) return false;
    }
    return true;
}

void sl_window_fill(const struct sl_window *window, struct sl_plan_input *input)
{
    input->launches = window->launches;
    input->launch_count = window->launch_count;
    input->accesses = window->accesses;
    input->deaths = window->deaths;
    input->chunk_count = window->chunks;
    input->chunk_bytes = window->stock.bytes;
    input->content = window->stock.content;
}
