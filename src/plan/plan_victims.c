#include "plan/plan_victims.h"

#include <stdlib.h>

#define NONE UINT32_MAX

/* The prices of the classes are powers of STEP, 1 in the middle. Prices beyond them belong to the first or
 * last class. */
#define STEP 1.18

enum sl_status sl_victims_new(size_t count, double weight, struct sl_victims *out)
{
    struct sl_victims v = {.weight = weight, .dead_first = SL_NONE, .dead_last = SL_NONE};
    v.of = malloc((count + 1) * sizeof *v.of);
    if (!v.of) return SL_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) v.of[i].place = NONE;
    v.price[SL_PRICE_CLASSES / 2] = 1;
    for (int c = SL_PRICE_CLASSES / 2; c > 0; c--) v.price[c - 1] = v.price[c] / STEP;
    for (int c = SL_PRICE_CLASSES / 2 + 1; c < SL_PRICE_CLASSES; c++) v.price[c] = v.price[c - 1] * STEP;
    *out = v;
    return SL_OK;
}

void sl_victims_free(struct sl_victims *v)
{
    for (int c = 0; c < SL_PRICE_CLASSES; c++) free(v->heaps[c].at);
    free(v->of);
    *v = (struct sl_victims){0};
}

/* The highest class whose price is not above `price`. */
static uint32_t class_of(const struct sl_victims *v, double price)
{
    uint32_t low = 0, high = SL_PRICE_CLASSES;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(v->price[middle] <= price ? &low : &high) = middle;
    }
    return low;
}

static bool before(const struct sl_candidate *a, const struct sl_candidate *b)
{
    return a->merit > b->merit || (a->merit == b->merit && a->chunk > b->chunk);
}

static void put(struct sl_victims *v, struct sl_victim_heap *heap, size_t at, struct sl_candidate entry)
{
    heap->at[at] = entry;
    v->of[entry.chunk].place = (uint32_t)at;
}

static void up(struct sl_victims *v, struct sl_victim_heap *heap, size_t at, struct sl_candidate entry)
{
    for (; at > 0 && before(&entry, &heap->at[(at - 1) / 2]); at = (at - 1) / 2)
        put(v, heap, at, heap->at[(at - 1) / 2]);
    put(v, heap, at, entry);
}

static void down(struct sl_victims *v, struct sl_victim_heap *heap, size_t at, struct sl_candidate entry)
{
    for (size_t child = 2 * at + 1; child < heap->count; at = child, child = 2 * at + 1) {
        if (child + 1 < heap->count && before(&heap->at[child + 1], &heap->at[child])) child++;
        if (!before(&heap->at[child], &entry)) break;
        put(v, heap, at, heap->at[child]);
    }
    put(v, heap, at, entry);
}

static bool reserve(struct sl_victim_heap *heap)
{
    if (heap->count < heap->room) return true;
    size_t room = heap->room ? 2 * heap->room : 64;
    struct sl_candidate *larger = realloc(heap->at, room * sizeof *larger);
    if (!larger) return false;
    heap->at = larger;
    heap->room = room;
    return true;
}

bool sl_victims_add(struct sl_victims *v, sl_chunk chunk, double deadline, double last, double price)
{
    if (v->of[chunk].place != NONE) return true;
    uint32_t class = class_of(v, price);
    struct sl_victim_heap *heap = &v->heaps[class];
    if (!reserve(heap)) return false;
    v->of[chunk].price = class;
    up(v, heap, heap->count++, (struct sl_candidate){deadline - v->weight * last, chunk});
    return true;
}

void sl_victims_remove(struct sl_victims *v, sl_chunk chunk)
{
    uint32_t place = v->of[chunk].place;
    if (place == NONE) return;
    struct sl_victim_heap *heap = &v->heaps[v->of[chunk].price];
    struct sl_candidate last = heap->at[--heap->count];
    v->of[chunk].place = NONE;
    if (place == heap->count) return;
    if (place > 0 && before(&last, &heap->at[(place - 1) / 2]))
        up(v, heap, place, last);
    else
        down(v, heap, place, last);
}

sl_chunk sl_victims_best(const struct sl_victims *v, double now)
{
    sl_chunk best = SL_NONE;
    double most = 0;
    for (uint32_t c = 0; c < SL_PRICE_CLASSES; c++) {
        if (!v->heaps[c].count) continue;
        const struct sl_candidate *first = &v->heaps[c].at[0];
        double rank = (first->merit - (1 - v->weight) * now) / v->price[c];
        if (best != SL_NONE && rank <= most) continue;
        best = first->chunk;
        most = rank;
    }
    return best;
}

void sl_victims_add_dead(struct sl_victims *v, sl_chunk chunk)
{
    v->of[chunk].prev = v->dead_last;
    v->of[chunk].next = SL_NONE;
    *(v->dead_last == SL_NONE ? &v->dead_first : &v->of[v->dead_last].next) = chunk;
    v->dead_last = chunk;
}

void sl_victims_remove_dead(struct sl_victims *v, sl_chunk chunk)
{
    const struct sl_victim_place *x = &v->of[chunk];
    *(x->prev == SL_NONE ? &v->dead_first : &v->of[x->prev].next) = x->next;
    *(x->next == SL_NONE ? &v->dead_last : &v->of[x->next].prev) = x->prev;
}
