/* The allocation sites of two traces side by side. A site is a hash of the call stack, which is equal in
 * every run of unchanged code. */
#include <stdlib.h>

#include "base/map.h"
#include "tools/analyses/diff.h"

static uint64_t peak_of(const struct diff_site *site, unsigned side)
{
    return site->of[side] ? site->of[side]->peak_bytes : 0;
}

static int by_difference(const void *one, const void *other)
{
    const struct diff_site *sites[] = {one, other};
    uint64_t keys[2], numbers[2];
    for (unsigned i = 0; i < 2; i++) {
        uint64_t a = peak_of(sites[i], DIFF_A), b = peak_of(sites[i], DIFF_B);
        keys[i] = a < b ? b - a : a - b;
        numbers[i] = (sites[i]->of[DIFF_A] ? sites[i]->of[DIFF_A] : sites[i]->of[DIFF_B])->site;
    }
    if (keys[0] != keys[1]) return keys[0] > keys[1] ? -1 : 1;
    return numbers[0] < numbers[1] ? -1 : numbers[0] > numbers[1];
}

static enum diff_state state_of(const struct diff *diff, const struct diff_site *site)
{
    uint64_t a = diff->sides[DIFF_A].sites.peak_bytes, b = diff->sides[DIFF_B].sites.peak_bytes;
    enum diff_state state =
        diff_compare(peak_of(site, DIFF_A), peak_of(site, DIFF_B), 0, a > b ? a : b, diff->threshold);
    if (state == DIFF_SAME) return state;
    if (!site->of[DIFF_A]) return DIFF_ADDED;
    return site->of[DIFF_B] ? state : DIFF_GONE;
}

bool diff_find_sites(struct diff *diff)
{
    const struct sites *a = &diff->sides[DIFF_A].sites, *b = &diff->sides[DIFF_B].sites;
    struct sl_map index_of = {0};
    diff->sites = calloc(a->count + b->count + 1, sizeof(*diff->sites));
    bool good = diff->sites != NULL;
    for (size_t i = 0; good && i < a->count; i++) {
        good = sl_map_put(&index_of, a->at[i].site ? a->at[i].site : 1, (uint32_t)diff->site_count);
        diff->sites[diff->site_count++].of[DIFF_A] = &a->at[i];
    }
    for (size_t i = 0; good && i < b->count; i++) {
        uint32_t index = sl_map_get(&index_of, b->at[i].site ? b->at[i].site : 1);
        diff->sites_in_common |= index != SL_NONE;
        if (index == SL_NONE) index = (uint32_t)diff->site_count++;
        diff->sites[index].of[DIFF_B] = &b->at[i];
    }
    for (size_t i = 0; good && i < diff->site_count; i++)
        diff->sites[i].state = state_of(diff, &diff->sites[i]);
    if (good && diff->site_count) qsort(diff->sites, diff->site_count, sizeof(*diff->sites), by_difference);
    sl_map_free(&index_of);
    return good;
}
