/* What goes to the trace. Caller holds the order lock. */
#ifndef SLUICE_RECORD_H
#define SLUICE_RECORD_H

#include "launch/access.h"
#include "trace/events.h"

struct sl_ticks;
struct sl_trace;

/* The trace, and what was written to it. The other parts are set before anything is recorded. */
struct sl_recorder {
    const struct sl_ticks *ticks;
    const struct sl_arena *arena;
    const struct sl_placement *placement;
    struct sl_scanner *scanner;
    struct sl_trace *trace;                     /* NULL: none is written */
    uint32_t slabs_written;                     /* so many of the arena's */
    uint32_t lap;                               /* of the trace's file, in which what lives was written */
    uint32_t slots_written;                     /* up to here: the others in launches to come */
    uint64_t link_in_written, link_out_written; /* speeds */
    uint64_t fed_written;                       /* symbols, when the last of them had ended */
    uint64_t changes_written_ns;                /* when what changes was last written: see run_metadata.c */
    uint64_t changes_written;                   /* and what it was */
};

/* False: no trace is written, or the record is lost. */
bool sl_record(struct sl_recorder *recorder, struct sl_event event);

/* Slabs that were taken since the last time. */
void sl_record_slabs(struct sl_recorder *recorder);

/* A launch, and what it may touch. */
void sl_record_launch(struct sl_recorder *recorder, const struct sl_launch *launch,
                      const struct sl_usage *usage);

/* An allocation or a free of the slot. */
void sl_record_allocation(struct sl_recorder *recorder, enum sl_event_type type, uint32_t slot);

#endif
