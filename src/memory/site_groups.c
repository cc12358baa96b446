#include "memory/site_groups.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/grow.h"

void sl_site_groups_free(struct sl_site_groups *groups)
{
    free(groups->sites);
    sl_map_free(&groups->index_of);
    *groups = (struct sl_site_groups){0};
}

uint32_t sl_site_groups_index(struct sl_site_groups *groups, uint64_t site)
{
    uint64_t key = sl_mix(site) | 1; /* two sites with one key count as one, which costs little */
    uint32_t index = sl_map_get(&groups->index_of, key);
    if (index != SL_NONE) return index;
    if (!sl_grow(&groups->sites, &groups->capacity, groups->count, sizeof *groups->sites)) return SL_NONE;
    if (!sl_map_put(&groups->index_of, key, groups->count)) return SL_NONE;
    groups->sites[groups->count] = (struct sl_site_lives){0};
    return groups->count++;
}

static bool is_turn(const struct sl_site_groups *groups, uint32_t index)
{
    return groups->last != index + 1;
}

uint32_t sl_site_group(struct sl_site_groups *groups, uint32_t index, uint64_t bytes, uint64_t chunk_bytes)
{
    struct sl_site_lives *site = &groups->sites[index];
    uint64_t turns = site->turns + is_turn(groups, index), count = site->count + 1;
    bool fills = site->live_bytes + bytes > chunk_bytes, takes_turns = 2 * turns > count;
    if (!site->group && fills && takes_turns && groups->groups < SL_SITE_GROUPS)
        site->group = ++groups->groups;
    return site->group ? site->group - 1 : SL_NONE;
}

void sl_site_begins(struct sl_site_groups *groups, uint32_t index, uint64_t bytes)
{
    struct sl_site_lives *site = &groups->sites[index];
    site->live_bytes += bytes;
    site->count++;
    site->turns += is_turn(groups, index);
    groups->last = index + 1;
}

void sl_site_ends(struct sl_site_groups *groups, uint32_t index, uint64_t bytes)
{
    struct sl_site_lives *site = &groups->sites[index];
    if (SL_CHECK(bytes <= site->live_bytes)) site->live_bytes -= bytes;
}
