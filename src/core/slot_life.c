#include "core/slot_life.h"

#include "core/core.h"
#include "core/feed.h"
#include "core/record.h"

/* The most slots that only remember an earlier allocation's place; with more, they are forgotten. */
#define MOST_REMEMBERED ((uint32_t)1 << 16)

/* Feeds the allocation or free of slot `s`. `name`: the slot's name (docs/words.md) at that time. */
static void feed_slot(struct sl_core *core, enum sl_symbol_kind kind, uint32_t s, uint32_t name)
{
    struct sl_slot *named = &core->placement.slots[name];
    sl_symbol *symbol = kind == SL_SYMBOL_ALLOC ? &named->taken : &named->freed;
    if (!*symbol) {
        struct sl_symbol_record record = {.kind = kind, .slot = name};
        *symbol = sl_symbols_intern(&core->symbols, sl_slot_signature(kind, name), record, NULL);
    }
    uint8_t own = core->placement.slots[s].stream;
    uint32_t stream = own ? own - 1u : core->streams.last;
    sl_core_feed(core, *symbol, sl_history_expected(&core->history, stream), stream);
}

void sl_slot_lives_forget(struct sl_core *core)
{
    uint32_t remembered = sl_placement_remembered(&core->placement);
    if (remembered > MOST_REMEMBERED && remembered > 4 * core->placement.live_count) sl_core_forget(core);
}

void sl_slot_life_expect(struct sl_core *core)
{
    sl_symbol expected = sl_predictor_expected(core->history.predictor);
    struct sl_placement *placement = &core->placement;
    placement->expected_slot = SL_NONE;
    placement->expected_address = 0;
    if (core->history.interleaved || expected >= core->symbols.count) return;
    const struct sl_symbol_record *record = &core->symbols.records[expected];
    if (record->kind != SL_SYMBOL_ALLOC) return;
    placement->expected_slot = record->slot;
    placement->expected_address = sl_predictor_expected_note(core->history.predictor);
}

void sl_slot_life_begin(struct sl_core *core, uint32_t slot, uint32_t tag)
{
    core->placement.slots[slot].tag = tag;
    if (sl_budget_is_short(&core->budget)) sl_core_under_pressure(core);
    sl_budget_say_exceeded(&core->budget);
    uint64_t expected = sl_predictor_expected_note(core->history.predictor);
    core->placement.slots[slot].number = ++core->placement.allocations;
    feed_slot(core, SL_SYMBOL_ALLOC, slot, sl_slot_name(&core->placement, slot));
    if (!core->placement.noted) sl_core_placed(core, expected, core->placement.slots[slot].address);
    sl_record_slabs(&core->recorder);
    sl_record_allocation(&core->recorder, SL_EVENT_ALLOC, slot);
}

void sl_slot_life_end(struct sl_core *core, uint32_t s)
{
    uint32_t name = sl_slot_freed_name(&core->placement, s);
    sl_record_allocation(&core->recorder, SL_EVENT_FREE, s);
    sl_unplace(&core->placement, core->placement.slots[s].address, &s);
    feed_slot(core, SL_SYMBOL_FREE, s, name);
}
