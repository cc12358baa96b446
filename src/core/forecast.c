#include "core/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/core.h"
#include "move/migrator.h"
#include "predict/durations.h"

#define PERIODS 3 /* in a window; only the first is served, as a plan does not know what follows it */
#define LEAST_WINDOW 512
#define LARGEST_WINDOW ((size_t)1 << 18)
/* The served part, if longer than a period, ends after so many accesses: launches of whole graphs have
 * many. */
#define MOST_ACCESSES ((size_t)1 << 16)

/* An interleaved order is only approximate, so a plan tuned closely to it fits the real order less well. */
#define MOST_ATTEMPTS_INTERLEAVED 8

/* If the order between streams is uncertain, a launch also needs the chunks of its stream's next launches: of
 * the next one, unless both need more than 1/NEAR_MOST_PART of the budget, and of the one after, if those so
 * far are below 1/NEAR_PART. */
enum { NEAR_LAUNCHES = 2, NEAR_PART = 12, NEAR_MOST_PART = 2 };

void sl_forecast_close(struct sl_forecast *forecast)
{
    free(forecast->symbols);
    free(forecast->notes);
    free(forecast->placed);
    free(forecast->placed_at_end);
    free(forecast->histories);
    sl_window_close(&forecast->window);
    sl_stock_free(&forecast->at_end);
    free(forecast->stocked_at);
    *forecast = (struct sl_forecast){0};
}

/* By slot; new entries belong to no forecast. */
static bool reserve_places(struct sl_forecast *forecast)
{
    uint32_t before = forecast->place_capacity, placed = before, at_end = before,
             count = forecast->core->placement.slot_count;
    if (!sl_grow_by(&forecast->placed, &placed, 0, count, sizeof *forecast->placed) ||
        !sl_grow_by(&forecast->placed_at_end, &at_end, 0, count, sizeof *forecast->placed_at_end))
        return false;
    memset(forecast->placed + before, 0, (at_end - before) * sizeof *forecast->placed);
    memset(forecast->placed_at_end + before, 0, (at_end - before) * sizeof *forecast->placed);
    forecast->place_capacity = at_end;
    return true;
}

/* For so many predicted symbols, of which `launches` at most are launches in the window. */
static bool reserve(struct sl_forecast *forecast, size_t symbols, size_t launches, size_t chunks)
{
    uint32_t count = (uint32_t)symbols, before = forecast->chunk_capacity;
    if (!sl_grow_by(&forecast->symbols, &forecast->symbol_capacity, 0, count, sizeof *forecast->symbols) ||
        !sl_grow_by(&forecast->notes, &forecast->note_capacity, 0, count, sizeof *forecast->notes) ||
        !sl_grow_by(&forecast->histories, &forecast->history_capacity, 0, count,
                    sizeof *forecast->histories) ||
        !reserve_places(forecast) || !sl_stock_reserve(&forecast->at_end, before, chunks) ||
        !sl_window_begin(&forecast->window, launches, chunks))
        return false;
    return sl_grow_by(&forecast->stocked_at, &forecast->chunk_capacity, 0, (uint32_t)chunks,
                      sizeof *forecast->stocked_at);
}

static size_t window_for(size_t period)
{
    size_t window = PERIODS * period;
    if (window < LEAST_WINDOW) return LEAST_WINDOW;
    return window < LARGEST_WINDOW ? window : LARGEST_WINDOW;
}

static size_t first_part(size_t window)
{
    return (window + PERIODS - 1) / PERIODS;
}

size_t sl_forecast_served_symbols(const struct sl_forecast *forecast)
{
    return window_for(sl_history_period(&forecast->core->history)) / PERIODS;
}

static size_t predict(struct sl_forecast *forecast, size_t count)
{
    forecast->interleaved = forecast->core->history.interleaved;
    if (forecast->core->history.interleaved) {
        memset(forecast->notes, 0, count * sizeof *forecast->notes);
        return sl_interleaver_next(forecast->core->history.interleaver, &forecast->core->symbols,
                                   forecast->symbols, forecast->histories, count);
    }
    return sl_predictor_next(forecast->core->history.predictor, forecast->symbols, forecast->notes, count);
}

/* Predicts the symbols after the first `skip` ones. What is believed for less than a period gets a shorter
 * window: where mispredictions are frequent, the longest match may lie many iterations back, and the work for
 * all of them would be lost with the plan. */
static enum sl_status begin(struct sl_forecast *forecast, size_t skip)
{
    size_t period = sl_history_period(&forecast->core->history),
           chunks = sl_arena_chunk_count(&forecast->core->arena);
    size_t wanted = window_for(period), believed = sl_history_believed(&forecast->core->history);
    if (believed <= skip) return SL_ERR_UNSUPPORTED;
    believed -= skip;
    bool believed_on = believed >= first_part(wanted);
    if (!believed_on) wanted = window_for(believed);
    if (!reserve(forecast, skip + wanted, wanted, chunks)) return SL_ERR_NO_MEMORY;
    size_t count = predict(forecast, skip + wanted);
    if (count <= skip) return SL_ERR_UNSUPPORTED;
    memmove(forecast->symbols, forecast->symbols + skip, (count - skip) * sizeof *forecast->symbols);
    memmove(forecast->notes, forecast->notes + skip, (count - skip) * sizeof *forecast->notes);
    forecast->count = count - skip;
    forecast->believed_on = believed_on;
    forecast->end = believed_on || believed > forecast->count ? first_part(forecast->count) : believed;
    forecast->period = period;
    forecast->at = forecast->served_launches = 0;
    forecast->last_units = forecast->units;
    forecast->units = 0;
    return SL_OK;
}

enum sl_status sl_forecast_begin(struct sl_forecast *forecast)
{
    enum sl_status status = begin(forecast, 0);
    if (status) return status;
    forecast->first_tick = forecast->core->history.ticks.now + 1;
    forecast->position = forecast->core->history.fed;
    forecast->strays = forecast->core->history.strays;
    forecast->number++;
    forecast->stocked = 0;
    return SL_OK;
}

static bool may_continue(const struct sl_forecast *forecast)
{
    return !forecast->core->history.interleaved &&
           forecast->position + forecast->end >= forecast->core->history.fed &&
           forecast->strays == forecast->core->history.strays &&
           forecast->window.chunks == sl_arena_chunk_count(&forecast->core->arena);
}

enum sl_status sl_forecast_continue(struct sl_forecast *forecast)
{
    uint64_t position = forecast->position + forecast->end;
    sl_tick first_tick = forecast->first_tick + forecast->served_launches;
    if (!may_continue(forecast)) return SL_ERR_UNSUPPORTED;
    enum sl_status status = begin(forecast, (size_t)(position - forecast->core->history.fed));
    if (status) return status;
    struct sl_stock stock = forecast->window.stock;
    forecast->window.stock = forecast->at_end;
    forecast->at_end = stock;
    struct sl_forecast_place *placed = forecast->placed;
    forecast->placed = forecast->placed_at_end;
    forecast->placed_at_end = placed;
    forecast->first_tick = first_tick;
    forecast->position = position;
    forecast->stocked = forecast->window.chunks;
    memset(forecast->stocked_at, 0, forecast->window.chunks * sizeof *forecast->stocked_at);
    return SL_OK;
}

/* Reads the chunk's current state. It already contains the effect of the symbols fed so far. `used`: it has
 * been in use. */
static void look_at(struct sl_forecast *forecast, size_t c, bool used)
{
    struct sl_stock *stock = &forecast->window.stock;
    const struct sl_chunk_record *chunk = used ? sl_arena_record(&forecast->core->arena, (sl_chunk)c) : NULL;
    forecast->stocked_at[c] = (uint32_t)(forecast->core->history.fed - forecast->position);
    stock->content[c] = SL_CONTENT_DEAD;
    stock->bytes[c] = 0;
    stock->live[c] = 0;
    if (!chunk || chunk->pinned) return; /* pinned chunks are not planned */
    uint64_t held = atomic_load(&chunk->frame_bytes), bytes = atomic_load(&chunk->bytes);
    stock->content[c] = (enum sl_chunk_content)atomic_load(&chunk->content);
    stock->bytes[c] = bytes > held ? bytes : held;
    stock->live[c] = chunk->group != SL_NONE ? chunk->bitmap->count : bytes != 0;
}

static void look_at_next(struct sl_forecast *forecast)
{
    size_t end = sl_arena_skip_unused(&forecast->core->arena, forecast->stocked, forecast->window.chunks);
    for (; forecast->stocked < end; forecast->stocked++) look_at(forecast, forecast->stocked, false);
    if (end < forecast->window.chunks) look_at(forecast, forecast->stocked++, true);
}

/* Whether the chunk's state was read after the current symbol had been fed, and so contains its effect. */
static bool is_past(const struct sl_forecast *forecast, sl_chunk c)
{
    return forecast->at < forecast->stocked_at[c];
}

/* What has the name at this point: the slot of its next allocation and that one's predicted place, if one is
 * predicted before; else the slot that lives, or lived last, where it lies. `slot`: of an access with this
 * name; or the name. */
struct holder {
    const struct sl_slot *slot;
    uint64_t address;
    uint32_t mover; /* see sl_forecast_record */
};

static struct holder holder_of(const struct sl_forecast *forecast, uint32_t name, uint32_t slot)
{
    const struct sl_placement *placement = &forecast->core->placement;
    bool any_size = sl_name_is_of_any_size(placement, name);
    const struct sl_forecast_place *place = &forecast->placed[any_size ? name : slot];
    if (place->forecast == forecast->number)
        return (struct holder){&placement->slots[any_size ? place->slot : slot], place->address,
                               place->mover};
    uint32_t live = any_size ? sl_slot_named(placement, name) : SL_NONE;
    const struct sl_slot *own = &placement->slots[live != SL_NONE ? live : slot];
    return (struct holder){own, own->address, SL_NONE};
}

static struct sl_chunk_range chunks_of(const struct sl_forecast *forecast, const struct holder *holder)
{
    return sl_slot_chunks_at(&forecast->core->placement, holder->slot, holder->address, 0,
                             holder->slot->bytes);
}

static uint32_t slot_number(const struct sl_forecast *forecast, const struct holder *holder)
{
    return (uint32_t)(holder->slot - forecast->core->placement.slots);
}

static void add(struct sl_forecast *forecast, struct sl_window_step step, enum sl_status *status)
{
    if (!sl_window_add(&forecast->window, step)) *status = SL_ERR_NO_MEMORY;
}

/* Where the allocation of this name, which the current symbol is, will lie. */
static struct holder place(struct sl_forecast *forecast, uint32_t name)
{
    uint64_t note = forecast->notes[forecast->at];
    uint32_t mover = forecast->mover_of ? forecast->mover_of[forecast->at] : SL_NONE;
    struct sl_forecast_place *placed = &forecast->placed[name];
    if (note)
        *placed =
            (struct sl_forecast_place){forecast->number, sl_note_address(note), sl_note_slot(note), mover};
    struct holder holder = holder_of(forecast, name, name);
    if (!note && mover != holder.mover)
        *placed = (struct sl_forecast_place){forecast->number, holder.address, slot_number(forecast, &holder),
                                             holder.mover = mover};
    return holder;
}

static size_t predict_alloc(struct sl_forecast *forecast, uint32_t name, enum sl_status *status)
{
    struct holder holder = place(forecast, name);
    struct sl_chunk_range range = chunks_of(forecast, &holder);
    for (uint32_t i = 0; i < range.count && *status == SL_OK; i++) {
        sl_chunk c = range.first + i;
        uint64_t bytes =
            sl_suballocator_chunk_bytes(&forecast->core->arena, holder.address, holder.slot->bytes, i);
        if (c < forecast->window.chunks && !is_past(forecast, c) &&
            !sl_arena_record(&forecast->core->arena, c)->pinned)
            add(forecast, (struct sl_window_step){SL_WINDOW_ALLOC, holder.mover, c, bytes}, status);
    }
    return range.count;
}

static size_t predict_free(struct sl_forecast *forecast, uint32_t name, enum sl_status *status)
{
    struct holder holder = holder_of(forecast, name, name);
    struct sl_chunk_range range = chunks_of(forecast, &holder);
    for (uint32_t i = 0; i < range.count && *status == SL_OK; i++) {
        sl_chunk c = range.first + i;
        if (c < forecast->window.chunks && !is_past(forecast, c))
            add(forecast, (struct sl_window_step){SL_WINDOW_FREE, holder.mover, c, 0}, status);
    }
    return range.count;
}

/* Adds the accesses of a launch with this symbol to the last launch, and their bytes to *used. */
static size_t add_accesses(struct sl_forecast *forecast, sl_symbol symbol, uint64_t *used,
                           enum sl_status *status)
{
    const struct sl_symbol_record *record = &forecast->core->symbols.records[symbol];
    size_t units = 0;
    for (uint32_t a = 0; a < record->access_count; a++) {
        const struct sl_placement *placement = &forecast->core->placement;
        struct sl_access access = forecast->core->symbols.accesses[record->first_access + a];
        struct holder holder = holder_of(forecast, access.name, access.slot);
        access.slot = slot_number(forecast, &holder);
        uint64_t bytes = sl_access_end(placement, &access) - access.offset;
        struct sl_chunk_range range =
            sl_slot_chunks_at(placement, holder.slot, holder.address, access.offset, bytes);
        uint64_t at = holder.address + access.offset;
        units += 4 + range.count;
        *used += bytes;
        for (uint32_t i = 0; i < range.count && *status == SL_OK; i++) {
            sl_chunk c = range.first + i;
            if (c >= forecast->window.chunks) continue;
            add(forecast,
                (struct sl_window_step){.kind = is_past(forecast, c) ? SL_WINDOW_USE_PAST : SL_WINDOW_USE,
                                        .mover = holder.mover,
                                        .chunk = c,
                                        .value = sl_part_in_chunk(&forecast->core->arena, at, bytes, i),
                                        .only_read = access.only_read},
                status);
        }
        if (*status) return units;
    }
    return units;
}

/* Adds the chunks of the stream history's next launches to the last launch, because those may come early. */
static size_t add_near(struct sl_forecast *forecast, uint8_t history, enum sl_status *status)
{
    struct sl_window *window = &forecast->window;
    struct sl_plan_launch *launch = &window->launches[window->launch_count - 1];
    uint64_t budget =
        sl_budget_bytes(&forecast->core->budget) / forecast->core->arena.chunk_bytes; /* chunks */
    size_t units = 0, found = 0;
    uint64_t used = 0;
    for (size_t at = forecast->at + 1; found < NEAR_LAUNCHES && at < forecast->count; at++) {
        sl_symbol symbol = forecast->symbols[at];
        units++;
        if (forecast->histories[at] != history ||
            forecast->core->symbols.records[symbol].kind != SL_SYMBOL_LAUNCH)
            continue;
        uint32_t before = launch->access_count;
        if (found++ && before >= budget / NEAR_PART) break;
        units += add_accesses(forecast, symbol, &used, status);
        if (*status == SL_OK && launch->access_count <= budget / NEAR_MOST_PART) continue;
        window->access_count -= launch->access_count - before;
        launch->access_count = before;
        break;
    }
    return units;
}

/* As sl_durations_in_place. What may wait for other ranks takes as long as they do. */
static double in_place_cost(const struct sl_forecast *forecast, sl_symbol symbol, uint64_t bytes)
{
    const struct sl_symbol_record *record = &forecast->core->symbols.records[symbol];
    if (record->kernel && forecast->core->scanner.kernels.kernels[record->kernel].meets_peers) return 0;
    if (record->launch_kind != 1 + SL_LAUNCH_KERNEL && record->launch_kind != 1 + SL_LAUNCH_GRAPH) return 0;
    return sl_durations_in_place(&forecast->core->sampling.durations, symbol, record->kernel, bytes);
}

static size_t predict_launch(struct sl_forecast *forecast, sl_symbol symbol, enum sl_status *status)
{
    uint8_t history = forecast->histories[forecast->at];
    struct sl_window *window = &forecast->window;
    uint64_t used = 0, duration_ns = sl_durations_ns(&forecast->core->sampling.durations, symbol,
                                                     forecast->core->symbols.records[symbol].kernel);
    forecast->histories[window->launch_count] = history;
    forecast->symbols[window->launch_count] = symbol;
    add(forecast, (struct sl_window_step){SL_WINDOW_LAUNCH, SL_NONE, SL_NONE, duration_ns}, status);
    size_t units = add_accesses(forecast, symbol, &used, status);
    double cost = in_place_cost(forecast, symbol, used);
    if (cost > 0)
        add(forecast,
            (struct sl_window_step){.kind = SL_WINDOW_IN_PLACE, .mover = SL_NONE, .in_place_cost = cost},
            status);
    if (forecast->interleaved && *status == SL_OK) units += add_near(forecast, history, status);
    return units;
}

/* The served part ends here, and the next forecast begins here. */
static void reach_end(struct sl_forecast *forecast)
{
    forecast->end = forecast->at;
    if (forecast->believed_on && forecast->count > PERIODS * forecast->end)
        forecast->count = PERIODS * forecast->end;
    forecast->served_launches = forecast->window.launch_count;
    memcpy(forecast->at_end.bytes, forecast->window.stock.bytes,
           forecast->window.chunks * sizeof *forecast->window.stock.bytes);
    memcpy(forecast->placed_at_end, forecast->placed, forecast->place_capacity * sizeof *forecast->placed);
    memcpy(forecast->at_end.live, forecast->window.stock.live,
           forecast->window.chunks * sizeof *forecast->window.stock.live);
}

static size_t predict_symbol(struct sl_forecast *forecast, enum sl_status *status)
{
    sl_symbol symbol = forecast->symbols[forecast->at];
    const struct sl_symbol_record *record = &forecast->core->symbols.records[symbol];
    if (record->kind == SL_SYMBOL_LAUNCH) return predict_launch(forecast, symbol, status);
    return record->kind == SL_SYMBOL_ALLOC ? predict_alloc(forecast, record->slot, status)
                                           : predict_free(forecast, record->slot, status);
}

static bool is_end(const struct sl_forecast *forecast)
{
    if (forecast->at >= forecast->end) return forecast->at == forecast->end;
    return forecast->at >= forecast->period && forecast->window.access_count >= MOST_ACCESSES;
}

bool sl_forecast_step(struct sl_forecast *forecast, size_t units, enum sl_status *status)
{
    size_t done = 0;
    *status = SL_OK;
    for (; forecast->stocked < forecast->window.chunks && done < units; done++) look_at_next(forecast);
    while (forecast->stocked == forecast->window.chunks && forecast->at < forecast->count && done < units) {
        if (is_end(forecast)) reach_end(forecast);
        done += 4 + predict_symbol(forecast, status);
        if (*status) return true;
        forecast->at++;
    }
    forecast->units += done;
    if (forecast->stocked < forecast->window.chunks || forecast->at < forecast->count) return false;
    if (forecast->window.launch_count == 0) *status = SL_ERR_UNSUPPORTED;
    if (forecast->served_launches == 0) reach_end(forecast);
    return true;
}

static unsigned attempts(const struct sl_forecast *forecast)
{
    unsigned wanted = (unsigned)forecast->core->options->plan_attempts;
    return forecast->interleaved && wanted > MOST_ATTEMPTS_INTERLEAVED ? MOST_ATTEMPTS_INTERLEAVED : wanted;
}

struct sl_plan_input sl_forecast_input(const struct sl_forecast *forecast)
{
    struct sl_plan_input input = {
        .first_tick = forecast->first_tick,
        .histories = forecast->interleaved ? forecast->histories : NULL,
        .symbols = forecast->symbols,
        .when = forecast->core->policy->when,
        .attempts = attempts(forecast),
        .budget_bytes = sl_budget_bytes(&forecast->core->budget),
        .in_bytes_per_s = forecast->core->migrator.link_in_bytes_per_s,
        .out_bytes_per_s = forecast->core->migrator.link_out_bytes_per_s,
        .link_bytes_per_s = sl_migrator_link_alone(&forecast->core->migrator),
        .tries_slack = forecast->core->planning.lead_eighths > 0 && !forecast->core->history.vary,
    };
    sl_window_fill(&forecast->window, &input);
    input.believed = forecast->believed_on ? input.launch_count : forecast->served_launches;
    return input;
}

enum sl_status sl_forecast_record(struct sl_forecast *forecast, const uint32_t *mover_of)
{
    enum sl_status status = SL_OK;
    while (forecast->stocked < forecast->window.chunks) look_at_next(forecast);
    if (!sl_window_record(&forecast->window)) return SL_ERR_NO_MEMORY;
    forecast->mover_of = mover_of;
    sl_forecast_step(forecast, SIZE_MAX, &status);
    forecast->mover_of = NULL;
    return status;
}
