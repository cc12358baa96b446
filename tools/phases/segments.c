#include "tools/phases/segments.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of cuts per slot, sampled evenly: limits the cost of damaged or unusual files. No slab of
 * tensors reaches it. */
enum { CUTS_MAX = 1 << 14 };

struct cut {
    uint32_t slot;
    uint64_t offset;
};

static int by_place(const void *one, const void *other)
{
    const struct cut *a = one, *b = other;
    if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static uint64_t end_of(const struct model *model, const struct model_range *range)
{
    uint64_t end = range->offset + range->bytes, slot = model->slots.at[range->slot].bytes;
    return slot && end > slot ? slot : end;
}

/* All cuts, sorted, without duplicates. A slot's first is 0, its last is its end. */
static struct cut *find_cuts(const struct model *model, size_t *count)
{
    size_t n = 0;
    struct cut *cuts = malloc((2 * model->ranges.count + 2 * model->slots.count + 1) * sizeof(*cuts));
    if (!cuts) return NULL;
    for (uint32_t s = 0; s < model->slots.count; s++) {
        cuts[n++] = (struct cut){s, 0};
        if (model->slots.at[s].bytes) cuts[n++] = (struct cut){s, model->slots.at[s].bytes};
    }
    for (size_t r = 0; r < model->ranges.count; r++) {
        const struct model_range *range = &model->ranges.at[r];
        uint64_t end = end_of(model, range);
        if (range->offset >= end) continue;
        cuts[n++] = (struct cut){range->slot, range->offset};
        cuts[n++] = (struct cut){range->slot, end};
    }
    qsort(cuts, n, sizeof(*cuts), by_place);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!kept || by_place(&cuts[kept - 1], &cuts[i])) cuts[kept++] = cuts[i];
    *count = kept;
    return cuts;
}

/* Removes cuts of slots that have too many. */
static size_t thin_out(struct cut *cuts, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && cuts[end].slot == cuts[i].slot;) end++;
        size_t n = end - i, most = n < CUTS_MAX ? n : CUTS_MAX;
        for (size_t k = 0; k < most; k++) cuts[kept++] = cuts[i + (most > 1 ? k * (n - 1) / (most - 1) : 0)];
    }
    return kept;
}

static void fill_segments(const struct cut *cuts, size_t count, uint32_t slots, struct segments *out)
{
    uint32_t slot = 0;
    for (size_t i = 0; i < count; i++) {
        while (slot <= cuts[i].slot) out->first_of_slot[slot++] = out->count;
        if (i + 1 < count && cuts[i + 1].slot == cuts[i].slot)
            out->at[out->count++] =
                (struct segment){cuts[i].offset, cuts[i + 1].offset - cuts[i].offset, cuts[i].slot};
    }
    while (slot <= slots) out->first_of_slot[slot++] = out->count;
}

uint32_t segment_at(const struct segments *segments, uint32_t slot, uint64_t offset)
{
    uint32_t from = segments->first_of_slot[slot], to = segments->first_of_slot[slot + 1];
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (segments->at[middle].offset + segments->at[middle].bytes <= offset)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool segments_make(const struct model *model, struct segments *out)
{
    size_t count;
    *out = (struct segments){0};
    struct cut *cuts = find_cuts(model, &count);
    if (!cuts) return false;
    count = thin_out(cuts, count);
    out->at = malloc((count + 1) * sizeof(*out->at));
    out->of_range = calloc(model->ranges.count + 1, sizeof(*out->of_range));
    out->first_of_slot = malloc((model->slots.count + 1) * sizeof(*out->first_of_slot));
    bool good = out->at && out->of_range && out->first_of_slot;
    if (good) fill_segments(cuts, count, (uint32_t)model->slots.count, out);
    free(cuts);
    for (size_t r = 0; good && r < model->ranges.count; r++) {
        const struct model_range *range = &model->ranges.at[r];
        uint32_t to = out->first_of_slot[range->slot + 1];
        uint64_t end = end_of(model, range);
        uint32_t first = segment_at(out, range->slot, range->offset), last = first;
        while (last < to && out->at[last].offset < end) last++;
        out->of_range[r] = (struct model_set){first, range->offset < end ? last - first : 0};
    }
    return good;
}

void segments_free(struct segments *segments)
{
    free(segments->at);
    free(segments->of_range);
    free(segments->first_of_slot);
    *segments = (struct segments){0};
}
