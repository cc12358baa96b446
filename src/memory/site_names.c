#include "memory/site_names.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/grow.h"

/* Sizes vary once so many came, and more than a part of the sites, from sites to which later steps brought so
 * many times as many sizes as the first one: that a round's last batch is smaller is no reason. */
enum { TIMES_AS_MANY = 2, LEAST_MORE_SIZES = 16, PART_OF_SITES = 4 };

void sl_site_names_free(struct sl_site_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) free(names->sites[i].numbers);
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

/* A number that is not in use; SL_NONE: out of memory. */
static uint32_t unused_number(struct sl_site_sizes *site, uint32_t wanted)
{
    if (wanted < site->count && site->numbers[wanted].live == SL_NONE) return wanted;
    while (site->lowest_free < site->count && site->numbers[site->lowest_free].live != SL_NONE)
        site->lowest_free++;
    if (site->lowest_free < site->count) return site->lowest_free;
    if (!sl_grow(&site->numbers, &site->capacity, site->count, sizeof *site->numbers)) return SL_NONE;
    site->numbers[site->count] = (struct sl_site_number){.name = SL_NONE, .live = SL_NONE};
    return site->count++;
}

uint32_t sl_site_names_take(struct sl_site_names *names, uint32_t site, uint32_t slot, uint64_t bytes,
                            uint32_t wanted)
{
    struct sl_site_sizes *sizes = &names->sites[site];
    uint32_t n = unused_number(sizes, sizes->by_number ? wanted : SL_NONE);
    if (n == SL_NONE) return SL_NONE;
    struct sl_site_number *number = &sizes->numbers[n];
    number->live = slot;
    if (bytes > number->most_bytes) number->most_bytes = bytes;
    sizes->live_count++;
    return n;
}

void sl_site_names_give_back(struct sl_site_names *names, uint32_t site, uint32_t number)
{
    struct sl_site_sizes *sizes = &names->sites[site];
    if (!SL_CHECK(number < sizes->count && sizes->numbers[number].live != SL_NONE)) return;
    sizes->live_count--;
    if (!sizes->by_number) {
        /* Those in use are the lowest, so the youngest has the last one. */
        uint32_t last = sizes->live_count;
        if (last > number + SL_MOST_YOUNGER) {
            sizes->numbers[number].live = sizes->numbers[last].live;
            number = last;
        }
        for (; number < last; number++) sizes->numbers[number].live = sizes->numbers[number + 1].live;
    }
    sizes->numbers[number].live = SL_NONE;
    if (number < sizes->lowest_free) sizes->lowest_free = number;
}

uint32_t sl_site_names_freed(const struct sl_site_names *names, uint32_t site, uint32_t number)
{
    const struct sl_site_sizes *sizes = &names->sites[site];
    return sizes->numbers[sizes->by_number ? number : sizes->live_count - 1].name;
}
