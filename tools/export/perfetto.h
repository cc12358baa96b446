/* Traces for Perfetto (perfetto.dev, protos/perfetto/trace): tracks with slices, moments and counters. Names
 * are interned. Events are written in the order of calls; Perfetto sorts them by time. */
#ifndef SLUICE_PERFETTO_H
#define SLUICE_PERFETTO_H

#include <stdint.h>
#include <stdio.h>

#include "base/map.h"
#include "tools/export/protobuf.h"

struct perfetto_text {
    char *text;
    uint8_t kind;
};

struct perfetto {
    FILE *to;
    struct protobuf packet;
    struct perfetto_text *texts; /* interned; the first has iid 1 */
    size_t text_count, text_room, texts_written;
    struct sl_map text_of; /* hash of kind and text -> index */
    uint64_t salt, track_count;
    uint64_t last_rank;                         /* the largest that a track has */
    uint64_t packets, slices, moments, samples; /* written */
    uint64_t (*on_trace)(const void *clock, uint64_t ns);
    const void *clock;
    bool no_memory;
};

/* A property of a slice or a moment. */
struct perfetto_note {
    const char *name;
    const char *text; /* NULL: `number` */
    uint64_t number;
    bool address; /* `number` is an address */
};

struct perfetto_event {
    uint64_t track;
    const char *name;
    const char *category;      /* NULL: none */
    uint64_t begin_ns, end_ns; /* on CLOCK_MONOTONIC; a moment has only begin_ns */
    uint64_t flow; /* arrows join the slices with the same flow, in the order of their starts; 0: none */
    const struct perfetto_note *notes;
    size_t note_count;
};

/* In the first packet of every trace. */
#define PERFETTO_MARKER "sluice trace export"

/* Begins a trace. `monotonic_ns` and `realtime_ns` are the same moment on both clocks. `to` must stay open
 * until perfetto_close. */
void perfetto_open(struct perfetto *perfetto, FILE *to, uint64_t monotonic_ns, uint64_t realtime_ns);

/* Times in later calls are on another clock; `on_trace` converts them to the trace's clock, monotonically.
 * NULL: they are on the trace's clock. `clock` must stay valid until the next call. */
void perfetto_use_clock(struct perfetto *perfetto, uint64_t (*on_trace)(const void *clock, uint64_t ns),
                        const void *clock);

/* False: out of memory; write errors are those of `to`. Accepts a zeroed one. */
bool perfetto_close(struct perfetto *perfetto);

/* Make new tracks and return their ids. Children are shown in the order of creation. Tracks with the same
 * name and parent are shown as one. `order`: of processes, from 1; 0: any. */
uint64_t perfetto_process(struct perfetto *perfetto, uint32_t process, const char *name, unsigned order);
uint64_t perfetto_track(struct perfetto *perfetto, uint64_t parent, const char *name);

/* The first of `count` places among siblings that come after all tracks so far, for perfetto_track_at. */
uint64_t perfetto_reserve(struct perfetto *perfetto, unsigned count);
uint64_t perfetto_track_at(struct perfetto *perfetto, uint64_t parent, const char *name, uint64_t rank);
uint64_t perfetto_byte_counter(struct perfetto *perfetto, uint64_t parent, const char *name);

/* Slices of one track must be nested or disjoint. A slice with an unknown end is begun first and ended with
 * the same track and an end_ns; slices with equal times, in the order of nesting. */
void perfetto_slice(struct perfetto *perfetto, const struct perfetto_event *slice);
void perfetto_begin(struct perfetto *perfetto, const struct perfetto_event *slice);
void perfetto_end(struct perfetto *perfetto, const struct perfetto_event *slice);

void perfetto_moment(struct perfetto *perfetto, const struct perfetto_event *moment);
void perfetto_count(struct perfetto *perfetto, uint64_t track, uint64_t time_ns, int64_t value);

#endif
