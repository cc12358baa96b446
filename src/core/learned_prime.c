#include "core/learned_prime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/budget.h"
#include "core/history.h"
#include "core/learned.h"
#include "launch/access.h"
#include "launch/extents.h"
#include "move/migrator.h"
#include "predict/durations.h"

#define PLACE_PASSES 4 /* at most, until every allocation gets the place of the last pass */
#define LOOK_ON 4096   /* symbols after the last moved allocation that are still checked */

/* The kernels' numbers, indexed by the profile's number + 1. NULL: out of memory. */
static uint32_t *know_kernels(const struct sl_learned_parts *parts, const struct sl_profile *profile)
{
    uint32_t *numbers = calloc(profile->kernel_count + (size_t)1, sizeof *numbers);
    for (uint32_t k = 0; numbers && k < profile->kernel_count; k++) {
        const struct sl_profile_kernel *kernel = &profile->kernels[k];
        struct sl_kernel_layout layout = {
            .parameter_count = kernel->parameter_count, .offsets = kernel->offsets, .sizes = kernel->sizes};
        snprintf(layout.name, sizeof layout.name, "%s", kernel->name);
        numbers[k + 1] = sl_kernels_know(&parts->scanner->kernels, &layout);
    }
    return numbers;
}

static bool remember_slots(const struct sl_learned_parts *parts, const struct sl_profile *profile)
{
    for (uint32_t k = 0; k < profile->key_count; k++) {
        const struct sl_profile_key *key = &profile->keys[k];
        if (!sl_placement_remember(parts->placement, key->site, key->bytes, key->slots, key->short_lived))
            return false;
    }
    return true;
}

static sl_symbol intern_launch(const struct sl_learned_parts *parts, const struct sl_profile *profile,
                               const struct sl_profile_symbol *symbol, const uint32_t *kernels,
                               struct sl_access *accesses)
{
    uint64_t signature = sl_launch_signature(symbol->shape);
    for (uint32_t a = 0; a < symbol->access_count; a++) {
        const struct sl_profile_access *from = &profile->accesses[symbol->first_access + a];
        uint64_t kernel = from->kernel ? kernels[from->kernel] : 0;
        accesses[a] = (struct sl_access){.slot = from->slot,
                                         .name = from->slot,
                                         .where = from->where,
                                         .offset = from->offset,
                                         .bytes = from->bytes,
                                         .parameter = kernel ? kernel << 32 | from->where : 0,
                                         .threads = from->threads,
                                         .only_read = from->only_read};
        sl_extents_note(&parts->scanner->extents, parts->placement, &accesses[a]);
        uint32_t role = sl_kernels_role(&parts->scanner->kernels, accesses[a].parameter, accesses[a].where);
        signature = sl_signature_add(signature, &accesses[a], role);
    }
    struct sl_symbol_record record = {.kind = SL_SYMBOL_LAUNCH,
                                      .kernel = kernels[symbol->kernel],
                                      .shape = symbol->shape,
                                      .access_count = symbol->access_count};
    return sl_symbols_intern(parts->scanner->symbols, signature, record, accesses);
}

/* Takes the previous run's duration as one measurement. */
static void note_duration(const struct sl_learned_parts *parts, sl_symbol symbol, uint64_t duration_ns)
{
    const struct sl_symbol_record *record = &parts->scanner->symbols->records[symbol];
    if (!duration_ns) return;
    sl_durations_note(parts->durations, symbol, record->kernel, record->shape, duration_ns);
    struct sl_duration *known = sl_durations_of(parts->durations, symbol);
    if (known) known->begun = 1;
}

/* The core's symbols, indexed by the profile's. NULL: out of memory. */
static sl_symbol *intern_symbols(const struct sl_learned_parts *parts, const struct sl_profile *profile,
                                 const uint32_t *kernels)
{
    struct sl_access *accesses = malloc((profile->access_count + (size_t)1) * sizeof *accesses);
    sl_symbol *symbols = calloc(profile->symbol_count + (size_t)1, sizeof *symbols);
    for (uint32_t s = 1; accesses && symbols && s < profile->symbol_count; s++) {
        const struct sl_profile_symbol *symbol = &profile->symbols[s];
        if (symbol->kind == SL_SYMBOL_LAUNCH) {
            symbols[s] = intern_launch(parts, profile, symbol, kernels, accesses);
            note_duration(parts, symbols[s], symbol->duration_ns);
            continue;
        }
        struct sl_symbol_record record = {.kind = symbol->kind, .slot = symbol->slot};
        symbols[s] = sl_symbols_intern(parts->scanner->symbols, sl_slot_signature(record.kind, record.slot),
                                       record, NULL);
    }
    free(accesses);
    return symbols;
}

/* Runs through the allocations and frees of the string as the program will, so that each slot has a place
 * before it is first used. Stops some way after the last allocation that got another place than before.
 * Returns whether any did. */
static bool rehearse(const struct sl_learned_parts *parts, const struct sl_profile *profile)
{
    struct sl_placement *placement = parts->placement;
    size_t last_move = 0;
    uint32_t taken;
    for (size_t i = 0; i < profile->string_count && i <= 2 * last_move + LOOK_ON; i++) {
        const struct sl_profile_symbol *symbol = &profile->symbols[profile->string[i]];
        if (symbol->kind == SL_SYMBOL_LAUNCH) continue;
        uint32_t live = sl_slot_named(placement, symbol->slot);
        if (symbol->kind == SL_SYMBOL_FREE) {
            if (live != SL_NONE) sl_unplace(placement, placement->slots[live].address, &taken);
            continue;
        }
        const struct sl_slot *slot = &placement->slots[symbol->slot];
        uint64_t address = slot->address, moves = placement->moves;
        if (live != SL_NONE || sl_place(placement, slot->bytes, slot->site, &taken)) continue;
        bool moved = taken == symbol->slot ? slot->address != address : placement->moves != moves;
        if (moved) last_move = i + 1;
        if (sl_arena_moving_bytes(parts->arena) > sl_budget_bytes(parts->budget))
            parts->budget->pressure = true;
    }
    for (uint32_t s = 0; s < placement->slot_count; s++)
        if (placement->slots[s].live) sl_unplace(placement, placement->slots[s].address, &taken);
    return last_move > 0;
}

/* Finds the slots' places and undoes the other effects of the rehearsal. */
static void find_places(const struct sl_learned_parts *parts, const struct sl_profile *profile)
{
    struct sl_placement *placement = parts->placement;
    for (int pass = 0; pass < PLACE_PASSES; pass++) {
        bool moved = rehearse(parts, profile);
        for (uint32_t k = 0; k < profile->key_count; k++) /* the rehearsal must not change these */
            sl_placement_remember(placement, profile->keys[k].site, profile->keys[k].bytes, 0,
                                  profile->keys[k].short_lived);
        if (!moved) break;
    }
    placement->peak_live_bytes = 0;
    parts->placement->peak_placed_bytes = parts->placement->live_at_peak = 0;
    parts->arena->peak_chunks_used = 0;
}

static size_t prime_predictor(const struct sl_learned_parts *parts, const struct sl_profile *profile,
                              const sl_symbol *symbols)
{
    sl_symbol *string = malloc((profile->string_count + (size_t)1) * sizeof *string);
    bool primed = false;
    for (uint32_t i = 0; string && i < profile->string_count; i++) string[i] = symbols[profile->string[i]];
    if (string) primed = sl_predictor_prime(parts->history->predictor, string, profile->string_count);
    free(string);
    return primed ? profile->string_count : 0;
}

size_t sl_learned_prime(const struct sl_learned_parts *parts, const struct sl_profile *profile)
{
    uint32_t *kernels = know_kernels(parts, profile);
    sl_symbol *symbols = NULL;
    size_t primed = 0;
    if (kernels && remember_slots(parts, profile)) symbols = intern_symbols(parts, profile, kernels);
    if (symbols) {
        find_places(parts, profile);
        sl_extents_learn(parts->scanner);
        primed = prime_predictor(parts, profile, symbols);
    }
    if (profile->properties.link_in_bytes_per_s)
        parts->migrator->link_in_bytes_per_s = profile->properties.link_in_bytes_per_s;
    if (profile->properties.link_out_bytes_per_s)
        parts->migrator->link_out_bytes_per_s = profile->properties.link_out_bytes_per_s;
    free(kernels);
    free(symbols);
    return primed;
}
