#include "past.h"

#include <stdlib.h>

static struct sc_past_entry *find(const struct sc_past *past, unsigned long long stream_id)
{
    for (size_t i = 0; i < past->count; i++)
        if (past->list[i].stream_id == stream_id) return &past->list[i];
    return NULL;
}

void sc_past_note(struct sc_past *past, unsigned long long stream_id, uint64_t op_id)
{
    struct sc_past_entry *entry = find(past, stream_id);
    if (entry) {
        if (entry->op_id < op_id) entry->op_id = op_id;
        return;
    }
    if (past->count == past->capacity) {
        size_t capacity = past->capacity ? 2 * past->capacity : 4;
        struct sc_past_entry *list = realloc(past->list, capacity * sizeof *list);
        if (!list) return;
        past->list = list;
        past->capacity = capacity;
    }
    past->list[past->count++] = (struct sc_past_entry){stream_id, op_id};
}

void sc_past_join(struct sc_past *past, const struct sc_past *other)
{
    for (size_t i = 0; i < other->count; i++)
        sc_past_note(past, other->list[i].stream_id, other->list[i].op_id);
}

bool sc_past_holds(const struct sc_past *past, unsigned long long stream_id, uint64_t op_id)
{
    const struct sc_past_entry *entry = find(past, stream_id);
    return entry && entry->op_id >= op_id;
}

void sc_past_clear(struct sc_past *past)
{
    free(past->list);
    *past = (struct sc_past){0};
}
