#include "tools/model/slot_names.h"

#include <stdlib.h>
#include <string.h>

/* A trace may say that millions of tensors lie in each of millions of allocations: beyond this, allocations
 * stay without a name. */
enum { MOST_COMPARED = 1 << 26, MOST_FOUND = 1 << 20 };

static int by_address(const void *a, const void *b)
{
    const struct model_name *x = *(const struct model_name *const *)a,
                            *y = *(const struct model_name *const *)b;
    return (x->address > y->address) - (x->address < y->address);
}

static int by_slot(const void *a, const void *b)
{
    const struct slot_name *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* The first of the names, which are by address, at or above an address. */
static size_t first_from(const struct model_name *const *sorted, size_t count, uint64_t address)
{
    size_t from = 0;
    while (from < count) {
        size_t middle = (from + count) / 2;
        if (sorted[middle]->address < address)
            from = middle + 1;
        else
            count = middle;
    }
    return from;
}

/* Appends the names in a slot during one of its lives. `left`: comparisons that may still be made. */
static bool add_life(const struct model *model, const struct model_name *const *sorted,
                     const struct model_life *life, struct slot_names *out, size_t *room, size_t *left)
{
    const struct model_slot *slot = &model->slots.at[life->slot];
    for (size_t n = first_from(sorted, model->names.count, slot->address);
         n < model->names.count && sorted[n]->address - slot->address < slot->bytes; n++) {
        if (!*left || out->count == MOST_FOUND) return true;
        --*left;
        if (sorted[n]->time_ns < life->born_ns || sorted[n]->time_ns >= life->died_ns) continue;
        if (out->count == *room) {
            size_t more = *room ? 2 * *room : 256;
            struct slot_name *larger = realloc(out->at, more * sizeof(*larger));
            if (!larger) return false;
            out->at = larger;
            *room = more;
        }
        out->at[out->count++] = (struct slot_name){life->slot, slot->site, sorted[n]->bytes, sorted[n]->text};
    }
    return true;
}

static void sort_and_unite(struct slot_names *names)
{
    size_t kept = 0;
    if (names->count) qsort(names->at, names->count, sizeof(*names->at), by_slot);
    for (size_t i = 0; i < names->count; i++)
        if (!kept || by_slot(&names->at[kept - 1], &names->at[i]) != 0) names->at[kept++] = names->at[i];
    names->count = kept;
}

bool slot_names_find(const struct model *model, struct slot_names *out)
{
    size_t room = 0, left = MOST_COMPARED;
    *out = (struct slot_names){0};
    if (!model->names.count) return true;
    const struct model_name **sorted = calloc(model->names.count, sizeof(*sorted));
    bool good = sorted != NULL;
    for (size_t n = 0; good && n < model->names.count; n++) sorted[n] = &model->names.at[n];
    if (good) qsort(sorted, model->names.count, sizeof(*sorted), by_address);
    for (size_t l = 0; good && l < model->lives.count; l++)
        good = add_life(model, sorted, &model->lives.at[l], out, &room, &left);
    free(sorted);
    if (good)
        sort_and_unite(out);
    else
        slot_names_free(out);
    return good;
}

void slot_names_free(struct slot_names *names)
{
    free(names->at);
    *names = (struct slot_names){0};
}

const struct slot_name *slot_names_of(const struct slot_names *names, uint32_t slot, size_t *count)
{
    size_t from = 0, to = names->count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (names->at[middle].slot < slot)
            from = middle + 1;
        else
            to = middle;
    }
    for (to = from; to < names->count && names->at[to].slot == slot;) to++;
    *count = to - from;
    return to > from ? &names->at[from] : NULL;
}

const char *slot_name(const struct slot_names *names, uint32_t slot)
{
    size_t count;
    const struct slot_name *first = slot_names_of(names, slot, &count);
    return first ? first->text : NULL;
}
