#include "device/kernel_handles.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/map.h"

/* Owners have numbers because the values of a map are small: `numbers` maps an owner's handle to its number,
 * and a handle's value holds its owner's number and its kind. Number 0 means no owner. */
static struct {
    pthread_mutex_t lock;
    struct sl_map handles; /* to owner number << 1 | whether it is a CUfunction */
    struct sl_map numbers; /* of owners */
    uint64_t *owners;      /* by number */
    uint32_t owner_count, owner_capacity;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .owner_count = 1};

#define OWNERS_MOST (UINT32_MAX >> 2)

/* If out of memory, returns 0: handles without an owner are forgotten earlier, and fewer of their launches
 * are understood. */
static uint32_t number_of(uint64_t owner)
{
    uint32_t number = owner ? sl_map_get(&table.numbers, owner) : 0;
    if (number != SL_NONE) return number;
    if (table.owner_count == OWNERS_MOST ||
        !sl_grow(&table.owners, &table.owner_capacity, table.owner_count, sizeof *table.owners) ||
        !sl_map_put(&table.numbers, owner, table.owner_count))
        return 0;
    table.owners[table.owner_count] = owner;
    return table.owner_count++;
}

/* Precondition: the lock is held. */
static void put(uint64_t handle, enum sl_handle_kind kind, uint64_t owner)
{
    uint32_t value = number_of(owner) << 1 | (kind == SL_HANDLE_FUNCTION);
    if (!sl_map_put(&table.handles, handle, value)) sl_map_remove(&table.handles, handle);
}

void sl_handle_note(uint64_t handle, enum sl_handle_kind kind, uint64_t owner)
{
    if (!handle) return;
    pthread_mutex_lock(&table.lock);
    put(handle, kind, owner);
    pthread_mutex_unlock(&table.lock);
}

void sl_handle_note_unless_known(uint64_t handle, enum sl_handle_kind kind)
{
    if (!handle) return;
    pthread_mutex_lock(&table.lock);
    if (sl_map_get(&table.handles, handle) == SL_NONE) put(handle, kind, 0);
    pthread_mutex_unlock(&table.lock);
}

static uint32_t value_of(uint64_t handle)
{
    pthread_mutex_lock(&table.lock);
    uint32_t value = handle ? sl_map_get(&table.handles, handle) : SL_NONE;
    pthread_mutex_unlock(&table.lock);
    return value;
}

enum sl_handle_kind sl_handle_kind(uint64_t handle)
{
    uint32_t value = value_of(handle);
    if (value == SL_NONE) return SL_HANDLE_UNKNOWN;
    return value & 1 ? SL_HANDLE_FUNCTION : SL_HANDLE_KERNEL;
}

uint64_t sl_handle_owner(uint64_t handle)
{
    uint64_t owner = 0;
    pthread_mutex_lock(&table.lock);
    uint32_t value = handle ? sl_map_get(&table.handles, handle) : SL_NONE;
    if (value != SL_NONE && value >> 1) owner = table.owners[value >> 1];
    pthread_mutex_unlock(&table.lock);
    return owner;
}

void sl_handles_forget(uint64_t owner)
{
    pthread_mutex_lock(&table.lock);
    uint32_t number = owner ? sl_map_get(&table.numbers, owner) : SL_NONE;
    struct sl_map *handles = &table.handles;
    for (size_t i = 0; i < handles->capacity; i++) /* A removal may move another handle to this index. */
        while (handles->keys[i] && (handles->values[i] >> 1 == number || !(handles->values[i] >> 1)))
            sl_map_remove(handles, handles->keys[i]);
    if (number != SL_NONE) sl_map_remove(&table.numbers, owner);
    pthread_mutex_unlock(&table.lock);
}

void sl_handles_after_fork(void)
{
    pthread_mutex_init(&table.lock, NULL);
    table.handles = table.numbers = (struct sl_map){0}; /* may be half changed: not freed */
    table.owners = NULL;
    table.owner_count = 1;
    table.owner_capacity = 0;
}
