#include "accesses.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT 16
#define PAGE_BYTES (UINT64_C(1) << PAGE_SHIFT)
#define WORDS (PAGE_BYTES / 64)

/* The accesses to one page; a bit for each byte. */
struct sc_access_page {
    uint64_t number;                                     /* address >> PAGE_SHIFT */
    uint32_t low, high;                                  /* words outside [low, high) are zero */
    uint64_t read[WORDS], written[WORDS], atomic[WORDS]; /* `read`: read before this owner wrote it */
    uint64_t *polled;                                    /* the same for SC_ACCESS_POLL; NULL: none */
};

static struct sc_access_page **probe(struct sc_access_page **pages, uint32_t capacity, uint64_t number)
{
    uint32_t at = (uint32_t)((number * 0x9e3779b97f4a7c15ull) >> 32) & (capacity - 1);
    while (pages[at] && pages[at]->number != number) at = (at + 1) & (capacity - 1);
    return &pages[at];
}

static bool grow(struct sc_accesses *accesses)
{
    uint32_t capacity = accesses->capacity ? accesses->capacity * 2 : 64;
    struct sc_access_page **pages = calloc(capacity, sizeof *pages);
    if (!pages) return false;
    for (uint32_t i = 0; i < accesses->capacity; i++)
        if (accesses->pages[i]) *probe(pages, capacity, accesses->pages[i]->number) = accesses->pages[i];
    free(accesses->pages);
    accesses->pages = pages;
    accesses->capacity = capacity;
    return true;
}

static struct sc_access_page *find_page(struct sc_accesses *accesses, uint64_t number)
{
    if (accesses->last && accesses->last->number == number) return accesses->last;
    bool room = accesses->count * 2 < accesses->capacity || grow(accesses);
    struct sc_access_page **place = room ? probe(accesses->pages, accesses->capacity, number) : NULL;
    if (place && !*place) {
        *place = calloc(1, sizeof **place);
        if (*place) {
            (*place)->number = number;
            (*place)->low = WORDS;
            accesses->count++;
        }
    }
    if (!place || !*place) {
        accesses->failed = true;
        return NULL;
    }
    accesses->last = *place;
    return *place;
}

static bool need_polled(struct sc_accesses *accesses, struct sc_access_page *page)
{
    if (!page->polled) page->polled = calloc(WORDS, sizeof *page->polled);
    if (!page->polled) accesses->failed = true;
    return page->polled;
}

static inline void add_bits(struct sc_access_page *page, uint32_t word, uint64_t bits,
                            enum sc_access_kind kind)
{
    if (kind == SC_ACCESS_READ || kind == SC_ACCESS_UPDATE)
        page->read[word] |= bits & ~(page->written[word] | page->atomic[word]);
    if (kind == SC_ACCESS_POLL) page->polled[word] |= bits & ~(page->written[word] | page->atomic[word]);
    if (kind == SC_ACCESS_WRITE) page->written[word] |= bits;
    if (kind == SC_ACCESS_UPDATE || kind == SC_ACCESS_PUBLISH) page->atomic[word] |= bits;
}

/* Records an access to bytes [from, to) of one page. */
static void add_here(struct sc_access_page *page, uint32_t from, uint32_t to, enum sc_access_kind kind)
{
    uint32_t first = from / 64, last = (to - 1) / 64;
    uint64_t head = UINT64_MAX << (from % 64), tail = UINT64_MAX >> (63 - (to - 1) % 64);
    if (first < page->low) page->low = first;
    if (last >= page->high) page->high = last + 1;
    if (first == last) {
        add_bits(page, first, head & tail, kind);
        return;
    }
    add_bits(page, first, head, kind);
    for (uint32_t word = first + 1; word < last; word++) add_bits(page, word, UINT64_MAX, kind);
    add_bits(page, last, tail, kind);
}

void sc_accesses_add(struct sc_accesses *accesses, uint64_t address, uint64_t bytes, enum sc_access_kind kind)
{
    while (bytes) {
        struct sc_access_page *page = find_page(accesses, address >> PAGE_SHIFT);
        if (!page) return;
        if (kind == SC_ACCESS_POLL && !need_polled(accesses, page)) return;
        uint64_t from = address & (PAGE_BYTES - 1),
                 here = PAGE_BYTES - from < bytes ? PAGE_BYTES - from : bytes;
        add_here(page, (uint32_t)from, (uint32_t)(from + here), kind);
        address += here;
        bytes -= here;
    }
}

/* The two parts are not ordered: bytes that one part wrote without reading them first may have been written
 * before the other part read them, so they do not count as content read. */
static void merge_word(struct sc_access_page *into, const struct sc_access_page *from, uint32_t word)
{
    uint64_t left_polled = into->polled ? into->polled[word] : 0, left_read = into->read[word];
    uint64_t right_polled = from->polled ? from->polled[word] : 0, right_read = from->read[word];
    uint64_t left = (into->written[word] | into->atomic[word]) & ~(left_read | left_polled);
    uint64_t right = (from->written[word] | from->atomic[word]) & ~(right_read | right_polled);
    into->read[word] = (left_read & ~right) | (right_read & ~left);
    if (into->polled) into->polled[word] = (left_polled & ~right) | (right_polled & ~left);
    into->written[word] |= from->written[word];
    into->atomic[word] |= from->atomic[word];
}

void sc_accesses_merge(struct sc_accesses *into, const struct sc_accesses *from)
{
    into->failed |= from->failed;
    for (uint32_t i = 0; i < from->capacity; i++) {
        const struct sc_access_page *source = from->pages[i];
        struct sc_access_page *page = source ? find_page(into, source->number) : NULL;
        if (!page || (source->polled && !need_polled(into, page))) continue;
        if (source->low < page->low) page->low = source->low;
        if (source->high > page->high) page->high = source->high;
        for (uint32_t word = source->low; word < source->high; word++) merge_word(page, source, word);
    }
}

static int by_address(const void *a, const void *b)
{
    const struct sc_access_page *x = *(struct sc_access_page *const *)a,
                                *y = *(struct sc_access_page *const *)b;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct ranges {
    struct sc_accessed *at;
    size_t count, capacity;
};

static bool add_range(struct ranges *ranges, const struct sc_accessed *range)
{
    struct sc_accessed *last = ranges->count ? &ranges->at[ranges->count - 1] : NULL;
    if (last && last->end == range->begin && last->kind == range->kind &&
        last->content_read == range->content_read) {
        last->end = range->end;
        return true;
    }
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 16;
        struct sc_accessed *larger = realloc(ranges->at, capacity * sizeof *larger);
        if (!larger) return false;
        ranges->at = larger;
        ranges->capacity = capacity;
    }
    ranges->at[ranges->count++] = *range;
    return true;
}

/* 64 bytes from `address` on, one bit for each byte. */
struct word {
    uint64_t read, polled, written, atomic;
};

static enum sc_access_kind kind_of(const struct word *word, uint32_t bit)
{
    if (word->written >> bit & 1) return SC_ACCESS_WRITE;
    if (word->atomic >> bit & 1) return SC_ACCESS_UPDATE;
    return word->read >> bit & 1 ? SC_ACCESS_READ : SC_ACCESS_POLL;
}

/* The bits of the word that differ from bit `bit`. */
static uint64_t unlike(uint64_t word, uint32_t bit)
{
    return word ^ -(word >> bit & 1);
}

static bool add_word(struct ranges *ranges, uint64_t address, const struct word *word)
{
    uint64_t content = word->read | word->polled, any = content | word->written | word->atomic;
    for (uint32_t bit = 0; bit < 64;) {
        uint64_t other = (unlike(word->read, bit) | unlike(word->polled, bit) | unlike(word->written, bit) |
                          unlike(word->atomic, bit)) >>
                         bit;
        uint32_t length = other ? (uint32_t)__builtin_ctzll(other) : 64 - bit;
        struct sc_accessed range = {address + bit, address + bit + length, kind_of(word, bit),
                                    content >> bit & 1};
        if ((any >> bit & 1) && !add_range(ranges, &range)) return false;
        bit += length;
    }
    return true;
}

static bool add_page(struct ranges *ranges, const struct sc_access_page *page)
{
    uint64_t address = page->number << PAGE_SHIFT;
    for (uint32_t at = page->low; at < page->high; at++) {
        struct word word = {page->read[at], page->polled ? page->polled[at] : 0, page->written[at],
                            page->atomic[at]};
        if (!(word.read | word.polled | word.written | word.atomic)) continue;
        if (!add_word(ranges, address + at * 64, &word)) return false;
    }
    return true;
}

bool sc_accesses_ranges(const struct sc_accesses *accesses, struct sc_accessed **out, size_t *count)
{
    struct ranges ranges = {0};
    struct sc_access_page **sorted = accesses->count ? malloc(accesses->count * sizeof *sorted) : NULL;
    bool ok = !accesses->failed && (sorted || !accesses->count);
    uint32_t pages = 0;
    for (uint32_t i = 0; ok && i < accesses->capacity; i++)
        if (accesses->pages[i]) sorted[pages++] = accesses->pages[i];
    if (pages) qsort(sorted, pages, sizeof *sorted, by_address);
    for (uint32_t i = 0; ok && i < pages; i++) ok = add_page(&ranges, sorted[i]);
    free(sorted);
    if (!ok) {
        free(ranges.at);
        ranges = (struct ranges){0};
    }
    *out = ranges.at;
    *count = ranges.count;
    return ok;
}

void sc_accesses_free(struct sc_accesses *accesses)
{
    for (uint32_t i = 0; i < accesses->capacity; i++) {
        if (accesses->pages[i]) free(accesses->pages[i]->polled);
        free(accesses->pages[i]);
    }
    free(accesses->pages);
    memset(accesses, 0, sizeof *accesses);
}
