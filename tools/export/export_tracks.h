/* Shared by the parts of the exports with tracks. */
#ifndef SLUICE_EXPORT_TRACKS_H
#define SLUICE_EXPORT_TRACKS_H

#include "base/map.h"
#include "tools/analyses/timeline.h"
#include "tools/export/export.h"
#include "tools/export/tracks.h"

enum { LANES_MAX = 64 };

/* Ends the names of tracks with two clocks: those of a device that has its own (has_own_clock). */
#define OF_OWN_CLOCK " (begins: program's clock; lengths: device's clock)"

/* Slices that may overlap, on several tracks below one another: "NAME", "NAME 02" and so on. Set parent and
 * name, zero the rest. */
struct lanes {
    uint64_t parent;
    const char *name;
    size_t count;
    uint64_t rank; /* of the first track among its siblings */
    struct {
        uint64_t track, end_ns;
    } at[LANES_MAX];
};

struct exporter {
    const struct export_job *job;
    size_t rank; /* the rank being written; all members below are its own */
    const struct model *model;
    const struct phases *phases;
    struct export_window window;
    struct tracks *tracks;
    bool launches;    /* also as moments of the threads */
    uint64_t process; /* parent of all other tracks */
};

static inline bool is_in_window(const struct exporter *exporter, uint64_t time_ns)
{
    return time_ns >= exporter->window.from_ns && time_ns < exporter->window.to_ns;
}

/* Whether the rank's device has a clock of its own, as far as its transfers or collectives tell. */
static inline bool has_own_clock(const struct exporter *exporter)
{
    return device_has_own_clock(exporter->model) ||
           (exporter->job->count > 1 && exporter->job->clocks[exporter->rank].own_device_clock);
}

/* Writes a slice that overlaps the window on the first lane that is free at its start, or a moment if all
 * lanes are busy. Sets slice->track. */
void export_slice(struct exporter *exporter, struct lanes *lanes, struct track_event *slice);

/* Writes all tracks of all ranks to a file that was opened. False: out of memory. */
bool export_tracks(const struct export_job *job, struct tracks *tracks, bool launches,
                   struct export_counts *counts);

/* export_streams.c, export_marks.c, and so on. False: out of memory. */
bool export_streams(struct exporter *exporter);
bool export_launches(struct exporter *exporter);
bool export_marks(struct exporter *exporter);
bool export_collectives(struct exporter *exporter); /* of several ranks */

#endif
