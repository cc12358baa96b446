#include "core/relayout.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/core.h"
#include "move/migrator.h"
#include "predict/durations.h"

/* Chunks of tiny allocations keep one part in this of their used bytes free for further ones. Where sizes
 * vary, the largest of a name keeps one part in this free for a larger one. */
enum { PART_FOR_MORE_TINY = 8, PART_FOR_LARGER = 32 };

static const struct sl_symbol_record *record_of(const struct sl_period_items *m, size_t at)
{
    return &m->core->symbols.records[m->symbols[at]];
}

static uint64_t duration_ns(const struct sl_period_items *m, size_t at)
{
    return 1 + sl_durations_ns(&m->core->sampling.durations, m->symbols[at], record_of(m, at)->kernel);
}

static uint32_t bin_for(struct sl_period_items *m, sl_chunk c)
{
    if (m->bin_of[c] == SL_NONE) {
        m->chunk_of[m->bin_count] = c;
        m->bin_of[c] = m->bin_count++;
    }
    return m->bin_of[c];
}

static bool add_item(struct sl_period_items *m, sl_chunk c, uint64_t offset, uint64_t bytes)
{
    if (!sl_grow(&m->items, &m->item_capacity, m->count, sizeof *m->items) ||
        !sl_grow(&m->parts, &m->part_capacity, m->count, sizeof *m->parts))
        return false;
    m->items[m->count] = (struct sl_layout_item){.offset = offset,
                                                 .bytes = sl_whole_granules(bytes),
                                                 .bin = bin_for(m, c),
                                                 .ends = (uint32_t)(2 * m->period),
                                                 .kind = SL_LAYOUT_FIXED};
    m->parts[m->count++] = (struct sl_period_part){.symbol = SL_NONE};
    return true;
}

/* The most bytes that an allocation of this name had, and a little more. What is predicted may come from a
 * step of small ones. */
static uint64_t most_bytes(const struct sl_period_items *m, uint32_t name, const struct sl_slot *slot)
{
    uint64_t most = sl_name_most_bytes(&m->core->placement, name);
    most += most / PART_FOR_LARGER;
    return most > slot->bytes ? most : slot->bytes;
}

/* Adds an item for each chunk of the allocation of slot `s`, with this name, at `address`. Tiny allocations
 * get none. */
static bool add_allocation(struct sl_period_items *m, uint32_t name, uint32_t s, uint64_t address,
                           uint32_t symbol)
{
    const struct sl_arena *arena = &m->core->arena;
    const struct sl_slot *slot = &m->core->placement.slots[s];
    m->item_of[name] = SL_NONE;
    uint64_t most = most_bytes(m, name, slot), left = slot->bytes;
    if (most <= SL_TINY_BYTES || slot->pinned || slot->mapped || slot->block) return true;
    sl_chunk c = sl_arena_chunk(arena, address);
    uint64_t offset = address & (arena->chunk_bytes - 1);
    const struct sl_chunk_record *chunk = c == SL_NONE ? NULL : sl_arena_record(arena, c);
    /* Chunks that are pinned or mapped by the program take no other allocations. */
    if (!chunk || chunk->pinned || chunk->group == SL_GROUP_MAPPED) return true;
    uint32_t first = m->count, more = (uint32_t)((offset + left - 1) >> arena->chunk_shift);
    for (uint32_t i = 0; i <= more; i++) {
        uint64_t bytes = left < arena->chunk_bytes - offset ? left : arena->chunk_bytes - offset;
        if (c + i >= sl_arena_chunk_count(arena) || !add_item(m, c + i, offset, bytes)) return false;
        m->parts[m->count - 1].more = more - i;
        left -= bytes;
        offset = 0;
    }
    m->parts[first].most_bytes = most;
    if (symbol != SL_NONE) m->parts[first].symbol = m->items[first].begins = symbol;
    m->item_of[name] = first;
    return true;
}

/* Chunks of tiny allocations are used nearly all the time, so other allocations may use their spare room.
 * Each gets an item that covers its tiny allocations and some room for more. These are the first items, so
 * their numbers equal their bins'. */
static bool add_tiny(struct sl_period_items *m)
{
    const struct sl_arena *arena = &m->core->arena;
    for (uint32_t s = 0; s < m->core->placement.slot_count; s++) {
        const struct sl_slot *slot = &m->core->placement.slots[s];
        if (slot->bytes > SL_TINY_BYTES || slot->mapped || slot->block) continue;
        sl_chunk c = slot->address ? sl_arena_chunk(arena, slot->address) : SL_NONE;
        if (c == SL_NONE || sl_arena_record(arena, c)->group != SL_GROUP_TINY) continue;
        uint64_t end = (slot->address & (arena->chunk_bytes - 1)) + slot->bytes;
        if (m->bin_of[c] == SL_NONE && !add_item(m, c, 0, 0)) return false;
        if (m->items[m->bin_of[c]].bytes < end) m->items[m->bin_of[c]].bytes = end;
    }
    for (uint32_t b = 0, tiny = m->bin_count; b < tiny; b++) {
        uint64_t taken = atomic_load(&sl_arena_record(arena, m->chunk_of[b])->bytes), end = m->items[b].bytes;
        end = sl_whole_granules(end + end / PART_FOR_MORE_TINY);
        m->items[b].bytes = end < taken ? end : taken;
        memset(m->items[b].used, 0xff, sizeof m->items[b].used);
        if (taken < arena->chunk_bytes && !add_item(m, m->chunk_of[b], taken, arena->chunk_bytes - taken))
            return false;
    }
    return true;
}

static bool add_live(struct sl_period_items *m)
{
    memset(m->item_of, 0xff, m->core->placement.slot_count * sizeof *m->item_of);
    for (uint32_t s = 0; s < m->core->placement.slot_count; s++) {
        const struct sl_slot *slot = &m->core->placement.slots[s];
        uint32_t name = slot->live ? sl_slot_name(&m->core->placement, s) : SL_NONE;
        if (!slot->live) continue;
        if (!sl_name_is_of_any_size(&m->core->placement, name)) name = s;
        if (!add_allocation(m, name, s, slot->address, SL_NONE)) return false;
    }
    return true;
}

static void mark(const struct sl_period_items *m, struct sl_layout_item *item, uint64_t from_ns,
                 uint64_t to_ns)
{
    uint64_t from = from_ns * SL_LAYOUT_TIMES / m->period_ns, to = to_ns * SL_LAYOUT_TIMES / m->period_ns;
    if (to - from >= SL_LAYOUT_TIMES) to = from + SL_LAYOUT_TIMES - 1;
    for (uint64_t at = from; at <= to; at++) item->used[at % SL_LAYOUT_TIMES / 64] |= (uint64_t)1 << at % 64;
}

/* Between two uses the item counts as resident if a copy out and a copy in take longer than the gap. */
static void note_use(const struct sl_period_items *m, uint32_t first, uint64_t from_ns, uint64_t to_ns)
{
    struct sl_period_part *part = &m->parts[first];
    uint64_t since = part->last_ns && from_ns < part->last_ns + m->gap_ns ? part->last_ns : from_ns;
    for (uint32_t i = 0; i <= part->more; i++) mark(m, &m->items[first + i], since, to_ns);
    part->last_ns = to_ns;
}

static void note_launch(const struct sl_period_items *m, const struct sl_symbol_record *record,
                        uint64_t from_ns, uint64_t to_ns)
{
    for (uint32_t a = 0; a < record->access_count; a++) {
        const struct sl_access *access = &m->core->symbols.accesses[record->first_access + a];
        bool any_size = sl_name_is_of_any_size(&m->core->placement, access->name);
        uint32_t first = m->item_of[any_size ? access->name : access->slot];
        if (first != SL_NONE) note_use(m, first, from_ns, to_ns);
    }
}

/* A life that began before the period is a rest of the previous period. The slot's next life is another
 * item. */
static void end_life(struct sl_period_items *m, uint32_t s, uint32_t at)
{
    uint32_t first = m->item_of[s];
    m->item_of[s] = SL_NONE;
    if (first == SL_NONE) return;
    bool rest = m->parts[first].symbol == SL_NONE;
    const struct sl_period_part *part = &m->parts[first];
    bool moves = !rest && !part->more && m->items[first].bytes <= m->core->arena.chunk_bytes;
    if (moves && part->most_bytes <= m->core->arena.chunk_bytes)
        m->items[first].bytes = sl_whole_granules(part->most_bytes);
    for (uint32_t i = 0; i <= part->more; i++) {
        struct sl_layout_item *item = &m->items[first + i];
        item->begins = m->items[first].begins;
        item->ends = at;
        item->kind = rest ? SL_LAYOUT_REST : moves ? SL_LAYOUT_MOVABLE : SL_LAYOUT_FIXED;
        if (rest) memset(item->used, 0, sizeof item->used);
    }
    m->movable += moves;
}

static bool begin_life(struct sl_period_items *m, uint32_t name, uint32_t at)
{
    bool any_size = m->notes[at] && sl_name_is_of_any_size(&m->core->placement, name);
    uint32_t s = any_size ? sl_note_slot(m->notes[at]) : name;
    uint64_t address = m->notes[at] ? sl_note_address(m->notes[at]) : m->core->placement.slots[s].address;
    uint8_t home = m->core->placement.slots[s].home;
    if (m->allocations++ == 0) m->home = home;
    m->mixed |= home != m->home;
    if (at < m->period) return address && add_allocation(m, name, s, address, at);
    m->item_of[name] = SL_NONE; /* the same allocation again, in the next period */
    return true;
}

/* Reads two periods: lives that begin in the first one end in the second at the latest. */
static bool read_periods(struct sl_period_items *m)
{
    uint64_t now_ns = m->period_ns;
    for (uint32_t at = 0; at < 2 * m->period; at++) {
        const struct sl_symbol_record *record = record_of(m, at);
        if (record->kind == SL_SYMBOL_LAUNCH) {
            uint64_t end_ns = now_ns + duration_ns(m, at);
            note_launch(m, record, now_ns, end_ns);
            now_ns = end_ns;
        } else if (record->kind == SL_SYMBOL_FREE) {
            end_life(m, record->slot, at);
        } else if (!begin_life(m, record->slot, at)) {
            return false;
        }
    }
    return true;
}

static void measure(struct sl_period_items *m)
{
    const struct sl_migrator *migrator = &m->core->migrator;
    double chunk_bytes = (double)m->core->arena.chunk_bytes;
    if (migrator->link_in_bytes_per_s && migrator->link_out_bytes_per_s)
        m->gap_ns = (uint64_t)(1e9 * chunk_bytes / (double)migrator->link_in_bytes_per_s +
                               1e9 * chunk_bytes / (double)migrator->link_out_bytes_per_s);
    m->period_ns = 1;
    for (size_t at = 0; at < m->period; at++)
        if (record_of(m, at)->kind == SL_SYMBOL_LAUNCH) m->period_ns += duration_ns(m, at);
}

static bool reserve(struct sl_period_items *m)
{
    size_t slots = m->core->placement.slot_count + 1, chunks = sl_arena_chunk_count(&m->core->arena) + 1;
    m->item_of = malloc(slots * sizeof *m->item_of);
    m->bin_of = malloc(chunks * sizeof *m->bin_of);
    m->chunk_of = malloc(chunks * sizeof *m->chunk_of);
    if (!m->item_of || !m->bin_of || !m->chunk_of) return false;
    memset(m->bin_of, 0xff, chunks * sizeof *m->bin_of);
    return true;
}

void sl_period_items_close(struct sl_period_items *m)
{
    free(m->items);
    free(m->parts);
    free(m->item_of);
    free(m->bin_of);
    free(m->chunk_of);
    *m = (struct sl_period_items){0};
}

bool sl_period_items_read(struct sl_period_items *m, struct sl_core *core, const sl_symbol *symbols,
                          const uint64_t *notes, size_t period)
{
    *m = (struct sl_period_items){.core = core, .symbols = symbols, .notes = notes, .period = period};
    measure(m);
    return reserve(m) && add_tiny(m) && add_live(m) && read_periods(m);
}

/* --- the period's symbols */

bool sl_period_match_init(struct sl_period_match *match, const sl_symbol *period, uint32_t length,
                          uint32_t symbols)
{
    *match = (struct sl_period_match){.begins = calloc((size_t)symbols + 2, sizeof *match->begins),
                                      .places = malloc(length * sizeof *match->places + 1),
                                      .symbols = symbols};
    if (!match->begins || !match->places) return false;
    /* While places are entered, the next symbol's beginning is where this one's next place goes. */
    for (uint32_t at = 0; at < length; at++) match->begins[period[at] + 2]++;
    for (uint32_t s = 2; s < symbols + 2; s++) match->begins[s] += match->begins[s - 1];
    for (uint32_t at = 0; at < length; at++) match->places[match->begins[period[at] + 1]++] = at;
    return true;
}

void sl_period_match_close(struct sl_period_match *match)
{
    free(match->begins);
    free(match->places);
    *match = (struct sl_period_match){0};
}

uint32_t sl_period_match_next(struct sl_period_match *match, sl_symbol symbol)
{
    if (symbol >= match->symbols) return SL_NONE;
    uint32_t first = match->begins[symbol], end = match->begins[symbol + 1], low = first, high = end;
    if (first == end) return SL_NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (match->places[middle] < match->at)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t place = match->places[low < end ? low : first];
    match->at = place + 1;
    return place;
}
