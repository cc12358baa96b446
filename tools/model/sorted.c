/* A natural merge sort: finds the ascending runs, then merges neighbours until one run is left. A merge skips
 * elements that are already in place at its two ends, so its cost depends on the disorder, not on the size.
 */
#include "tools/model/sorted.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
    unsigned char *at;
    size_t size, key_offset;
    unsigned char *spare;
    size_t spare_room; /* elements */
};

static uint64_t key_at(const struct sorting *s, const unsigned char *element)
{
    uint64_t key;
    memcpy(&key, element + s->key_offset, sizeof(key));
    return key;
}

static uint64_t key_of(const struct sorting *s, size_t i)
{
    return key_at(s, s->at + i * s->size);
}

/* The first of the sorted elements [from, to) whose key is above `key`, or at least `key`. */
static size_t bound(const struct sorting *s, size_t from, size_t to, uint64_t key, bool above)
{
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        uint64_t there = key_of(s, middle);
        if (above ? there <= key : there < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Merges the sorted [from, middle) and [middle, to). */
static bool merge(struct sorting *s, size_t from, size_t middle, size_t to)
{
    from = bound(s, from, middle, key_of(s, middle), true);
    if (from == middle) return true;
    to = bound(s, middle, to, key_of(s, middle - 1), false);
    size_t first = middle - from, size = s->size;
    if (first > s->spare_room) {
        unsigned char *larger = realloc(s->spare, first * size);
        if (!larger) return false;
        s->spare = larger;
        s->spare_room = first;
    }
    memcpy(s->spare, s->at + from * size, first * size);
    unsigned char *out = s->at + from * size, *b = s->at + middle * size, *b_end = s->at + to * size;
    const unsigned char *a = s->spare, *a_end = s->spare + first * size;
    while (a < a_end) {
        bool second = b < b_end && key_at(s, b) < key_at(s, a);
        memcpy(out, second ? b : a, size);
        out += size;
        if (second)
            b += size;
        else
            a += size;
    }
    return true;
}

/* The starts of the ascending runs, followed by `count`. NULL: out of memory. */
static size_t *find_runs(const struct sorting *s, size_t count, size_t *runs)
{
    size_t *starts = NULL, room = 0;
    *runs = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i && i < count && key_of(s, i - 1) <= key_of(s, i)) continue;
        if (*runs == room) {
            room = room ? 2 * room : 64;
            size_t *larger = realloc(starts, room * sizeof(*starts));
            if (!larger) {
                free(starts);
                return NULL;
            }
            starts = larger;
        }
        starts[(*runs)++] = i;
    }
    (*runs)--;
    return starts;
}

bool sort_by_key(void *elements, size_t count, size_t size, size_t key_offset)
{
    struct sorting s = {.at = elements, .size = size, .key_offset = key_offset};
    size_t runs;
    if (count < 2) return true;
    size_t *starts = find_runs(&s, count, &runs);
    bool good = starts != NULL;
    while (good && runs > 1) {
        size_t left = 0;
        for (size_t i = 0; i < runs && good; i += 2) {
            if (i + 1 < runs) good = merge(&s, starts[i], starts[i + 1], starts[i + 2]);
            starts[left++] = starts[i];
        }
        starts[left] = count;
        runs = left;
    }
    free(starts);
    free(s.spare);
    return good;
}
