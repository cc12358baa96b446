#include "memory/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { SPANS = 3 };
enum { MOST_IN_TABLE = 4096 };         /* items: a table of those that meet has 2 MiB then */
enum { TRIES_FOR_VARIANT = 4 };        /* where chunks are nearly full most orders fail, at little cost */
#define MANY_PAIRS ((uint64_t)1 << 18) /* of items and bins: 0.1 s for all ways */

/* When an item is there: in the first period, which still has leftovers, and in later periods. */
struct spans {
    struct {
        uint64_t from, to;
    } at[SPANS];
    unsigned count;
};

/* An item's place in its bin; a bin sorts its places by offset. */
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
    uint64_t *meeting;   /* for each item a bit for each one that is there at the same time; NULL: no table */
    size_t meeting_words;
    struct found {
        uint64_t offset;
        uint32_t bin;
    } * best; /* of the items, in the best way so far */
    struct bin *bins;
    uint32_t bin_count;
    uint64_t chunk_bytes;
};

/* The number of times at which one is needed and the other is not. Counts the bits of all words side by side
 * in bytes, because processors' own instruction for it cannot be assumed, and the compiler's function takes
 * several times as long. */
static unsigned more_times(const uint64_t *used, const uint64_t *than)
{
    uint64_t bytes = 0;
    for (int w = 0; w < SL_LAYOUT_WORDS; w++) {
        uint64_t more = used[w] & ~than[w];
        more -= more >> 1 & UINT64_C(0x5555555555555555);
        more = (more & UINT64_C(0x3333333333333333)) + (more >> 2 & UINT64_C(0x3333333333333333));
        bytes += (more + (more >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    }
    _Static_assert(SL_LAYOUT_WORDS * 8 < 256, "the bits at the same byte of all words are counted in one");
    uint64_t pairs = (bytes & UINT64_C(0x00ff00ff00ff00ff)) + (bytes >> 8 & UINT64_C(0x00ff00ff00ff00ff));
    return (unsigned)(pairs * UINT64_C(0x0001000100010001) >> 48);
}

static const uint64_t never[SL_LAYOUT_WORDS];

/* Whether one is needed only when the other is: faster than counting. */
static bool is_within(const uint64_t *used, const uint64_t *of)
{
    uint64_t more = 0;
    for (int w = 0; w < SL_LAYOUT_WORDS; w++) more |= used[w] & ~of[w];
    return !more;
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

static bool are_together(const struct layout *layout, uint32_t one, uint32_t other)
{
    if (!layout->meeting) return meet(&layout->spans[one], &layout->spans[other]);
    return layout->meeting[one * layout->meeting_words + other / 64] >> other % 64 & 1;
}

/* Every way asks for the same pairs again and again. */
static void make_table(struct layout *layout, size_t count)
{
    layout->meeting_words = (count + 63) / 64;
    if (count > MOST_IN_TABLE) return;
    layout->meeting = calloc(count * layout->meeting_words + 1, sizeof *layout->meeting);
    for (size_t i = 0; i < count && layout->meeting; i++)
        for (size_t k = 0; k < count; k++)
            if (meet(&layout->spans[i], &layout->spans[k]))
                layout->meeting[i * layout->meeting_words + k / 64] |= (uint64_t)1 << k % 64;
}

/* Finds the smallest gap of the bin that is free during the item's life: its offset and bytes. */
static bool find_gap(const struct layout *layout, const struct bin *bin, uint32_t item, uint64_t *offset,
                     uint64_t *gap_bytes)
{
    uint64_t bytes = layout->items[item].bytes, at = 0;
    *gap_bytes = UINT64_MAX;
    for (uint32_t p = 0; p <= bin->count; p++) {
        const struct place *place = p < bin->count ? &bin->places[p] : NULL;
        if (place && !are_together(layout, item, place->item)) continue;
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

/* Finds a place for the item and puts it there: where it adds the least time to the bin's; then, if `alike`,
 * where the bin is needed least without the item; then in the smallest gap. Gaps are sought last, because
 * that takes longest. */
static bool place_item(struct layout *layout, struct sl_layout_item *item, uint32_t number, bool alike)
{
    unsigned best_added = UINT32_MAX, best_alone = UINT32_MAX;
    uint64_t best_gap = UINT64_MAX, offset, gap;
    uint32_t best = SL_NONE;
    for (uint32_t b = 0; b < layout->bin_count; b++) {
        const struct bin *bin = &layout->bins[b];
        if (best_added == 0 && !is_within(item->used, bin->used)) continue;
        unsigned added = best_added ? more_times(item->used, bin->used) : 0;
        if (added > best_added) continue;
        unsigned alone = alike ? more_times(bin->used, item->used) : 0;
        bool better = added < best_added || alone < best_alone;
        if (!better && alone > best_alone) continue;
        if (!find_gap(layout, bin, number, &offset, &gap) || (!better && gap >= best_gap)) continue;
        best_added = added;
        best_alone = alone;
        best_gap = gap;
        best = item->bin = b;
        item->offset = offset;
    }
    return best != SL_NONE && put(layout, best, item->offset, number);
}

enum order { LONGEST_LIFE, MOST_NEEDED, FIRST, ORDERS };
enum { WAYS = 2 * ORDERS }; /* each order with both values of `alike` */

struct turn {
    double weight;
    uint64_t bytes;
    uint32_t item;
};

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    return a->item < b->item ? -1 : a->item > b->item;
}

/* As a fraction of a period. */
static double weight(const struct sl_layout_item *item, enum order order, uint64_t period)
{
    if (order == LONGEST_LIFE) return (double)(item->ends - item->begins) / (double)period;
    if (order == MOST_NEEDED) return (double)more_times(item->used, never) / SL_LAYOUT_TIMES;
    return 1 - (double)item->begins / (double)period;
}

static void empty(struct layout *layout)
{
    for (uint32_t b = 0; b < layout->bin_count; b++) {
        layout->bins[b].count = 0;
        memset(layout->bins[b].used, 0, sizeof layout->bins[b].used);
    }
}

struct sl_layout {
    struct layout layout;
    struct sl_layout_item *items, *tried;
    size_t count;
    struct turn *turns; /* of the movable items */
    size_t turn_count;
    const struct sl_layout_judge *judge;
    uint64_t period, least, random;
    unsigned tried_ways, judged; /* so far; of the variations, that were judged */
};

/* From 0 to 1, the same numbers in every run (xorshift, Marsaglia 2003). */
static double random_share(struct sl_layout *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (double)(s->random >> 11) * 0x1p-53;
}

/* Sorts by weight, where each weight is changed at random by up to half of `disorder`. */
static void set_turns(struct sl_layout *s, enum order order, double disorder)
{
    s->turn_count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sl_layout_item *item = &s->items[i];
        if (item->kind != SL_LAYOUT_MOVABLE) continue;
        double off = disorder > 0 ? disorder * (random_share(s) - 0.5) : 0;
        s->turns[s->turn_count++] =
            (struct turn){weight(item, order, s->period) + off, item->bytes, (uint32_t)i};
    }
    qsort(s->turns, s->turn_count, sizeof *s->turns, compare_turns);
}

/* Places the fixed items and leftovers, then the others in their turns. */
static bool place_all(struct sl_layout *s, bool alike)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->tried[i].kind != SL_LAYOUT_MOVABLE &&
            !put(&s->layout, s->tried[i].bin, s->tried[i].offset, (uint32_t)i))
            return false;
    for (size_t t = 0; t < s->turn_count; t++) {
        uint32_t item = s->turns[t].item;
        if (!place_item(&s->layout, &s->tried[item], item, alike)) return false;
    }
    return true;
}

/* False: an item fits nowhere. */
static bool try_way(struct sl_layout *s, unsigned way, double disorder)
{
    struct layout *layout = &s->layout;
    set_turns(s, (enum order)(way / 2), disorder);
    empty(layout);
    memcpy(s->tried, s->items, s->count * sizeof *s->tried);
    if (!place_all(s, way % 2)) return false;
    uint64_t cost = s->judge->cost(s->judge->self, s->tried);
    if (cost >= s->least) return true;
    s->least = cost;
    for (size_t i = 0; i < s->count; i++)
        layout->best[i] = (struct found){s->tried[i].offset, s->tried[i].bin};
    return true;
}

/* Tries every way (only the first for large layouts), then random variations of each. A variation does not
 * start from the best so far: the judge's plans are a rough measure, and following it far gives worse
 * layouts. */
bool sl_layout_step(struct sl_layout *s)
{
    bool large = (uint64_t)s->count * s->layout.bin_count > MANY_PAIRS;
    unsigned ways = large ? 1 : WAYS, variants = large ? 0 : s->judge->variants, at = s->tried_ways;
    if (at >= ways + TRIES_FOR_VARIANT * variants || (at >= ways && s->judged >= variants)) return false;
    s->tried_ways++;
    if (at < ways)
        try_way(s, at, 0);
    else
        s->judged += try_way(s, (at - ways) % WAYS, random_share(s) * random_share(s));
    return true;
}

static void delete (struct sl_layout *s)
{
    for (uint32_t b = 0; s->layout.bins && b < s->layout.bin_count; b++) free(s->layout.bins[b].places);
    free(s->layout.bins);
    free(s->layout.meeting);
    free(s->layout.spans);
    free(s->layout.best);
    free(s->turns);
    free(s->tried);
    free(s);
}

struct sl_layout *sl_layout_begin(struct sl_layout_item *items, size_t count, uint32_t bin_count,
                                  uint64_t chunk_bytes, uint32_t period, const struct sl_layout_judge *judge)
{
    struct sl_layout *s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (struct sl_layout){.layout = {.items = items,
                                       .spans = malloc(count * sizeof *s->layout.spans + 1),
                                       .best = malloc(count * sizeof *s->layout.best + 1),
                                       .bins = calloc((size_t)bin_count + 1, sizeof *s->layout.bins),
                                       .bin_count = bin_count,
                                       .chunk_bytes = chunk_bytes},
                            .items = items,
                            .tried = malloc(count * sizeof *s->tried + 1),
                            .count = count,
                            .turns = malloc(count * sizeof *s->turns + 1),
                            .judge = judge,
                            .period = period,
                            .least = UINT64_MAX,
                            .random = UINT64_C(88172645463325252) ^ sl_mix(judge->seed)};
    if (!s->layout.spans || !s->layout.best || !s->layout.bins || !s->tried || !s->turns) {
        delete (s);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) s->layout.spans[i] = spans_of(&items[i], period);
    make_table(&s->layout, count);
    return s;
}

enum sl_status sl_layout_end(struct sl_layout *s)
{
    enum sl_status status = s->least != UINT64_MAX ? SL_OK : SL_ERR_NO_MEMORY;
    for (size_t i = 0; i < s->count && status == SL_OK; i++) {
        s->items[i].offset = s->layout.best[i].offset;
        s->items[i].bin = s->layout.best[i].bin;
    }
    delete (s);
    return status;
}
