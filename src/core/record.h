/* Records for the trace. Unless said otherwise, the caller holds the order lock. */
#ifndef SLUICE_RECORD_H
#define SLUICE_RECORD_H

#include "launch/access.h"
#include "move/schedule.h"
#include "trace/events.h"

struct sl_core;
struct sl_migrator;
struct sl_stats;
struct sl_trace;

/* The trace, and how far it was written. `core` is set before anything is recorded. */
struct sl_recorder {
    struct sl_core *core;
    struct sl_trace *trace;  /* NULL: no trace is written */
    uint32_t slabs_written;  /* of the arena's slabs, in this lap */
    uint32_t lap;            /* of the trace's file (docs/words.md) for which slabs and slots are written */
    uint32_t slots_written;  /* slots written in this lap; later launches write the others */
    const sl_stream *stream; /* in whose order the present allocation or free is; NULL: in none */
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

/* --- decisions of the core and their reasons, for the trace and, with SLUICE_VERBOSE=2, for the log
 * (decisions.c)
 *
 * Any thread may call, except where it says otherwise. */

/* A plan is begun during launch `tick`. */
void sl_decision_plan_begun(enum sl_begin_reason why, sl_tick tick);

/* The schedule has a new plan. */
void sl_decision_plan_switch(const struct sl_schedule *schedule);

/* The plan goes on, shifted by `delay` launches; negative: the program is ahead of it. Logged with
 * SLUICE_VERBOSE=2 only. */
void sl_decision_plan_goes_on(sl_tick tick, int64_t delay);

/* A plan is discarded. Its first launch is `first`, and `left` of its launches had not begun. `carried_out`:
 * it was being carried out. */
void sl_decision_plan_discarded(enum sl_cancel_reason why, sl_tick first, uint64_t left, bool carried_out);

/* Symbol `came` was fed instead of `expected`, which is not SL_NONE. `tick`: the newest launch. Caller holds
 * the order lock. */
void sl_decision_misprediction(const struct sl_scanner *scanner, sl_tick tick, sl_symbol expected,
                               sl_symbol came);

/* Writes what was expected and what came, by the names of kernels or what else it is, and by what tells them
 * apart if that is not the kernel. Names are cut to texts of `bytes` bytes. Caller holds the order lock. */
void sl_decision_names(const struct sl_scanner *scanner, sl_symbol expected, sl_symbol came,
                       char *expected_text, char *came_text, size_t bytes);

/* `candidates` of `resident` chunks may be evicted for launch `tick`: chunk `first` first, which launch
 * `last_use` used last. */
void sl_decision_victims(uint64_t resident, uint64_t candidates, sl_tick tick, sl_chunk first,
                         sl_tick last_use);

#endif
