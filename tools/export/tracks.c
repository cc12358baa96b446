#include "tools/export/tracks.h"

void tracks_use_clock(struct tracks *tracks, uint64_t (*on_trace)(const void *clock, uint64_t ns),
                      const void *clock)
{
    tracks->on_trace = on_trace;
    tracks->clock = clock;
}

static uint64_t on_trace(const struct tracks *tracks, uint64_t ns)
{
    return tracks->on_trace ? tracks->on_trace(tracks->clock, ns) : ns;
}

uint64_t tracks_reserve(struct tracks *tracks, unsigned count)
{
    tracks->last_rank += count;
    return tracks->last_rank - count + 1;
}

uint64_t tracks_process(struct tracks *tracks, uint32_t process, const char *name, unsigned order)
{
    return tracks->form->process(tracks, process, name, order, tracks_reserve(tracks, 1));
}

uint64_t tracks_track_at(struct tracks *tracks, uint64_t parent, const char *name, uint64_t rank)
{
    return tracks->form->track(tracks, parent, name, rank, false);
}

uint64_t tracks_track(struct tracks *tracks, uint64_t parent, const char *name)
{
    return tracks_track_at(tracks, parent, name, tracks_reserve(tracks, 1));
}

uint64_t tracks_byte_counter(struct tracks *tracks, uint64_t parent, const char *name)
{
    return tracks->form->track(tracks, parent, name, tracks_reserve(tracks, 1), true);
}

uint64_t tracks_beside(struct tracks *tracks, uint64_t process, uint64_t thread, const char *name)
{
    return tracks->form->beside(tracks, process, thread, name, tracks_reserve(tracks, 1));
}

void tracks_begin(struct tracks *tracks, const struct track_event *slice)
{
    tracks->form->begin(tracks, slice, on_trace(tracks, slice->begin_ns));
    tracks->slices++;
}

void tracks_end(struct tracks *tracks, const struct track_event *slice)
{
    tracks->form->end(tracks, slice, on_trace(tracks, slice->end_ns));
}

void tracks_slice(struct tracks *tracks, const struct track_event *slice)
{
    tracks->form->slice(tracks, slice, on_trace(tracks, slice->begin_ns), on_trace(tracks, slice->end_ns));
    tracks->slices++;
}

void tracks_moment(struct tracks *tracks, const struct track_event *moment)
{
    tracks->form->moment(tracks, moment, on_trace(tracks, moment->begin_ns));
    tracks->moments++;
}

void tracks_count(struct tracks *tracks, uint64_t track, uint64_t time_ns, int64_t value)
{
    tracks->form->count(tracks, track, on_trace(tracks, time_ns), value);
    tracks->samples++;
}
