#include "handle.h"

#include <stdint.h>
#include <stdlib.h>

struct entry {
    const void *handle;
    enum sc_handle_kind kind;
};

/* Open addressing with linear probing; at most half full. */
static struct entry *table;
static size_t capacity, count;

static size_t home(const void *handle)
{
    return (size_t)(((uint64_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
}

static size_t probe(const void *handle)
{
    size_t at = home(handle);
    while (table[at].handle && table[at].handle != handle) at = (at + 1) & (capacity - 1);
    return at;
}

static bool grow(void)
{
    struct entry *old = table;
    size_t old_capacity = capacity;
    size_t wanted = capacity ? 2 * capacity : 64;
    struct entry *fresh = calloc(wanted, sizeof *fresh);
    if (!fresh) return false;
    table = fresh;
    capacity = wanted;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].handle) table[probe(old[i].handle)] = old[i];
    free(old);
    return true;
}

bool sc_handle_add(const void *handle, enum sc_handle_kind kind)
{
    if (2 * (count + 1) > capacity && !grow()) return false;
    table[probe(handle)] = (struct entry){handle, kind};
    count++;
    return true;
}

void sc_handle_remove(const void *handle)
{
    if (!capacity || !handle) return;
    size_t hole = probe(handle);
    if (!table[hole].handle) return;
    count--;
    /* Moves later entries of the cluster back, so that no probe stops at the hole too early. */
    for (size_t at = (hole + 1) & (capacity - 1); table[at].handle; at = (at + 1) & (capacity - 1)) {
        size_t distance = (at - home(table[at].handle)) & (capacity - 1);
        if (distance < ((at - hole) & (capacity - 1))) continue;
        table[hole] = table[at];
        hole = at;
    }
    table[hole] = (struct entry){NULL, SC_HANDLE_NONE};
}

bool sc_handle_is(const void *handle, enum sc_handle_kind kind)
{
    if (!capacity || !handle) return false;
    const struct entry *entry = &table[probe(handle)];
    return entry->handle && entry->kind == kind;
}
