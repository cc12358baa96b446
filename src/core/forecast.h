/* From prediction to plan: what the predictor says will follow, as launches over chunks. Made step by step,
 * so that no launch is held up by all of it; what the program does meanwhile, as predicted, changes nothing.
 * Caller holds the order lock. */
#ifndef SLUICE_FORECAST_H
#define SLUICE_FORECAST_H

#include "core/relayout.h"
#include "plan/plan.h"

struct sl_arena;
struct sl_budget;
struct sl_durations;
struct sl_history;
struct sl_migrator;
struct sl_placement;
struct sl_policy_traits;
struct sl_symbols;
struct sl_ticks;

/* What it is made from. */
struct sl_forecast_sources {
    const struct sl_policy_traits *policy;
    const struct sl_ticks *ticks;
    const struct sl_arena *arena;
    const struct sl_placement *placement;
    const struct sl_budget *budget;
    struct sl_history *history;
    const struct sl_symbols *symbols;
    struct sl_durations *durations;
    const struct sl_migrator *migrator;
    unsigned attempts; /* of the plan */
};

/* The chunks at one moment. */
struct sl_stock {
    uint64_t *bytes;
    enum sl_chunk_content *content;
    uint32_t *live; /* allocations in each */
};

/* Its space is kept from one to the next. */
struct sl_forecast {
    struct sl_forecast_sources from;
    struct sl_relayout relayout;
    sl_tick first_tick;
    uint64_t position;     /* symbols that the program had fed before the first one */
    uint64_t strays;       /* the history's when it began */
    sl_symbol *symbols;    /* of those that were looked at, the launches among them */
    uint64_t *notes;       /* of the symbols: where an allocation lay, or 0 */
    uint8_t *histories;    /* of the symbols; of those that were looked at, of the launches among them */
    bool interleaved;      /* the order of the symbols is certain in each stream history only */
    size_t count, end, at; /* symbols; the first of those that are not carried out; the next to look at */
    bool believed_on;      /* what follows the end is believed in, too: chunks may come for it */
    size_t period;
    size_t chunks, stocked; /* whose content was looked at */
    struct sl_plan_launch *launches;
    struct sl_plan_access *accesses;
    sl_chunk *deaths;
    size_t launch_count, access_count, death_count, served_launches;
    struct sl_stock stock, at_end; /* at_end.content is for whoever knows the plan to fill in */
    uint32_t *stocked_at;          /* symbols of it that had been fed when the chunk was looked at */
    struct sl_forecast_seen {
        uint64_t mark;   /* the last launch that was found to use the chunk, */
        uint32_t access; /* and by which access */
    } * seen;
    struct sl_forecast_place {
        uint64_t forecast, address; /* the forecast that has it, by number; and where */
    } * placed, *placed_at_end;     /* by slot: where an allocation that is predicted lies */
    uint64_t number;                /* of the forecast */
    uint64_t seen_before;           /* what marks of `seen` had reached when it began */
    size_t units, last_units;       /* done for it, and for the one before */
    size_t symbol_capacity, note_capacity, place_capacity, history_capacity, launch_capacity, access_capacity,
        death_capacity, chunk_capacity;
};

/* The number of symbols for which a plan that begins now is carried out, if as many are predicted. */
size_t sl_forecast_served_symbols(const struct sl_forecast *forecast);

/* Begins with the launch after the last one that has begun and the chunks as they are. SL_ERR_UNSUPPORTED
 * when nothing is predicted. */
enum sl_status sl_forecast_begin(struct sl_forecast *forecast);

/* Begins where what is carried out of the last one ends, whose at_end is complete. SL_ERR_UNSUPPORTED when
 * nothing is predicted, the program went past that, or its streams interleave by chance. */
enum sl_status sl_forecast_continue(struct sl_forecast *forecast);

/* Goes on by about `units` chunks or accesses. True: done. */
bool sl_forecast_step(struct sl_forecast *forecast, size_t units, enum sl_status *status);

/* What a plan needs; points into the finished forecast. Launches from served_launches on are there to look
 * ahead. */
struct sl_plan_input sl_forecast_input(const struct sl_forecast *forecast);

/* How long the launches would take by a plan that is made now, if allocations came to lie as `count` notes
 * have it: those of a forecast that has begun at the same time. UINT64_MAX: not known. */
uint64_t sl_forecast_time_ns(struct sl_forecast *trial, const uint64_t *notes, size_t count);

void sl_forecast_close(struct sl_forecast *forecast);

#endif
