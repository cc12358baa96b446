#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static size_t probe(const struct sl_map *map, uint64_t key)
{
    size_t mask = map->capacity - 1, i = sl_mix(key) & mask;
    while (map->keys[i] && map->keys[i] != key) i = (i + 1) & mask;
    return i;
}

static bool grow(struct sl_map *map)
{
    struct sl_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64, .count = map->count};
    larger.keys = calloc(larger.capacity, sizeof *larger.keys);
    larger.values = malloc(larger.capacity * sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        sl_map_free(&larger);
        return false;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->keys[i]) continue;
        size_t at = probe(&larger, map->keys[i]);
        larger.keys[at] = map->keys[i];
        larger.values[at] = map->values[i];
    }
    sl_map_free(map);
    *map = larger;
    return true;
}

void sl_map_free(struct sl_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct sl_map){0};
}

uint32_t sl_map_get(const struct sl_map *map, uint64_t key)
{
    if (!map->capacity) return SL_NONE;
    size_t at = probe(map, key);
    return map->keys[at] ? map->values[at] : SL_NONE;
}

bool sl_map_put(struct sl_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->capacity && !grow(map)) return false;
    size_t at = probe(map, key);
    if (!map->keys[at]) map->count++;
    map->keys[at] = key;
    map->values[at] = value;
    return true;
}

void sl_map_remove(struct sl_map *map, uint64_t key)
{
    if (!map->capacity) return;
    size_t mask = map->capacity - 1, hole = probe(map, key);
    if (!map->keys[hole]) return;
    map->keys[hole] = 0;
    map->count--;
    /* Moves entries that probed past the hole back into it, so that look-ups need no tombstones. */
    for (size_t i = (hole + 1) & mask; map->keys[i]; i = (i + 1) & mask) {
        size_t home = sl_mix(map->keys[i]) & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        map->keys[hole] = map->keys[i];
        map->values[hole] = map->values[i];
        map->keys[i] = 0;
        hole = i;
    }
}

/* --- ranges */

void sl_ranges_free(struct sl_ranges *ranges)
{
    free(ranges->ranges);
    *ranges = (struct sl_ranges){0};
}

/* The index of the first range that ends after `address`. */
static uint32_t ending_behind(const struct sl_ranges *ranges, uint64_t address)
{
    uint32_t low = 0, high = ranges->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (ranges->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t sl_ranges_overlap(const struct sl_ranges *ranges, uint64_t begin, uint64_t end)
{
    uint32_t at = ending_behind(ranges, begin);
    return at < ranges->count && ranges->ranges[at].begin < end ? ranges->ranges[at].number : SL_NONE;
}

uint32_t sl_ranges_find(const struct sl_ranges *ranges, uint64_t address)
{
    return sl_ranges_overlap(ranges, address, address + 1);
}

bool sl_ranges_put(struct sl_ranges *ranges, uint64_t begin, uint64_t end, uint32_t number)
{
    if (!sl_grow(&ranges->ranges, &ranges->capacity, ranges->count, sizeof *ranges->ranges)) return false;
    uint32_t at = ending_behind(ranges, begin);
    memmove(&ranges->ranges[at + 1], &ranges->ranges[at], (ranges->count - at) * sizeof *ranges->ranges);
    ranges->ranges[at] = (struct sl_range){begin, end, number};
    ranges->count++;
    return true;
}

void sl_ranges_remove(struct sl_ranges *ranges, uint64_t begin)
{
    uint32_t at = ending_behind(ranges, begin);
    if (at == ranges->count || ranges->ranges[at].begin != begin) return;
    ranges->count--;
    memmove(&ranges->ranges[at], &ranges->ranges[at + 1], (ranges->count - at) * sizeof *ranges->ranges);
}
