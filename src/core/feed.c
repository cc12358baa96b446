#include "core/core.h"

#include "core/learned.h"

#define SYMBOLS_BETWEEN_UPDATES 64 /* keeps what others read of the run recent */

/* The most slots that only remember an earlier allocation's place; with more, they are forgotten. */
#define MOST_REMEMBERED ((uint32_t)1 << 16)

static void end_iteration(struct sl_core *core)
{
    sl_stalls_settle(&core->sampling);
    sl_stalls_step(&core->sampling);
    sl_samples_settle(&core->sampling);
    if (core->budget.pressure)
        sl_migrator_measure(&core->migrator, &core->migrator.link_in_bytes_per_s,
                            &core->migrator.link_out_bytes_per_s);
    sl_extents_learn_if_due(&core->scanner, core->history.fed);
    sl_stats_next_iteration(&core->stats);
    core->history.iterations++;
    sl_monitor_step(core);
    sl_record_iteration(&core->recorder, &core->stats, &core->migrator);
    if (core->learned) sl_learned_iteration(core->learned);
    sl_shortage_say_moving(core);
}

void sl_core_feed(struct sl_core *core, sl_symbol symbol, sl_symbol expected, uint32_t stream)
{
    struct sl_history *history = &core->history;
    bool hit = sl_history_feed(history, symbol, stream, core->policy->plans && core->streams.count > 1);
    if (hit && history->interleaved && core->symbols.records[symbol].kind == SL_SYMBOL_LAUNCH)
        hit = sl_planning_knows(&core->planning, sl_interleaver_history(history->interleaver, stream));
    if (core->planning.relayout.job) sl_relayout_follow(&core->planning.relayout, symbol);
    bool ended = sl_history_count(history, hit);
    if (!hit) {
        if (expected != SL_NONE && core->budget.pressure) { /* else no plan depends on it */
            sl_decision_misprediction(&core->scanner, core->history.ticks.now, expected, symbol);
            sl_monitor_mispredicted(core, expected, symbol);
        }
        sl_planning_mispredicted(&core->planning,
                                 expected != SL_NONE && !history->interleaved &&
                                     sl_access_same_chunks(&core->scanner, expected, symbol));
    }
    if (ended) end_iteration(core);
    if (history->fed % SYMBOLS_BETWEEN_UPDATES == 0) sl_monitor_update(core);
}

void sl_core_forget(struct sl_core *core)
{
    if (core->learned) sl_learned_forget(core->learned);
    sl_planning_cancel(&core->planning, SL_CANCEL_FORGOTTEN);
    sl_history_forget(&core->history);
    core->monitor.differs = false; /* its symbols are gone */
    sl_symbols_clear(&core->symbols);
    sl_samples_forget(&core->sampling);
    sl_relayout_forget(&core->planning.relayout);
    core->planning.unlearn = true;
    sl_placement_forget(&core->placement);
    sl_scanner_forget(&core->scanner);
}

void sl_core_under_pressure(struct sl_core *core)
{
    uint64_t moving = sl_arena_moving_bytes(&core->arena);
    core->budget.pressure = true;
    core->shortage.most_moving_bytes = sl_most(core->shortage.most_moving_bytes, moving);
    if (core->policy->plans) sl_sampler_open(&core->sampling, (uint32_t)core->options->trace_sample);
}

/* Cancels the plan, which was made for a larger budget, if the chunks do not fit. */
static void plan_for_less(struct sl_core *core)
{
    sl_lock(&core->order);
    if (sl_budget_is_short(&core->budget)) {
        sl_core_under_pressure(core);
        sl_planning_cancel(&core->planning, SL_CANCEL_BUDGET);
    }
    sl_unlock(&core->order);
}

/* Other processes' devices on the link to the host may have come or gone. */
static void count_link_sharers(struct sl_core *core)
{
    uint32_t devices = core->host.link ? sl_host_room_link_sharers(core) : 0;
    if (!devices) return;
    sl_lock(&core->order);
    if (devices != core->migrator.link_sharers) sl_migrator_share_link(&core->migrator, devices);
    sl_unlock(&core->order);
}

void sl_core_look(struct sl_core *core, bool now)
{
    sl_tick looked_at = atomic_load(&core->budget.watch.looked_at);
    bool less = sl_budget_look(&core->budget, now);
    if (atomic_load(&core->budget.watch.looked_at) != looked_at) count_link_sharers(core);
    if (!less) return;
    plan_for_less(core);
    atomic_store(&core->budget.lessened, true);
}

void sl_core_give_way(struct sl_core *core)
{
    if (!atomic_exchange(&core->budget.lessened, false)) return;
    plan_for_less(core);
    sl_demand_give_way(&core->demand);
}

/* --- allocations and frees */

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
    placement->expected_slot = placement->expected_name = SL_NONE;
    placement->expected_address = 0;
    if (core->history.interleaved || expected >= core->symbols.count) return;
    const struct sl_symbol_record *record = &core->symbols.records[expected];
    if (record->kind != SL_SYMBOL_ALLOC) return;
    uint64_t note = sl_predictor_expected_note(core->history.predictor);
    placement->expected_name = record->slot;
    placement->expected_slot =
        note && sl_name_is_of_any_size(placement, record->slot) ? sl_note_slot(note) : record->slot;
    placement->expected_address = sl_note_address(note);
}

/* The symbol of slot `s` was just fed as an allocation. `expected`: the result of sl_predictor_expected_note
 * before that. */
static void note_place(struct sl_core *core, uint64_t expected, uint32_t s)
{
    struct sl_history *history = &core->history;
    uint64_t address = core->placement.slots[s].address;
    bool moved = core->placement.moves != history->moves;
    history->moves = core->placement.moves;
    bool strays = expected ? sl_arena_chunk(&core->arena, sl_note_address(expected)) !=
                                 sl_arena_chunk(&core->arena, address)
                           : moved;
    if (strays) history->strayed_at[history->strays++ % SL_LAST_STRAYS] = history->fed;
    sl_predictor_note(history->predictor, sl_life_note(address, s));
}

void sl_slot_life_begin(struct sl_core *core, uint32_t slot, uint32_t tag)
{
    core->placement.slots[slot].tag = tag;
    if (sl_budget_is_short(&core->budget)) sl_core_under_pressure(core);
    sl_budget_say_exceeded(&core->budget);
    uint64_t expected = sl_predictor_expected_note(core->history.predictor);
    core->placement.slots[slot].number = ++core->placement.allocations;
    if (core->placement.names.vary && !core->history.vary) {
        core->history.vary = true;
        sl_predictor_prefer_near(core->history.predictor);
    }
    feed_slot(core, SL_SYMBOL_ALLOC, slot, sl_slot_name(&core->placement, slot));
    if (!core->placement.noted) note_place(core, expected, slot);
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
