#include "core/relayout.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/test_hooks.h"
#include "core/core.h"
#include "core/forecast.h"
#include "launch/symbols.h"
#include "memory/layout.h"
#include "memory/placement.h"
#include "move/migrator.h"
#include "predict/durations.h"
#include "predict/period_match.h"

#define MOST_WORK ((uint64_t)1 << 21) /* pairs of allocations and chunks; bounds the delay of a launch */
#define MOST_VARIANTS 200
/* Symbols and chunks, summed over all variants: a fifth of a second, or twice that if none is better at
 * first. */
#define MOST_TRIED ((size_t)1 << 20)
#define MOST_PERIOD ((size_t)1 << 16)
#define MOST_RENOTED ((size_t)1 << 18) /* symbols; bounds the delay of a launch */
/* If no layout is better by plans without attempts, which from some states take equally long whatever the
 * layout, plans with so many compare fewer layouts: each costs as much as so many plans without. */
enum { FEW_ATTEMPTS = 4, COST_OF_ATTEMPTS = 8 };
/* Where sizes vary: another layout is looked for so many periods after the last one, if so many allocations
 * strayed. */
enum { PERIODS_BETWEEN = 2, PART_THAT_STRAYS = 32, PART_THAT_MAY_STRAY = 128 };
#define MOST_TRIES 6 /* at intervals that double, from one period on */
/* A layout must be better by at least one part in this. Where sizes vary, the next steps are not quite those
 * that it is made for. */
enum { PART_THAT_PAYS = 100, PART_WHERE_SIZES_VARY = 8 };
/* Chunks of tiny allocations keep one part in this of their used bytes free for further ones. Where sizes
 * vary, the largest of a name keeps one part in this free for a larger one. */
enum { PART_FOR_MORE_TINY = 8, PART_FOR_LARGER = 32 };

struct maker {
    struct sl_core *core;
    const sl_symbol *symbols;
    uint64_t *notes;
    size_t note_count, period;
    struct sl_period_match match;
    uint32_t *mover_of;        /* by symbol of the period: the movable item that it allocates, or SL_NONE */
    uint32_t *tried_movers;    /* the same for each predicted symbol */
    uint64_t *tried_notes;     /* notes of the layout that is judged */
    unsigned attempts;         /* of the plans that judge */
    struct sl_forecast *trial; /* the forecast made from them */
    struct sl_layout_item *items;
    struct part {
        uint32_t symbol;     /* index in the period of its allocation; SL_NONE: it exists before */
        uint32_t more;       /* further items of the same allocation, one for each chunk */
        uint64_t last_ns;    /* end of its last use; 0: none yet */
        uint64_t most_bytes; /* to keep room for */
    } * parts;               /* parallel to `items` */
    uint32_t count, item_capacity, part_capacity;
    uint32_t *item_of;  /* by slot, or name of any size: first item of its live allocation; SL_NONE: none */
    uint32_t *bin_of;   /* by chunk; SL_NONE: the chunk is not considered */
    sl_chunk *chunk_of; /* by bin */
    uint32_t bin_count, movable, allocations;
    uint64_t period_ns, gap_ns;
    uint8_t home; /* the stream of the period's first allocation */
    bool mixed; /* allocations of several streams: a place freed on another stream would have to be waited for
                 */
};

static void close(struct maker *m)
{
    sl_period_match_close(&m->match);
    free(m->mover_of);
    free(m->items);
    free(m->parts);
    free(m->item_of);
    free(m->bin_of);
    free(m->chunk_of);
}

static const struct sl_symbol_record *record_of(const struct maker *m, size_t at)
{
    return &m->core->symbols.records[m->symbols[at]];
}

static uint64_t duration_ns(const struct maker *m, size_t at)
{
    return 1 + sl_durations_ns(&m->core->sampling.durations, m->symbols[at], record_of(m, at)->kernel);
}

/* Chunks that are pinned or mapped by the program take no other allocations. */
static bool is_left_alone(const struct sl_chunk_record *chunk)
{
    return chunk->pinned || chunk->group == SL_GROUP_MAPPED;
}

static uint32_t bin_for(struct maker *m, sl_chunk c)
{
    if (m->bin_of[c] == SL_NONE) {
        m->chunk_of[m->bin_count] = c;
        m->bin_of[c] = m->bin_count++;
    }
    return m->bin_of[c];
}

static bool add_item(struct maker *m, sl_chunk c, uint64_t offset, uint64_t bytes)
{
    if (!sl_grow(&m->items, &m->item_capacity, m->count, sizeof *m->items) ||
        !sl_grow(&m->parts, &m->part_capacity, m->count, sizeof *m->parts))
        return false;
    m->items[m->count] = (struct sl_layout_item){.offset = offset,
                                                 .bytes = sl_whole_granules(bytes),
                                                 .bin = bin_for(m, c),
                                                 .ends = (uint32_t)(2 * m->period),
                                                 .kind = SL_LAYOUT_FIXED};
    m->parts[m->count++] = (struct part){.symbol = SL_NONE};
    return true;
}

/* The most bytes that an allocation of this name had, and a little more. What is predicted may come from a
 * step of small ones. */
static uint64_t most_bytes(const struct maker *m, uint32_t name, const struct sl_slot *slot)
{
    uint64_t most = sl_name_most_bytes(&m->core->placement, name);
    most += most / PART_FOR_LARGER;
    return most > slot->bytes ? most : slot->bytes;
}

/* Adds an item for each chunk of the allocation of slot `s`, with this name, at `address`. Tiny allocations
 * get none. */
static bool add_allocation(struct maker *m, uint32_t name, uint32_t s, uint64_t address, uint32_t symbol)
{
    const struct sl_arena *arena = &m->core->arena;
    const struct sl_slot *slot = &m->core->placement.slots[s];
    m->item_of[name] = SL_NONE;
    uint64_t most = most_bytes(m, name, slot), left = slot->bytes;
    if (most <= SL_TINY_BYTES || slot->pinned || slot->mapped || slot->block) return true;
    sl_chunk c = sl_arena_chunk(arena, address);
    uint64_t offset = address & (arena->chunk_bytes - 1);
    if (c == SL_NONE || is_left_alone(sl_arena_record(arena, c))) return true;
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
static bool add_tiny(struct maker *m)
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

/* Where `item_of` has the item of a live slot. */
static uint32_t item_index(const struct maker *m, uint32_t s)
{
    uint32_t name = sl_slot_name(&m->core->placement, s);
    return sl_name_is_of_any_size(&m->core->placement, name) ? name : s;
}

static bool add_live(struct maker *m)
{
    memset(m->item_of, 0xff, m->core->placement.slot_count * sizeof *m->item_of);
    for (uint32_t s = 0; s < m->core->placement.slot_count; s++) {
        const struct sl_slot *slot = &m->core->placement.slots[s];
        if (slot->live && !add_allocation(m, item_index(m, s), s, slot->address, SL_NONE)) return false;
    }
    return true;
}

static void mark(const struct maker *m, struct sl_layout_item *item, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = from_ns * SL_LAYOUT_TIMES / m->period_ns, to = to_ns * SL_LAYOUT_TIMES / m->period_ns;
    if (to - from >= SL_LAYOUT_TIMES) to = from + SL_LAYOUT_TIMES - 1;
    for (uint64_t at = from; at <= to; at++) item->used[at % SL_LAYOUT_TIMES / 64] |= (uint64_t)1 << at % 64;
}

/* Between two uses the item counts as resident if a copy out and a copy in take longer than the gap. */
static void note_use(const struct maker *m, uint32_t first, uint64_t from_ns, uint64_t to_ns)
{
    struct part *part = &m->parts[first];
    uint64_t since = part->last_ns && from_ns < part->last_ns + m->gap_ns ? part->last_ns : from_ns;
    for (uint32_t i = 0; i <= part->more; i++) mark(m, &m->items[first + i], since, to_ns);
    part->last_ns = to_ns;
}

static void note_launch(const struct maker *m, const struct sl_symbol_record *record, uint64_t from_ns,
                        uint64_t to_ns)
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
static void end_life(struct maker *m, uint32_t s, uint32_t at)
{
    uint32_t first = m->item_of[s];
    m->item_of[s] = SL_NONE;
    if (first == SL_NONE) return;
    bool rest = m->parts[first].symbol == SL_NONE;
    const struct part *part = &m->parts[first];
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

static bool begin_life(struct maker *m, uint32_t name, uint32_t at)
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
static bool read_periods(struct maker *m)
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

static void measure(struct maker *m)
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

static bool reserve(struct maker *m)
{
    size_t slots = m->core->placement.slot_count + 1, chunks = sl_arena_chunk_count(&m->core->arena) + 1;
    m->item_of = malloc(slots * sizeof *m->item_of);
    m->bin_of = malloc(chunks * sizeof *m->bin_of);
    m->chunk_of = malloc(chunks * sizeof *m->chunk_of);
    if (!m->item_of || !m->bin_of || !m->chunk_of) return false;
    memset(m->bin_of, 0xff, chunks * sizeof *m->bin_of);
    return true;
}

/* The note of an allocation with that item instead of `note`. Its slot stays, if it is known. */
static uint64_t note_of(const struct maker *m, const struct sl_layout_item *item, uint32_t i, uint64_t note)
{
    uint64_t address = sl_arena_record(&m->core->arena, m->chunk_of[item->bin])->address + item->offset;
    return sl_life_note(address, sl_note_slot(note ? note : m->notes[m->parts[i].symbol]));
}

static bool find_movers(struct maker *m)
{
    m->mover_of = malloc(m->period * sizeof *m->mover_of);
    if (!m->mover_of ||
        !sl_period_match_init(&m->match, m->symbols, (uint32_t)m->period, m->core->symbols.count))
        return false;
    memset(m->mover_of, 0xff, m->period * sizeof *m->mover_of);
    for (uint32_t i = 0; i < m->count; i++)
        if (m->items[i].kind == SL_LAYOUT_MOVABLE) m->mover_of[m->parts[i].symbol] = i;
    return true;
}

static uint32_t next_mover(struct maker *m, sl_symbol symbol)
{
    uint32_t place = sl_period_match_next(&m->match, symbol);
    return place == SL_NONE ? SL_NONE : m->mover_of[place];
}

static void note_places(const struct maker *m, const struct sl_layout_item *items, uint64_t *notes)
{
    for (size_t at = 0; at < m->note_count; at++) {
        uint32_t i = m->tried_movers[at];
        if (i != SL_NONE) notes[at] = note_of(m, &items[i], i, notes[at]);
    }
}

static uint64_t change_note(void *self, sl_symbol symbol, uint64_t note)
{
    struct maker *m = self;
    uint32_t i = next_mover(m, symbol);
    return i == SL_NONE ? note : note_of(m, &m->items[i], i, note);
}

/* What is predicted from next: the last period, or, where sizes vary, any. */
static void renote(struct maker *m)
{
    size_t most = m->core->history.vary ? MOST_RENOTED : m->period;
    sl_period_match_begin(&m->match);
    sl_predictor_renote(m->core->history.predictor, most, change_note, m);
}

/* The predicted time of the window with this layout. */
static uint64_t time_of(void *self, const struct sl_layout_item *items)
{
    const struct maker *m = self;
    memcpy(m->tried_notes, m->notes, m->note_count * sizeof *m->tried_notes);
    if (items) note_places(m, items, m->tried_notes);
    return sl_forecast_time_ns(m->trial, m->tried_notes, m->note_count, m->attempts);
}

/* Whether a layout was found that is better by plans of so many attempts. */
static bool improve_by(struct maker *m, unsigned attempts, size_t variants, unsigned tries)
{
    struct sl_layout_judge judge = {time_of, m,
                                    (unsigned)(variants < MOST_VARIANTS ? variants : MOST_VARIANTS), tries};
    m->attempts = attempts;
    uint64_t before = time_of(m, NULL), after = UINT64_MAX;
    if (before && !sl_layout_make(m->items, m->count, m->bin_count, m->core->arena.chunk_bytes,
                                  (uint32_t)m->period, &judge))
        after = time_of(m, m->items);
    return after < before - before / (m->core->history.vary ? PART_WHERE_SIZES_VARY : PART_THAT_PAYS);
}

static bool improve(struct maker *m, unsigned tries)
{
    struct sl_forecast trial = {.core = m->core};
    size_t variants = MOST_TRIED / (m->note_count + sl_arena_chunk_count(&m->core->arena));
    m->trial = &trial;
    m->tried_notes = malloc(m->note_count * sizeof *m->tried_notes);
    m->tried_movers = malloc(m->note_count * sizeof *m->tried_movers);
    bool able = m->tried_notes && m->tried_movers && find_movers(m);
    for (size_t at = 0; at < m->note_count && able; at++) m->tried_movers[at] = next_mover(m, m->symbols[at]);
    bool better = able && improve_by(m, 0, variants, tries);
    if (able && !better && m->core->options->plan_attempts)
        better = improve_by(m, FEW_ATTEMPTS, variants / COST_OF_ATTEMPTS, tries);
    if (better) {
        note_places(m, m->items, m->notes);
        renote(m);
    }
    free(m->tried_notes);
    free(m->tried_movers);
    sl_forecast_close(&trial);
    return better;
}

/* Whether many allocations came to lie elsewhere since the last try. Where sizes vary, a step of the largest
 * sizes so far leaves a layout without room behind. */
static bool has_strayed(const struct sl_relayout *relayout, const struct sl_history *history, size_t period)
{
    return history->vary && history->fed >= relayout->anew_at &&
           history->strays - relayout->strays > period / PART_THAT_STRAYS;
}

/* Whether the last period came as predicted, from one period back. Where sizes vary, nearly so, from however
 * many, and with its allocations nearly all where predicted: where they often are not, a tight layout does
 * not last. */
static bool repeats(struct sl_history *history, size_t period)
{
    if (!history->vary)
        return history->streak >= period && period == sl_predictor_distance(history->predictor);
    return sl_history_nearly_predicted(history) >= period &&
           sl_history_nearly_in_place(history, period / PART_THAT_MAY_STRAY) >= period &&
           sl_history_believed(history) >= period;
}

bool sl_relayout_is_due(const struct sl_relayout *relayout, struct sl_history *history)
{
    size_t period = sl_predictor_period(history->predictor);
    bool first = relayout->tries < MOST_TRIES && history->fed >= relayout->due_at;
    return SL_HAS(RELAYOUT) && (first || has_strayed(relayout, history, period)) && !history->interleaved &&
           period && period <= MOST_PERIOD && repeats(history, period);
}

/* Number of symbols until the fewest bytes are alive: there the most allocations have their whole life ahead.
 */
static size_t until_least_alive(const struct maker *m)
{
    int64_t alive = 0, least = 0;
    size_t until = 0;
    for (size_t at = 0; at < m->period; at++) {
        const struct sl_symbol_record *record = record_of(m, at);
        if (record->kind == SL_SYMBOL_LAUNCH) continue;
        int64_t bytes = (int64_t)m->core->placement.slots[record->slot].bytes;
        alive += record->kind == SL_SYMBOL_ALLOC ? bytes : -bytes;
        if (alive >= least) continue;
        least = alive;
        until = at + 1;
    }
    return until;
}

static uint64_t doubled(uint64_t symbols, uint32_t times)
{
    return symbols << (times < MOST_TRIES ? times : MOST_TRIES);
}

/* Whether to try now. Counts the try, or says when it is due. Until it is known to be better, it failed. */
static bool may_try(struct sl_relayout *relayout, const struct maker *m)
{
    const struct sl_history *history = &m->core->history;
    bool predicted = m->note_count >= 2 * m->period;
    bool waits = predicted && !relayout->waited && !history->vary;
    size_t wait = waits ? until_least_alive(m) : 0;
    relayout->waited |= predicted;
    if (wait) {
        relayout->due_at = relayout->anew_at = history->fed + wait;
        return false;
    }
    relayout->due_at = history->fed + doubled(m->period, relayout->tries++);
    relayout->anew_at = history->fed + doubled(PERIODS_BETWEEN * m->period, relayout->failed++);
    relayout->strays = history->strays;
    return predicted;
}

void sl_relayout(struct sl_relayout *relayout, struct sl_core *core, const sl_symbol *symbols,
                 uint64_t *notes, size_t count)
{
    struct maker m = {.core = core,
                      .symbols = symbols,
                      .notes = notes,
                      .note_count = count,
                      .period = sl_predictor_period(core->history.predictor)};
    if (!may_try(relayout, &m)) return;
    measure(&m);
    if (reserve(&m) && add_tiny(&m) && add_live(&m) && read_periods(&m) && m.movable && !m.mixed &&
        (uint64_t)m.movable * m.bin_count <= MOST_WORK && improve(&m, relayout->tries)) {
        relayout->done++;
        relayout->failed = 0;
    }
    close(&m);
}

void sl_relayout_forget(struct sl_relayout *relayout)
{
    *relayout = (struct sl_relayout){0};
}
