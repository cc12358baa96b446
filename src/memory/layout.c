#include "memory/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { SPANS = 3, BLOCK = 16 };
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

/* What all ways ask of an item. Points are the begins of movable items, in the order of the period. */
struct traits {
    struct spans spans;
    uint32_t from, to; /* it takes room at points from `from` to before `to` */
    unsigned times;    /* of `used`: the number of bits */
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
    unsigned times; /* number of bits in `used` */
};

struct layout {
    const struct sl_layout_item *items;
    struct traits *traits; /* of the items */
    uint64_t *meeting; /* for each item a bit for each one that is there at the same time; NULL: no table */
    size_t meeting_words;
    struct bin *bins;
    uint32_t bin_count, point_count;
    /* Rows of bytes by bin, that items take: one for each point, and behind them one for each block of BLOCK
     * points, for items that are there at all of these. */
    uint32_t *taken;
    struct roomy {
        uint32_t bin, cost;
    } * roomy; /* bins that may have room for the item that is placed */
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
    if (!layout->meeting) return meet(&layout->traits[one].spans, &layout->traits[other].spans);
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
            if (meet(&layout->traits[i].spans, &layout->traits[k].spans))
                layout->meeting[i * layout->meeting_words + k / 64] |= (uint64_t)1 << k % 64;
}

/* Whether a fixed item lies where an earlier one does, as where a prediction is wrong. Its room must not be
 * taken twice. */
static bool lies_on_another(const struct layout *layout, size_t i)
{
    const struct sl_layout_item *item = &layout->items[i];
    for (size_t k = 0; k < i; k++) {
        const struct sl_layout_item *other = &layout->items[k];
        if (other->kind == SL_LAYOUT_FIXED && other->bin == item->bin &&
            other->offset < item->offset + item->bytes && item->offset < other->offset + other->bytes &&
            meet(&layout->traits[k].spans, &layout->traits[i].spans))
            return true;
    }
    return false;
}

/* False: out of memory. */
static bool set_traits(struct layout *layout, size_t count, uint32_t period)
{
    uint32_t *before = calloc((size_t)period + 1, sizeof *before); /* by event: points before it */
    if (!before) return false;
    for (size_t i = 0; i < count; i++)
        if (layout->items[i].kind == SL_LAYOUT_MOVABLE) before[layout->items[i].begins + 1] = 1;
    for (uint32_t at = 0; at < period; at++) before[at + 1] += before[at];
    layout->point_count = before[period];
    for (size_t i = 0; i < count; i++) {
        const struct sl_layout_item *item = &layout->items[i];
        struct traits *traits = &layout->traits[i];
        *traits = (struct traits){.spans = spans_of(item, period),
                                  .from = before[item->begins],
                                  .to = before[item->ends < period ? item->ends : period],
                                  .times = more_times(item->used, never)};
        if (item->kind == SL_LAYOUT_REST || (item->kind == SL_LAYOUT_FIXED && lies_on_another(layout, i)))
            traits->to = 0;
    }
    free(before);
    return true;
}

static void take(const struct layout *layout, uint32_t b, uint32_t item)
{
    uint32_t bytes = (uint32_t)layout->items[item].bytes;
    for (uint32_t at = layout->traits[item].from, to = layout->traits[item].to; at < to;) {
        bool all = at % BLOCK == 0 && to - at >= BLOCK;
        size_t row = all ? layout->point_count + at / BLOCK : at;
        layout->taken[row * layout->bin_count + b] += bytes;
        at += all ? BLOCK : 1;
    }
}

/* Finds the smallest gap of the bin that is free during the item's life: its offset and bytes. */
static bool find_gap(const struct layout *layout, const struct bin *bin, uint32_t item, uint64_t *offset,
                     uint64_t *gap_bytes)
{
    uint64_t bytes = layout->items[item].bytes, at = 0, least = UINT64_MAX;
    for (uint32_t p = 0, count = bin->count;; p++) {
        while (p < count && !are_together(layout, item, bin->places[p].item)) p++;
        uint64_t until = p < count ? bin->places[p].offset : layout->chunk_bytes;
        if (until >= at + bytes && until - at < least) {
            *offset = at;
            least = until - at;
        }
        if (p == count) break;
        if (bin->places[p].end > at) at = bin->places[p].end;
    }
    *gap_bytes = least;
    return least != UINT64_MAX;
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
    bin->times += more_times(layout->items[item].used, bin->used);
    for (int w = 0; w < SL_LAYOUT_WORDS; w++) bin->used[w] |= layout->items[item].used[w];
    take(layout, b, item);
    return true;
}

/* Lists the bins in which enough bytes are free when the item begins, with their costs: the time that the
 * item adds to the bin's; then, if `alike`, the time that the bin is needed without the item. */
static uint32_t find_roomy(const struct layout *layout, uint32_t number, bool alike)
{
    const struct sl_layout_item *item = &layout->items[number];
    const struct traits *traits = &layout->traits[number];
    size_t bins = layout->bin_count, count = 0;
    const uint32_t *at = layout->taken + traits->from * bins;
    const uint32_t *in = layout->taken + (layout->point_count + traits->from / BLOCK) * bins;
    for (uint32_t b = 0; b < bins; b++) {
        if (at[b] + in[b] + item->bytes > layout->chunk_bytes) continue;
        const struct bin *bin = &layout->bins[b];
        uint32_t added = more_times(item->used, bin->used), alone = bin->times + added - traits->times;
        layout->roomy[count++] = (struct roomy){b, 2 * SL_LAYOUT_TIMES * added + (alike ? alone : 0)};
    }
    return (uint32_t)count;
}

/* The least cost of a roomy bin that is at least so much; SL_NONE: there is none. */
static uint32_t next_cost(const struct layout *layout, uint32_t roomy, uint32_t least)
{
    uint32_t next = SL_NONE;
    for (uint32_t i = 0; i < roomy; i++) {
        uint32_t cost = layout->roomy[i].cost;
        next = cost >= least && cost < next ? cost : next;
    }
    return next;
}

/* Finds a place for the item and puts it there: where it costs least, in the smallest gap. Gaps are sought
 * last, because that takes longest. */
static bool place_item(struct layout *layout, struct sl_layout_item *item, uint32_t number, bool alike)
{
    uint32_t roomy = find_roomy(layout, number, alike), best = SL_NONE;
    uint64_t best_gap = UINT64_MAX, offset = 0, gap;
    for (uint32_t cost = 0; best == SL_NONE; cost++) {
        cost = next_cost(layout, roomy, cost);
        if (cost == SL_NONE) return false;
        for (uint32_t i = 0; i < roomy && best_gap > item->bytes; i++) {
            uint32_t b = layout->roomy[i].bin;
            if (layout->roomy[i].cost != cost || !find_gap(layout, &layout->bins[b], number, &offset, &gap) ||
                gap >= best_gap)
                continue;
            best_gap = gap;
            best = item->bin = b;
            item->offset = offset;
        }
    }
    return put(layout, best, item->offset, number);
}

enum order { LONGEST_LIFE, MOST_NEEDED, FIRST, ORDERS };
enum { WAYS = 2 * ORDERS }; /* each order with both values of `alike` */

struct turn {
    double weight;
    uint64_t bytes;
    uint32_t item;
};

static bool is_before(const struct turn *a, const struct turn *b)
{
    if (a->weight != b->weight) return a->weight > b->weight;
    if (a->bytes != b->bytes) return a->bytes > b->bytes;
    return a->item < b->item;
}

/* By merging. The library's function takes several times as long. */
static void sort(struct turn *turns, size_t count, struct turn *spare)
{
    size_t half = count / 2, left = 0, right = half, at = 0;
    if (count < 2) return;
    sort(turns, half, spare);
    sort(turns + half, count - half, spare);
    memcpy(spare, turns, half * sizeof *turns);
    while (left < half)
        turns[at++] =
            right < count && is_before(&turns[right], &spare[left]) ? turns[right++] : spare[left++];
}

static size_t taken_bytes(const struct layout *layout)
{
    size_t rows = layout->point_count + layout->point_count / BLOCK + 1;
    return rows * layout->bin_count * sizeof *layout->taken;
}

static void empty(struct layout *layout)
{
    for (uint32_t b = 0; b < layout->bin_count; b++) {
        layout->bins[b].count = 0;
        layout->bins[b].times = 0;
        memset(layout->bins[b].used, 0, sizeof layout->bins[b].used);
    }
    memset(layout->taken, 0, taken_bytes(layout));
}

struct sl_layout {
    struct layout layout;
    struct sl_layout_item *items, *tried, *best; /* best: in the best way so far */
    size_t count;
    struct turn *turns; /* of the movable items; behind them, as many to sort them with */
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

/* As a fraction of a period. */
static double weight(const struct sl_layout *s, size_t i, enum order order)
{
    const struct sl_layout_item *item = &s->items[i];
    double period = (double)s->period;
    if (order == LONGEST_LIFE) return (item->ends - item->begins) / period;
    if (order == MOST_NEEDED) return (double)s->layout.traits[i].times / SL_LAYOUT_TIMES;
    return 1 - item->begins / period;
}

/* Sorts by weight, where each weight is changed at random by up to half of `disorder`. */
static void set_turns(struct sl_layout *s, enum order order, double disorder)
{
    s->turn_count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sl_layout_item *item = &s->items[i];
        if (item->kind != SL_LAYOUT_MOVABLE) continue;
        double off = disorder > 0 ? disorder * (random_share(s) - 0.5) : 0;
        s->turns[s->turn_count++] = (struct turn){weight(s, i, order) + off, item->bytes, (uint32_t)i};
    }
    sort(s->turns, s->turn_count, s->turns + s->count);
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
    if (!place_all(s, way % 2)) return false;
    uint64_t cost = s->judge->cost(s->judge->self, s->tried);
    if (cost >= s->least) return true;
    struct sl_layout_item *best = s->tried;
    s->least = cost;
    s->tried = s->best;
    s->best = best;
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
    free(s->layout.traits);
    free(s->layout.taken);
    free(s->layout.roomy);
    free(s->turns);
    free(s->tried);
    free(s->best);
    free(s);
}

struct sl_layout *sl_layout_begin(struct sl_layout_item *items, size_t count, uint32_t bin_count,
                                  uint64_t chunk_bytes, uint32_t period, const struct sl_layout_judge *judge)
{
    struct sl_layout *s = malloc(sizeof *s);
    if (!s) return NULL;
    size_t bytes = count * sizeof *items;
    *s = (struct sl_layout){.layout = {.items = items,
                                       .traits = malloc(count * sizeof *s->layout.traits + 1),
                                       .bins = calloc((size_t)bin_count + 1, sizeof *s->layout.bins),
                                       .roomy = malloc((bin_count + 1) * sizeof *s->layout.roomy),
                                       .bin_count = bin_count,
                                       .chunk_bytes = chunk_bytes},
                            .items = items,
                            .tried = malloc(bytes + 1),
                            .best = malloc(bytes + 1),
                            .count = count,
                            .turns = malloc(2 * count * sizeof *s->turns + 1),
                            .judge = judge,
                            .period = period,
                            .least = UINT64_MAX,
                            .random = UINT64_C(88172645463325252) ^ sl_mix(judge->seed)};
    struct layout *layout = &s->layout;
    bool complete = layout->traits && layout->bins && layout->roomy && s->tried && s->best && s->turns;
    if (complete && set_traits(layout, count, period)) layout->taken = malloc(taken_bytes(layout) + 1);
    if (!layout->taken) {
        delete (s);
        return NULL;
    }
    memcpy(s->tried, items, bytes);
    memcpy(s->best, items, bytes);
    make_table(layout, count);
    return s;
}

enum sl_status sl_layout_end(struct sl_layout *s)
{
    enum sl_status status = s->least != UINT64_MAX ? SL_OK : SL_ERR_NO_MEMORY;
    memcpy(s->items, s->best, s->count * sizeof *s->items);
    delete (s);
    return status;
}
