/* An open-addressing hash table from addresses to pointers. Not thread-safe. A zeroed structure is empty. */
#ifndef SOFTCUDA_CUDART_ADDRESS_MAP_H
#define SOFTCUDA_CUDART_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>

struct sc_address_map {
    struct sc_address_slot {
        const void *key; /* NULL: free */
        void *value;     /* NULL with a key: removed */
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;     /* slots that are not free, including removed ones; at most half the capacity */
};

void *sc_address_map_get(const struct sc_address_map *map, const void *key); /* NULL if there is none */

/* Adds or replaces an entry. false: no memory; the map is unchanged. pre: key and value are not NULL. */
bool sc_address_map_put(struct sc_address_map *map, const void *key, void *value);
void sc_address_map_remove(struct sc_address_map *map, const void *key);

#endif
