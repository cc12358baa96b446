#include "tools/phases/windows.h"

#include <stdlib.h>

#include "base/map.h"

enum { COPIES_MIN = 3 }; /* weights are copied to the device once or twice, batches repeatedly */

static bool is_copy_in(const struct model_shape *shape)
{
    return shape->kind == SL_LAUNCH_COPY && shape->direction == SL_COPY_IN;
}

/* Marks the slots with a life that ends before the last work. */
static void find_passing(const struct model *model, uint8_t *passes)
{
    uint64_t last = 0;
    for (uint32_t l = 0; l < model->launches.count; l++)
        if (is_work(model, l)) last = model->launches.at[l].tick;
    for (size_t i = 0; i < model->lives.count; i++) {
        const struct model_life *life = &model->lives.at[i];
        if (life->died_ns != MODEL_ALWAYS && life->died_tick < last) passes[life->slot] = 1;
    }
}

/* The segment by which writes to each are counted: its own number or, if `sites` and its slot does not stay,
 * that of the first segment of the slot's site. A batch of another size may have other slots, but they are
 * allocated at the same sites; weights of one site, which stay, are not meant. NULL: out of memory. */
static uint32_t *find_counted(const struct model *model, const struct segments *segments, bool sites)
{
    uint32_t *counted = malloc((segments->count + 1) * sizeof(*counted));
    uint8_t *passes = calloc(model->slots.count + 1, 1);
    struct sl_map first_of = {0};
    bool good = counted && passes;
    if (good && sites) find_passing(model, passes);
    for (uint32_t s = 0; good && s < segments->count; s++) {
        uint32_t slot = segments->at[s].slot, first = SL_NONE;
        uint64_t site = passes[slot] ? model->slots.at[slot].site : 0;
        if (site) first = sl_map_get(&first_of, site);
        if (site && first == SL_NONE) good = sl_map_put(&first_of, site, s);
        counted[s] = first == SL_NONE ? s : first;
    }
    sl_map_free(&first_of);
    free(passes);
    if (good) return counted;
    free(counted);
    return NULL;
}

/* Marks the segments that the host copied to, or that were set, if that came at least `least` times with work
 * in between. */
static bool find_written(const struct model *model, const struct segments *segments, bool sets,
                         unsigned least, uint8_t *is_written)
{
    struct seen {
        uint32_t last, times; /* amount of work before the last copy, plus 1 */
    } *seen = calloc(segments->count + 1, sizeof(*seen));
    uint32_t *counted = find_counted(model, segments, !sets), work = 1;
    bool good = seen && counted, any = false;
    for (uint32_t l = 0; good && l < model->launches.count; l++) {
        const struct model_shape *shape = model_shape_of(model, &model->launches.at[l]);
        work += is_work(model, l);
        if (sets ? shape->kind != SL_LAUNCH_MEMSET : !is_copy_in(shape)) continue;
        FOR_SEGMENTS(model, segments, shape, s)
        {
            struct seen *its = &seen[counted[s]];
            if (its->last != work) *its = (struct seen){work, its->times + 1};
            is_written[s] = 1;
        }
    }
    for (uint32_t s = 0; good && s < segments->count; s++) {
        is_written[s] = is_written[s] && seen[counted[s]].times >= least;
        any |= is_written[s];
    }
    free(counted);
    free(seen);
    return any;
}

static bool touches_input(const struct model *model, const struct segments *segments,
                          const struct model_shape *shape, const uint8_t *is_input)
{
    FOR_SEGMENTS(model, segments, shape, s) if (is_input[s]) return true;
    return false;
}

/* The number of the way that cuts at launches like this one. */
static uint32_t way_of(const struct model *model, uint32_t launch, uint32_t ways[ANCHOR_WAYS],
                       uint32_t *count)
{
    const struct model_shape *shape = model_shape_of(model, &model->launches.at[launch]);
    uint32_t key = shape->kind == SL_LAUNCH_GRAPH ? 0 : shape->kernel;
    for (uint32_t w = 0; w < *count; w++)
        if (ways[w] == key) return w;
    if (*count == ANCHOR_WAYS) return SL_NONE;
    ways[*count] = key;
    return (*count)++;
}

/* `touches` has a byte for each shape: whether it may touch an input. */
static bool collect(const struct model *model, const struct segments *segments, const uint8_t *touches,
                    struct anchors *out)
{
    uint8_t *fresh = calloc(segments->count + 1, 1);
    uint32_t ways[ANCHOR_WAYS], room = 0, begin = SL_NONE;
    bool good = fresh != NULL;
    for (uint32_t l = 0; good && l < model->launches.count; l++) {
        const struct model_shape *shape = model_shape_of(model, &model->launches.at[l]);
        bool copy = is_copy_in(shape), work = is_work(model, l), first = false;
        uint32_t burst = begin;
        if (work) begin = SL_NONE;
        if (!touches[model->launches.at[l].shape] || (!copy && !work)) continue;
        if (copy && begin == SL_NONE) begin = l;
        FOR_SEGMENTS(model, segments, shape, s)
        {
            if (!out->is_input[s]) continue;
            first |= work && fresh[s];
            fresh[s] = copy;
        }
        uint32_t way = first ? way_of(model, l, ways, &out->ways) : SL_NONE;
        if (way == SL_NONE) continue;
        out->direct[way] |= burst != SL_NONE;
        if (out->count == room) {
            room = room ? 2 * room : 256;
            struct anchor *larger = realloc(out->at, room * sizeof(*larger));
            good = larger != NULL;
            if (good) out->at = larger;
        }
        if (good) out->at[out->count++] = (struct anchor){l, way, burst == SL_NONE ? l : burst};
    }
    free(fresh);
    return good;
}

bool anchors_find(const struct model *model, const struct segments *segments, struct anchors *out)
{
    *out = (struct anchors){.is_input = calloc(segments->count + 1, 1),
                            .is_zeroed = calloc(segments->count + 1, 1)};
    uint8_t *touches = malloc(model->shapes.count + 1);
    bool good = out->is_input && out->is_zeroed && touches;
    if (good && !find_written(model, segments, false, COPIES_MIN, out->is_input))
        find_written(model, segments, false, 2, out->is_input);
    if (good) find_written(model, segments, true, COPIES_MIN, out->is_zeroed);
    for (size_t i = 0; good && i < model->shapes.count; i++)
        touches[i] = touches_input(model, segments, &model->shapes.at[i], out->is_input);
    good = good && collect(model, segments, touches, out);
    free(touches);
    return good;
}

void anchors_free(struct anchors *anchors)
{
    free(anchors->at);
    free(anchors->is_input);
    free(anchors->is_zeroed);
    *anchors = (struct anchors){0};
}

/* A hash of the window's work. */
static uint64_t content(const struct model *model, const struct window *window)
{
    uint64_t hash = 1;
    for (uint32_t l = window->anchor; l < window->end; l++)
        if (is_work(model, l)) hash = sl_hash_word(hash, model->launches.at[l].shape);
    return hash | 1;
}

static bool find_types(const struct model *model, struct windows *windows)
{
    struct sl_map types = {0};
    bool good = true;
    for (uint32_t w = 0; good && w < windows->count; w++) {
        uint64_t hash = content(model, &windows->at[w]);
        uint32_t type = sl_map_get(&types, hash);
        if (type == SL_NONE && windows->type_count < WINDOW_TYPES) {
            type = windows->type_count++;
            windows->types[type] = (struct window_type){.window = w};
            good = sl_map_put(&types, hash, type);
        }
        if (type != SL_NONE) windows->types[type].count++;
        windows->at[w].type = type;
    }
    sl_map_free(&types);
    return good;
}

bool windows_cut(const struct model *model, const struct anchors *anchors, uint32_t way, struct windows *out)
{
    *out = (struct windows){.at = malloc((anchors->count + 1) * sizeof(*out->at)),
                            .types = malloc(WINDOW_TYPES * sizeof(*out->types))};
    if (!out->at || !out->types) return false;
    for (uint32_t a = 0; a < anchors->count; a++) {
        if (anchors->at[a].way != way) continue;
        uint32_t anchor = anchors->at[a].launch, begin = anchors->at[a].begin;
        if (out->count) out->at[out->count - 1].end = begin;
        out->at[out->count++] = (struct window){.begin = begin, .anchor = anchor};
    }
    if (out->count) out->at[out->count - 1].end = (uint32_t)model->launches.count;
    return find_types(model, out);
}

void windows_free(struct windows *windows)
{
    free(windows->at);
    free(windows->types);
    *windows = (struct windows){0};
}
