#include "memory/site_names.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/grow.h"

/* Sizes vary once so many came, and more than a part of the sites, from sites to which later steps brought so
 * many times as many sizes as the first one: that a round's last batch is smaller is no reason. */
enum { TIMES_AS_MANY = 2, LEAST_MORE_SIZES = 16, PART_OF_SITES = 4 };

void sl_site_names_free(struct sl_site_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        free(names->sites[i].names);
        free(names->sites[i].live);
        free(names->sites[i].most_bytes);
    }
    free(names->sites);
    *names = (struct sl_site_names){0};
}

static bool add_sites(struct sl_site_names *names, uint32_t site, uint64_t allocations)
{
    while (names->count <= site) {
        if (!sl_grow(&names->sites, &names->capacity, names->count, sizeof *names->sites)) return false;
        names->sites[names->count++] = (struct sl_site_sizes){.first_at = allocations};
    }
    return true;
}

/* Whether the first step is over, in which all sizes are new: as many allocations again were made since
 * most sites were known. */
static bool is_later_step(const struct sl_site_names *names, uint64_t allocations)
{
    uint64_t most_known_at = names->sites[(uint64_t)names->count * 3 / 4].first_at;
    return most_known_at && allocations >= 2 * most_known_at;
}

bool sl_site_names_note_size(struct sl_site_names *names, uint32_t site, bool tiny, uint64_t allocations)
{
    if (!add_sites(names, site, allocations)) return false;
    struct sl_site_sizes *sizes = &names->sites[site];
    sizes->by_number |= !tiny;
    if (sizes->sizes && (names->vary || is_later_step(names, allocations)))
        sizes->later++;
    else
        sizes->sizes++;
    names->more_sizes += sizes->later >= TIMES_AS_MANY * sizes->sizes;
    names->vary |= names->more_sizes >= LEAST_MORE_SIZES && names->more_sizes > names->count / PART_OF_SITES;
    return true;
}

void sl_site_names_note_free(struct sl_site_names *names, uint32_t site)
{
    if (site < names->count) names->sites[site].freed = true;
}

/* A number that is not in use, with room for its slot; SL_NONE: out of memory. */
static uint32_t unused_number(struct sl_site_sizes *site, uint32_t wanted)
{
    if (wanted < site->count && site->live[wanted] == SL_NONE) return wanted;
    while (site->lowest_free < site->count && site->live[site->lowest_free] != SL_NONE) site->lowest_free++;
    if (site->lowest_free < site->count) return site->lowest_free;
    if (!sl_grow(&site->names, &site->names_capacity, site->count, sizeof *site->names) ||
        !sl_grow(&site->live, &site->live_capacity, site->count, sizeof *site->live) ||
        !sl_grow(&site->most_bytes, &site->most_capacity, site->count, sizeof *site->most_bytes))
        return SL_NONE;
    site->most_bytes[site->count] = 0;
    site->names[site->count] = site->live[site->count] = SL_NONE;
    return site->count++;
}

uint32_t sl_site_names_take(struct sl_site_names *names, uint32_t site, uint32_t slot, uint64_t bytes,
                            uint32_t wanted)
{
    struct sl_site_sizes *sizes = &names->sites[site];
    uint32_t number = unused_number(sizes, sizes->by_number ? wanted : SL_NONE);
    if (number == SL_NONE) return SL_NONE;
    sizes->live[number] = slot;
    if (bytes > sizes->most_bytes[number]) sizes->most_bytes[number] = bytes;
    return number;
}

void sl_site_names_give_back(struct sl_site_names *names, uint32_t site, uint32_t number)
{
    struct sl_site_sizes *sizes = &names->sites[site];
    if (!SL_CHECK(number < sizes->count && sizes->live[number] != SL_NONE)) return;
    if (number < sizes->lowest_free) sizes->lowest_free = number;
    for (; !sizes->by_number && number + 1 < sizes->count && sizes->live[number + 1] != SL_NONE; number++)
        sizes->live[number] = sizes->live[number + 1];
    sizes->live[number] = SL_NONE;
}

uint32_t sl_site_names_freed(const struct sl_site_names *names, uint32_t site, uint32_t number)
{
    const struct sl_site_sizes *sizes = &names->sites[site];
    while (!sizes->by_number && number + 1 < sizes->count && sizes->live[number + 1] != SL_NONE) number++;
    return sizes->names[number];
}
