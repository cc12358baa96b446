#include "memory/chunk_bitmap.h"

#include <stdlib.h>

#include "base/check.h"

#define NONE UINT32_MAX

static size_t words_of(uint32_t granules, int level)
{
    return ((size_t)granules >> 6 * (level + 1)) + 1;
}

struct sl_chunk_bitmap *sl_chunk_bitmap_new(uint32_t granules)
{
    size_t words = 0;
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++) words += words_of(granules, level);
    struct sl_chunk_bitmap *bitmap = malloc(sizeof *bitmap);
    uint64_t *bits = calloc(words, sizeof *bits);
    struct sl_stretch *stretches = malloc(granules * sizeof *stretches);
    if (!bitmap || !bits || !stretches) {
        free(bitmap);
        free(bits);
        free(stretches);
        return NULL;
    }
    *bitmap = (struct sl_chunk_bitmap){.granules = granules, .stretches = stretches};
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++) {
        bitmap->starts[level] = bits;
        bits += words_of(granules, level);
    }
    return bitmap;
}

void sl_chunk_bitmap_delete(struct sl_chunk_bitmap *bitmap)
{
    if (!bitmap) return;
    free(bitmap->starts[0]);
    free(bitmap->stretches);
    free(bitmap);
}

/* The last start at or before `granule`, or NONE. */
static uint32_t start_before(const struct sl_chunk_bitmap *bitmap, uint32_t granule)
{
    uint64_t at = granule, mask = UINT64_MAX >> (63 - (at & 63));
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++) {
        uint64_t bits = bitmap->starts[level][at >> 6] & mask;
        if (bits) {
            at = (at & ~UINT64_C(63)) | (63 - (unsigned)__builtin_clzll(bits));
            while (level-- > 0) at = at << 6 | (63 - (unsigned)__builtin_clzll(bitmap->starts[level][at]));
            return (uint32_t)at;
        }
        at >>= 6;
        mask = (UINT64_C(1) << (at & 63)) - 1;
    }
    return NONE;
}

/* The first start at or after `granule`, or NONE. */
static uint32_t start_after(const struct sl_chunk_bitmap *bitmap, uint32_t granule)
{
    uint64_t at = granule, mask = UINT64_MAX << (at & 63);
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++) {
        uint64_t bits = bitmap->starts[level][at >> 6] & mask;
        if (bits) {
            at = (at & ~UINT64_C(63)) | (unsigned)__builtin_ctzll(bits);
            while (level-- > 0) at = at << 6 | (unsigned)__builtin_ctzll(bitmap->starts[level][at]);
            return (uint32_t)at;
        }
        at >>= 6;
        mask = UINT64_MAX << (at & 63) << 1; /* in two steps: a shift by 64 is undefined */
    }
    return NONE;
}

static uint32_t end_of(const struct sl_chunk_bitmap *bitmap, uint32_t first)
{
    return first + bitmap->stretches[first].granules;
}

uint32_t sl_chunk_bitmap_find(const struct sl_chunk_bitmap *bitmap, uint32_t granule, uint32_t *first)
{
    uint32_t start = start_before(bitmap, granule);
    if (start == NONE || granule >= end_of(bitmap, start)) return SL_NONE;
    *first = start;
    return bitmap->stretches[start].slot;
}

bool sl_chunk_bitmap_is_free(const struct sl_chunk_bitmap *bitmap, uint32_t first, uint32_t count)
{
    uint32_t end = first + count;
    if (end > bitmap->granules) return false;
    uint32_t last_start = start_before(bitmap, end - 1);
    return last_start == NONE || end_of(bitmap, last_start) <= first;
}

uint32_t sl_chunk_bitmap_last(const struct sl_chunk_bitmap *bitmap)
{
    uint32_t start = start_before(bitmap, bitmap->granules - 1);
    return start == NONE ? 0 : end_of(bitmap, start);
}

void sl_chunk_bitmap_use(struct sl_chunk_bitmap *bitmap, uint32_t end)
{
    uint32_t last = end ? sl_chunk_bitmap_last(bitmap) : 0;
    uint32_t behind = end > last ? end - last : 0;
    bitmap->end = end;
    if (!end) bitmap->longest = 0;
    if (behind > bitmap->longest) bitmap->longest = behind;
}

bool sl_chunk_bitmap_gap(struct sl_chunk_bitmap *bitmap, uint32_t count, uint32_t *first)
{
    if (count > bitmap->longest) return false;
    uint32_t end = bitmap->end, longest = 0;
    for (uint32_t start = start_before(bitmap, end - 1);; start = start_before(bitmap, start - 1)) {
        uint32_t begin = start == NONE ? 0 : end_of(bitmap, start);
        if (end - begin >= count) {
            *first = begin;
            return true;
        }
        if (end - begin > longest) longest = end - begin;
        if (start == NONE || start == 0) break;
        end = start;
    }
    bitmap->longest = longest;
    return false;
}

void sl_chunk_bitmap_take(struct sl_chunk_bitmap *bitmap, uint32_t first, uint32_t count, uint32_t slot)
{
    SL_CHECK(sl_chunk_bitmap_is_free(bitmap, first, count));
    bitmap->stretches[first] = (struct sl_stretch){count, slot};
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++, first >>= 6)
        bitmap->starts[level][first >> 6] |= UINT64_C(1) << (first & 63);
    bitmap->count++;
}

void sl_chunk_bitmap_leave(struct sl_chunk_bitmap *bitmap, uint32_t first)
{
    uint32_t at = first;
    if (!SL_CHECK(first < bitmap->granules && bitmap->starts[0][first >> 6] >> (first & 63) & 1)) return;
    for (int level = 0; level < SL_CHUNK_BITMAP_LEVELS; level++, at >>= 6)
        if (bitmap->starts[level][at >> 6] &= ~(UINT64_C(1) << (at & 63))) break;
    bitmap->count--;
    uint32_t before = first ? start_before(bitmap, first - 1) : NONE, after = start_after(bitmap, first);
    uint32_t begin = before == NONE ? 0 : end_of(bitmap, before), end = after == NONE ? bitmap->end : after;
    if (end - begin > bitmap->longest) bitmap->longest = end - begin;
}
