/* A hash map from a 64-bit key to a 32-bit value: open addressing, linear probing, power-of-two capacity.
 * Keys are stored unchanged; any key but 0 is allowed. Not thread-safe. */
#ifndef SLUICE_MAP_H
#define SLUICE_MAP_H

#include "base/types.h"

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

#endif
