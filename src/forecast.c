#include "forecast.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"

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

void sl_forecast_close(struct sl_core *core)
{
    struct sl_forecast_space *space = &core->forecast;
    free(space->symbols);
    free(space->launches);
    free(space->accesses);
    free(space->deaths);
    free(space->chunk_bytes);
    free(space->content);
    free(space->live);
    free(space->seen);
    memset(space, 0, sizeof *space);
}

static bool reserve_chunks(struct sl_forecast_space *space, size_t count)
{
    size_t capacities[4] = {space->chunk_capacity, space->chunk_capacity, space->chunk_capacity,
                            space->chunk_capacity};
    if (!reserve(&space->chunk_bytes, &capacities[0], count, sizeof *space->chunk_bytes) ||
        !reserve(&space->content, &capacities[1], count, sizeof *space->content) ||
        !reserve(&space->live, &capacities[2], count, sizeof *space->live) ||
        !reserve(&space->seen, &capacities[3], count, sizeof *space->seen))
        return false;
    space->chunk_capacity = capacities[3];
    return true;
}

/* The chunks as they are now. */
static void take_stock(struct sl_core *core, size_t count)
{
    struct sl_forecast_space *space = &core->forecast;
    for (size_t c = 0; c < count; c++) {
        struct sl_chunk_record *chunk = sl_arena_record(&core->arena, (sl_chunk)c);
        uint64_t held = atomic_load(&chunk->frame_bytes);
        space->content[c] = (enum sl_chunk_content)atomic_load(&chunk->content);
        space->chunk_bytes[c] = chunk->bytes > held ? chunk->bytes : held;
        space->live[c] = chunk->group != SL_NO_GROUP ? chunk->packing->count : chunk->bytes != 0;
        space->seen[c] = 0;
    }
}

static struct sl_chunk_range whole_slot(const struct sl_core *core, const struct sl_slot *slot)
{
    return sl_slot_chunks(&core->placement, slot, 0, slot->bytes);
}

static void predict_alloc(struct sl_core *core, const struct sl_slot *slot)
{
    struct sl_forecast_space *space = &core->forecast;
    struct sl_chunk_range range = whole_slot(core, slot);
    bool packed = slot->bytes <= core->arena.chunk_bytes / 2;
    for (uint32_t i = 0; i < range.count; i++) {
        sl_chunk c = range.first + i;
        uint64_t rest = slot->bytes - i * core->arena.chunk_bytes;
        uint64_t bytes = packed || rest > core->arena.chunk_bytes
                             ? core->arena.chunk_bytes
                             : (rest + SL_BLOCK_BYTES - 1) & ~(SL_BLOCK_BYTES - 1);
        if (bytes > space->chunk_bytes[c]) space->chunk_bytes[c] = bytes;
        space->live[c]++;
    }
}

static bool predict_free(struct sl_core *core, const struct sl_slot *slot, size_t launches, size_t *deaths)
{
    struct sl_forecast_space *space = &core->forecast;
    struct sl_chunk_range range = whole_slot(core, slot);
    if (!reserve(&space->deaths, &space->death_capacity, *deaths + range.count, sizeof *space->deaths))
        return false;
    for (uint32_t i = 0; i < range.count; i++) {
        sl_chunk c = range.first + i;
        if (space->live[c] == 0 || --space->live[c] > 0) continue;
        if (launches > 0) {
            space->deaths[(*deaths)++] = c;
            space->launches[launches - 1].death_count++;
        } else if (space->content[c] == SL_CONTENT_RESIDENT) {
            space->content[c] = SL_CONTENT_RESIDENT_DEAD;
        } else if (space->content[c] == SL_CONTENT_HOST) {
            space->content[c] = SL_CONTENT_DEAD;
        }
    }
    return true;
}

static bool predict_launch(struct sl_core *core, const struct sl_symbol_record *record, size_t launch,
                           size_t *accesses)
{
    struct sl_forecast_space *space = &core->forecast;
    for (uint32_t a = 0; a < record->access_count; a++) {
        const struct sl_access *access = &core->symbols.accesses[record->first_access + a];
        const struct sl_slot *slot = &core->placement.slots[access->slot];
        struct sl_chunk_range range = sl_slot_chunks(&core->placement, slot, access->offset,
                                                     sl_access_end(slot, access) - access->offset);
        if (!reserve(&space->accesses, &space->access_capacity, *accesses + range.count,
                     sizeof *space->accesses))
            return false;
        for (uint32_t i = 0; i < range.count; i++) {
            sl_chunk c = range.first + i;
            if (space->seen[c] == launch + 1 || space->live[c] == 0) continue;
            space->seen[c] = (uint32_t)launch + 1;
            space->accesses[(*accesses)++] = (struct sl_plan_access){c, SL_ACCESS_WRITE};
            space->launches[launch].access_count++;
        }
    }
    return true;
}

enum sl_status sl_forecast(struct sl_core *core, size_t symbols, struct sl_plan_input *input, size_t *serve)
{
    struct sl_forecast_space *space = &core->forecast;
    size_t chunks = sl_arena_chunk_count(&core->arena), launches = 0, accesses = 0, deaths = 0, served = 0;
    if (!reserve(&space->symbols, &space->symbol_capacity, symbols, sizeof *space->symbols) ||
        !reserve(&space->launches, &space->launch_capacity, symbols, sizeof *space->launches) ||
        !reserve_chunks(space, chunks))
        return SL_ERR_NO_MEMORY;
    size_t count = sl_predictor_next(core->predictor, space->symbols, symbols);
    take_stock(core, chunks);
    for (size_t i = 0; i < count; i++) {
        const struct sl_symbol_record *record = &core->symbols.records[space->symbols[i]];
        const struct sl_slot *slot =
            record->kind == SL_SYMBOL_LAUNCH ? NULL : &core->placement.slots[record->slot];
        bool fits = true;
        if (record->kind == SL_SYMBOL_ALLOC) {
            predict_alloc(core, slot);
        } else if (record->kind == SL_SYMBOL_FREE) {
            fits = predict_free(core, slot, launches, &deaths);
        } else {
            space->launches[launches] = (struct sl_plan_launch){
                .first_access = (uint32_t)accesses,
                .first_death = (uint32_t)deaths,
                .duration_ns = sl_durations_ns(&core->durations, space->symbols[i], record->kernel),
            };
            fits = predict_launch(core, record, launches++, &accesses);
        }
        if (!fits) return SL_ERR_NO_MEMORY;
        if (i < (count + 2) / 3) served = launches;
    }
    if (launches == 0) return SL_ERR_UNSUPPORTED;
    *serve = served ? served : launches;
    *input = (struct sl_plan_input){
        .first_tick = core->tick + 1,
        .launches = space->launches,
        .launch_count = launches,
        .accesses = space->accesses,
        .deaths = space->deaths,
        .chunk_count = chunks,
        .chunk_bytes = space->chunk_bytes,
        .content = space->content,
        .when = core->policy->when,
        .budget_bytes = sl_core_budget(core),
        .in_bytes_per_s = core->link_in_bytes_per_s,
        .out_bytes_per_s = core->link_out_bytes_per_s,
    };
    return SL_OK;
}
