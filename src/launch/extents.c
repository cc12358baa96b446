#include "launch/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MAX_INTERIOR 65536u
#define ACCESSES_FOR_SYMBOL 8 /* visits that each symbol fed pays for */
#define VIEWS_MAX 8           /* pointers that may be views of one tensor */
#define VIEW_GAP 16           /* times the distance from the tensor's start to its last view */
#define TOLERANCE 0.04        /* tensors are padded */

static uint32_t interior_from(const struct sl_slot *slot, uint64_t offset)
{
    uint32_t low = 0, high = slot->interior_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (slot->interior[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sl_slot_learn(struct sl_slot *slot, uint64_t offset)
{
    if (!offset) {
        bool is_new = slot->mapped && !slot->begins;
        slot->begins |= slot->mapped;
        return is_new;
    }
    uint32_t at = interior_from(slot, offset);
    if (at < slot->interior_count && slot->interior[at] == offset) return false;
    if (slot->interior_count == MAX_INTERIOR ||
        !sl_grow(&slot->interior, &slot->interior_capacity, slot->interior_count, sizeof *slot->interior))
        return false;
    memmove(&slot->interior[at + 1], &slot->interior[at],
            (slot->interior_count - at) * sizeof *slot->interior);
    slot->interior[at] = offset;
    slot->interior_count++;
    return true;
}

uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset)
{
    uint32_t at = interior_from(slot, offset + 1);
    return at < slot->interior_count ? slot->interior[at] : slot->bytes;
}

const struct sl_slot *sl_place_next(const struct sl_placement *placement, const struct sl_slot *slot)
{
    if (!slot->live || !slot->mapped) return NULL;
    uint64_t end = slot->address + slot->bytes;
    uint32_t s = sl_place_find(placement, end);
    if (s == SL_NONE || !placement->slots[s].mapped) return NULL;
    sl_chunk last = sl_arena_chunk(placement->arena, end - 1), next = sl_arena_chunk(placement->arena, end);
    return next - last <= 1 ? &placement->slots[s] : NULL; /* not beyond the end of the reservation */
}

/* The end of the tensor that begins at `offset`, which may extend into the mappings that follow. */
static uint64_t extent_end(const struct sl_placement *placement, const struct sl_slot *slot, uint64_t offset)
{
    uint64_t end = sl_slot_extent_end(slot, offset), before = 0;
    while (end == before + slot->bytes) {
        const struct sl_slot *next = sl_place_next(placement, slot);
        if (!next || next->begins) break;
        before = end;
        end += sl_slot_extent_end(next, 0);
        slot = next;
    }
    return end;
}

/* `end`, an offset into the slot, limited to the end of the slot and the mappings that follow it. */
static uint64_t limited(const struct sl_placement *placement, const struct sl_slot *slot, uint64_t end)
{
    uint64_t before = 0;
    for (; slot && end > before + slot->bytes; slot = sl_place_next(placement, slot)) before += slot->bytes;
    return slot ? end : before;
}

uint64_t sl_access_end(const struct sl_placement *placement, const struct sl_access *access)
{
    const struct sl_slot *slot = &placement->slots[access->slot];
    uint64_t end = access->offset + access->bytes, least = access->offset + access->at_least;
    if (access->bytes) return slot->mapped ? limited(placement, slot, end) : end;
    end = extent_end(placement, slot, access->offset);
    return least > end ? limited(placement, slot, least) : end;
}

struct sl_chunk_range sl_access_range(const struct sl_placement *placement, const struct sl_access *access)
{
    return sl_slot_chunks(placement, &placement->slots[access->slot], access->offset,
                          sl_access_end(placement, access) - access->offset);
}

/* An access of unknown length. Allocations of at most a chunk are used whole; they serve as evidence for
 * others. */
struct reach {
    struct sl_access *access;
    uint64_t bytes;      /* up to the next pointer */
    uint64_t over_views; /* up to the next pointer that is not a view */
    double for_thread;
};

static int by_parameter(const void *left, const void *right)
{
    const struct reach *a = left, *b = right;
    if (a->access->parameter != b->access->parameter)
        return a->access->parameter < b->access->parameter ? -1 : 1;
    if (a->for_thread != b->for_thread) return a->for_thread < b->for_thread ? -1 : 1;
    if (a->access->slot != b->access->slot) return a->access->slot < b->access->slot ? -1 : 1;
    return (a->access->offset > b->access->offset) - (a->access->offset < b->access->offset);
}

/* Bytes from an access to the end of the tensor if the next pointers may be its views; else up to the next
 * pointer. */
static uint64_t over_views(const struct sl_slot *slot, uint64_t begin, uint64_t bytes)
{
    uint64_t end = begin + bytes;
    for (int i = 0; i < VIEWS_MAX && end < slot->bytes; i++) {
        uint64_t next = sl_slot_extent_end(slot, end);
        if (next - end >= VIEW_GAP * (end - begin)) return next - begin;
        end = next;
    }
    return bytes;
}

static struct reach *collect(const struct sl_scanner *scanner, size_t *count)
{
    const struct sl_symbols *symbols = scanner->symbols;
    struct reach *reaches = malloc((symbols->access_count + 1) * sizeof *reaches);
    *count = 0;
    for (uint32_t s = 0; reaches && s < symbols->count; s++) {
        const struct sl_symbol_record *record = &symbols->records[s];
        if (record->kind != SL_SYMBOL_LAUNCH) continue;
        for (uint32_t a = 0; a < record->access_count; a++) {
            struct sl_access *access = &symbols->accesses[record->first_access + a];
            const struct sl_slot *slot = &scanner->placement->slots[access->slot];
            if (access->bytes || !access->parameter || !access->threads) continue;
            uint64_t bytes = extent_end(scanner->placement, slot, access->offset) - access->offset;
            reaches[(*count)++] = (struct reach){.access = access,
                                                 .bytes = bytes,
                                                 .over_views = over_views(slot, access->offset, bytes),
                                                 .for_thread = (double)bytes / (double)access->threads};
        }
    }
    return reaches;
}

static bool is_sure(const struct reach *reach)
{
    return reach->over_views == reach->bytes;
}

/* Whether reach `i` votes: not if its tensor is that of the one before. Precondition: `reaches` are sorted.
 */
static bool votes(const struct reach *reaches, size_t i, bool surely)
{
    return (is_sure(&reaches[i]) || !surely) && (!i || by_parameter(&reaches[i - 1], &reaches[i]));
}

/* The bytes for each thread that most tensors of one parameter share, or 0. Tensors whose end may be a view
 * vote only if all may. Precondition: `reaches` are sorted. */
static double usual(const struct reach *reaches, size_t count)
{
    size_t voters = 0, best = 0, run = 0, end = 0; /* `run` voters are in [i, end) */
    bool surely = false;
    double found = 0;
    for (size_t i = 0; i < count; i++) surely |= is_sure(&reaches[i]);
    for (size_t i = 0; i < count; i++) voters += votes(reaches, i, surely);
    for (size_t i = 0; i < count && end < count; i++) {
        while (end < count && reaches[end].for_thread <= reaches[i].for_thread * (1 + TOLERANCE))
            run += votes(reaches, end++, surely);
        if (run > best) {
            best = run;
            found = reaches[end - 1].for_thread;
        }
        run -= votes(reaches, i, surely);
    }
    return best >= 2 && 2 * best >= voters ? found : 0;
}

/* A tensor that is shorter than its rule says has views inside: it reaches over all of them. */
static uint64_t reach_of(const struct reach *reach, double for_thread)
{
    uint64_t bytes = (uint64_t)(for_thread * (double)reach->access->threads);
    bool cut = for_thread <= 0 ||
               (double)reach->bytes < for_thread / (1 + TOLERANCE) * (double)reach->access->threads;
    if (cut && bytes < reach->over_views) bytes = reach->over_views;
    uint64_t least = reach->access->threads * SL_BYTES_FOR_THREAD;
    return bytes > least ? bytes : least;
}

static bool settle(const struct sl_scanner *scanner, struct reach *reaches, size_t count)
{
    double for_thread = usual(reaches, count);
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        struct sl_access *access = reaches[i].access;
        if (!sl_slot_is_divided(scanner->placement, &scanner->placement->slots[access->slot])) continue;
        uint64_t at_least = reach_of(&reaches[i], for_thread);
        changed |= access->at_least != at_least;
        access->at_least = at_least;
    }
    return changed;
}

void sl_extents_learn(struct sl_scanner *scanner)
{
    if (scanner->extents.learned_version == scanner->extents.version &&
        scanner->extents.learned_symbols == scanner->symbols->count)
        return;
    size_t count, end;
    struct reach *reaches = collect(scanner, &count);
    if (!reaches) return;
    bool changed = false;
    qsort(reaches, count, sizeof *reaches, by_parameter);
    for (size_t begin = 0; begin < count; begin = end) {
        for (end = begin + 1;
             end < count && reaches[end].access->parameter == reaches[begin].access->parameter;)
            end++;
        changed |= settle(scanner, reaches + begin, end - begin);
    }
    free(reaches);
    scanner->extents.version += changed;
    scanner->extents.learned_version = scanner->extents.version;
    scanner->extents.learned_symbols = scanner->symbols->count;
}

void sl_extents_learn_if_due(struct sl_scanner *scanner, uint64_t fed)
{
    if (fed - scanner->extents.learned_at < scanner->symbols->access_count / ACCESSES_FOR_SYMBOL) return;
    scanner->extents.learned_at = fed;
    sl_extents_learn(scanner);
}
