#include "memory/layout.h"

#include <stdlib.h>
#include <string.h>

/* A chunk that is used at all counts as if it were needed for such a part of the period more. */
enum { PART_OF_USED = 2 };
enum { SPANS = 3 };
#define MANY_PAIRS ((uint64_t)1 << 18) /* of items and bins: a tenth of a second for all ways */

/* When an item is there: in the first period, in which rests are still there, and in one of those that
 * follow. */
struct spans {
    struct {
        uint64_t from, to;
    } at[SPANS];
    unsigned count;
};

/* An item's place in its bin, which has them in the order of their offsets. */
struct place {
    uint64_t offset, end;
    uint32_t item;
};

struct bin {
    struct place *places;
    uint32_t count, capacity;
    uint64_t used[SL_LAYOUT_WORDS];
};

struct layout {
    const struct sl_layout_item *items;
    struct spans *spans; /* of the items */
    struct found {
        uint64_t offset;
        uint32_t bin;
    } * best; /* of the items, by the best way so far */
    struct bin *bins;
    uint32_t bin_count;
    uint64_t chunk_bytes;
};

static unsigned more_times(const uint64_t *used, const uint64_t *than)
{
    unsigned more = 0;
    for (int w = 0; w < SL_LAYOUT_WORDS; w++) more += (unsigned)__builtin_popcountll(used[w] & ~than[w]);
    return more;
}

static const uint64_t never[SL_LAYOUT_WORDS];

static uint64_t cost_of(const struct bin *bins, uint32_t count)
{
    uint64_t cost = 0;
    for (uint32_t b = 0; b < count; b++)
        if (bins[b].count) cost += more_times(bins[b].used, never) + SL_LAYOUT_TIMES / PART_OF_USED;
    return cost;
}

uint64_t sl_layout_cost(const struct sl_layout_item *items, size_t count, uint32_t bin_count)
{
    struct bin *bins = calloc((size_t)bin_count + 1, sizeof *bins);
    if (!bins) return 0;
    for (size_t i = 0; i < count; i++) {
        struct bin *bin = &bins[items[i].bin];
        bin->count++;
        for (int w = 0; w < SL_LAYOUT_WORDS; w++) bin->used[w] |= items[i].used[w];
    }
    uint64_t cost = cost_of(bins, bin_count);
    free(bins);
    return cost;
}

static struct spans spans_of(const struct sl_layout_item *item, uint64_t period)
{
    struct spans spans = {0};
    uint64_t begins = item->begins, ends = item->ends;
    spans.at[spans.count].from = begins;
    spans.at[spans.count++].to = ends;
    if (item->kind == SL_LAYOUT_REST) return spans;
    if (ends > period) spans.at[0].to = period;
    if (ends > period && begins < period) {
        spans.at[spans.count].from = period;
        spans.at[spans.count++].to = ends < 2 * period ? ends : 2 * period;
    }
    spans.at[spans.count].from = period + begins;
    spans.at[spans.count++].to = period + (ends < period ? ends : period);
    return spans;
}

static bool meet(const struct spans *one, const struct spans *other)
{
    for (unsigned i = 0; i < one->count; i++)
        for (unsigned k = 0; k < other->count; k++)
            if (one->at[i].from < other->at[k].to && other->at[k].from < one->at[i].to) return true;
    return false;
}

/* The smallest gap of the bin that is there as long as the item: its offset and bytes. */
static bool find_gap(const struct layout *layout, const struct bin *bin, uint32_t item, uint64_t *offset,
                     uint64_t *gap_bytes)
{
    uint64_t bytes = layout->items[item].bytes, at = 0;
    *gap_bytes = UINT64_MAX;
    for (uint32_t p = 0; p <= bin->count; p++) {
        const struct place *place = p < bin->count ? &bin->places[p] : NULL;
        if (place && !meet(&layout->spans[item], &layout->spans[place->item])) continue;
        uint64_t until = place ? place->offset : layout->chunk_bytes;
        if (until >= at + bytes && until - at < *gap_bytes) {
            *offset = at;
            *gap_bytes = until - at;
        }
        if (place && place->end > at) at = place->end;
    }
    return *gap_bytes != UINT64_MAX;
}

static bool put(struct layout *layout, uint32_t b, uint64_t offset, uint32_t item)
{
    struct bin *bin = &layout->bins[b];
    if (bin->count == bin->capacity) {
        uint32_t wanted = bin->capacity ? 2 * bin->capacity : 16;
        struct place *larger = realloc(bin->places, wanted * sizeof *larger);
        if (!larger) return false;
        bin->places = larger;
        bin->capacity = wanted;
    }
    uint32_t at = bin->count++;
    for (; at > 0 && bin->places[at - 1].offset > offset; at--) bin->places[at] = bin->places[at - 1];
    bin->places[at] = (struct place){offset, offset + layout->items[item].bytes, item};
    for (int w = 0; w < SL_LAYOUT_WORDS; w++) bin->used[w] |= layout->items[item].used[w];
    return true;
}

/* The least time more, then the smallest gap, or, if `alike`, first the least time that the bin is needed and
 * the item is not. */
static bool is_better(bool alike, const unsigned *times, uint64_t gap, const unsigned *best_times,
                      uint64_t best_gap)
{
    if (times[0] != best_times[0]) return times[0] < best_times[0];
    if (alike && times[1] != best_times[1]) return times[1] < best_times[1];
    return gap < best_gap;
}

/* Finds a place for the item, and puts it there. */
static bool place_item(struct layout *layout, struct sl_layout_item *item, uint32_t number, bool alike)
{
    unsigned best_times[2] = {UINT32_MAX, UINT32_MAX};
    uint64_t best_gap = UINT64_MAX, offset, gap;
    uint32_t best = SL_NONE;
    for (uint32_t b = 0; b < layout->bin_count; b++) {
        const struct bin *bin = &layout->bins[b];
        unsigned times[2] = {more_times(item->used, bin->used), more_times(bin->used, item->used)};
        if (times[0] > best_times[0] || !find_gap(layout, bin, number, &offset, &gap)) continue;
        if (!is_better(alike, times, gap, best_times, best_gap)) continue;
        memcpy(best_times, times, sizeof best_times);
        best_gap = gap;
        best = item->bin = b;
        item->offset = offset;
    }
    return best != SL_NONE && put(layout, best, item->offset, number);
}

enum order { LONGEST_LIFE, MOST_NEEDED, FIRST, ORDERS };

struct turn {
    uint64_t weight, bytes;
    uint32_t item;
};

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

static uint64_t weight(const struct sl_layout_item *item, enum order order)
{
    if (order == LONGEST_LIFE) return item->ends - item->begins;
    return order == MOST_NEEDED ? more_times(item->used, never) : UINT32_MAX - item->begins;
}

/* What stays where it is, then the others in their order. */
static bool place_all(struct layout *layout, struct sl_layout_item *items, size_t count, struct turn *turns,
                      enum order order, bool alike)
{
    size_t movable = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == SL_LAYOUT_MOVABLE)
            turns[movable++] = (struct turn){weight(&items[i], order), items[i].bytes, (uint32_t)i};
        else if (!put(layout, items[i].bin, items[i].offset, (uint32_t)i))
            return false;
    }
    qsort(turns, movable, sizeof *turns, compare_turns);
    for (size_t t = 0; t < movable; t++)
        if (!place_item(layout, &items[turns[t].item], turns[t].item, alike)) return false;
    return true;
}

static void empty(struct layout *layout)
{
    for (uint32_t b = 0; b < layout->bin_count; b++) {
        layout->bins[b].count = 0;
        memset(layout->bins[b].used, 0, sizeof layout->bins[b].used);
    }
}

/* Every way to choose, and the best of them; of large ones the first, which is the best most often. False:
 * none came to an end. */
static bool choose(struct layout *layout, struct sl_layout_item *items, struct sl_layout_item *tried,
                   size_t count, struct turn *turns)
{
    uint64_t least = UINT64_MAX;
    unsigned ways = (uint64_t)count * layout->bin_count > MANY_PAIRS ? 1 : 2 * ORDERS;
    for (unsigned way = 0; way < ways; way++) {
        empty(layout);
        memcpy(tried, items, count * sizeof *tried);
        if (!place_all(layout, tried, count, turns, (enum order)(way / 2), way % 2)) continue;
        uint64_t cost = cost_of(layout->bins, layout->bin_count);
        if (cost >= least) continue;
        least = cost;
        for (size_t i = 0; i < count; i++) layout->best[i] = (struct found){tried[i].offset, tried[i].bin};
    }
    for (size_t i = 0; i < count && least != UINT64_MAX; i++) {
        items[i].offset = layout->best[i].offset;
        items[i].bin = layout->best[i].bin;
    }
    return least != UINT64_MAX;
}

enum sl_status sl_layout_make(struct sl_layout_item *items, size_t count, uint32_t bin_count,
                              uint64_t chunk_bytes, uint32_t period)
{
    struct sl_layout_item *tried = malloc(count * sizeof *tried + 1);
    struct turn *turns = malloc(count * sizeof *turns + 1);
    struct layout layout = {.items = items,
                            .spans = malloc(count * sizeof *layout.spans + 1),
                            .best = malloc(count * sizeof *layout.best + 1),
                            .bins = calloc((size_t)bin_count + 1, sizeof *layout.bins),
                            .bin_count = bin_count,
                            .chunk_bytes = chunk_bytes};
    bool done = tried && turns && layout.spans && layout.best && layout.bins;
    for (size_t i = 0; i < count && done; i++) layout.spans[i] = spans_of(&items[i], period);
    done = done && choose(&layout, items, tried, count, turns);
    for (uint32_t b = 0; layout.bins && b < bin_count; b++) free(layout.bins[b].places);
    free(layout.bins);
    free(layout.spans);
    free(layout.best);
    free(turns);
    free(tried);
    return done ? SL_OK : SL_ERR_NO_MEMORY;
}
