/* Tracks as a trace for Perfetto (perfetto.dev, protos/perfetto/trace). Names are interned. Events are
 * written in the order of calls; Perfetto sorts them by time. */
#ifndef SLUICE_PERFETTO_H
#define SLUICE_PERFETTO_H

#include "base/map.h"
#include "tools/export/protobuf.h"
#include "tools/export/tracks.h"

struct perfetto_text {
    char *text;
    uint8_t kind;
};

struct perfetto {
    struct tracks tracks;
    struct protobuf packet;
    struct perfetto_text *texts; /* interned; the first has iid 1 */
    size_t text_count, text_room, texts_written;
    struct sl_map text_of; /* hash of kind and text -> index */
    uint64_t salt, track_count;
};

/* In the first packet of every trace. */
#define PERFETTO_MARKER "sluice trace export"

/* Begins a trace, whose clock is CLOCK_MONOTONIC. `monotonic_ns` and `realtime_ns` are the same moment on
 * both clocks. `to` must stay open until perfetto_close. */
void perfetto_open(struct perfetto *perfetto, FILE *to, uint64_t monotonic_ns, uint64_t realtime_ns);

/* False: out of memory; write errors are those of `to`. Accepts a zeroed one. */
bool perfetto_close(struct perfetto *perfetto);

#endif
