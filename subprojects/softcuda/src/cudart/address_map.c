#include "address_map.h"

#include <stdint.h>
#include <stdlib.h>

/* Fibonacci hashing, because code addresses have equal low bits. */
static size_t home(const void *key, size_t capacity)
{
    return (size_t)(((uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u) >> 32) & (capacity - 1);
}

static struct sc_address_slot *find(const struct sc_address_map *map, const void *key)
{
    size_t i = home(key, map->capacity);
    while (map->slots[i].key && map->slots[i].key != key) i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

void *sc_address_map_get(const struct sc_address_map *map, const void *key)
{
    return map->capacity ? find(map, key)->value : NULL;
}

/* Rebuilds the table without removed entries, and doubles it if that does not free enough room. */
static bool rebuild(struct sc_address_map *map)
{
    size_t live = 0;
    for (size_t i = 0; i < map->capacity; i++) live += map->slots[i].value != NULL;
    struct sc_address_map fresh = {.capacity = map->capacity ? map->capacity : 64};
    if (4 * live > map->capacity) fresh.capacity *= 2;
    fresh.slots = calloc(fresh.capacity, sizeof *fresh.slots);
    if (!fresh.slots) return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value) {
            *find(&fresh, map->slots[i].key) = map->slots[i];
            fresh.used++;
        }
    free(map->slots);
    *map = fresh;
    return true;
}

bool sc_address_map_put(struct sc_address_map *map, const void *key, void *value)
{
    if (2 * (map->used + 1) > map->capacity && !rebuild(map)) return false;
    struct sc_address_slot *slot = find(map, key);
    if (!slot->key) map->used++;
    *slot = (struct sc_address_slot){key, value};
    return true;
}

void sc_address_map_remove(struct sc_address_map *map, const void *key)
{
    if (map->capacity) find(map, key)->value = NULL;
}
