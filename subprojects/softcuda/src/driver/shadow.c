#include "shadow.h"

#include <stdlib.h>
#include <string.h>

#include "shadow_state.h"

#define PAGE_SHIFT 16
#define PAGE_BYTES (UINT64_C(1) << PAGE_SHIFT)

/* Extends to the begin of the next segment. */
struct segment {
    uint32_t begin; /* offset in the page */
    struct sc_state *state;
};

struct page {
    uint64_t number; /* address >> PAGE_SHIFT */
    uint32_t count, capacity;
    struct segment *segments; /* the first begins at 0; points to `whole` if it is the only one */
    struct segment whole;
};

static struct {
    struct page **pages; /* open addressing */
    uint32_t capacity, count;
    struct segment *scratch;
    uint32_t scratch_capacity;
} shadow;

static struct page **probe(struct page **pages, uint32_t capacity, uint64_t number)
{
    uint32_t at = (uint32_t)((number * 0x9e3779b97f4a7c15ull) >> 32) & (capacity - 1);
    while (pages[at] && pages[at]->number != number) at = (at + 1) & (capacity - 1);
    return &pages[at];
}

static bool grow(void)
{
    uint32_t capacity = shadow.capacity ? shadow.capacity * 2 : 256;
    struct page **pages = calloc(capacity, sizeof *pages);
    if (!pages) return false;
    for (uint32_t i = 0; i < shadow.capacity; i++)
        if (shadow.pages[i]) *probe(pages, capacity, shadow.pages[i]->number) = shadow.pages[i];
    free(shadow.pages);
    shadow.pages = pages;
    shadow.capacity = capacity;
    return true;
}

static struct page *find_page(uint64_t number)
{
    if (shadow.count * 2 >= shadow.capacity && !grow()) return NULL;
    struct page **place = probe(shadow.pages, shadow.capacity, number);
    if (*place) return *place;
    struct page *page = calloc(1, sizeof *page);
    if (!page) return NULL;
    page->number = number;
    page->count = page->capacity = 1;
    page->segments = &page->whole;
    *place = page;
    shadow.count++;
    return page;
}

static bool emit(uint32_t *count, uint32_t begin, struct sc_state *state)
{
    if (*count && shadow.scratch[*count - 1].state == state) return true;
    if (*count == shadow.scratch_capacity) {
        uint32_t capacity = shadow.scratch_capacity ? 2 * shadow.scratch_capacity : 64;
        struct segment *larger = realloc(shadow.scratch, capacity * sizeof *larger);
        if (!larger) return false;
        shadow.scratch = larger;
        shadow.scratch_capacity = capacity;
    }
    shadow.scratch[(*count)++] = (struct segment){begin, state};
    return true;
}

static bool reserve(struct page *page, uint32_t count)
{
    if (count <= page->capacity) return true;
    uint32_t capacity = count + count / 2;
    struct segment *larger = malloc(capacity * sizeof *larger);
    if (!larger) return false;
    if (page->segments != &page->whole) free(page->segments);
    page->segments = larger;
    page->capacity = capacity;
    return true;
}

/* Replaces the page's segments by those in the scratch array. */
static bool replace(struct page *page, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) sc_state_ref(shadow.scratch[i].state);
    for (uint32_t i = 0; i < page->count; i++) sc_state_unref(page->segments[i].state);
    page->count = 0;
    if (!reserve(page, count)) {
        for (uint32_t i = 0; i < count; i++) sc_state_unref(shadow.scratch[i].state);
        page->segments[0] = (struct segment){0, NULL};
        page->count = 1;
        return false;
    }
    memcpy(page->segments, shadow.scratch, count * sizeof *shadow.scratch);
    page->count = count;
    return true;
}

/* `step` NULL: the range was never used. */
static struct sc_state *next_state(struct sc_step *step, struct sc_state *state, uint64_t begin, uint64_t end,
                                   const struct sc_use_range *range)
{
    if (!step) return NULL;
    struct sc_use_range here = {begin, end, range->kind, range->content_read};
    return sc_step_take(step, state, &here);
}

/* Applies the parts of the ranges that lie in the page. */
static bool use_page(struct sc_step *step, struct page *page, const struct sc_use_range *ranges, size_t count)
{
    const uint64_t base = page->number << PAGE_SHIFT;
    uint32_t made = 0, at = 0, segment = 0;
    size_t next = 0;
    while (at < PAGE_BYTES) {
        uint32_t end = segment + 1 < page->count ? page->segments[segment + 1].begin : (uint32_t)PAGE_BYTES;
        uint32_t segment_end = end;
        struct sc_state *state = page->segments[segment].state;
        while (next < count && ranges[next].end <= base + at) next++;
        if (next < count && ranges[next].begin <= base + at) {
            if (ranges[next].end < base + end) end = (uint32_t)(ranges[next].end - base);
            state = next_state(step, state, base + at, base + end, &ranges[next]);
        } else if (next < count && ranges[next].begin < base + end) {
            end = (uint32_t)(ranges[next].begin - base);
        }
        if (!emit(&made, at, state)) return false;
        at = end;
        if (at == segment_end) segment++;
    }
    return replace(page, made);
}

/* Applies the ranges page by page. */
static bool use_ranges(struct sc_step *step, const struct sc_use_range *ranges, size_t count)
{
    bool ok = true;
    uint64_t done = 0; /* pages below are done */
    for (size_t first = 0; first < count && ok;) {
        uint64_t number = ranges[first].begin >> PAGE_SHIFT;
        if (number < done) number = done;
        uint64_t end = (number + 1) << PAGE_SHIFT;
        size_t last = first;
        while (last < count && ranges[last].begin < end) last++;
        struct page *page = find_page(number);
        ok = page && use_page(step, page, ranges + first, last - first);
        done = number + 1;
        while (first < count && ranges[first].end <= end) first++;
    }
    return ok;
}

bool sc_shadow_use(struct sc_actor *actor, const struct sc_clock *clock, const struct sc_use_range *ranges,
                   size_t count, void (*found)(void *context, const struct sc_finding *finding),
                   void *context)
{
    struct sc_step step;
    sc_step_begin(&step, actor, clock);
    bool ok = use_ranges(&step, ranges, count) && !step.failed;
    for (size_t i = 0; i < step.finding_count; i++) found(context, &step.findings[i]);
    sc_step_end(&step);
    return ok;
}

/* Calls visit(step, page, range) for the existing pages of the range, until one call returns false. */
static bool each_page(const struct sc_use_range *range, struct sc_step *step,
                      bool (*visit)(struct sc_step *, struct page *, const struct sc_use_range *))
{
    bool ok = true;
    if (range->begin >= range->end || !shadow.count) return true;
    uint64_t first = range->begin >> PAGE_SHIFT, last = (range->end - 1) >> PAGE_SHIFT;
    bool few = last - first < shadow.capacity;
    /* Looks for each page of the range, or goes through all existing pages if these are fewer. */
    for (uint64_t i = few ? first : 0; ok && i <= (few ? last : shadow.capacity - 1); i++) {
        struct page *page = few ? *probe(shadow.pages, shadow.capacity, i) : shadow.pages[i];
        if (page && page->number >= first && page->number <= last) ok = visit(step, page, range);
    }
    return ok;
}

static bool check_page(struct sc_step *step, struct page *page, const struct sc_use_range *range)
{
    const uint64_t base = page->number << PAGE_SHIFT;
    for (uint32_t i = 0; i < page->count; i++) {
        uint64_t end = base + (i + 1 < page->count ? page->segments[i + 1].begin : PAGE_BYTES);
        struct sc_use_range here = *range;
        if (here.begin < base + page->segments[i].begin) here.begin = base + page->segments[i].begin;
        if (here.end > end) here.end = end;
        if (here.begin < here.end) sc_step_check(step, page->segments[i].state, &here);
    }
    return true;
}

void sc_shadow_check(struct sc_actor *actor, const struct sc_clock *clock, const struct sc_use_range *range,
                     void (*found)(void *context, const struct sc_finding *finding), void *context)
{
    struct sc_step step;
    sc_step_begin(&step, actor, clock);
    each_page(range, &step, check_page);
    for (size_t i = 0; i < step.finding_count; i++) found(context, &step.findings[i]);
    sc_step_end(&step);
}

static bool forget_here(struct sc_step *none, struct page *page, const struct sc_use_range *range)
{
    return use_page(none, page, range, 1);
}

bool sc_shadow_forget(uint64_t begin, uint64_t end)
{
    return each_page(&(struct sc_use_range){.begin = begin, .end = end}, NULL, forget_here);
}
