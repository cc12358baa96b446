/* Tables from a 64-bit key, or from an address, to a 32-bit value. Not thread-safe. */
#ifndef SLUICE_MAP_H
#define SLUICE_MAP_H

#include "base/types.h"

/* A hash map: open addressing, linear probing, power-of-two capacity. Keys are stored unchanged; any key but
 * 0 is allowed. */
struct sl_map {
    uint64_t *keys; /* 0: free */
    uint32_t *values;
    size_t capacity, count;
};

void sl_map_free(struct sl_map *map); /* accepts a zeroed map */

/* The value of `key`, or SL_NONE. */
uint32_t sl_map_get(const struct sl_map *map, uint64_t key);

/* Sets `key` to `value`. False: out of memory; the map is unchanged. */
bool sl_map_put(struct sl_map *map, uint64_t key, uint32_t value);

/* Removes `key` if it is there. */
void sl_map_remove(struct sl_map *map, uint64_t key);

/* Disjoint address ranges, each with a number. */
struct sl_ranges {
    struct sl_range {
        uint64_t begin, end;
        uint32_t number;
    } * ranges; /* sorted */
    uint32_t count, capacity;
};

void sl_ranges_free(struct sl_ranges *ranges); /* accepts a zeroed one */

/* The number of the range that holds `address`, or SL_NONE. */
uint32_t sl_ranges_find(const struct sl_ranges *ranges, uint64_t address);
/* The number of the first range that overlaps [begin, end), or SL_NONE. */
uint32_t sl_ranges_overlap(const struct sl_ranges *ranges, uint64_t begin, uint64_t end);

/* False: out of memory. Precondition: no range overlaps it, and begin < end. */
bool sl_ranges_put(struct sl_ranges *ranges, uint64_t begin, uint64_t end, uint32_t number);
/* Removes the range that begins at `begin`, if there is one. */
void sl_ranges_remove(struct sl_ranges *ranges, uint64_t begin);

/* A bijective mix of 64 bits (the finaliser of splitmix64), and a function to chain it over several words,
 * which is sensitive to the order of small words. */
static inline uint64_t sl_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static inline uint64_t sl_hash_word(uint64_t hash, uint64_t word)
{
    return sl_mix((hash + 1) * 0x9e3779b97f4a7c15u + word);
}
static inline uint64_t sl_hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = sl_hash_word(hash, (unsigned char)*text);
    return hash;
}

#endif
