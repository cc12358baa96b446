#include "address_map.h"

#include <stdint.h>
#include <stdlib.h>

/* Fibonacci hashing: code addresses share their low bits. */
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

static bool grow(struct sc_address_map *map)
{
    struct sc_address_map larger = {.capacity = map->capacity ? 2 * map->capacity : 64};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value) {
            *find(&larger, map->slots[i].key) = map->slots[i];
            larger.used++;
        }
    free(map->slots);
    *map = larger;
    return true;
}

bool sc_address_map_put(struct sc_address_map *map, const void *key, void *value)
{
    if (2 * (map->used + 1) > map->capacity && !grow(map)) return false;
    struct sc_address_slot *slot = find(map, key);
    if (!slot->key) map->used++;
    *slot = (struct sc_address_slot){key, value};
    return true;
}

void sc_address_map_remove(struct sc_address_map *map, const void *key)
{
    if (map->capacity) find(map, key)->value = NULL;
}
