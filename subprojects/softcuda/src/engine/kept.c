#include "kept.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define SLOTS 4                      /* as many launches at once find a buffer */
#define BYTES_MAX ((size_t)64 << 20) /* a larger buffer is not kept */

static struct {
    pthread_mutex_t lock; /* guards everything */
    struct sc_kept slots[SLOTS];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct sc_kept sc_kept_take(size_t bytes)
{
    struct sc_kept taken = {0}, *best = NULL;
    pthread_mutex_lock(&all.lock);
    for (struct sc_kept *slot = all.slots; slot < all.slots + SLOTS; slot++)
        if (slot->memory && slot->bytes >= bytes && (!best || slot->bytes < best->bytes)) best = slot;
    if (best) {
        taken = *best;
        *best = (struct sc_kept){0};
    }
    pthread_mutex_unlock(&all.lock);
    if (taken.memory || bytes > SIZE_MAX - 4095) return taken;
    size_t rounded = (bytes + 4095) & ~(size_t)4095;
    return (struct sc_kept){aligned_alloc(4096, rounded), rounded};
}

/* Keeps the largest. */
void sc_kept_give(struct sc_kept *kept)
{
    struct sc_kept left = *kept, *smallest = all.slots;
    *kept = (struct sc_kept){0};
    if (left.bytes <= BYTES_MAX) {
        pthread_mutex_lock(&all.lock);
        for (struct sc_kept *slot = all.slots; slot < all.slots + SLOTS; slot++)
            if (slot->bytes < smallest->bytes) smallest = slot;
        if (left.bytes > smallest->bytes) {
            struct sc_kept replaced = *smallest;
            *smallest = left;
            left = replaced;
        }
        pthread_mutex_unlock(&all.lock);
    }
    free(left.memory);
}
