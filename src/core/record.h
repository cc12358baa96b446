/* Records for the trace. Caller holds the order lock. */
#ifndef SLUICE_RECORD_H
#define SLUICE_RECORD_H

#include "launch/access.h"
#include "trace/events.h"

struct sl_ticks;
struct sl_trace;

/* The trace, and how far it was written. The pointers are set before anything is recorded. */
struct sl_recorder {
    const struct sl_ticks *ticks;
    const struct sl_arena *arena;
    const struct sl_placement *placement;
    struct sl_scanner *scanner;
    struct sl_trace *trace; /* NULL: no trace is written */
    uint32_t slabs_written; /* of the arena's slabs, in this lap */
    uint32_t lap;           /* of the trace's file (docs/words.md) for which slabs and slots are written */
    uint32_t slots_written; /* slots written in this lap; later launches write the others */
    uint64_t link_in_written, link_out_written; /* speeds in bytes/s */
    uint64_t fed_written;                       /* symbols fed up to the last recorded iteration */
    uint64_t changes_written_ns;                /* time of the last numbers: see run_metadata.c */
    uint64_t changes_written;                   /* and their sum */
};

/* Adds tick and time. False: no trace is written, or the record is lost. */
bool sl_record(struct sl_recorder *recorder, struct sl_event event);

/* Records slabs that were taken since the last call. */
void sl_record_slabs(struct sl_recorder *recorder);

/* Records a launch and its accesses. */
void sl_record_launch(struct sl_recorder *recorder, const struct sl_launch *launch,
                      const struct sl_usage *usage);

/* Records an allocation or a free of the slot. */
void sl_record_allocation(struct sl_recorder *recorder, enum sl_event_type type, uint32_t slot);

#endif
