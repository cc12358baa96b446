#include "core/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "launch/access.h"
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

static bool reserve(void *array, size_t *capacity, size_t wanted, size_t size)
{
    if (wanted <= *capacity) return true;
    size_t larger = *capacity ? *capacity : 256;
    while (larger < wanted) larger *= 2;
    void *moved = realloc(*(void **)array, larger * size);
    if (!moved) return false;
    *(void **)array = moved;
    *capacity = larger;
    return true;
}

static void free_stock(struct sl_stock *stock)
{
    free(stock->bytes);
    free(stock->content);
    free(stock->live);
}

void sl_forecast_close(struct sl_forecast *forecast)
{
    free(forecast->symbols);
    free(forecast->notes);
    free(forecast->placed);
    free(forecast->placed_at_end);
    free(forecast->histories);
    free(forecast->launches);
    free(forecast->accesses);
    free(forecast->deaths);
    free_stock(&forecast->stock);
    free_stock(&forecast->at_end);
    free(forecast->stocked_at);
    free(forecast->seen);
    *forecast = (struct sl_forecast){0};
}

static bool reserve_stock(struct sl_stock *stock, size_t capacity, size_t count)
{
    size_t each[3] = {capacity, capacity, capacity};
    return reserve(&stock->bytes, &each[0], count, sizeof *stock->bytes) &&
           reserve(&stock->content, &each[1], count, sizeof *stock->content) &&
           reserve(&stock->live, &each[2], count, sizeof *stock->live);
}

static bool reserve_chunks(struct sl_forecast *forecast, size_t count)
{
    size_t before = forecast->chunk_capacity, marks = before, seen = before;
    if (!reserve_stock(&forecast->stock, before, count) || !reserve_stock(&forecast->at_end, before, count) ||
        !reserve(&forecast->stocked_at, &marks, count, sizeof *forecast->stocked_at) ||
        !reserve(&forecast->seen, &seen, count, sizeof *forecast->seen))
        return false;
    memset(forecast->seen + before, 0, (seen - before) * sizeof *forecast->seen);
    forecast->chunk_capacity = seen;
    return true;
}

/* By slot; new entries belong to no forecast. */
static bool reserve_places(struct sl_forecast *forecast)
{
    size_t before = forecast->place_capacity, placed = before, at_end = before,
           count = forecast->core->placement.slot_count;
    if (!reserve(&forecast->placed, &placed, count, sizeof *forecast->placed) ||
        !reserve(&forecast->placed_at_end, &at_end, count, sizeof *forecast->placed_at_end))
        return false;
    memset(forecast->placed + before, 0, (at_end - before) * sizeof *forecast->placed);
    memset(forecast->placed_at_end + before, 0, (at_end - before) * sizeof *forecast->placed);
    forecast->place_capacity = at_end;
    return true;
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
    if (!reserve(&forecast->symbols, &forecast->symbol_capacity, skip + wanted, sizeof *forecast->symbols) ||
        !reserve(&forecast->notes, &forecast->note_capacity, skip + wanted, sizeof *forecast->notes) ||
        !reserve_places(forecast) ||
        !reserve(&forecast->histories, &forecast->history_capacity, skip + wanted,
                 sizeof *forecast->histories) ||
        !reserve(&forecast->launches, &forecast->launch_capacity, wanted, sizeof *forecast->launches) ||
        !reserve_chunks(forecast, chunks))
        return SL_ERR_NO_MEMORY;
    size_t count = predict(forecast, skip + wanted);
    if (count <= skip) return SL_ERR_UNSUPPORTED;
    memmove(forecast->symbols, forecast->symbols + skip, (count - skip) * sizeof *forecast->symbols);
    memmove(forecast->notes, forecast->notes + skip, (count - skip) * sizeof *forecast->notes);
    forecast->count = count - skip;
    forecast->believed_on = believed_on;
    forecast->end = believed_on || believed > forecast->count ? first_part(forecast->count) : believed;
    forecast->period = period;
    forecast->chunks = chunks;
    forecast->seen_before += forecast->launch_count + 1;
    forecast->at = forecast->launch_count = forecast->access_count = forecast->death_count = 0;
    forecast->served_launches = 0;
    forecast->last_units = forecast->units;
    forecast->units = 0;
    return SL_OK;
}

static enum sl_status begin_now(struct sl_forecast *forecast)
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

enum sl_status sl_forecast_begin(struct sl_forecast *forecast)
{
    enum sl_status status = begin_now(forecast);
    if (status == SL_OK && sl_relayout_is_due(&forecast->relayout, &forecast->core->history))
        sl_relayout(&forecast->relayout, forecast->core, forecast->symbols, forecast->notes, forecast->count);
    return status;
}

static bool may_continue(const struct sl_forecast *forecast)
{
    return !forecast->core->history.interleaved &&
           forecast->position + forecast->end >= forecast->core->history.fed &&
           forecast->strays == forecast->core->history.strays &&
           forecast->chunks == sl_arena_chunk_count(&forecast->core->arena);
}

enum sl_status sl_forecast_continue(struct sl_forecast *forecast)
{
    uint64_t position = forecast->position + forecast->end;
    sl_tick first_tick = forecast->first_tick + forecast->served_launches;
    if (!may_continue(forecast)) return SL_ERR_UNSUPPORTED;
    enum sl_status status = begin(forecast, (size_t)(position - forecast->core->history.fed));
    if (status) return status;
    struct sl_stock stock = forecast->stock;
    forecast->stock = forecast->at_end;
    forecast->at_end = stock;
    struct sl_forecast_place *placed = forecast->placed;
    forecast->placed = forecast->placed_at_end;
    forecast->placed_at_end = placed;
    forecast->first_tick = first_tick;
    forecast->position = position;
    forecast->stocked = forecast->chunks;
    memset(forecast->stocked_at, 0, forecast->chunks * sizeof *forecast->stocked_at);
    return SL_OK;
}

/* Reads the chunk's current state. It already contains the effect of the symbols fed so far. */
static void look_at(struct sl_forecast *forecast, size_t c)
{
    struct sl_chunk_record *chunk = sl_arena_record(&forecast->core->arena, (sl_chunk)c);
    uint64_t held = atomic_load(&chunk->frame_bytes), bytes = atomic_load(&chunk->bytes);
    forecast->stocked_at[c] = (uint32_t)(forecast->core->history.fed - forecast->position);
    if (chunk->pinned) { /* pinned chunks are not planned */
        forecast->stock.content[c] = SL_CONTENT_DEAD;
        forecast->stock.bytes[c] = 0;
        forecast->stock.live[c] = 0;
        return;
    }
    forecast->stock.content[c] = (enum sl_chunk_content)atomic_load(&chunk->content);
    forecast->stock.bytes[c] = bytes > held ? bytes : held;
    forecast->stock.live[c] = chunk->group != SL_NONE ? chunk->bitmap->count : bytes != 0;
}

/* Marks chunks of unused slabs from `c` on, and returns the first chunk behind them. */
static size_t look_at_unused(struct sl_forecast *forecast, size_t c)
{
    size_t end = sl_arena_skip_unused(&forecast->core->arena, c, forecast->chunks);
    for (size_t i = c; i < end; i++) {
        forecast->stocked_at[i] = (uint32_t)(forecast->core->history.fed - forecast->position);
        forecast->stock.content[i] = SL_CONTENT_DEAD;
        forecast->stock.bytes[i] = 0;
        forecast->stock.live[i] = 0;
    }
    return end;
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
};

static struct holder holder_of(const struct sl_forecast *forecast, uint32_t name, uint32_t slot)
{
    const struct sl_placement *placement = &forecast->core->placement;
    bool any_size = sl_name_is_of_any_size(placement, name);
    const struct sl_forecast_place *place = &forecast->placed[any_size ? name : slot];
    if (place->forecast == forecast->number)
        return (struct holder){&placement->slots[any_size ? place->slot : slot], place->address};
    uint32_t live = any_size ? sl_slot_named(placement, name) : SL_NONE;
    const struct sl_slot *own = &placement->slots[live != SL_NONE ? live : slot];
    return (struct holder){own, own->address};
}

static struct sl_chunk_range chunks_of(const struct sl_forecast *forecast, const struct holder *holder)
{
    return sl_slot_chunks_at(&forecast->core->placement, holder->slot, holder->address, 0,
                             holder->slot->bytes);
}

static size_t predict_alloc(struct sl_forecast *forecast, uint32_t name)
{
    uint64_t note = forecast->notes[forecast->at];
    if (note)
        forecast->placed[name] =
            (struct sl_forecast_place){forecast->number, sl_note_address(note), sl_note_slot(note)};
    struct holder holder = holder_of(forecast, name, name);
    struct sl_chunk_range range = chunks_of(forecast, &holder);
    for (uint32_t i = 0; i < range.count; i++) {
        sl_chunk c = range.first + i;
        uint64_t bytes =
            sl_suballocator_chunk_bytes(&forecast->core->arena, holder.address, holder.slot->bytes, i);
        if (c >= forecast->chunks || is_past(forecast, c) ||
            sl_arena_record(&forecast->core->arena, c)->pinned)
            continue;
        if (bytes > forecast->stock.bytes[c]) forecast->stock.bytes[c] = bytes;
        forecast->stock.live[c]++;
    }
    return range.count;
}

static size_t predict_free(struct sl_forecast *forecast, uint32_t name, enum sl_status *status)
{
    struct sl_stock *stock = &forecast->stock;
    struct holder holder = holder_of(forecast, name, name);
    struct sl_chunk_range range = chunks_of(forecast, &holder);
    if (!reserve(&forecast->deaths, &forecast->death_capacity, forecast->death_count + range.count,
                 sizeof *forecast->deaths))
        *status = SL_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < range.count && *status == SL_OK; i++) {
        sl_chunk c = range.first + i;
        if (c >= forecast->chunks || is_past(forecast, c)) continue;
        if (stock->live[c] == 0 || --stock->live[c] > 0) continue;
        if (forecast->launch_count > 0) {
            forecast->deaths[forecast->death_count++] = c;
            forecast->launches[forecast->launch_count - 1].death_count++;
        } else if (stock->content[c] == SL_CONTENT_RESIDENT) {
            stock->content[c] = SL_CONTENT_RESIDENT_DEAD;
        } else if (stock->content[c] == SL_CONTENT_HOST) {
            stock->content[c] = SL_CONTENT_DEAD;
        }
    }
    return range.count;
}

/* The last launch uses `bytes` bytes of the chunk. */
static void add_use(struct sl_forecast *forecast, sl_chunk c, uint64_t bytes)
{
    struct sl_forecast_seen *seen = &forecast->seen[c];
    uint64_t mark = forecast->seen_before + forecast->launch_count;
    if (seen->mark != mark) {
        *seen = (struct sl_forecast_seen){mark, (uint32_t)forecast->access_count};
        forecast->accesses[forecast->access_count++] = (struct sl_plan_access){c, bytes};
        forecast->launches[forecast->launch_count - 1].access_count++;
        return;
    }
    struct sl_plan_access *access = &forecast->accesses[seen->access];
    access->bytes += bytes;
}

/* Adds the accesses of a launch with this symbol to the last launch. */
static size_t add_accesses(struct sl_forecast *forecast, sl_symbol symbol, enum sl_status *status)
{
    const struct sl_symbol_record *record = &forecast->core->symbols.records[symbol];
    size_t units = 0;
    for (uint32_t a = 0; a < record->access_count; a++) {
        const struct sl_placement *placement = &forecast->core->placement;
        struct sl_access access = forecast->core->symbols.accesses[record->first_access + a];
        struct holder holder = holder_of(forecast, access.name, access.slot);
        access.slot = (uint32_t)(holder.slot - placement->slots);
        uint64_t bytes = sl_access_end(placement, &access) - access.offset;
        struct sl_chunk_range range =
            sl_slot_chunks_at(placement, holder.slot, holder.address, access.offset, bytes);
        uint64_t at = holder.address + access.offset;
        if (!reserve(&forecast->accesses, &forecast->access_capacity, forecast->access_count + range.count,
                     sizeof *forecast->accesses)) {
            *status = SL_ERR_NO_MEMORY;
            return units;
        }
        units += 4 + range.count;
        for (uint32_t i = 0; i < range.count; i++) {
            sl_chunk c = range.first + i;
            if (c >= forecast->chunks || (forecast->stock.live[c] == 0 && !is_past(forecast, c))) continue;
            add_use(forecast, c, sl_part_in_chunk(&forecast->core->arena, at, bytes, i));
        }
    }
    return units;
}

/* Adds the chunks of the stream history's next launches to the last launch, because those may come early. */
static size_t add_near(struct sl_forecast *forecast, uint8_t history, enum sl_status *status)
{
    struct sl_plan_launch *launch = &forecast->launches[forecast->launch_count - 1];
    uint64_t budget =
        sl_budget_bytes(&forecast->core->budget) / forecast->core->arena.chunk_bytes; /* chunks */
    size_t units = 0, found = 0;
    for (size_t at = forecast->at + 1; found < NEAR_LAUNCHES && at < forecast->count; at++) {
        sl_symbol symbol = forecast->symbols[at];
        units++;
        if (forecast->histories[at] != history ||
            forecast->core->symbols.records[symbol].kind != SL_SYMBOL_LAUNCH)
            continue;
        uint32_t before = launch->access_count;
        if (found++ && before >= budget / NEAR_PART) break;
        units += add_accesses(forecast, symbol, status);
        if (*status == SL_OK && launch->access_count <= budget / NEAR_MOST_PART) continue;
        forecast->access_count -= launch->access_count - before;
        launch->access_count = before;
        break;
    }
    return units;
}

static size_t predict_launch(struct sl_forecast *forecast, sl_symbol symbol, enum sl_status *status)
{
    uint8_t history = forecast->histories[forecast->at];
    forecast->histories[forecast->launch_count] = history;
    forecast->symbols[forecast->launch_count] = symbol;
    forecast->launches[forecast->launch_count++] = (struct sl_plan_launch){
        .first_access = (uint32_t)forecast->access_count,
        .first_death = (uint32_t)forecast->death_count,
        .duration_ns = sl_durations_ns(&forecast->core->sampling.durations, symbol,
                                       forecast->core->symbols.records[symbol].kernel),
    };
    size_t units = add_accesses(forecast, symbol, status);
    if (forecast->interleaved && *status == SL_OK) units += add_near(forecast, history, status);
    return units;
}

/* The served part ends here, and the next forecast begins here. */
static void reach_end(struct sl_forecast *forecast)
{
    forecast->end = forecast->at;
    if (forecast->believed_on && forecast->count > PERIODS * forecast->end)
        forecast->count = PERIODS * forecast->end;
    forecast->served_launches = forecast->launch_count;
    memcpy(forecast->at_end.bytes, forecast->stock.bytes, forecast->chunks * sizeof *forecast->stock.bytes);
    memcpy(forecast->placed_at_end, forecast->placed, forecast->place_capacity * sizeof *forecast->placed);
    memcpy(forecast->at_end.live, forecast->stock.live, forecast->chunks * sizeof *forecast->stock.live);
}

static size_t predict_symbol(struct sl_forecast *forecast, enum sl_status *status)
{
    sl_symbol symbol = forecast->symbols[forecast->at];
    const struct sl_symbol_record *record = &forecast->core->symbols.records[symbol];
    if (record->kind == SL_SYMBOL_LAUNCH) return predict_launch(forecast, symbol, status);
    return record->kind == SL_SYMBOL_ALLOC ? predict_alloc(forecast, record->slot)
                                           : predict_free(forecast, record->slot, status);
}

static bool is_end(const struct sl_forecast *forecast)
{
    if (forecast->at >= forecast->end) return forecast->at == forecast->end;
    return forecast->at >= forecast->period && forecast->access_count >= MOST_ACCESSES;
}

bool sl_forecast_step(struct sl_forecast *forecast, size_t units, enum sl_status *status)
{
    size_t done = 0;
    *status = SL_OK;
    for (; forecast->stocked < forecast->chunks && done < units; done++) {
        forecast->stocked = look_at_unused(forecast, forecast->stocked);
        if (forecast->stocked < forecast->chunks) look_at(forecast, forecast->stocked++);
    }
    while (forecast->stocked == forecast->chunks && forecast->at < forecast->count && done < units) {
        if (is_end(forecast)) reach_end(forecast);
        done += 4 + predict_symbol(forecast, status);
        if (*status) return true;
        forecast->at++;
    }
    forecast->units += done;
    if (forecast->stocked < forecast->chunks || forecast->at < forecast->count) return false;
    if (forecast->launch_count == 0) *status = SL_ERR_UNSUPPORTED;
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
    return (struct sl_plan_input){
        .first_tick = forecast->first_tick,
        .launches = forecast->launches,
        .launch_count = forecast->launch_count,
        .believed = forecast->believed_on ? forecast->launch_count : forecast->served_launches,
        .accesses = forecast->accesses,
        .deaths = forecast->deaths,
        .chunk_count = forecast->chunks,
        .chunk_bytes = forecast->stock.bytes,
        .content = forecast->stock.content,
        .histories = forecast->interleaved ? forecast->histories : NULL,
        .symbols = forecast->symbols,
        .when = forecast->core->policy->when,
        .attempts = attempts(forecast),
        .budget_bytes = sl_budget_bytes(&forecast->core->budget),
        .in_bytes_per_s = forecast->core->migrator.link_in_bytes_per_s,
        .out_bytes_per_s = forecast->core->migrator.link_out_bytes_per_s,
    };
}

uint64_t sl_forecast_time_ns(struct sl_forecast *trial, const uint64_t *notes, size_t count,
                             unsigned most_attempts)
{
    struct sl_plan plan;
    enum sl_status status = begin_now(trial);
    if (status || trial->count != count) return UINT64_MAX;
    memcpy(trial->notes, notes, count * sizeof *notes);
    sl_forecast_step(trial, SIZE_MAX, &status);
    if (status) return UINT64_MAX;
    struct sl_plan_input input = sl_forecast_input(trial);
    if (input.attempts > most_attempts) input.attempts = most_attempts;
    if (sl_plan_make(&input, NULL, &plan)) return UINT64_MAX;
    uint64_t time_ns = plan.seconds_ns;
    sl_plan_free(&plan);
    return time_ns;
}
