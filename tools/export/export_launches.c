/* Launches as moments beside the program's threads, at the times at which these made them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/export/export_tracks.h"

static uint64_t track_of(struct exporter *exporter, uint32_t thread)
{
    char name[48];
    uint64_t system = model_system_thread(exporter->model, thread);
    snprintf(name, sizeof(name), "Launches of thread %" PRIu64, system ? system : thread);
    return tracks_beside(exporter->tracks, exporter->process, system, name);
}

bool export_launches(struct exporter *exporter)
{
    const struct model *model = exporter->model;
    uint64_t *tracks = calloc(UINT16_MAX + 1, sizeof(*tracks)); /* by thread */
    if (!tracks) return false;
    for (size_t i = 0; i < model->launches.count; i++) {
        const struct model_launch *launch = &model->launches.at[i];
        if (!is_in_window(exporter, launch->time_ns)) continue;
        uint64_t *track = &tracks[launch->thread], system = model_system_thread(model, launch->thread);
        if (!*track) *track = track_of(exporter, launch->thread);
        struct track_note notes[] = {{"tick", .number = launch->tick}, {"thread", .number = system}};
        struct track_event moment = {.track = *track,
                                     .name = model_launch_name(model, launch),
                                     .category = "launch",
                                     .begin_ns = launch->time_ns,
                                     .notes = notes,
                                     .note_count = system ? 2 : 1};
        tracks_moment(exporter->tracks, &moment);
    }
    free(tracks);
    return true;
}
