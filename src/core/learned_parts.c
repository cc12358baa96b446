#include "core/learned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/core.h"
#include "trace/objects.h"

#define PLACE_PASSES 4 /* at most, until every allocation gets the place of the last pass */
#define LOOK_ON 4096   /* symbols after the last moved allocation that are still checked */

/* --- priming */

/* The kernels' numbers, indexed by the profile's number + 1. NULL: out of memory. */
static uint32_t *know_kernels(struct sl_core *core, const struct sl_profile *profile)
{
    uint32_t *numbers = calloc(profile->kernel_count + (size_t)1, sizeof *numbers);
    for (uint32_t k = 0; numbers && k < profile->kernel_count; k++) {
        const struct sl_profile_kernel *kernel = &profile->kernels[k];
        struct sl_kernel_layout layout = {
            .parameter_count = kernel->parameter_count, .offsets = kernel->offsets, .sizes = kernel->sizes};
        snprintf(layout.name, sizeof layout.name, "%s", kernel->name);
        numbers[k + 1] = sl_kernels_know(&core->scanner.kernels, &layout);
    }
    return numbers;
}

static sl_symbol intern_launch(struct sl_core *core, const struct sl_profile *profile,
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
        sl_extents_note(&core->scanner.extents, &core->placement, &accesses[a]);
        uint32_t role = sl_kernels_role(&core->scanner.kernels, accesses[a].parameter, accesses[a].where);
        signature = sl_signature_add(signature, role, accesses[a].name, accesses[a].offset);
    }
    struct sl_symbol_record record = {.kind = SL_SYMBOL_LAUNCH,
                                      .kernel = kernels[symbol->kernel],
                                      .shape = symbol->shape,
                                      .access_count = symbol->access_count};
    return sl_symbols_intern(core->scanner.symbols, signature, record, accesses);
}

/* Takes the previous run's duration as one measurement. */
static void note_duration(struct sl_core *core, sl_symbol symbol, uint64_t duration_ns)
{
    const struct sl_symbol_record *record = &core->scanner.symbols->records[symbol];
    if (!duration_ns) return;
    sl_durations_note(&core->sampling.durations, symbol, record->kernel, record->shape, duration_ns);
    struct sl_duration *known = sl_durations_of(&core->sampling.durations, symbol);
    if (known) known->begun = 1;
}

/* The core's symbols, indexed by the profile's. NULL: out of memory. */
static sl_symbol *intern_symbols(struct sl_core *core, const struct sl_profile *profile,
                                 const uint32_t *kernels)
{
    struct sl_access *accesses = malloc((profile->access_count + (size_t)1) * sizeof *accesses);
    sl_symbol *symbols = calloc(profile->symbol_count + (size_t)1, sizeof *symbols);
    for (uint32_t s = 1; accesses && symbols && s < profile->symbol_count; s++) {
        const struct sl_profile_symbol *symbol = &profile->symbols[s];
        if (symbol->kind == SL_SYMBOL_LAUNCH) {
            symbols[s] = intern_launch(core, profile, symbol, kernels, accesses);
            note_duration(core, symbols[s], symbol->duration_ns);
            continue;
        }
        struct sl_symbol_record record = {.kind = symbol->kind, .slot = symbol->slot};
        symbols[s] = sl_symbols_intern(core->scanner.symbols, sl_slot_signature(record.kind, record.slot),
                                       record, NULL);
    }
    free(accesses);
    return symbols;
}

/* Runs through the allocations and frees of the string as the program will, so that each slot has a place
 * before it is first used. Stops some way after the last allocation that got another place than before.
 * Returns whether any did. */
static bool rehearse(struct sl_core *core, const struct sl_profile *profile)
{
    struct sl_placement *placement = &core->placement;
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
        if (sl_arena_moving_bytes(&core->arena) > sl_budget_bytes(&core->budget))
            core->budget.pressure = true;
    }
    for (uint32_t s = 0; s < placement->slot_count; s++)
        if (placement->slots[s].live) sl_unplace(placement, placement->slots[s].address, &taken);
    return last_move > 0;
}

/* Finds the slots' places and undoes the other effects of the rehearsal. */
static void find_places(struct sl_core *core, const struct sl_profile *profile)
{
    struct sl_placement *placement = &core->placement;
    for (int pass = 0; pass < PLACE_PASSES; pass++) {
        bool moved = rehearse(core, profile);
        for (uint32_t k = 0; k < profile->key_count; k++) /* the rehearsal must not change these */
            sl_placement_remember(placement, profile->keys[k].site, profile->keys[k].bytes, 0,
                                  profile->keys[k].short_lived);
        if (!moved) break;
    }
    placement->peak_live_bytes = 0;
    core->placement.peak_placed_bytes = core->placement.live_at_peak = 0;
    core->arena.peak_chunks_used = 0;
}

static size_t prime_predictor(struct sl_core *core, const struct sl_profile *profile,
                              const sl_symbol *symbols)
{
    sl_symbol *string = malloc((profile->string_count + (size_t)1) * sizeof *string);
    bool primed = false;
    for (uint32_t i = 0; string && i < profile->string_count; i++) string[i] = symbols[profile->string[i]];
    if (string) primed = sl_predictor_prime(core->history.predictor, string, profile->string_count);
    free(string);
    return primed ? profile->string_count : 0;
}

size_t sl_learned_prime(struct sl_core *core, const struct sl_profile *profile)
{
    uint32_t *kernels = know_kernels(core, profile);
    sl_symbol *symbols = NULL;
    size_t primed = 0;
    bool complete = kernels != NULL;
    for (uint32_t k = 0; k < profile->key_count && complete; k++) {
        const struct sl_profile_key *key = &profile->keys[k];
        complete =
            sl_placement_remember(&core->placement, key->site, key->bytes, key->slots, key->short_lived);
    }
    if (complete) symbols = intern_symbols(core, profile, kernels);
    if (symbols) {
        find_places(core, profile);
        sl_extents_learn(&core->scanner);
        primed = prime_predictor(core, profile, symbols);
    }
    if (profile->properties.link_in_bytes_per_s)
        core->migrator.link_in_bytes_per_s = profile->properties.link_in_bytes_per_s;
    if (profile->properties.link_out_bytes_per_s)
        core->migrator.link_out_bytes_per_s = profile->properties.link_out_bytes_per_s;
    free(kernels);
    free(symbols);
    return primed;
}

/* --- collecting */

#define NONE UINT32_MAX

/* to[old] is the new number, from[new] the old one. */
struct renumbering {
    uint32_t *to, *from;
    uint32_t count;
};

static bool renumbering_new(struct renumbering *r, uint32_t most)
{
    r->to = malloc((most + (size_t)1) * sizeof *r->to);
    r->from = malloc((most + (size_t)1) * sizeof *r->from);
    if (r->to) memset(r->to, 0xff, (most + (size_t)1) * sizeof *r->to);
    return r->to && r->from;
}

static uint32_t renumber(struct renumbering *r, uint32_t old)
{
    if (r->to[old] == NONE) {
        r->to[old] = r->count;
        r->from[r->count++] = old;
    }
    return r->to[old];
}

struct collector {
    struct sl_core *core;
    struct sl_profile *out;
    struct renumbering symbols, kernels, keys;
    uint32_t *key_slots;  /* by new key: number of slots */
    uint32_t *first_slot; /* by new key */
    uint32_t slots, accesses;
};

/* Slots are numbered by key and ordinal, so the numbers do not depend on the order of first use. False: too
 * many. */
static bool note_slot(struct collector *c, uint32_t s)
{
    const struct sl_slot *slot = &c->core->placement.slots[s];
    uint32_t known = c->keys.to[slot->key] == NONE ? 0 : c->key_slots[c->keys.to[slot->key]];
    uint32_t more = slot->ordinal >= known ? slot->ordinal + 1 - known : 0;
    if (more > SL_PROFILE_MOST_SLOTS - c->slots) return false;
    c->key_slots[renumber(&c->keys, slot->key)] = known + more;
    c->slots += more;
    return true;
}

static bool note_kernel(struct collector *c, uint32_t kernel)
{
    if (!kernel) return true;
    if (c->kernels.to[kernel] == NONE && c->kernels.count == SL_PROFILE_MOST_KERNELS) return false;
    renumber(&c->kernels, kernel);
    return true;
}

static bool note_launch(struct collector *c, const struct sl_symbol_record *record)
{
    if (!note_kernel(c, record->kernel)) return false;
    for (uint32_t a = 0; a < record->access_count; a++) {
        const struct sl_access *access = &c->core->scanner.symbols->accesses[record->first_access + a];
        if (!note_slot(c, access->name) || !note_kernel(c, (uint32_t)(access->parameter >> 32))) return false;
    }
    c->accesses += record->access_count;
    return true;
}

/* False: this symbol would make the profile too large, so the string ends before it. */
static bool note_symbol(struct collector *c, sl_symbol symbol)
{
    const struct sl_symbol_record *record = &c->core->scanner.symbols->records[symbol];
    if (c->symbols.to[symbol] != NONE) return true;
    if (c->symbols.count == SL_PROFILE_MOST_SYMBOLS ||
        record->access_count > SL_PROFILE_MOST_ACCESSES - c->accesses)
        return false;
    bool launch = record->kind == SL_SYMBOL_LAUNCH;
    if (launch ? !note_launch(c, record) : !note_slot(c, record->slot)) return false;
    renumber(&c->symbols, symbol);
    return true;
}

static size_t note_string(struct collector *c, const sl_symbol *head, size_t count)
{
    if (!note_symbol(c, 0)) return 0;
    for (size_t i = 0; i < count; i++)
        if (!note_symbol(c, head[i])) return i;
    return count;
}

static uint32_t new_slot(const struct collector *c, uint32_t s)
{
    const struct sl_slot *slot = &c->core->placement.slots[s];
    return c->first_slot[c->keys.to[slot->key]] + slot->ordinal;
}

static void fill_keys(struct collector *c)
{
    uint32_t slots = 0;
    for (uint32_t k = 0; k < c->keys.count; k++) {
        const struct sl_slot_key *key = &c->core->placement.keys[c->keys.from[k]];
        c->out->keys[k] =
            (struct sl_profile_key){.site = key->site, .bytes = key->bytes, .slots = c->key_slots[k]};
        c->first_slot[k] = slots;
        slots += c->key_slots[k];
    }
    c->out->key_count = c->keys.count;
}

static bool fill_kernels(struct collector *c)
{
    for (uint32_t k = 0; k < c->kernels.count; k++) {
        const struct sl_kernel *kernel = &c->core->scanner.kernels.kernels[c->kernels.from[k]];
        size_t bytes = kernel->parameter_count * sizeof *kernel->offsets;
        struct sl_profile_kernel *out = &c->out->kernels[k];
        *out = (struct sl_profile_kernel){.name = strdup(kernel->name), .offsets = malloc(2 * bytes + 1)};
        c->out->kernel_count = k + 1;
        if (!out->name || !out->offsets) return false;
        out->parameter_count = kernel->parameter_count;
        out->sizes = out->offsets + kernel->parameter_count;
        memcpy(out->offsets, kernel->offsets, bytes);
        memcpy(out->sizes, kernel->sizes, bytes);
    }
    return true;
}

/* Kernel numbers begin at 1 in both; 0: none. */
static uint32_t new_kernel(const struct collector *c, uint32_t kernel)
{
    return kernel ? c->kernels.to[kernel] + 1 : 0;
}

static void fill_accesses(struct collector *c, const struct sl_symbol_record *record)
{
    struct sl_profile *out = c->out;
    for (uint32_t a = 0; a < record->access_count; a++) {
        const struct sl_access *access = &c->core->scanner.symbols->accesses[record->first_access + a];
        uint64_t rest = c->core->placement.slots[access->name].bytes - access->offset;
        out->accesses[out->access_count++] =
            (struct sl_profile_access){.slot = new_slot(c, access->name),
                                       .where = access->where,
                                       .kernel = new_kernel(c, (uint32_t)(access->parameter >> 32)),
                                       .offset = access->offset,
                                       .bytes = access->bytes < rest ? access->bytes : rest,
                                       .threads = access->threads,
                                       .only_read = access->only_read};
    }
}

static void fill_symbols(struct collector *c)
{
    struct sl_profile *out = c->out;
    for (uint32_t s = 0; s < c->symbols.count; s++) {
        const struct sl_symbol_record *record = &c->core->scanner.symbols->records[c->symbols.from[s]];
        out->symbols[s] = (struct sl_profile_symbol){.kind = (uint8_t)record->kind};
        if (record->kind == SL_SYMBOL_LAUNCH) {
            out->symbols[s].kernel = new_kernel(c, record->kernel);
            out->symbols[s].shape = record->shape;
            out->symbols[s].duration_ns =
                sl_durations_ns(&c->core->sampling.durations, c->symbols.from[s], record->kernel);
            out->symbols[s].first_access = out->access_count;
            out->symbols[s].access_count = record->access_count;
            fill_accesses(c, record);
        } else {
            out->symbols[s].slot = new_slot(c, record->slot);
        }
    }
    out->symbol_count = c->symbols.count;
}

/* Marks keys whose slots were freed before the last iteration ended; at its end a program frees
 * everything. */
static void note_short_lives(struct collector *c, const sl_symbol *head, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sl_symbol_record *record = &c->core->scanner.symbols->records[head[i]];
        if (record->kind == SL_SYMBOL_FREE)
            c->out->keys[c->keys.to[c->core->placement.slots[record->slot].key]].short_lived = true;
    }
}

static bool fill(struct collector *c, const sl_symbol *head, size_t count, size_t steady)
{
    struct sl_profile *out = c->out;
    out->kernels = calloc(c->kernels.count + (size_t)1, sizeof *out->kernels);
    out->keys = calloc(c->keys.count + (size_t)1, sizeof *out->keys);
    out->symbols = calloc(c->symbols.count + (size_t)1, sizeof *out->symbols);
    out->accesses = calloc(c->accesses + (size_t)1, sizeof *out->accesses);
    out->string = malloc(count * sizeof *out->string + 1);
    if (!out->kernels || !out->keys || !out->symbols || !out->accesses || !out->string || !fill_kernels(c))
        return false;
    fill_keys(c);
    fill_symbols(c);
    note_short_lives(c, head, steady < count ? steady : count);
    for (size_t i = 0; i < count; i++) out->string[i] = c->symbols.to[head[i]];
    out->string_count = (uint32_t)count;
    return true;
}

static uint64_t measured(const struct sl_migrator *migrator, uint64_t link_bytes_per_s)
{
    return link_bytes_per_s == migrator->assumed_bytes_per_s ? 0 : link_bytes_per_s;
}

static bool fill_properties(struct sl_core *core, struct sl_profile *out)
{
    struct sl_predictor_counts counts = sl_history_counts(&core->history);
    out->properties = (struct sl_profile_properties){
        .budget_bytes = core->budget.bytes,
        .chunk_bytes = core->arena.chunk_bytes,
        .need_bytes = core->placement.peak_live_bytes,
        .link_in_bytes_per_s = measured(&core->migrator, core->migrator.link_in_bytes_per_s),
        .link_out_bytes_per_s = measured(&core->migrator, core->migrator.link_out_bytes_per_s),
        .fed = counts.fed,
        .predicted = counts.predicted,
        .iterations = core->history.iterations,
    };
    out->written_s = (uint64_t)time(NULL);
    out->sluice = strdup(SLUICE_VERSION);
    out->command = sl_record_command();
    return out->sluice && sl_identity_collect(&out->objects, &out->object_count);
}

enum sl_status sl_learned_collect(struct sl_core *core, const sl_symbol *head, size_t count, size_t steady,
                                  struct sl_profile *out)
{
    struct sl_profile profile = {0};
    struct collector c = {.core = core, .out = &profile};
    uint32_t keys = core->placement.key_count;
    bool ok = renumbering_new(&c.symbols, core->scanner.symbols->count) &&
              renumbering_new(&c.kernels, core->scanner.kernels.count) && renumbering_new(&c.keys, keys) &&
              (c.key_slots = malloc((keys + (size_t)1) * sizeof *c.key_slots)) &&
              (c.first_slot = malloc((keys + (size_t)1) * sizeof *c.first_slot));
    ok = ok && fill(&c, head, note_string(&c, head, count), steady) && fill_properties(core, &profile);
    struct renumbering *all[] = {&c.symbols, &c.kernels, &c.keys};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->to);
        free(all[i]->from);
    }
    free(c.key_slots);
    free(c.first_slot);
    if (!ok) {
        sl_profile_free(&profile);
        return SL_ERR_NO_MEMORY;
    }
    *out = profile;
    return SL_OK;
}
