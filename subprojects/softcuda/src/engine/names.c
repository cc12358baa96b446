#include "names.h"

#include <string.h>

static uint32_t hash_of(const char *text, uint32_t bytes)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

void sc_names_init(struct sc_names *names)
{
    memset(names, 0, sizeof *names);
    memset(names->buckets, 0xff, sizeof names->buckets);
}

void sc_names_free(struct sc_names *names)
{
    sc_vec_free(&names->all);
}

void sc_names_enter(struct sc_names *names)
{
    names->depth++;
}

void sc_names_leave(struct sc_names *names)
{
    while (names->all.count && names->all.at[names->all.count - 1].depth == names->depth) {
        const struct sc_name *name = &names->all.at[--names->all.count];
        names->buckets[name->hash & (SC_NAME_BUCKETS - 1)] = name->next;
    }
    if (names->depth) names->depth--;
}

struct sc_name *sc_names_add(struct sc_names *names, const char *text, uint32_t bytes, enum sc_name_kind kind)
{
    uint32_t hash = hash_of(text, bytes);
    struct sc_name name = {.text = text, .bytes = bytes, .depth = names->depth, .hash = hash, .kind = kind};
    if (!names->depth && names->local) name.unit = names->unit;
    name.next = names->buckets[hash & (SC_NAME_BUCKETS - 1)];
    if (!sc_vec_push(&names->all, name)) return NULL;
    names->buckets[hash & (SC_NAME_BUCKETS - 1)] = names->all.count - 1;
    return &names->all.at[names->all.count - 1];
}

struct sc_name *sc_names_find(struct sc_names *names, const char *text, uint32_t bytes)
{
    uint32_t hash = hash_of(text, bytes);
    for (uint32_t i = names->buckets[hash & (SC_NAME_BUCKETS - 1)]; i != UINT32_MAX;
         i = names->all.at[i].next) {
        struct sc_name *name = &names->all.at[i];
        if (name->unit && name->unit != names->unit) continue;
        if (name->hash == hash && name->bytes == bytes && memcmp(name->text, text, bytes) == 0) return name;
    }
    return NULL;
}
