#include "charge.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/runtime.h"
#include "driver.h"

/* Open addressing with linear probing; at most three quarters full. bytes == 0 marks a free slot. */
struct entry {
    uint64_t handle, bytes;
    enum sl_charge_kind kind;
    uint32_t times;    /* charges minus returns: of SL_CHARGE_IPC */
    uint32_t core;     /* core whose budget is charged */
    CUcontext context; /* with which the memory ends; NULL: with none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static size_t capacity, count; /* capacity: 0 or a power of two */

static CUcontext context_of(enum sl_charge_kind kind)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUcontext current = NULL;
    bool lasts = kind == SL_CHARGE_PHYSICAL || kind == SL_CHARGE_POOL || kind == SL_CHARGE_GRAPHS;
    return !lasts && driver && driver->ctx_get_current(&current) == CUDA_SUCCESS ? current : NULL;
}

static size_t home_slot(enum sl_charge_kind kind, uint64_t handle)
{
    return (size_t)(((handle ^ ((uint64_t)kind << 60)) * UINT64_C(0x9E3779B97F4A7C15)) >> 20) &
           (capacity - 1);
}

/* The slot of the handle, or the free slot for it. Precondition: capacity > count. */
static size_t find_slot(enum sl_charge_kind kind, uint64_t handle)
{
    size_t slot = home_slot(kind, handle);
    while (entries[slot].bytes && (entries[slot].handle != handle || entries[slot].kind != kind))
        slot = (slot + 1) & (capacity - 1);
    return slot;
}

static bool grow(void)
{
    size_t old_capacity = capacity, wanted = capacity ? capacity * 2 : 256;
    struct entry *old = entries, *grown = calloc(wanted, sizeof(*grown));
    if (!grown) return false;
    entries = grown;
    capacity = wanted;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].bytes) entries[find_slot(old[i].kind, old[i].handle)] = old[i];
    free(old);
    return true;
}

/* Knuth 6.4, algorithm R: entries after the gap move up unless their home slot lies between. */
static void remove_slot(size_t gap)
{
    size_t slot = gap;
    for (;;) {
        entries[gap].bytes = 0;
        size_t home;
        do {
            slot = (slot + 1) & (capacity - 1);
            if (!entries[slot].bytes) return;
            home = home_slot(entries[slot].kind, entries[slot].handle);
        } while (gap <= slot ? gap < home && home <= slot : gap < home || home <= slot);
        entries[gap] = entries[slot];
        gap = slot;
    }
}

void sl_charge(enum sl_charge_kind kind, uint64_t handle, uint64_t bytes)
{
    int64_t charged = 0;
    uint32_t core = sl_thread_core;
    if (!bytes || bytes > INT64_MAX) return;
    CUcontext context = context_of(kind);
    pthread_mutex_lock(&lock);
    if ((count + 1) * 4 <= capacity * 3 || grow()) {
        struct entry *entry = &entries[find_slot(kind, handle)];
        charged = (int64_t)bytes - (int64_t)entry->bytes;
        if (entry->bytes) core = entry->core;
        count += !entry->bytes;
        uint32_t times = kind == SL_CHARGE_IPC && entry->bytes ? entry->times + 1 : 1;
        *entry = (struct entry){handle, bytes, kind, times, core, context};
    }
    pthread_mutex_unlock(&lock);
    if (charged) sl_runtime_charge_to(core, charged);
}

uint64_t sl_uncharge(enum sl_charge_kind kind, uint64_t handle)
{
    uint64_t charged = 0;
    uint32_t core = 0;
    bool last = true;
    pthread_mutex_lock(&lock);
    if (count) {
        size_t slot = find_slot(kind, handle);
        charged = entries[slot].bytes;
        core = entries[slot].core;
        last = charged && --entries[slot].times == 0;
        if (last) {
            remove_slot(slot);
            count--;
        }
    }
    pthread_mutex_unlock(&lock);
    if (charged && last) sl_runtime_charge_to(core, -(int64_t)charged);
    return charged;
}

/* A removal may move an entry to a slot that was passed, so the search begins anew after each. */
void sl_charge_context_gone(CUcontext context)
{
    bool any;
    do {
        uint64_t bytes = 0;
        uint32_t core = 0;
        pthread_mutex_lock(&lock);
        for (size_t slot = 0; slot < capacity && !bytes; slot++) {
            if (!entries[slot].bytes || entries[slot].context != context) continue;
            bytes = entries[slot].bytes;
            core = entries[slot].core;
            remove_slot(slot);
            count--;
        }
        pthread_mutex_unlock(&lock);
        any = bytes != 0;
        if (any) sl_runtime_charge_to(core, -(int64_t)bytes);
    } while (any);
}

void sl_charge_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    entries = NULL; /* not freed: another thread of the parent may have held the allocator's lock when the
                       child was cloned */
    capacity = count = 0;
}
