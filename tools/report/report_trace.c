#include "tools/report/report_trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "tools/analyses/chunk_map.h"
#include "tools/analyses/holders.h"
#include "tools/analyses/stall_causes.h"
#include "tools/model/demangle.h"
#include "tools/model/trace_text.h"
#include "tools/phases/phases.h"
#include "tools/report/report_sites.h"
#include "tools/text/messages.h"
#include "tools/views/canvas.h"
#include "tools/views/trace_json.h"

enum {
    COLUMNS = 960,     /* intervals of the step: memory and traffic */
    MAP_COLUMNS = 240, /* divides COLUMNS */
    KERNELS_MOST = 100,
    STALLS_MOST = 150,
};

struct part {
    const struct model *model;
    struct site_titles *titles;
    const struct phases *phases;
    uint64_t step; /* 0: the whole trace */
    uint64_t begin_ns, end_ns;
};

static bool write_holders(struct json *json, const struct part *part)
{
    struct holders holders;
    bool good = holders_find(part->model, part->phases, part->begin_ns, part->end_ns, MAP_COLUMNS, &holders);
    json_array(json, "holders", false);
    for (uint32_t t = 0; t < holders.times && good; t++) {
        json_array(json, NULL, false);
        for (unsigned i = 0; i < HOLDERS_SHOWN; i++) {
            const struct holder *holder = &holders.at[t * HOLDERS_SHOWN + i];
            if (!holder->bytes) break;
            json_object(json, NULL, false);
            json_address(json, "site", holder->site);
            json_text(json, "class", class_name(holder->class));
            json_number(json, "bytes", holder->bytes);
            json_number(json, "count", holder->count);
            json_number(json, "largest_bytes", holder->largest_bytes);
            json_close(json);
        }
        json_close(json);
    }
    json_close(json);
    holders_free(&holders);
    return good;
}

static void write_stall(struct json *json, const struct part *part, const struct stall_cause *cause)
{
    const struct model *model = part->model;
    char title[SITE_TITLE];
    json_object(json, NULL, false);
    json_number(json, "count", cause->count);
    json_number(json, "ns", cause->took_ns);
    json_number(json, "longest_ns", cause->longest_ns);
    json_number(json, "tick", cause->tick);
    json_text(json, "phase", phase_name(cause->phase));
    json_text(json, "kernel",
              cause->launch == SL_NONE ? NULL : model_launch_name(model, &model->launches.at[cause->launch]));
    json_text(json, "cause", cause->cause == MOVE_CAUSES ? NULL : move_cause_name(cause->cause));
    if (cause->chunk != SL_NONE) json_number(json, "chunk", cause->chunk);
    if (cause->slot != SL_NONE) {
        const struct model_slot *slot = &model->slots.at[cause->slot];
        json_number(json, "slot", slot->id);
        json_number(json, "bytes", slot->bytes);
        const char *tensor = slot_name(site_titles_tensors(part->titles), cause->slot);
        if (tensor) json_text(json, "tensor", tensor);
        json_address(json, "site", slot->site);
        json_text(json, "title", site_title_find(part->titles, slot->site, title));
    }
    json_close(json);
}

/* Pairs of mangled and demangled names. */
static void write_demangled(struct json *json, const struct model *model)
{
    json_array(json, "demangled", false);
    for (size_t i = 0, written = 0; i < model->kernels.count && written < KERNELS_MOST; i++) {
        char *text = model->kernels.names[i] ? demangle(model->kernels.names[i]) : NULL;
        if (!text) continue;
        sl_defuse(text);
        json_array(json, NULL, false);
        json_text(json, NULL, model->kernels.names[i]);
        json_text(json, NULL, text);
        json_close(json);
        free(text);
        written++;
    }
    json_close(json);
}

/* Of the whole trace: a step of its own has few stalls. */
static bool write_stalls(struct json *json, const struct part *part)
{
    struct stall_causes causes;
    bool good = stall_causes_find(part->model, part->phases, 0, UINT64_MAX, &causes);
    uint64_t count = 0, ns = 0;
    for (uint32_t i = 0; i < causes.count; i++) {
        count += causes.at[i].count;
        ns += causes.at[i].took_ns;
    }
    json_object(json, "stalls", false);
    json_number(json, "count", count);
    json_number(json, "ns", ns);
    json_number(json, "groups", causes.count);
    json_array(json, "longest", false);
    for (uint32_t i = 0; i < causes.count && i < STALLS_MOST; i++) write_stall(json, part, &causes.at[i]);
    json_close(json);
    json_close(json);
    stall_causes_free(&causes);
    return good;
}

/* A row is two texts with a character for each interval. Resident: the share of the row's chunks on the
 * device, from 0 to 9; from a to j if none of them holds live memory. Moved: the cell's bits, in hexadecimal.
 */
static void write_map_row(FILE *to, const struct chunk_map *map, uint32_t row, bool moved)
{
    uint32_t left = map->chunks - row * map->per_row, most = left < map->per_row ? left : map->per_row;
    fputc('"', to);
    for (uint32_t c = 0; c < map->columns; c++) {
        const struct chunk_cell *cell = &map->cells[(size_t)row * map->columns + c];
        unsigned share = (unsigned)(cell->resident * UINT64_C(9) / most);
        if (cell->resident && !share) share = 1;
        if (moved)
            fputc("0123456789abcdef"[cell->moved & 15], to);
        else
            fputc((map->placed && !cell->live ? 'a' : '0') + (int)share, to);
    }
    fputc('"', to);
}

static void write_map_rows(struct json *json, const char *key, const struct chunk_map *map, bool moved)
{
    json_array(json, key, false);
    for (uint32_t row = 0; row < map->rows; row++) {
        if (row) fputc(',', json->to);
        write_map_row(json->to, map, row, moved);
    }
    json_close(json);
}

static bool write_map(struct json *json, const struct part *part)
{
    struct chunk_map map;
    bool good = chunk_map_make(part->model, part->begin_ns, part->end_ns, MAP_COLUMNS, &map);
    json_object(json, "map", false);
    json_number(json, "columns", map.columns);
    json_number(json, "first_chunk", map.rows ? map.first : 0);
    json_number(json, "chunks", map.chunks);
    json_number(json, "chunks_per_row", map.per_row);
    json_bool(json, "placed", map.placed);
    if (good) write_map_rows(json, "resident", &map, false);
    if (good) write_map_rows(json, "moved", &map, true);
    json_close(json);
    chunk_map_free(&map);
    return good;
}

static bool write_members(struct json *json, const struct part *part)
{
    const struct model *model = part->model;
    const struct phases *phases = part->phases;
    write_demangled(json, model);
    return info_json(json, "info", model, phases) && phases_json(json, "phases", model, phases, 0) &&
           (!part->step || phases_json(json, "step", model, phases, part->step)) &&
           timeline_json(json, "timeline", model, phases, part->step, COLUMNS) &&
           kernels_json(json, "kernels", model, KERNELS_MOST) && report_sites(json, model, part->titles) &&
           write_holders(json, part) && write_stalls(json, part) && write_map(json, part);
}

int report_trace(struct json *json, const struct job *job, size_t r, uint64_t step)
{
    struct phases phases = {0};
    struct part part = {.model = job->models[r], .phases = &phases, .step = step};
    part.titles = site_titles_new(part.model);
    int status = part.titles && phases_find(part.model, &phases)
                     ? EXIT_OK
                     : failure("%s: out of memory", job->paths[r]);
    if (status == EXIT_OK && step > phases.step_count)
        status = usage_error("trace report: there is no iteration %" PRIu64 "; %s has %" PRIu32, step,
                             job->paths[r], phases.step_count);
    if (status == EXIT_OK) {
        if (!step) part.step = usual_step(&phases);
        timeline_span(part.model, &phases, part.step, &part.begin_ns, &part.end_ns);
        if (part.end_ns <= part.begin_ns) part.end_ns = part.begin_ns + 1;
        json_object(json, NULL, false);
        json_text(json, "file", job->paths[r]);
        json_number(json, "rank", job->numbers[r]);
        if (!write_members(json, &part)) status = failure("%s: out of memory", job->paths[r]);
        json_close(json);
    }
    site_titles_free(part.titles);
    phases_free(&phases);
    return status;
}
