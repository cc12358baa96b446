/* Tracks with slices, moments and counters, in a file of some form: perfetto.h, chrome.h. */
#ifndef SLUICE_TRACKS_H
#define SLUICE_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A property of a slice or a moment. */
struct track_note {
    const char *name; /* needs no escapes */
    const char *text; /* defused; NULL: `number` */
    uint64_t number;
    bool address; /* `number` is an address */
};

struct track_event {
    uint64_t track;
    const char *name;          /* defused */
    const char *category;      /* NULL: none */
    uint64_t begin_ns, end_ns; /* on CLOCK_MONOTONIC; a moment has only begin_ns */
    uint64_t flow; /* arrows join the slices with the same flow, in the order of their starts; 0: none */
    const struct track_note *notes;
    size_t note_count;
};

struct tracks;

/* How a file is written. Times are on the file's clock. */
struct tracks_form {
    uint64_t (*process)(struct tracks *tracks, uint32_t process, const char *name, unsigned order,
                        uint64_t rank);
    uint64_t (*track)(struct tracks *tracks, uint64_t parent, const char *name, uint64_t rank, bool bytes);
    uint64_t (*beside)(struct tracks *tracks, uint64_t process, uint64_t thread, const char *name,
                       uint64_t rank);
    void (*begin)(struct tracks *tracks, const struct track_event *slice, uint64_t ns);
    void (*end)(struct tracks *tracks, const struct track_event *slice, uint64_t ns);
    void (*slice)(struct tracks *tracks, const struct track_event *slice, uint64_t begin_ns, uint64_t end_ns);
    void (*moment)(struct tracks *tracks, const struct track_event *moment, uint64_t ns);
    void (*count)(struct tracks *tracks, uint64_t track, uint64_t ns, int64_t value);
};

/* The first member of a form's own structure. */
struct tracks {
    const struct tracks_form *form;
    FILE *to;
    uint64_t last_rank;                         /* the largest that a track has */
    uint64_t packets, slices, moments, samples; /* written */
    uint64_t (*on_trace)(const void *clock, uint64_t ns);
    const void *clock;
    bool no_memory;
};

/* Times in later calls are on another clock; `on_trace` converts them to the trace's clock, monotonically.
 * NULL: they are on the trace's clock. `clock` must stay valid until the next call. */
void tracks_use_clock(struct tracks *tracks, uint64_t (*on_trace)(const void *clock, uint64_t ns),
                      const void *clock);

/* Make new tracks and return their ids. Children are shown in the order of creation. Tracks with the same
 * name and parent are shown as one. `order`: of processes, from 1; 0: any. */
uint64_t tracks_process(struct tracks *tracks, uint32_t process, const char *name, unsigned order);
uint64_t tracks_track(struct tracks *tracks, uint64_t parent, const char *name);

/* The first of `count` places among siblings that come after all tracks so far, for tracks_track_at. */
uint64_t tracks_reserve(struct tracks *tracks, unsigned count);
uint64_t tracks_track_at(struct tracks *tracks, uint64_t parent, const char *name, uint64_t rank);
uint64_t tracks_byte_counter(struct tracks *tracks, uint64_t parent, const char *name);

/* A track that is shown beside a thread of the process, if the file may have that thread, too. `thread`: as
 * gettid calls it; 0: unknown. */
uint64_t tracks_beside(struct tracks *tracks, uint64_t process, uint64_t thread, const char *name);

/* Slices of one track must be nested or disjoint. A slice with an unknown end is begun first and ended with
 * the same track and an end_ns; slices with equal times, in the order of nesting. */
void tracks_slice(struct tracks *tracks, const struct track_event *slice);
void tracks_begin(struct tracks *tracks, const struct track_event *slice);
void tracks_end(struct tracks *tracks, const struct track_event *slice);

void tracks_moment(struct tracks *tracks, const struct track_event *moment);
void tracks_count(struct tracks *tracks, uint64_t track, uint64_t time_ns, int64_t value);

#endif
