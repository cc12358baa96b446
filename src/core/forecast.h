/* The forecast: predicted symbols as launches over chunks, a plan's input. It is made in small steps, so no
 * launch is delayed much. Meanwhile the program may go on, as predicted, without changing the result. Caller
 * holds the order lock. */
#ifndef SLUICE_FORECAST_H
#define SLUICE_FORECAST_H

#include "core/relayout.h"
#include "plan/plan.h"

struct sl_core;

/* The state of the chunks at one time. */
struct sl_stock {
    uint64_t *bytes;
    enum sl_chunk_content *content;
    uint32_t *live; /* number of allocations in the chunk */
};

/* The memory is reused for the next forecast. */
struct sl_forecast {
    struct sl_core *core; /* whose prediction it is */
    struct sl_relayout relayout;
    sl_tick first_tick;
    uint64_t position;     /* symbols that the program had fed before the first one */
    uint64_t strays;       /* history->strays at the begin */
    sl_symbol *symbols;    /* predicted symbols; those of launches are moved to the front */
    uint64_t *notes;       /* by symbol: where an allocation will lie; or 0 */
    uint8_t *histories;    /* by symbol: its stream history; those of launches are moved to the front */
    bool interleaved;      /* only the order within each stream history is certain */
    size_t count, end, at; /* number of symbols; end of the served ones; the next to process */
    bool believed_on; /* the prediction is trusted beyond the end, so chunks are fetched for later launches,
                         too */
    size_t period;
    size_t chunks, stocked; /* number of chunks; of those, whose state was read */
    struct sl_plan_launch *launches;
    struct sl_plan_access *accesses;
    sl_chunk *deaths;
    size_t launch_count, access_count, death_count, served_launches;
    struct sl_stock stock, at_end; /* the planner fills in at_end.content */
    uint32_t *stocked_at; /* by chunk: symbols of the forecast that had been fed when its state was read */
    struct sl_forecast_seen {
        uint64_t mark;   /* the last launch that uses the chunk */
        uint32_t access; /* its access to the chunk */
    } * seen;
    struct sl_forecast_place {
        uint64_t forecast, address; /* number of the forecast that set this; the place */
        uint32_t slot;              /* that lies there */
    } * placed, *placed_at_end;     /* by name: the predicted place of its allocation */
    uint64_t number;                /* of this forecast */
    uint64_t seen_before;           /* marks of `seen` up to this are from earlier forecasts */
    size_t units, last_units;       /* work done for this forecast and for the previous one */
    size_t symbol_capacity, note_capacity, place_capacity, history_capacity, launch_capacity, access_capacity,
        death_capacity, chunk_capacity;
};

/* The number of symbols that a plan begun now would serve, if enough are predicted. */
size_t sl_forecast_served_symbols(const struct sl_forecast *forecast);

/* Begins with the next launch and the chunks as they are. SL_ERR_UNSUPPORTED: nothing is predicted. */
enum sl_status sl_forecast_begin(struct sl_forecast *forecast);

/* Begins where the served part of the present one ends. at_end must be complete. SL_ERR_UNSUPPORTED: the
 * program has passed that point or placed an allocation differently, the number of chunks changed, streams
 * interleave by chance, or nothing is predicted. */
enum sl_status sl_forecast_continue(struct sl_forecast *forecast);

/* Processes about `units` further chunks or accesses. True: done. */
bool sl_forecast_step(struct sl_forecast *forecast, size_t units, enum sl_status *status);

/* The plan's input; points into the finished forecast. Launches from served_launches on only serve to look
 * ahead. */
struct sl_plan_input sl_forecast_input(const struct sl_forecast *forecast);

/* The predicted time of the launches, by a plan made now with so many attempts at most, if allocations lie
 * where the `count` notes say. The notes must be for a forecast that began at the same point. UINT64_MAX:
 * unknown. */
uint64_t sl_forecast_time_ns(struct sl_forecast *trial, const uint64_t *notes, size_t count,
                             unsigned most_attempts);

void sl_forecast_close(struct sl_forecast *forecast);

#endif
