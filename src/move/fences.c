#include "move/fences.h"

#include <stdlib.h>
#include <string.h>

enum { MADE_AT_START = 16 };

static struct sl_fence *new_fence(struct sl_fences *fences)
{
    const struct sl_backend *backend = fences->backend;
    struct sl_fence *fence = fences->made < SL_FENCES ? calloc(1, sizeof *fence) : NULL;
    if (!fence) return NULL;
    if (backend->event_new(backend->self, &fence->events[0]) != SL_OK) {
        free(fence);
        return NULL;
    }
    fences->made++;
    return fence;
}

enum sl_status sl_fences_init(struct sl_fences *fences, const struct sl_backend *backend)
{
    memset(fences, 0, sizeof *fences);
    if (!sl_lock_init(&fences->lock, SL_LOCK_FENCES, true)) return SL_ERR_NO_MEMORY;
    fences->backend = backend;
    for (int i = 0; i < MADE_AT_START; i++) {
        struct sl_fence *fence = new_fence(fences);
        if (!fence) return SL_ERR_NO_MEMORY;
        fences->spare[fences->spare_count++] = fence;
    }
    return SL_OK;
}

static void delete_fence(const struct sl_fences *fences, struct sl_fence *fence, bool device_gone)
{
    for (int s = 0; s < SL_STREAMS && !device_gone; s++)
        if (fence->events[s]) fences->backend->event_delete(fences->backend->self, fence->events[s]);
    free(fence);
}

void sl_fences_close(struct sl_fences *fences, bool device_gone)
{
    for (; fences->first != fences->next; fences->first++)
        delete_fence(fences, fences->ring[fences->first % SL_FENCES], device_gone);
    while (fences->spare_count) delete_fence(fences, fences->spare[--fences->spare_count], device_gone);
    memset(fences, 0, sizeof *fences);
}

struct sl_fence *sl_fences_new(struct sl_fences *fences, sl_tick oldest)
{
    struct sl_fence *fence = NULL;
    sl_lock(&fences->lock);
    while (fences->first != fences->next && fences->ring[fences->first % SL_FENCES]->tick < oldest)
        fences->spare[fences->spare_count++] = fences->ring[fences->first++ % SL_FENCES];
    for (uint32_t i = fences->spare_count; i-- && !fence;)
        if (!atomic_load(&fences->spare[i]->holders)) {
            fence = fences->spare[i];
            fences->spare[i] = fences->spare[--fences->spare_count];
        }
    if (!fence) fence = new_fence(fences);
    sl_unlock(&fences->lock);
    return fence;
}

void sl_fences_give(struct sl_fences *fences, struct sl_fence *fence)
{
    sl_lock(&fences->lock);
    fences->spare[fences->spare_count++] = fence;
    sl_unlock(&fences->lock);
}

void sl_fences_put(struct sl_fences *fences, struct sl_fence *fence, sl_tick tick)
{
    sl_lock(&fences->lock);
    uint64_t at = fences->next++;
    fence->tick = tick;
    /* Launches of several threads may end in another order than they began. */
    for (; at != fences->first && fences->ring[(at - 1) % SL_FENCES]->tick > tick; at--)
        fences->ring[at % SL_FENCES] = fences->ring[(at - 1) % SL_FENCES];
    fences->ring[at % SL_FENCES] = fence;
    sl_unlock(&fences->lock);
}

struct sl_fence *sl_fences_find(struct sl_fences *fences, sl_tick tick)
{
    struct sl_fence *found = NULL;
    sl_lock(&fences->lock);
    uint64_t low = fences->first, high = fences->next;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fences->ring[middle % SL_FENCES]->tick < tick)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < fences->next && fences->ring[low % SL_FENCES]->tick == tick)
        found = fences->ring[low % SL_FENCES];
    sl_unlock(&fences->lock);
    return found;
}
