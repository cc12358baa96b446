/* A hash table from addresses to pointers, with open addressing. Not thread-safe. Zero-initialised is empty.
 */
#ifndef SOFTCUDA_CUDART_ADDRESS_MAP_H
#define SOFTCUDA_CUDART_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct sc_address_map {
    struct sc_address_slot {
        const void *key; /* NULL: free */
        void *value;     /* NULL beside a key: removed */
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;     /* slots that are not free, removed ones included; at most half the capacity */
};

void *sc_address_map_get(const struct sc_address_map *map, const void *key); /* NULL if there is none */

/* Adds or replaces. False when there is no memory; the map is then as before. pre: key and value are not
 * NULL. */
bool sc_address_map_put(struct sc_address_map *map, const void *key, void *value);
void sc_address_map_remove(struct sc_address_map *map, const void *key);

#endif
