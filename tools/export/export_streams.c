/* Launches as slices of their streams. */
#include "tools/export/export_tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct stream {
    struct lanes lanes;
    char name[48];
    const struct model_launch *open; /* the last launch, whose end is unknown */
    uint64_t open_took_ns;
    bool open_measured;
    uint64_t busy_until_ns;
    uint64_t waited_ns; /* when the program finished waiting for `open`; 0: it has not waited */
};

struct launches {
    struct exporter *exporter;
    struct stream *streams;
    uint64_t *set_bytes; /* by set: the bytes that it touches */
};

static const char *direction_name(unsigned direction)
{
    static const char *const names[] = {"unknown", "to the device", "from the device", "on the device"};
    return names[direction < 4 ? direction : 0];
}

/* Writes a stream's open launch. `next_ns`: the launch time of the next one; 0: there is none. */
static void put_launch(struct launches *launches, struct stream *stream, uint64_t next_ns)
{
    const struct model *model = launches->exporter->model;
    const struct model_launch *launch = stream->open;
    if (!launch) return;
    const struct model_shape *shape = model_shape_of(model, launch);
    uint64_t begin = launch->time_ns > stream->busy_until_ns ? launch->time_ns : stream->busy_until_ns;
    uint64_t end = begin;
    const char *length = "unknown";
    if (stream->open_measured) {
        end = begin + stream->open_took_ns;
        length = "measured";
    } else if (stream->waited_ns && (!next_ns || stream->waited_ns < next_ns)) {
        end = stream->waited_ns;
        length = "until the program had waited for it";
    } else if (next_ns) {
        end = next_ns;
        length = "until the next launch";
    }
    if (end < begin) end = begin;
    bool kernel = shape->kind == SL_LAUNCH_KERNEL, copy = shape->kind == SL_LAUNCH_COPY;
    struct track_note notes[] = {
        {"tick", .number = launch->tick},
        {"length", .text = length},
        {"touches_bytes", .number = launches->set_bytes[shape->set]},
        {kernel ? "threads" : "bytes", .number = shape->size},
        {"direction", .text = direction_name(shape->direction)},
    };
    struct track_event slice = {.name = model_launch_name(model, launch),
                                .category = launch_kind_name(shape->kind),
                                .begin_ns = begin,
                                .end_ns = end,
                                .notes = notes,
                                .note_count = copy ? 5 : 4};
    export_slice(launches->exporter, &stream->lanes, &slice);
    stream->busy_until_ns = end;
    stream->open = NULL;
}

static void note_wait(struct launches *launches, const struct model_sync *sync)
{
    const struct model *model = launches->exporter->model;
    if (sync->kind == SL_SYNC_EVENT) return;
    for (size_t s = 0; s < model->streams.count; s++)
        if (!launches->streams[s].waited_ns &&
            (sync->kind == SL_SYNC_CONTEXT || model->streams.at[s] == sync->handle))
            launches->streams[s].waited_ns = sync->time_ns;
}

static void walk_launches(struct launches *launches)
{
    const struct model *model = launches->exporter->model;
    size_t duration = 0, sync = 0;
    for (size_t i = 0; i < model->launches.count; i++) {
        const struct model_launch *launch = &model->launches.at[i];
        for (; sync < model->syncs.count && model->syncs.at[sync].time_ns <= launch->time_ns; sync++)
            note_wait(launches, &model->syncs.at[sync]);
        while (duration < model->durations.count && model->durations.at[duration].tick < launch->tick)
            duration++;
        struct stream *stream = &launches->streams[launch->stream];
        put_launch(launches, stream, launch->time_ns);
        stream->open = launch;
        stream->waited_ns = 0;
        stream->open_measured =
            duration < model->durations.count && model->durations.at[duration].tick == launch->tick;
        if (stream->open_measured) stream->open_took_ns = model->durations.at[duration].took_ns;
    }
    for (; sync < model->syncs.count; sync++) note_wait(launches, &model->syncs.at[sync]);
    for (size_t s = 0; s < model->streams.count; s++) put_launch(launches, &launches->streams[s], 0);
}

static void sum_sets(const struct model *model, uint64_t *set_bytes)
{
    for (size_t s = 0; s < model->sets.count; s++) {
        const struct model_set *set = &model->sets.at[s];
        for (uint32_t i = 0; i < set->count; i++) set_bytes[s] += model_set_range(model, set, i)->bytes;
    }
}

bool export_streams(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    if (!model->launches.count) return true;
    struct launches launches = {.exporter = exporter};
    launches.streams = calloc(model->streams.count, sizeof(*launches.streams));
    launches.set_bytes = calloc(model->sets.count, sizeof(*launches.set_bytes));
    bool good = launches.streams && launches.set_bytes;
    if (good) {
        uint64_t parent = tracks_track(exporter->tracks, exporter->process,
                                       has_own_clock(exporter) ? "Streams" OF_OWN_CLOCK : "Streams");
        for (size_t s = 0; s < model->streams.count; s++) {
            struct stream *stream = &launches.streams[s];
            snprintf(stream->name, sizeof(stream->name), "Stream %zu (0x%" PRIx64 ")", s + 1,
                     model->streams.at[s]);
            stream->lanes = (struct lanes){.parent = parent, .name = stream->name};
        }
        sum_sets(model, launches.set_bytes);
        walk_launches(&launches);
    }
    free(launches.streams);
    free(launches.set_bytes);
    return good;
}
