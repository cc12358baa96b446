/* Records for the trace. Caller holds the order lock. */
#ifndef SLUICE_RECORD_H
#define SLUICE_RECORD_H

#include "launch/access.h"
#include "trace/events.h"

struct sl_migrator;
struct sl_stats;
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
    uint64_t changes_written_ns;                /* time of the last numbers: see sl_record_iteration */
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

/* What is known at the start about sluice, the device and the program. The figures are those that
 * sl_monitor_begin set. */
void sl_record_start(struct sl_recorder *recorder, const struct sl_stats *stats,
                     const struct sl_backend *backend);
/* An iteration has ended and was counted. The figures were observed. */
void sl_record_iteration(struct sl_recorder *recorder, const struct sl_stats *stats,
                         const struct sl_migrator *migrator);
/* The totals of the run. The figures were observed. */
void sl_record_end(struct sl_recorder *recorder, const struct sl_stats *stats,
                   const struct sl_migrator *migrator);

/* The program's arguments, joined by spaces and cut to a limit, without what SLUICE_MASK hides. Allocated
 * with malloc. NULL: unknown, or all is hidden. */
char *sl_record_command(void);

#endif
