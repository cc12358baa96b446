#include "tools/report/report_sites.h"

#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "tools/views/trace_json.h"

enum {
    SITES_MOST = 300,
    FRAME_BYTES_MOST = 500000, /* of texts; no further site is shown beyond this */
};

struct writing {
    struct json *json;
    struct site_titles *titles;
    struct sl_map by_content; /* hash of a frame -> its index in `all` */
    struct frame *all;
    uint32_t count, room;
    struct sl_map python_by_content;
    const struct model_python **python;
    uint32_t python_count, python_room;
    uint64_t bytes;
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++) hash = sl_hash_word(hash, (unsigned char)*text);
    return sl_hash_word(hash, text ? 1 : 2);
}

static uint64_t text_bytes(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Returns the frame's index, or SL_NONE: out of memory. */
static uint32_t index_of(struct writing *w, const struct frame *frame)
{
    uint64_t hash = sl_hash_word(frame->module ? frame->module->id + 1 : 0, frame->offset);
    hash = hash_text(hash_text(hash, frame->function), frame->source);
    hash = sl_hash_word(hash, 2 * (uint64_t)frame->line + frame->inlined) | 1;
    uint32_t index = sl_map_get(&w->by_content, hash);
    if (index != SL_NONE) return index;
    if (!sl_grow(&w->all, &w->room, w->count, sizeof(*w->all)) || !sl_map_put(&w->by_content, hash, w->count))
        return SL_NONE;
    w->bytes += text_bytes(frame->function) + text_bytes(frame->source) +
                text_bytes(frame->module ? frame->module->path : NULL);
    w->all[w->count] = *frame;
    return w->count++;
}

/* The same of a frame of Python, in `python`. */
static uint32_t python_index_of(struct writing *w, const struct model_python *frame)
{
    uint64_t hash = sl_hash_word(hash_text(0, frame->text), frame->line) | 1;
    uint32_t index = sl_map_get(&w->python_by_content, hash);
    if (index != SL_NONE) return index;
    if (!sl_grow(&w->python, &w->python_room, w->python_count, sizeof(*w->python)) ||
        !sl_map_put(&w->python_by_content, hash, w->python_count))
        return SL_NONE;
    w->bytes += text_bytes(frame->text);
    w->python[w->python_count] = frame;
    return w->python_count++;
}

static bool write_site(struct writing *w, const struct site_figures *site)
{
    struct frame frames[FRAMES_MAX];
    size_t count = symbols_frames(site_titles_symbols(w->titles), site->frames, frames, FRAMES_MAX);
    bool good = true;
    json_object(w->json, NULL, false);
    site_json(w->json, w->titles, site, frames, count);
    json_array(w->json, "python", false);
    for (size_t i = 0; i < site->python_count && i < FRAMES_MAX && good; i++) {
        uint32_t index = python_index_of(w, &site->python[i]);
        good = index != SL_NONE;
        if (good) json_number(w->json, NULL, index);
    }
    json_close(w->json);
    json_array(w->json, "frames", false);
    for (size_t i = 0; i < count && good; i++) {
        uint32_t index = index_of(w, &frames[i]);
        good = index != SL_NONE;
        if (good) json_number(w->json, NULL, index);
    }
    json_close(w->json);
    json_close(w->json);
    return good;
}

static void write_rest(struct json *json, const struct sites *sites, size_t shown)
{
    uint64_t share = 0, total = 0;
    for (size_t i = shown; i < sites->count; i++) {
        share += sites->at[i].share_bytes;
        total += sites->at[i].total_bytes;
    }
    json_object(json, "rest", false);
    json_number(json, "sites", sites->count - shown);
    json_number(json, "share_bytes", share);
    json_number(json, "total_bytes", total);
    json_close(json);
}

static bool write_all(struct writing *w, const struct sites *sites)
{
    bool good = true;
    size_t shown = 0;
    json_object(w->json, "sites", false);
    json_number(w->json, "peak_bytes", sites->peak_bytes);
    json_array(w->json, "sites", false);
    while (good && shown < sites->count && shown < SITES_MOST && w->bytes < FRAME_BYTES_MOST)
        good = write_site(w, &sites->at[shown++]);
    json_close(w->json);
    write_rest(w->json, sites, shown);
    json_array(w->json, "frames", false);
    for (uint32_t i = 0; i < w->count; i++) frame_json(w->json, &w->all[i]);
    json_close(w->json);
    json_array(w->json, "python", false);
    for (uint32_t i = 0; i < w->python_count; i++) python_json(w->json, w->python[i]);
    json_close(w->json);
    json_close(w->json);
    return good;
}

bool report_sites(struct json *json, const struct model *model, struct site_titles *titles)
{
    struct sites sites = {0};
    struct writing w = {.json = json, .titles = titles};
    bool good = sites_find(model, &sites) && write_all(&w, &sites);
    sites_free(&sites);
    sl_map_free(&w.by_content);
    free(w.all);
    sl_map_free(&w.python_by_content);
    free(w.python);
    return good;
}
