#include "tools/analyses/sites.h"

#include <stdlib.h>

#include "base/map.h"
#include "tools/model/sorted.h"

struct change {
    uint64_t time_ns, bytes;
    uint32_t site;
    bool ends;
};

struct lifetime {
    uint64_t launches;
    uint32_t site;
};

/* State of the search. */
struct search {
    const struct model *model;
    struct sites *sites;
    struct sl_map by_site;
    struct change *changes;
    struct lifetime *lifetimes;
    size_t change_count, lifetime_count, room; /* room: capacity for sites */
};

static bool grow(struct search *search)
{
    size_t room = search->room ? 2 * search->room : 64;
    struct site_figures *larger = realloc(search->sites->at, room * sizeof(*larger));
    if (!larger) return false;
    search->sites->at = larger;
    search->room = room;
    return true;
}

/* The index of the site. The map cannot have the key 0. */
static bool find_site(struct search *search, uint64_t site, uint32_t *out)
{
    uint64_t key = site ? site : 1;
    *out = sl_map_get(&search->by_site, key);
    if (*out != SL_NONE) return true;
    if (search->sites->count == search->room && !grow(search)) return false;
    *out = (uint32_t)search->sites->count;
    if (!sl_map_put(&search->by_site, key, *out)) return false;
    search->sites->at[search->sites->count++] = (struct site_figures){.site = site};
    return true;
}

static bool add_life(struct search *search, const struct model_life *life)
{
    const struct model *model = search->model;
    const struct model_slot *slot = &model->slots.at[life->slot];
    uint32_t s;
    if (!slot->bytes) return true; /* its allocation is missing in the file */
    if (!find_site(search, slot->site, &s)) return false;
    struct site_figures *figures = &search->sites->at[s];
    figures->allocations++;
    figures->total_bytes += slot->bytes;
    search->changes[search->change_count++] = (struct change){life->born_ns, slot->bytes, s, false};
    if (life->died_ns == MODEL_ALWAYS) {
        figures->kept++;
        return true;
    }
    search->changes[search->change_count++] = (struct change){life->died_ns, slot->bytes, s, true};
    search->lifetimes[search->lifetime_count++] = (struct lifetime){
        model_launches_to_time(model, life->died_ns) - model_launches_to_time(model, life->born_ns), s};
    return true;
}

static bool add_errors(struct search *search)
{
    for (size_t i = 0; i < search->model->errors.count; i++) {
        const struct model_error *error = &search->model->errors.at[i];
        uint32_t s;
        if (error->kind != SL_ERROR_ALLOCATION) continue;
        if (!find_site(search, error->site, &s)) return false;
        struct site_figures *figures = &search->sites->at[s];
        figures->refused++;
        if (error->bytes > figures->refused_bytes) figures->refused_bytes = error->bytes;
    }
    return true;
}

/* Follows the live bytes of each site over time. A second pass stops at the peak of the total. */
static void follow(struct search *search, size_t changes, size_t *most_at)
{
    uint64_t all = 0;
    for (size_t i = 0; i < search->sites->count; i++) search->sites->at[i].live_bytes = 0;
    for (size_t i = 0; i < changes; i++) {
        const struct change *change = &search->changes[i];
        struct site_figures *figures = &search->sites->at[change->site];
        all += change->ends ? -change->bytes : change->bytes;
        figures->live_bytes += change->ends ? -change->bytes : change->bytes;
        if (figures->live_bytes > figures->peak_bytes) figures->peak_bytes = figures->live_bytes;
        if (all <= search->sites->peak_bytes || change->ends) continue;
        search->sites->peak_bytes = all;
        *most_at = i + 1;
    }
}

static void find_peaks(struct search *search)
{
    struct sites *sites = search->sites;
    size_t most_at = 0, ignored = 0;
    follow(search, search->change_count, &most_at);
    follow(search, most_at, &ignored);
    for (size_t i = 0; i < sites->count; i++) sites->at[i].share_bytes = sites->at[i].live_bytes;
    follow(search, search->change_count, &ignored);
}

static int by_site(const void *one, const void *other)
{
    const struct lifetime *a = one, *b = other;
    if (a->site != b->site) return a->site < b->site ? -1 : 1;
    return a->launches < b->launches ? -1 : a->launches > b->launches;
}

static void find_lifetimes(struct search *search)
{
    struct lifetime *all = search->lifetimes;
    size_t count = search->lifetime_count;
    if (count) qsort(all, count, sizeof(*all), by_site);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first; next < count && all[next].site == all[first].site;) next++;
        search->sites->at[all[first].site].lifetime = all[first + (next - first) / 2].launches;
    }
}

static void add_frames(struct search *search)
{
    for (size_t i = 0; i < search->model->sites.count; i++) {
        const struct model_site *known = &search->model->sites.at[i];
        uint32_t s = sl_map_get(&search->by_site, known->site ? known->site : 1);
        if (s != SL_NONE) search->sites->at[s].frames = known->frames;
    }
}

static void add_python(struct search *search)
{
    const struct model *model = search->model;
    for (size_t first = 0, next; first < model->pythons.count; first = next) {
        uint64_t site = model->pythons.at[first].site;
        for (next = first; next < model->pythons.count && model->pythons.at[next].site == site;) next++;
        uint32_t s = sl_map_get(&search->by_site, site ? site : 1);
        if (s == SL_NONE) continue;
        search->sites->at[s].python = &model->pythons.at[first];
        search->sites->at[s].python_count = next - first;
    }
}

static int by_peak(const void *one, const void *other)
{
    const struct site_figures *a = one, *b = other;
    if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
    if (a->refused_bytes != b->refused_bytes) return a->refused_bytes > b->refused_bytes ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

bool sites_find(const struct model *model, struct sites *out)
{
    size_t lives = model->lives.count;
    struct search search = {.model = model, .sites = out};
    *out = (struct sites){0};
    search.changes = calloc(2 * lives + 1, sizeof(*search.changes));
    search.lifetimes = calloc(lives + 1, sizeof(*search.lifetimes));
    bool found = search.changes && search.lifetimes;
    for (size_t i = 0; i < lives && found; i++) found = add_life(&search, &model->lives.at[i]);
    found = found && add_errors(&search) &&
            sort_by_key(search.changes, search.change_count, sizeof(*search.changes),
                        offsetof(struct change, time_ns));
    if (found) {
        find_peaks(&search);
        find_lifetimes(&search);
        add_frames(&search);
        add_python(&search);
        if (out->count) qsort(out->at, out->count, sizeof(*out->at), by_peak);
    } else {
        sites_free(out);
    }
    free(search.changes);
    free(search.lifetimes);
    sl_map_free(&search.by_site);
    return found;
}

void sites_free(struct sites *sites)
{
    free(sites->at);
    *sites = (struct sites){0};
}
